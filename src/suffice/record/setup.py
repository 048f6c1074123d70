"""The setup: settings, models and package versions that decisions were made with.

It is a record of its own, written once, and named by its hash in each decision: the chain holds it
like any other.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any
from urllib.parse import urlsplit

from suffice.errors import StoreError
from suffice.log.canonical import canonical, digest
from suffice.log.entry import Entry
from suffice.log.record import Record
from suffice.record.codec import plain, value_of
from suffice.settings import CollectionSettings, EmbedderSettings, Settings, VerifierSettings

SETUP = "setup"
_PACKAGES = (
    "suffice onnxruntime tokenizers numpy qdrant-edge-py sqlalchemy suffice-strong huggingface_hub"
).split()
_USER = re.compile(r"(?<=://)[^/?#@]*@")


@dataclass(frozen=True, slots=True)
class Setup:
    """`door` is where a decision is made: "pipeline", or "answers" for anyone's answer; `options`
    what was asked for there beside the settings."""

    settings: CollectionSettings = field(default_factory=CollectionSettings)
    embedder: EmbedderSettings = field(default_factory=EmbedderSettings)
    verifier: VerifierSettings = field(default_factory=VerifierSettings)
    models: Mapping[str, str] = field(default_factory=dict)
    """The ids of embedder and verifier, which name their weights exactly."""
    door: str = "pipeline"
    options: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        settings: Settings,
        collection: CollectionSettings,
        embedder: str,
        verifier: str,
        **more: Any,
    ) -> Setup:
        """The setup of decisions on a collection, with the ids of the models."""
        models = {"embedder": embedder, "verifier": verifier}
        return cls(collection, settings.embedder, settings.verifier, models, **more)

    def record(self) -> Record:
        """Named by its content, so that it is in the log once."""
        said = {
            "settings": plain(_unsecret(self.settings), whole=True),
            "embedder": plain(_unsecret(self.embedder), whole=True),
            "verifier": plain(_unsecret(self.verifier), whole=True),
            "models": dict(self.models),
            "door": self.door,
            "options": dict(self.options),
            "packages": versions(),
        }
        name = digest(canonical(said).encode()).partition(":")[2][:32]
        return Record(SETUP, said, id=f"{SETUP}-{name}", once=True)


def setup_of(entry: Entry) -> tuple[Setup, Mapping[str, str]]:
    """The setup that a record holds, and the package versions of then."""
    if entry.kind != SETUP:
        raise StoreError(f"Record {entry.id} is no setup.", remedy="Run: suffice audit verify")
    said = entry.fields()
    packages = said.pop("packages", {})
    return value_of(Setup, said), packages


@lru_cache(maxsize=1)
def versions() -> Mapping[str, str]:
    """Of Python and of what is installed; an extra may not be."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def _unsecret(settings: Any) -> Any:
    """The settings without what a URL may hide: a user with a password, the path of a webhook."""
    if isinstance(settings, EmbedderSettings):
        return replace(settings, model=_USER.sub("", settings.model))
    if isinstance(settings, VerifierSettings):
        llm = replace(settings.llm, url=_USER.sub("", settings.llm.url))
        return replace(settings, llm=llm)
    draft, judge, verdict = settings.draft, settings.judge, settings.verdict
    hook = urlsplit(verdict.webhook)
    host = f"{hook.scheme}://{hook.hostname}" if hook.hostname else ""
    return replace(
        settings,
        draft=replace(draft, llm=_USER.sub("", draft.llm)),
        judge=replace(judge, llm=_USER.sub("", judge.llm)),
        verdict=replace(verdict, webhook=host),
    )
