"""Whether the gateway can do its work: the parts that `/readyz` looks at."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Mapping
from time import monotonic

from suffice.errors import StoreError
from suffice.server.gateway import Gateway

_SECONDS = 2.0
_FRESH = 1.0
"""Seconds for which a result is reused, so that frequent probes do not load the store."""
_SPARE_BYTES = 16_000_000


class Health:
    """Looks at the store, the disk and the index."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._looked = -_FRESH
        self._found: Mapping[str, str] = {}

    async def failed(self) -> Mapping[str, str]:
        """The parts that failed, each with its reason and what to do; empty if all work."""
        if monotonic() - self._looked >= _FRESH:
            try:
                async with asyncio.timeout(_SECONDS):
                    self._found = await asyncio.to_thread(self._look)
            except TimeoutError:
                why = f"The store did not answer within {_SECONDS:g} s; it may be locked."
                self._found = {"store": why}
            self._looked = monotonic()
        return self._found

    def _look(self) -> dict[str, str]:
        store = self._gateway.library.store
        try:
            with store.database.writing():  # a record is written for every answer
                pass
            known = set(store.collections())
        except StoreError as problem:
            return {"store": type(problem).__name__, **self._disk()}
        found = self._disk()
        routes = self._gateway.state.routes.values()
        searched = {
            one.settings.collection
            for one in routes
            if one.settings.grounding and one.settings.evidence != "request"
        }
        if empty := sorted(searched - known):
            named = ", ".join(f"'{name}'" for name in empty)
            found["index"] = (
                f"No documents in the collection {named}. Add some with `suffice index`, or set "
                "`evidence: request` for routes that do not search."
            )
        return found

    def _disk(self) -> dict[str, str]:
        path = self._gateway.library.store.database.path
        if path is None:
            return {}
        free = shutil.disk_usage(path.parent).free
        if free >= _SPARE_BYTES:
            return {}
        return {"disk": f"Only {free / 1e6:.0f} MB are free for the store. Free some space."}
