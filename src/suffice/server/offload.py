"""Work that grows with a text runs outside the event loop, which must stay free for others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
LARGE = 32_000
"""Characters or bytes up to which a thread would cost more than it saves."""


async def offload(size: int, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function on an input of this size: in a thread if it is large."""
    if size <= LARGE:
        return call(*args, **kwargs)
    return await asyncio.to_thread(call, *args, **kwargs)


def taken(values: Iterable[T]) -> tuple[list[T], Exception | None]:
    """All values up to the first failure, and the failure."""
    found: list[T] = []
    try:
        for value in values:
            found.append(value)
    except Exception as problem:  # for the caller to raise after the values
        return found, problem
    return found, None
