"""Who calls: by which key, with which rights; and whether a caller asks for too much."""

from __future__ import annotations

import asyncio
import logging
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

from suffice.access.keys import ANYONE_NAME, Principal, Principals
from suffice.access.quotas import COUNTED, Usage
from suffice.server.errors import ApiError, busy
from suffice.settings import LimitSettings

log = logging.getLogger("suffice.server")
ANYONE = Principal("", ANYONE_NAME)
"""Whoever calls a gateway that asks for no key: public documents, no limits but the settings'."""
_LOCAL = frozenset({"127.0.0.1", "localhost", "::1"})
_OURS = "sk-suffice-"
_UNKNOWN = "The API key is not known, or was revoked."
_NO_KEY = "No API key was sent. Send one as 'Authorization: Bearer sk-suffice-…'."
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^:\[\]]*)(?::\d{0,5})?", re.ASCII)
_SAID = {
    "requests_per_minute": "{:g} requests a minute",
    "tokens_per_minute": "{:g} tokens a minute",
    "tokens_per_day": "{:g} tokens a day",
    "cost_per_day": "a cost of {:g} a day",
}


def is_local(host: str) -> bool:
    """Whether an address is reached from this machine alone."""
    return host.strip("[]") in _LOCAL


@dataclass(frozen=True, slots=True)
class Authenticator:
    """Lets callers in by their keys; `open`: also without one, which is for this machine alone."""

    principals: Principals
    open: bool = False

    def enter(self, authorization: str, host: str) -> Principal:
        """Whose key this is. A hash is compared, in constant time (see `Principals`)."""
        kind, _, secret = authorization.partition(" ")
        secret = secret.strip() if kind.lower() == "bearer" else ""
        if secret.isascii() and (found := self.principals.authenticate(secret)):
            return found
        if not self.open or secret.startswith(_OURS):
            raise ApiError(401, _UNKNOWN if secret else _NO_KEY, "invalid_api_key")
        # A page in a browser can send a request to this machine under a name of its own.
        if not is_local(_named(host)):
            raise ApiError(403, f"This gateway answers on this machine only, not as '{host}'.")
        return ANYONE


async def entered(authenticator: Authenticator, headers: Mapping[str, str]) -> Principal:
    """Who sends these headers. Only where one of our keys is shown, the store is asked."""
    authorization, host = headers.get("authorization", ""), headers.get("host", "")
    if _OURS in authorization:
        return await asyncio.to_thread(authenticator.enter, authorization, host)
    return authenticator.enter(authorization, host)


def _named(host: str) -> str:
    """The name in a Host header, without its port; empty where it is none."""
    found = _HOST.fullmatch(host.lower())
    return found[1].removesuffix(".") if found else ""


class RateLimiter:
    """What each caller may ask for. Requests, tokens and cost are counted in the store, by all
    processes together and only for callers that are held to them; requests at once by each
    process for itself, so that one that crashes leaves none behind."""

    def __init__(self, usage: Usage) -> None:
        self._usage = usage
        self._under_way: Counter[str] = Counter()
        # One thread, in order: who asks again finds all counted that was told here before.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="usage")

    @contextmanager
    def at_once(self, caller: Principal, general: LimitSettings) -> Iterator[None]:
        """One request of a caller among those under way; refused where it is one too many."""
        most = limit_of("concurrent", caller, general)
        if 0 < most <= self._under_way[caller.id]:
            raise busy(f"At most {most:g} requests at once with this key.", 1)
        self._under_way[caller.id] += 1
        try:
            yield
        finally:
            self._under_way[caller.id] -= 1
            if not self._under_way[caller.id]:
                del self._under_way[caller.id]

    async def count(self, caller: Principal, general: LimitSettings) -> None:
        """Counts a request; refused, with a time to come again, where a limit is reached."""
        held = held_to(caller, general)
        if not held:
            return
        taken = self._thread.submit(self._usage.take, caller.id, held)
        if over := await asyncio.wrap_future(taken):
            said = _SAID[over.name].format(held[over.name])
            raise busy(f"At most {said} with this key.", over.wait)

    def spent(
        self, caller: Principal, general: LimitSettings, tokens: int, cost: float
    ) -> Future[None] | None:
        """Adds what a request of a caller used; done when the store has it."""
        held = held_to(caller, general) if tokens or cost else {}
        if not held:
            return None
        counted = self._thread.submit(self._usage.add, caller.id, held, tokens, cost)
        counted.add_done_callback(_told)
        return counted

    def close(self) -> None:
        """All that was spent is counted when this returns."""
        self._thread.shutdown()


def _told(counted: Future[None]) -> None:
    """A stream has left before what it cost is counted: then the log is all that can be told."""
    if problem := counted.exception():
        log.warning("What a request used could not be counted: %s", problem)


def limit_of(name: str, caller: Principal, general: LimitSettings) -> float:
    """A key's own limit, else the general one; 0: there is none."""
    found: float = caller.limits.get(name, 0) or getattr(general, name)
    return found


def held_to(caller: Principal, general: LimitSettings) -> Mapping[str, float]:
    """The limits of a caller that the store counts."""
    found = {name: limit_of(name, caller, general) for name in COUNTED}
    return {name: most for name, most in found.items() if most}
