"""What a literal is: a piece of text that can be compared exactly, with the value it stands for."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum


class LiteralKind(StrEnum):
    """The closed set of things that are read as values."""

    NUMBER = "number"
    MONEY = "money"
    PERCENTAGE = "percentage"
    FRACTION = "fraction"
    RATIO = "ratio"
    DURATION = "duration"
    MEASURE = "measure"
    DATE = "date"
    TIME = "time"
    ORDINAL = "ordinal"
    VERSION = "version"
    IDENTIFIER = "identifier"
    QUOTATION = "quotation"
    NAME = "name"


QUANTITIES = frozenset(
    {
        LiteralKind.NUMBER,
        LiteralKind.MONEY,
        LiteralKind.PERCENTAGE,
        LiteralKind.FRACTION,
        LiteralKind.DURATION,
        LiteralKind.MEASURE,
    }
)
"""Kinds with an amount and a unit; ranges, bounds and arithmetic apply to these."""


class Comparator(StrEnum):
    """How the value bounds the truth: "16 weeks", "about 16 weeks", "at least 16 weeks"…"""

    EXACTLY = "exactly"
    ABOUT = "about"
    AT_LEAST = "at least"
    MORE_THAN = "more than"
    AT_MOST = "at most"
    LESS_THAN = "less than"

    @property
    def direction(self) -> int:
        """1 for a lower bound, -1 for an upper bound, 0 for none."""
        if self in (Comparator.AT_LEAST, Comparator.MORE_THAN):
            return 1
        return -1 if self in (Comparator.AT_MOST, Comparator.LESS_THAN) else 0


@dataclass(frozen=True, slots=True)
class Unit:
    """`value = (amount + shift) * factor`, in `canonical`."""

    kind: LiteralKind
    canonical: str
    factor: Decimal = Decimal(1)
    shift: Decimal = Decimal(0)


@dataclass(frozen=True, slots=True)
class Day:
    """A date as far as it is written: what is `None` was not said.

    `ambiguous`: 03/04/2025 may be read with day and month exchanged.
    """

    year: int | None = None
    month: int | None = None
    day: int | None = None
    quarter: int | None = None
    weekday: int | None = None
    decade: bool = False
    ambiguous: bool = False

    @property
    def parts(self) -> tuple[int | None, int | None, int | None]:
        return self.year, self.month, self.day


@dataclass(frozen=True, slots=True)
class Literal:
    """One comparable piece of a text: `source[start:end] == text`.

    `value` is the amount in the canonical `unit` of its dimension ("2 weeks": 1209600 second),
    `high` the upper end where it is a range, `amount` the number as written. Dates have `day`;
    versions, identifiers, quotations and names have `key`, their normalised spelling. `nouns` stand
    right after the number, `about` are the words of its own clause, `context` those of the rest of
    its sentence, which starts at `sentence`. `shared` are the words of another value's clause that
    hold for this one too: "printing" for "0.40 in colour" behind "Printing costs 0.10 in black".
    `cell`: it stands in a table, where `about` are the words of its row and its column's heading.
    """

    kind: LiteralKind
    text: str
    start: int
    end: int
    value: Decimal | None = None
    high: Decimal | None = None
    amount: Decimal | None = None
    unit: str = ""
    per: str = ""
    comparator: Comparator = Comparator.EXACTLY
    day: Day | None = None
    key: str = ""
    nouns: tuple[str, ...] = ()
    about: tuple[str, ...] = ()
    context: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    cell: bool = False
    sentence: int = 0

    @property
    def pair(self) -> tuple[Decimal, Decimal] | None:
        """(low, high) of a range, `None` for a single value."""
        if self.value is None or self.high is None:
            return None
        return self.value, self.high
