"""Rules that can be disabled, to measure the effect of each.

A rule is a function that may change or reject its input. If disabled, it changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
RULES: set[str] = set()
"""The names of all rules whose modules are loaded."""
_off: frozenset[str] = frozenset()


class _Named(Protocol):
    def __call__(self, call: Callable[P, R], /) -> Callable[P, R]: ...


def rule(name: str, passes: Callable[..., Any]) -> _Named:
    """Register a rule by name; `passes` is called instead while it is disabled."""
    RULES.add(name)

    def named(call: Callable[P, R], /) -> Callable[P, R]:
        @wraps(call)
        def switched(*given: P.args, **more: P.kwargs) -> R:
            result: R = (passes if name in _off else call)(*given, **more)
            return result

        return switched

    return named


@contextmanager
def rules_off(names: Iterable[str]) -> Iterator[None]:
    """Disable these rules inside the block, in every thread of the process."""
    global _off
    before, _off = _off, _off | frozenset(names)
    try:
        yield
    finally:
        _off = before
