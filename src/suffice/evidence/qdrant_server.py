"""Connects to a Qdrant server and describes the collections that Suffice keeps there."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from suffice.errors import ExtraMissing, StoreError, StoreRights, StoreUnreachable
from suffice.evidence.store import Store
from suffice.settings import QdrantSettings

STATE = 0
"""The id of the point that says what a collection contains. Passage numbers begin at 1."""
# BM25 statistics over readable passages only. Older servers ignore the parameter, and scores would
# reveal how often a word occurs in documents that the caller may not read.
_LEAST_VERSION = (1, 19)
_LOCAL = ":memory:"


@dataclass(frozen=True, slots=True)
class State:
    """What a collection was built from: the embedder, and the last change of the store in it."""

    model: str
    through: int


@dataclass(frozen=True, slots=True)
class Server:
    """A Qdrant server with the collections of one store."""

    client: Any
    where: str
    prefix: str
    local: bool = False

    @classmethod
    def of(cls, store: Store, settings: QdrantSettings) -> Server:
        key = os.environ.get(settings.key_env, "").strip() if settings.key_env else ""
        client = _client(settings.url, key, settings.timeout)
        prefix = f"{settings.prefix}{store.id}-"
        return cls(client, settings.url, prefix, settings.url == _LOCAL)

    def name(self, model: str, epoch: int) -> str:
        """The collection for an embedder and an epoch of the store. A new embedder gets a new
        collection, and the old one is searched until the new one is complete."""
        return f"{self.prefix}{hashlib.sha256(model.encode()).hexdigest()[:12]}-{epoch}"

    def names(self) -> list[str]:
        """The collections of this store."""
        with translated(self.where):
            found = self.client.get_collections().collections
        return sorted(one.name for one in found if one.name.startswith(self.prefix))

    def state(self, name: str) -> State | None:
        """What a collection contains; `None` if it is missing or was never completed."""
        with translated(self.where):
            if not self.client.collection_exists(name):
                return None
            found = self.client.retrieve(name, [STATE], with_payload=True)
        if not found:
            return None
        return State(str(found[0].payload["model"]), int(found[0].payload["through"]))

    def models(self) -> set[str]:
        """The embedders of all complete collections of this store."""
        states = (self.state(name) for name in self.names())
        return {state.model for state in states if state}


def qdrant_models() -> Any:
    try:
        from qdrant_client import models
    except ImportError as problem:
        raise ExtraMissing("index_engine: qdrant", "qdrant") from problem
    return models


@contextmanager
def translated(where: str) -> Iterator[None]:
    """Errors of the client as errors of Suffice."""
    from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

    try:
        yield
    except UnexpectedResponse as problem:
        if problem.status_code in (401, 403):
            raise StoreRights(
                f"Qdrant at {where} refused the API key.",
                remedy="Check the variable that qdrant.key_env names.",
            ) from problem
        if problem.status_code is None or problem.status_code >= 500 or problem.status_code == 429:
            raise StoreUnreachable(
                f"Qdrant at {where} is not available: {problem.reason_phrase}.",
                remedy="Check the state of the cluster and its disks, then try again.",
            ) from problem
        raise StoreError(
            f"Qdrant at {where} answered {problem.status_code}: {problem.reason_phrase}.",
            remedy="Check the log of the server. If the index is damaged, run: "
            "suffice index --rebuild",
        ) from problem
    except (ResponseHandlingException, OSError) as problem:
        raise StoreUnreachable(
            f"Qdrant at {where} cannot be reached: {problem}.",
            remedy="Start the server, or correct qdrant.url.",
        ) from problem


# One client for each server and process, with its pool of connections.
@lru_cache(maxsize=8)
def _client(url: str, key: str, timeout: float) -> Any:
    qdrant_models()
    from qdrant_client import QdrantClient

    if url == _LOCAL:
        return QdrantClient(_LOCAL)
    client = QdrantClient(
        url=url, api_key=key or None, timeout=max(1, round(timeout)), check_compatibility=False
    )
    with translated(url):
        version = str(client.info().version)
    numbers = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    if numbers < _LEAST_VERSION:
        least = ".".join(map(str, _LEAST_VERSION))
        raise StoreError(
            f"Qdrant at {url} has version {version}; Suffice needs {least} or newer.",
            remedy="Upgrade the server: older versions count words in documents that a caller may "
            "not read.",
        )
    return client
