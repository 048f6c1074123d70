"""Cancels work that runs in a thread: the work checks its deadline between steps.

A deadline passes when its time is up or it is cancelled. It belongs to the context of the work
(like the timeout of an asyncio task), so checks and models need no parameter for it. Without a
deadline, nothing is ever cancelled.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic
from typing import TypeVar

T = TypeVar("T")


class Cancelled(BaseException):
    """The deadline of this work has passed. As in asyncio, it is not an `Exception`, so that no
    `except Exception` clause mistakes it for a failure and continues."""


class Deadline:
    """A time limit of `seconds` for some work; `None` sets no limit, but the work can be
    cancelled."""

    __slots__ = ("_cancelled", "_until")

    def __init__(self, seconds: float | None = None) -> None:
        self._until = None if seconds is None else monotonic() + seconds
        self._cancelled = False

    def cancel(self) -> None:
        self._cancelled = True

    @property
    def passed(self) -> bool:
        return self._cancelled or (self._until is not None and monotonic() >= self._until)

    @property
    def left(self) -> float | None:
        """The seconds left; `None` if there is no time limit."""
        if self._cancelled:
            return 0.0
        return None if self._until is None else max(self._until - monotonic(), 0.0)


class LastOf(Deadline):
    """For work that several callers share: passes when all of their deadlines have passed. A caller
    without a deadline keeps the work going."""

    __slots__ = ("_all",)

    def __init__(self, all_: Sequence[Deadline | None]) -> None:
        super().__init__()
        self._all = tuple(all_)

    @property
    def passed(self) -> bool:
        return all(one is not None and one.passed for one in self._all)

    @property
    def left(self) -> float | None:
        known = [None if one is None else one.left for one in self._all]
        times = [one for one in known if one is not None]
        return max(times) if len(times) == len(known) else None


_CURRENT: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


def current() -> Deadline | None:
    """The deadline of the running work."""
    return _CURRENT.get()


@contextmanager
def within(deadline: Deadline | None) -> Iterator[None]:
    """Run the block with this deadline."""
    token = _CURRENT.set(deadline)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def check() -> None:
    """Raise `Cancelled` if the deadline of the running work has passed."""
    deadline = _CURRENT.get()
    if deadline is not None and deadline.passed:
        raise Cancelled


def watched(items: Iterable[T]) -> Iterator[T]:
    """Yield the items, checking the deadline before each."""
    for item in items:
        check()
        yield item
