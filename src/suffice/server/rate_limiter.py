"""Rate limits and budgets of keys and teams, and the headers that report them."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

from suffice.access.keys import Principal
from suffice.access.quotas import COUNTED, Admission, Left, Quotas, Usage, team_holder, team_of
from suffice.access.sign_in import network_of
from suffice.server.errors import ApiError, busy
from suffice.settings import LimitSettings

log = logging.getLogger("suffice.server")
_ADDRESS = "address "
"""Begins the holder of an address's count; ids of keys and teams have no space."""
_LIMIT_TEXT = {
    "requests_per_minute": "{:,.10g} requests per minute",
    "requests_per_day": "{:,.10g} requests per day",
    "requests_per_month": "{:,.10g} requests per month",
    "tokens_per_minute": "{:,.10g} tokens per minute",
    "tokens_per_day": "{:,.10g} tokens per day",
    "tokens_per_month": "{:,.10g} tokens per month",
    "cost_per_day": "a cost of {:,.10g} per day",
    "cost_per_month": "a cost of {:,.10g} per month",
}


class RateLimiter:
    """Enforces the limits of callers and their teams. Requests, tokens and cost are counted in the
    store, across all processes and only for callers with such limits. Concurrent requests are
    counted per process, so that a crash leaves no stale count."""

    def __init__(self, usage: Usage) -> None:
        self._usage = usage
        self._under_way: Counter[str] = Counter()
        # A single thread keeps the order, so that a caller's next request sees all earlier usage.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="usage")

    @contextmanager
    def at_once(
        self, caller: Principal, general: LimitSettings, address: str = "", share: int = 0
    ) -> Iterator[None]:
        """Count a concurrent request. Raise 429 if the caller, its team or the client's address has
        too many. `share` is the limit of a key or address that has no other, so that none can take
        all places by sending slowly; 0 means no limit."""
        holders = {caller.id: limit_of("concurrent", caller, general) or share}
        if address:
            network = f"{_ADDRESS}{network_of(address)}"
            holders[network] = general.concurrent_per_address or share
        if caller.team:
            holders[team_holder(caller.team)] = caller.team_limits.get("concurrent", 0)
        for holder, most in holders.items():
            if 0 < most <= self._under_way[holder]:
                raise _reached(holder, f"{most:g} concurrent requests", 1)
        self._under_way.update(holders.keys())
        try:
            yield
        finally:
            self._under_way.subtract(holders.keys())
            for holder in holders:
                if not self._under_way[holder]:
                    del self._under_way[holder]

    async def count(self, caller: Principal, general: LimitSettings) -> Admission:
        """Count a request and return what is left of the limits. `enforce` raises 429 if nothing
        is."""
        quotas = quotas_of(caller, general)
        if not quotas:
            return Admission()
        return await asyncio.wrap_future(self._thread.submit(self._usage.take, quotas))

    def spent(
        self, caller: Principal, general: LimitSettings, tokens: int, cost: float
    ) -> Future[None] | None:
        """Add the usage of a request. The future completes when it is stored."""
        quotas = quotas_of(caller, general) if tokens or cost else {}
        if not quotas:
            return None
        counted = self._thread.submit(self._usage.add, quotas, tokens, cost)
        counted.add_done_callback(_log_failure)
        return counted

    def close(self) -> None:
        """Wait until all usage is stored."""
        self._thread.shutdown()


def enforce(admission: Admission) -> None:
    """Raise 429 with `Retry-After` if a limit is reached."""
    if over := admission.over:
        most = next(left.limit for left in admission.left if left.name == over.name)
        raise _reached(over.holder, _LIMIT_TEXT[over.name].format(most), over.wait)


def rate_headers(left: Iterable[Left], tokens: int = 0) -> dict[str, str]:
    """OpenAI's `x-ratelimit-…` headers for the request limit and the token limit with the least
    left. `tokens` is the usage of the current request."""
    least: dict[str, Left] = {}
    for limit in left:
        what = COUNTED[limit.name][0]
        if what != "cost" and (what not in least or limit.remaining < least[what].remaining):
            least[what] = limit
    headers = {}
    for what, limit in least.items():
        used = tokens if what == "tokens" else 0
        reset = float(COUNTED[limit.name][1].seconds) if used else limit.reset
        headers[f"x-ratelimit-limit-{what}"] = f"{limit.limit:.0f}"
        headers[f"x-ratelimit-remaining-{what}"] = f"{max(limit.remaining - used, 0):.0f}"
        headers[f"x-ratelimit-reset-{what}"] = duration(reset)
    return headers


def duration(seconds: float) -> str:
    """A duration in OpenAI's format: "6m0s", "1h0m3s", "12ms"."""
    if seconds < 1:
        return f"{max(seconds, 0) * 1e3:.0f}ms"
    minutes, rest = divmod(int(seconds + 0.999), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h{minutes}m{rest}s"
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"


def limit_of(name: str, caller: Principal, general: LimitSettings) -> float:
    """A key's own limit, else the general limit; 0 means no limit."""
    limit: float = caller.limits.get(name, 0) or getattr(general, name)
    return limit


def quotas_of(caller: Principal, general: LimitSettings) -> Quotas:
    """The limits of the caller and of its team that are counted in the store."""
    single = {name: limit_of(name, caller, general) for name in COUNTED}
    shared = {name: caller.team_limits.get(name, 0) for name in COUNTED}
    quotas = {caller.id: _set(single), team_holder(caller.team): _set(shared)}
    return {holder: limits for holder, limits in quotas.items() if limits}


def _set(limits: Mapping[str, float]) -> dict[str, float]:
    return {name: most for name, most in limits.items() if most}


def _reached(holder: str, limit: str, seconds: float) -> ApiError:
    team = team_of(holder)
    whose = f"the team '{team}'" if team else "this key"
    if holder.startswith(_ADDRESS):
        whose = "this client address"
    return busy(f"Limit reached for {whose}: {limit}.", seconds)


def _log_failure(counted: Future[None]) -> None:
    """Log usage that could not be stored. By then, a stream has already been sent."""
    if problem := counted.exception():
        log.warning("Could not count the usage of a request: %s", problem)
