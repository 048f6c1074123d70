"""Readiness checks for `/readyz`."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from time import monotonic

from suffice.access.keys import Role
from suffice.errors import StoreError
from suffice.server.gateway import Gateway

_SECONDS = 2.0
_FRESH = 1.0
"""Seconds to reuse a result, so that frequent probes do not load the store."""
_SPARE_BYTES = 16_000_000


@dataclass(frozen=True, slots=True)
class Readiness:
    """`failed` checks, and `conditions` that do not prevent readiness, each with a remedy."""

    failed: Mapping[str, str] = field(default_factory=dict)
    conditions: Mapping[str, str] = field(default_factory=dict)


class Health:
    """Checks the store, the disk and the index."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._looked = -_FRESH
        self._found = Readiness()

    async def readiness(self) -> Readiness:
        if monotonic() - self._looked >= _FRESH:
            try:
                async with asyncio.timeout(_SECONDS):
                    self._found = await asyncio.to_thread(self._look)
            except TimeoutError:
                why = f"The store did not answer within {_SECONDS:g} s; it may be locked."
                self._found = Readiness({"store": why})
            self._looked = monotonic()
        return self._found

    def _look(self) -> Readiness:
        store = self._gateway.library.store
        try:
            with store.database.writing():  # the store must be writable: every answer is recorded
                pass
            empty = self._empty(set(store.collections()))
            uploads = bool(empty) and self._uploads
        except StoreError as problem:
            return Readiness({"store": type(problem).__name__, **self._disk()})
        if not empty:
            return Readiness(self._disk())
        named = f"No documents in the collection {', '.join(map(repr, empty))}."
        if uploads:
            why = f"{named} Upload some with `POST /v1/documents`, or run `suffice index`."
            return Readiness(self._disk(), {"index": why})
        why = (
            f"{named} Run `suffice index`, create a key with the role librarian to upload some, "
            "or set `evidence: request` for routes that do not search."
        )
        return Readiness({**self._disk(), "index": why})

    def _empty(self, known: set[str]) -> list[str]:
        """The collections that routes search but that have no documents."""
        routes = self._gateway.state.routes.values()
        searched = {
            one.settings.collection
            for one in routes
            if one.settings.grounding and one.settings.evidence != "request"
        }
        return sorted(searched - known)

    @property
    def _uploads(self) -> bool:
        """Whether an empty collection is acceptable, because documents can be uploaded."""
        wanted = self._gateway.state.settings.server.ready_without_documents
        if wanted != "auto":
            return wanted == "always"
        principals = self._gateway.authenticator.principals
        return any(
            one.has(Role.LIBRARIAN) and not principals.expired(one) for one in principals.all()
        )

    def _disk(self) -> dict[str, str]:
        path = self._gateway.library.store.database.path
        if path is None:
            return {}
        free = shutil.disk_usage(path.parent).free
        if free >= _SPARE_BYTES:
            return {}
        return {"disk": f"Only {free / 1e6:.0f} MB are free for the store. Free some space."}
