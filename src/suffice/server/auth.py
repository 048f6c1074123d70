"""Authentication by API key, and rate limits for each caller."""

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
"""The caller without a key on an open gateway: sees public documents only, and has no limits
except those of the settings."""
_LOCAL = frozenset({"127.0.0.1", "localhost", "::1"})
_KEY_PREFIX = "sk-suffice-"
_UNKNOWN = "Invalid API key: it is unknown or was revoked."
_NO_KEY = "Missing API key. Send it as 'Authorization: Bearer sk-suffice-…' or 'x-api-key'."
_PROXIED = (
    "This request came through a proxy (forwarded headers), and the gateway requires no keys: it "
    "would be open to everybody. Create keys with `suffice keys create NAME` and set `server.keys: "
    "required`, or set `server.keyless_forwarded: true` if the proxy authenticates callers."
)
_FORWARDED = frozenset({"forwarded", "x-real-ip"})
_FORWARDED_PREFIX = "x-forwarded-"
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^:\[\]]*)(?::\d{0,5})?", re.ASCII)
_LIMIT_TEXT = {
    "requests_per_minute": "{:g} requests per minute",
    "tokens_per_minute": "{:g} tokens per minute",
    "tokens_per_day": "{:g} tokens per day",
    "cost_per_day": "a cost of {:g} per day",
}


def is_local(host: str) -> bool:
    """Whether an address accepts connections from this machine only."""
    return host.strip("[]") in _LOCAL


@dataclass(frozen=True, slots=True)
class Authenticator:
    """Authenticates callers by their keys. `open` also accepts callers without a key; it is meant
    for gateways that listen on this machine only."""

    principals: Principals
    open: bool = False
    forwarded: bool = False
    """Whether callers without a key may come through a reverse proxy."""

    def enter(self, authorization: str, host: str, proxied: bool = False) -> Principal:
        """Return the owner of the key. Hashes are compared in constant time (see `Principals`)."""
        kind, _, secret = authorization.partition(" ")
        secret = secret.strip() if kind.lower() == "bearer" else ""
        if secret.isascii() and (found := self.principals.authenticate(secret)):
            return found
        if not self.open or secret.startswith(_KEY_PREFIX):
            raise ApiError(401, _UNKNOWN if secret else _NO_KEY, "invalid_api_key")
        # DNS rebinding: a web page can reach this machine under a host name of its own.
        if not is_local(_host_name(host)):
            raise ApiError(
                403, f"Without a key, only requests to a local host are accepted, not to '{host}'."
            )
        # A reverse proxy on this machine makes everybody look local.
        if proxied and not self.forwarded:
            raise ApiError(403, _PROXIED, "key_required")
        return ANYONE


async def entered(authenticator: Authenticator, headers: Mapping[str, str]) -> Principal:
    """Authenticate a request by its headers. The store is queried only if a key was sent."""
    authorization, host = headers.get("authorization", ""), headers.get("host", "")
    if not authorization and (key := headers.get("x-api-key")):  # as Anthropic's clients send it
        authorization = f"Bearer {key}"
    proxied = any(name in _FORWARDED or name.startswith(_FORWARDED_PREFIX) for name in headers)
    if _KEY_PREFIX in authorization:
        return await asyncio.to_thread(authenticator.enter, authorization, host, proxied)
    return authenticator.enter(authorization, host, proxied)


def _host_name(host: str) -> str:
    """The name in a Host header, without its port; empty if the header is malformed."""
    found = _HOST.fullmatch(host.lower())
    return found[1].removesuffix(".") if found else ""


class RateLimiter:
    """Limits for each caller. Requests, tokens and cost are counted in the store, across all
    processes and only for callers that have such limits. Concurrent requests are counted by each
    process, so that a process that crashes leaves no count behind."""

    def __init__(self, usage: Usage) -> None:
        self._usage = usage
        self._under_way: Counter[str] = Counter()
        # One thread keeps the order: a caller's next request sees all earlier usage.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="usage")

    @contextmanager
    def at_once(self, caller: Principal, general: LimitSettings) -> Iterator[None]:
        """Count one concurrent request; raise 429 if the caller has too many."""
        most = limit_of("concurrent", caller, general)
        if 0 < most <= self._under_way[caller.id]:
            raise busy(f"Limit reached for this key: {most:g} concurrent requests.", 1)
        self._under_way[caller.id] += 1
        try:
            yield
        finally:
            self._under_way[caller.id] -= 1
            if not self._under_way[caller.id]:
                del self._under_way[caller.id]

    async def count(self, caller: Principal, general: LimitSettings) -> None:
        """Count a request; raise 429 with `Retry-After` if a limit is reached."""
        held = held_to(caller, general)
        if not held:
            return
        taken = self._thread.submit(self._usage.take, caller.id, held)
        if over := await asyncio.wrap_future(taken):
            limit = _LIMIT_TEXT[over.name].format(held[over.name])
            raise busy(f"Limit reached for this key: {limit}.", over.wait)

    def spent(
        self, caller: Principal, general: LimitSettings, tokens: int, cost: float
    ) -> Future[None] | None:
        """Add the usage of a request. The future completes when the store has it."""
        held = held_to(caller, general) if tokens or cost else {}
        if not held:
            return None
        counted = self._thread.submit(self._usage.add, caller.id, held, tokens, cost)
        counted.add_done_callback(_log_failure)
        return counted

    def close(self) -> None:
        """Wait until all usage is stored."""
        self._thread.shutdown()


def _log_failure(counted: Future[None]) -> None:
    """Log usage that could not be stored: a stream has already been sent by then."""
    if problem := counted.exception():
        log.warning("The usage of a request could not be counted: %s", problem)


def limit_of(name: str, caller: Principal, general: LimitSettings) -> float:
    """A key's own limit, else the general one; 0 means no limit."""
    found: float = caller.limits.get(name, 0) or getattr(general, name)
    return found


def held_to(caller: Principal, general: LimitSettings) -> Mapping[str, float]:
    """The caller's limits that are counted in the store."""
    found = {name: limit_of(name, caller, general) for name in COUNTED}
    return {name: most for name, most in found.items() if most}
