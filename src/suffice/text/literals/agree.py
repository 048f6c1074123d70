"""Decides which evidence literals can support or contradict a literal of a claim, regardless of
subject."""

from __future__ import annotations

import re
from decimal import Decimal

from suffice.text.literals.same import rounds_to, same_amount
from suffice.text.literals.values import QUANTITIES, Comparator, Day, Literal, LiteralKind

# "56.0 percent" is not a rounding of 56.1: a written zero is significant.
_TO_THE_LAST = re.compile(r"\d\.\d*0(?!\d)")
_SCALED = re.compile(r"(?i:thousand|million|billion|trillion)|\d ?(?:[kKmMbB]|bn|mn|tn)\b")


def agrees(claim: Literal, literal: Literal) -> bool:
    """Equal values, also if one side omits the unit or gives one end of a range."""
    if same_amount(claim, literal):
        return True
    if claim.day and literal.kind is LiteralKind.NUMBER and not literal.unit:
        return claim.day == Day(claim.day.year) and literal.value == claim.day.year
    if claim.kind not in QUANTITIES:
        return False
    bare = claim.kind is LiteralKind.NUMBER and not claim.unit
    if literal.day:
        return bare and literal.day.year == claim.value
    if literal.kind not in QUANTITIES or claim.pair:
        return False
    if literal.pair:
        return ends_at(claim, literal)
    if claim.amount != literal.amount:
        return False
    if {claim.unit, literal.unit} == {"unspecified degree", "degree Celsius"}:
        return True
    if not bare and (literal.unit or literal.nouns):
        return False
    if literal.kind is LiteralKind.MEASURE and not set(claim.nouns[:1]) <= set(literal.about):
        return False  # "500 units" of something that the evidence gives in mg
    return (bare and not claim.nouns) or literal.cell or bool(set(claim.about) & set(literal.about))


def ends_at(claim: Literal, literal: Literal) -> bool:
    """Whether a claim's single value is an end of the evidence's range."""
    if not literal.pair or claim.pair:
        return False
    return claim.unit == literal.unit and claim.value in literal.pair


def comparable(claim: Literal, literal: Literal) -> bool:
    """Whether two literals could be values of the same thing."""
    if (
        claim.kind in QUANTITIES
        and literal.cell
        and literal.kind is LiteralKind.NUMBER
        and not literal.unit
    ):
        return True  # a column has its unit in the heading, or none
    if _group(claim.kind) is not _group(literal.kind):
        return False
    if claim.kind in (LiteralKind.NUMBER, LiteralKind.MEASURE):
        return claim.unit == literal.unit
    if claim.kind is LiteralKind.IDENTIFIER:
        return bool(claim.unit) and claim.unit == literal.unit
    if claim.day and literal.day:
        return _shape(claim.day) == _shape(literal.day)
    return True


def _group(kind: LiteralKind) -> LiteralKind:
    return LiteralKind.PERCENTAGE if kind is LiteralKind.FRACTION else kind


def _shape(day: Day) -> tuple[bool, ...]:
    return (*(part is not None for part in (*day.parts, day.quarter, day.weekday)), day.decade)


def rounded(claim: Literal, literal: Literal) -> bool:
    """Whether the claim rounds the exact value of the evidence, or gives a bound that it meets."""
    if not {claim.kind, literal.kind} <= QUANTITIES or claim.unit != literal.unit:
        return False
    if claim.value is None or literal.value is None or claim.pair or literal.pair:
        return False
    if literal.comparator is not Comparator.EXACTLY or (
        literal.per and claim.per and literal.per != claim.per
    ):
        return False
    hedged = claim.comparator is Comparator.ABOUT
    scaled = bool(_SCALED.search(claim.text))
    exact = not hedged and bool(_TO_THE_LAST.search(claim.text))
    rough = not exact and rounds_to(*_as_written(claim, literal.value), scaled, hedged)
    return rough or _implied(claim, literal)


def _as_written(claim: Literal, value: Decimal) -> tuple[Decimal, Decimal]:
    """The values of evidence and claim, in the unit of the claim: 60 mph is 96.56 km/h."""
    assert claim.value is not None
    if claim.kind is LiteralKind.MEASURE and claim.unit != "degree Celsius" and claim.amount:
        return value * claim.amount / claim.value, claim.amount
    return value, claim.value


def _implied(claim: Literal, literal: Literal) -> bool:
    """Whether the claim's bound holds closely: "more than 4,000" is true of 4,213."""
    if claim.value is None or literal.value is None or not set(claim.about) & set(literal.about):
        return False
    if not claim.comparator.direction or claim.comparator is Comparator.AT_MOST:
        return False
    apart = (literal.value - claim.value) * claim.comparator.direction
    return 0 <= apart <= abs(claim.value) / 6
