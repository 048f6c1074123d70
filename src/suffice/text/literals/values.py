"""The `Literal` type: a part of a text that can be compared exactly, with its value."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum


class LiteralKind(StrEnum):
    """What a literal is."""

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
"""Kinds with an amount and a unit. They can form ranges, have bounds and be computed with."""


class Comparator(StrEnum):
    """How the value is bounded: "16 weeks", "about 16 weeks", "at least 16 weeks"…"""

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
    """A unit of measurement: `(amount + shift) * factor` is the value in the `canonical` unit."""

    kind: LiteralKind
    canonical: str
    factor: Decimal = Decimal(1)
    shift: Decimal = Decimal(0)


@dataclass(frozen=True, slots=True)
class Day:
    """A date to the precision given; parts that are not stated are `None`.

    `ambiguous`: day and month may be swapped, as in 03/04/2025.
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
    """One comparable part of a text: `source[start:end] == text`.

    `value` is the amount in the canonical `unit` of its dimension ("2 weeks": 1209600 second),
    `high` is the upper end of a range, and `amount` is the number as written. Dates have a `day`;
    versions, identifiers, quotations and names have a `key`, their normalised spelling. `nouns` are
    the words directly after the number, `about` the words of its clause, and `context` those of the
    rest of its sentence, which starts at `sentence`. `shared` are words from another value's clause
    that also apply here: "printing" for "0.40 in colour" after "Printing costs 0.10 in black". If
    `cell` is set, the literal is in a table, and `about` holds the words of its row and column
    heading.
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
        """The (low, high) of a range; `None` for a single value."""
        if self.value is None or self.high is None:
            return None
        return self.value, self.high
