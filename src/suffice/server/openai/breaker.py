"""A circuit breaker: stop calling an upstream that keeps failing, then try a single request."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from suffice.settings import BreakerSettings


class State(StrEnum):
    CLOSED = "closed"
    """Requests are sent."""
    HALF_OPEN = "half_open"
    """The pause is over. One trial request at a time decides whether to close again."""
    OPEN = "open"
    """No request is sent."""


@dataclass(slots=True)
class Breaker:
    """Counts consecutive faults. Call `enter` before a request. If it returns true, call exactly
    one of `succeeded`, `failed` and `left` afterwards. Not thread-safe."""

    settings: BreakerSettings = field(default_factory=BreakerSettings)
    clock: Callable[[], float] = time.monotonic
    limited: bool = False
    """Whether the last fault was a rate limit."""
    _faults: int = 0
    _until: float | None = None
    """When the pause ends; `None` if closed."""
    _trying: bool = False

    @property
    def state(self) -> State:
        if self._until is None:
            return State.CLOSED
        return State.OPEN if self.clock() < self._until else State.HALF_OPEN

    @property
    def ready(self) -> bool:
        """Whether `enter` would return true."""
        state = self.state
        return state is State.CLOSED or (state is State.HALF_OPEN and not self._trying)

    @property
    def wait(self) -> float:
        """Seconds until the pause ends."""
        return max((self._until or 0.0) - self.clock(), 0.0)

    def enter(self) -> bool:
        if not self.ready:
            return False
        self._trying = self.state is State.HALF_OPEN
        return True

    def succeeded(self) -> None:
        self._faults, self._until, self._trying = 0, None, False

    def failed(self, wait: float = 0.0, *, limited: bool = False) -> None:
        """Count a fault. The pause is at least as long as the upstream asks to wait."""
        self._faults, self.limited = self._faults + 1, limited
        most = self.settings.faults
        if self._trying or (most and self._faults >= most):
            self._until = self.clock() + max(self.settings.seconds, wait)
        self._trying = False

    def left(self) -> None:
        """End a request without a result, for example because the client disconnected."""
        self._trying = False
