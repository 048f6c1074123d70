"""The literal: a piece of text that can be compared exactly, with its value."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum


class LiteralKind(StrEnum):
    """The kinds of literals."""

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
    """`value = (amount + shift) * factor`, in `canonical`."""

    kind: LiteralKind
    canonical: str
    factor: Decimal = Decimal(1)
    shift: Decimal = Decimal(0)


@dataclass(frozen=True, slots=True)
class Day:
    """A date to the precision written: parts that are `None` were not stated.

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
    `high` the upper end of a range, `amount` the number as written. Dates have `day`; versions,
    identifiers, quotations and names have `key`, their normalised spelling. `nouns` are the words
    directly after the number, `about` the words of its own clause, and `context` those of the rest
    of its sentence, which starts at `sentence`. `shared` are words of another value's clause that
    also apply to this one: "printing" for "0.40 in colour" after "Printing costs 0.10 in black".
    `cell`: the literal is in a table, and `about` holds the words of its row and its column's
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
        """(low, high) of a range, `None` for a single value."""
        if self.value is None or self.high is None:
            return None
        return self.value, self.high
