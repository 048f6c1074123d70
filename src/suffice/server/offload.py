"""Run work on large texts in a thread, so that it does not block the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
LARGE = 32_000
"""Size in characters or bytes up to which a thread costs more than it saves."""


async def offload(size: int, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function, in a thread if the size of its input is large."""
    if size <= LARGE:
        return call(*args, **kwargs)
    return await asyncio.to_thread(call, *args, **kwargs)


def taken(values: Iterable[T]) -> tuple[list[T], Exception | None]:
    """The values up to the first exception, and the exception, if any."""
    found: list[T] = []
    try:
        for value in values:
            found.append(value)
    except Exception as problem:  # for the caller to raise after the values
        return found, problem
    return found, None
