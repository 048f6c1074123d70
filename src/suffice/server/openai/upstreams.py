"""Several upstreams of a route, chosen by weight, each with a circuit breaker and fallback.

If an upstream fails before its first token (connection, timeout, rate limit, server error), the
next one is called. An error in the request itself is returned at once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from suffice.models.wire.failures import CallFailed, Kind
from suffice.server.openai.breaker import Breaker
from suffice.server.openai.upstream import CHAT, Body, Upstream, UpstreamFault
from suffice.server.telemetry.stats import fell_back

log = logging.getLogger("suffice.server")
_PAUSED = "The upstream returned no answer: all upstreams of this route are paused after failures."


@dataclass(slots=True)
class Target:
    """One upstream of a route. `current` is its turn in the smooth weighted round-robin."""

    name: str
    upstream: Upstream
    weight: int = 1
    model: str = ""
    models: Mapping[str, str] = field(default_factory=dict)
    first_token: float = 0.0
    breaker: Breaker = field(default_factory=Breaker)
    current: int = 0

    def body(self, body: Body) -> Body:
        """The request body with this upstream's name for the model."""
        asked = body.get("model") or ""
        name = self.models.get(asked) or self.model or asked
        return body if name == asked else {**body, "model": name}

    def first(self, until: float) -> float:
        """The deadline for the first token."""
        now = asyncio.get_running_loop().time()
        return min(until, now + self.first_token) if self.first_token else until

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Report the result of a call to the breaker."""
        try:
            yield
        except UpstreamFault as fault:
            if fault.passed:  # the upstream works; the request is at fault
                self.breaker.succeeded()
            else:
                self.breaker.failed(fault.wait, limited=fault.kind is Kind.RATE_LIMIT)
            raise
        except BaseException:
            self.breaker.left()
            raise
        self.breaker.succeeded()


@dataclass(frozen=True, slots=True)
class Upstreams:
    """Calls the upstreams of a route; used like a single `Upstream`."""

    targets: Sequence[Target]
    timeout: float = 120.0

    @property
    def states(self) -> dict[str, str]:
        """The state of each circuit breaker."""
        return {one.name: one.breaker.state.value for one in self.targets}

    async def ask(self, body: Body, path: str = CHAT) -> dict[str, Any]:
        until = self._until()
        return await self._first(
            lambda target, one: one.ask(target.body(body), path, until=target.first(until))
        )

    async def get(self, path: str) -> dict[str, Any]:
        until = self._until()
        return await self._first(lambda target, one: one.get(path, until=target.first(until)))

    async def events(self, body: Body, path: str = CHAT) -> AsyncGenerator[dict[str, Any], None]:
        """The chunks of the first upstream that sends a token."""
        until, faults = self._until(), list[UpstreamFault]()
        for target, one in self._tries(faults):
            async with aclosing(one.events(target.body(body), path, until=until)) as events:
                try:
                    with target.counted():
                        begun = await _begun(events, path, target.first(until), one)
                except UpstreamFault as fault:
                    self._noted(target, fault, faults)
                    continue
                for value in begun:
                    yield value
                async for value in events:
                    yield value
                return
        raise _told(faults, self.targets)

    async def _first(
        self, call: Callable[[Target, Upstream], Awaitable[dict[str, Any]]]
    ) -> dict[str, Any]:
        faults = list[UpstreamFault]()
        for target, one in self._tries(faults):
            try:
                with target.counted():
                    return await call(target, one)
            except UpstreamFault as fault:
                self._noted(target, fault, faults)
        raise _told(faults, self.targets)

    def _tries(self, faults: Sequence[UpstreamFault]) -> Iterator[tuple[Target, Upstream]]:
        """The upstreams to call, in order. Only the last call is retried."""
        ready = [one for one in self._ordered() if one.breaker.ready]
        for n, target in enumerate(ready):
            # Another request may already be the trial of a half-open breaker.
            if not target.breaker.enter():
                continue
            if faults:
                log.warning("Upstream fallback: trying '%s'.", target.name)
            last = n == len(ready) - 1
            yield target, target.upstream if last else replace(target.upstream, retries=0)

    def _ordered(self) -> list[Target]:
        """The next upstream by smooth weighted round-robin, then the others by weight."""
        ready = [one for one in self.targets if one.weight and one.breaker.ready]
        for one in ready:
            one.current += one.weight
        chosen = max(ready, key=lambda one: one.current, default=None)
        if chosen is not None:
            chosen.current -= sum(one.weight for one in ready)
        return sorted(self.targets, key=lambda one: (one is not chosen, -one.weight))

    def _noted(self, target: Target, fault: UpstreamFault, faults: list[UpstreamFault]) -> None:
        if fault.passed:
            raise fault
        faults.append(fault)
        fell_back(target.name)

    def _until(self) -> float:
        return asyncio.get_running_loop().time() + self.timeout


async def _begun(
    events: AsyncGenerator[dict[str, Any], None], path: str, first: float, upstream: Upstream
) -> list[dict[str, Any]]:
    """The chunks up to the first chunk with a token."""
    held = []
    try:
        async with asyncio.timeout_at(first):
            async for value in events:
                held.append(value)
                if path != CHAT or _has_token(value):
                    break
    except TimeoutError:
        raise upstream.late() from None
    return held


def _has_token(value: Mapping[str, Any]) -> bool:
    """Whether a chunk contains more than a role."""
    choices = value.get("choices")
    for choice in choices if isinstance(choices, list) else ():
        if not isinstance(choice, dict):
            continue
        said = choice.get("delta") or choice.get("message")
        fields = said.items() if isinstance(said, dict) else ()
        if choice.get("finish_reason") or any(v for name, v in fields if name != "role"):
            return True
    return False


def _told(faults: Sequence[UpstreamFault], targets: Sequence[Target]) -> UpstreamFault:
    """The fault to report: a rate limit if there is one, because it says when to retry."""
    limited = [one for one in faults if one.kind is Kind.RATE_LIMIT]
    if limited:
        return min(limited, key=lambda one: one.wait)
    if faults:
        return faults[-1]
    breakers = [one.breaker for one in targets]
    kind = Kind.RATE_LIMIT if all(one.limited for one in breakers) else Kind.OPEN
    wait = min(one.wait for one in breakers)
    return UpstreamFault(CallFailed(_PAUSED, kind=kind, wait=wait))
