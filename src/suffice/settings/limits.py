"""The building blocks of a setting: its description and its allowed values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, TypeVar

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
