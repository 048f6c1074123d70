"""Decides which evidence literals can support or contradict a literal of a claim, on any
subject."""

from __future__ import annotations

import re
from decimal import Decimal

from suffice.text.literals.same import rounds_to, same_amount
from suffice.text.literals.values import QUANTITIES, Comparator, Day, Literal, LiteralKind

# "56.0 percent" is not 56.1 rounded: a trailing zero is significant.
_TO_THE_LAST = re.compile(r"\d\.\d*0(?!\d)")
_SCALED = re.compile(r"(?i:thousand|million|billion|trillion)|\d ?(?:[kKmMbB]|bn|mn|tn)\b")


def agrees(claim: Literal, other: Literal) -> bool:
    """Whether two values are equal. One side may omit the unit or give one end of a range."""
    if same_amount(claim, other):
        return True
    if claim.day and other.kind is LiteralKind.NUMBER and not other.unit:
        return claim.day == Day(claim.day.year) and other.value == claim.day.year
    if claim.kind not in QUANTITIES:
        return False
    bare = claim.kind is LiteralKind.NUMBER and not claim.unit
    if other.day:
        return bare and other.day.year == claim.value
    if other.kind not in QUANTITIES or claim.pair:
        return False
    if other.pair:
        return ends_at(claim, other)
    if claim.amount != other.amount:
        return False
    if {claim.unit, other.unit} == {"unspecified degree", "degree Celsius"}:
        return True
    if not bare and (other.unit or other.nouns):
        return False
    if other.kind is LiteralKind.MEASURE and not set(claim.nouns[:1]) <= set(other.about):
        return False  # the claim counts units of something that the evidence gives in mg
    return (bare and not claim.nouns) or other.cell or bool(set(claim.about) & set(other.about))


def ends_at(claim: Literal, other: Literal) -> bool:
    """Whether the claim's single value is one end of the evidence's range."""
    if not other.pair or claim.pair:
        return False
    return claim.unit == other.unit and claim.value in other.pair


def comparable(claim: Literal, other: Literal) -> bool:
    """Whether two literals could be values of the same thing."""
    if (
        claim.kind in QUANTITIES
        and other.cell
        and other.kind is LiteralKind.NUMBER
        and not other.unit
    ):
        return True  # the unit of a column is in its heading, if anywhere
    if _group(claim.kind) is not _group(other.kind):
        return False
    if claim.kind in (LiteralKind.NUMBER, LiteralKind.MEASURE):
        return claim.unit == other.unit
    if claim.kind is LiteralKind.IDENTIFIER:
        return bool(claim.unit) and claim.unit == other.unit
    if claim.day and other.day:
        return _shape(claim.day) == _shape(other.day)
    return True


def _group(kind: LiteralKind) -> LiteralKind:
    return LiteralKind.PERCENTAGE if kind is LiteralKind.FRACTION else kind


def _shape(day: Day) -> tuple[bool, ...]:
    return (*(part is not None for part in (*day.parts, day.quarter, day.weekday)), day.decade)


def rounded(claim: Literal, other: Literal) -> bool:
    """Whether the claim rounds the exact value in the evidence, or states a bound that it meets."""
    if not {claim.kind, other.kind} <= QUANTITIES or claim.unit != other.unit:
        return False
    if claim.value is None or other.value is None or claim.pair or other.pair:
        return False
    if other.comparator is not Comparator.EXACTLY or (
        other.per and claim.per and other.per != claim.per
    ):
        return False
    hedged = claim.comparator is Comparator.ABOUT
    scaled = bool(_SCALED.search(claim.text))
    exact = not hedged and bool(_TO_THE_LAST.search(claim.text))
    rough = not exact and rounds_to(*_as_written(claim, other.value), scaled, hedged)
    return rough or _implied(claim, other)


def _as_written(claim: Literal, value: Decimal) -> tuple[Decimal, Decimal]:
    """The values of the evidence and the claim, both in the claim's unit: 60 mph is 96.56 km/h."""
    assert claim.value is not None
    if claim.kind is LiteralKind.MEASURE and claim.unit != "degree Celsius" and claim.amount:
        return value * claim.amount / claim.value, claim.amount
    return value, claim.value


def _implied(claim: Literal, other: Literal) -> bool:
    """Whether the evidence meets the claim's bound closely: 4,213 is "more than 4,000"."""
    if claim.value is None or other.value is None or not set(claim.about) & set(other.about):
        return False
    if not claim.comparator.direction or claim.comparator is Comparator.AT_MOST:
        return False
    apart = (other.value - claim.value) * claim.comparator.direction
    return 0 <= apart <= abs(claim.value) / 6
