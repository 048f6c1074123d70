"""Validation of settings, whether they come from a file, the environment or code."""

from __future__ import annotations

import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, Literal, TypeVar

from msgspec import Meta

from suffice.errors import SettingsError
from suffice.validation import allowed, fits, hints_of, required

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
class AtMost:
    """Names a setting of the same group that this setting must not exceed."""

    key: str

    def __str__(self) -> str:
        return f"at most `{self.key}`"


Share = Annotated[float, Meta(ge=0, le=1)]
Count = Annotated[int, Meta(ge=1, le=1_000_000)]
Weight = Annotated[float, Meta(ge=0, le=2)]


class Checked:
    """Base class of every group of settings: validates the values on construction."""

    __slots__ = ()

    def __post_init__(self) -> None:
        kind: Any = type(self)
        hints, group = hints_of(kind), kind.__name__
        for item in fields(self):  # type: ignore[arg-type]
            value, hint = getattr(self, item.name), hints[item.name]
            limited = typing.get_origin(required(hint)) in (Annotated, Literal)
            if limited and not fits(value, hint):
                raise bad_value(group, item.name, value, allowed(required(hint)))
        for key, other in orders(hints):
            low, high = getattr(self, key), getattr(self, other)
            if low > high:
                raise bad_value(group, key, low, f"at most '{other}', which is {high:g}")


def orders(hints: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Pairs of settings in a group; the first must not exceed the second."""
    for key, hint in hints.items():
        for limit in typing.get_args(hint):
            if isinstance(limit, AtMost):
                yield key, limit.key


def bad_value(origin: str, where: str, raw: Any, allowed: str) -> SettingsError:
    return SettingsError(f"{origin}: '{where}' is {raw!r}.", remedy=f"Allowed: {allowed}.")
