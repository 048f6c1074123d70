"""The limits a setting may have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated


@dataclass(frozen=True, slots=True)
class Range:
    """The numbers a setting may take, ends included."""

    low: float
    high: float

    def __str__(self) -> str:
        return f"a number from {self.low:g} to {self.high:g}"


@dataclass(frozen=True, slots=True)
class AtMost:
    """The setting of the same group that this one may not be above."""

    key: str

    def __str__(self) -> str:
        return f"at most `{self.key}`"


Share = Annotated[float, Range(0, 1)]
Count = Annotated[int, Range(1, 1_000_000)]
Weight = Annotated[float, Range(0, 2)]
