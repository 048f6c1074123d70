"""Validation of settings, whether they come from a file, the environment or code."""

from __future__ import annotations

import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union

from suffice.errors import SettingsError

T = TypeVar("T")

ABOUT = "about"
"""The metadata key that holds a setting's description."""
READ_ONLY = "read_only"
"""The metadata key that marks a setting that only the program sets."""


def setting(default: T, about: str, *, read_only: bool = False) -> T:
    """A dataclass field with a description for docs/reference/settings.md. If `read_only`, neither
    a file nor the environment may set it."""
    return field(default=default, metadata={ABOUT: about, READ_ONLY: read_only})


@dataclass(frozen=True, slots=True)
class Range:
    """The range of allowed numbers, inclusive."""

    low: float
    high: float

    def __str__(self) -> str:
        return f"a number from {self.low:,.15g} to {self.high:,.15g}"


@dataclass(frozen=True, slots=True)
class AtMost:
    """Names a setting of the same group that this setting must not exceed."""

    key: str

    def __str__(self) -> str:
        return f"at most `{self.key}`"


Share = Annotated[float, Range(0, 1)]
Count = Annotated[int, Range(1, 1_000_000)]
Weight = Annotated[float, Range(0, 2)]


class Checked:
    """Base class of every group of settings: validates the values on construction."""

    __slots__ = ()

    def __post_init__(self) -> None:
        kind: Any = type(self)
        hints, group = hints_of(kind), kind.__name__
        for item in fields(self):  # type: ignore[arg-type]
            value = getattr(self, item.name)
            allowed = not_allowed(hints[item.name], value)
            if allowed:
                raise bad_value(group, item.name, value, allowed)
        for key, other in orders(hints):
            low, high = getattr(self, key), getattr(self, other)
            if low > high:
                raise bad_value(group, key, low, f"at most '{other}', which is {high:g}")


@cache
def hints_of(group: Any) -> Mapping[str, Any]:
    return typing.get_type_hints(group, include_extras=True)


def optional(hint: Any) -> bool:
    """Whether a setting may be empty."""
    return typing.get_origin(hint) in (Union, UnionType) and NoneType in typing.get_args(hint)


def given(hint: Any) -> Any:
    """The type of a setting that is not empty."""
    kinds = [one for one in typing.get_args(hint) if one is not NoneType]
    return kinds[0] if optional(hint) and len(kinds) == 1 else hint


def orders(hints: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Pairs of settings in a group; the first must not exceed the second."""
    for key, hint in hints.items():
        for limit in typing.get_args(hint):
            if isinstance(limit, AtMost):
                yield key, limit.key


def not_allowed(hint: Any, value: Any) -> str:
    """Describe the allowed values if this value is not allowed; otherwise return ''."""
    if value is None and optional(hint):
        return ""
    hint = given(hint)
    if typing.get_origin(hint) is Annotated:
        kind, *limits = typing.get_args(hint)
        limit = next(limit for limit in limits if isinstance(limit, Range))
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if number and limit.low <= value <= limit.high and (kind is float or value == int(value)):
            return ""
        return f"{'a whole ' if kind is int else 'a '}{str(limit).removeprefix('a ')}"
    if typing.get_origin(hint) is Literal:
        choices = typing.get_args(hint)
        return "" if value in choices else "one of " + ", ".join(map(str, choices))
    return ""


def bad_value(origin: str, where: str, raw: Any, allowed: str) -> SettingsError:
    return SettingsError(f"{origin}: '{where}' is {raw!r}.", remedy=f"Allowed: {allowed}.")
