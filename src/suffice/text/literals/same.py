"""Decides whether two literals express the same value."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Decimal

from suffice.text.literals.values import QUANTITIES, Comparator, Day, Literal, LiteralKind

_SPELLED = frozenset({LiteralKind.IDENTIFIER, LiteralKind.NAME, LiteralKind.QUOTATION})
_HALF_DAY = 720
_UNBOUND = (Comparator.EXACTLY, Comparator.ABOUT)


def same_value(claim: Literal, evidence: Literal) -> bool:
    """Whether both express the same value with the same bound.

    A claim may be less precise than the evidence ("March 2024" for "12 March 2024"), but not more
    precise.
    """
    return same_amount(claim, evidence) and same_bound(claim.comparator, evidence.comparator)


def same_bound(claim: Comparator, evidence: Comparator) -> bool:
    """Whether two comparators give the same bound; "about" counts as no bound."""
    return claim is evidence or (claim in _UNBOUND and evidence in _UNBOUND)


def same_amount(claim: Literal, evidence: Literal) -> bool:
    """`same_value` without the comparators."""
    if claim.kind in QUANTITIES and evidence.kind in QUANTITIES:
        return _same_quantity(claim, evidence)
    kinds = {claim.kind, evidence.kind}
    if kinds == {LiteralKind.VERSION, LiteralKind.NUMBER}:
        return (claim.key or str(claim.amount)) == (evidence.key or str(evidence.amount))
    if claim.kind is not evidence.kind:
        return False
    if claim.kind is LiteralKind.DATE and claim.day and evidence.day:
        return any(same_day(one, evidence.day) for one in readings(claim.day))
    if claim.kind is LiteralKind.TIME:
        return _same_time(claim, evidence)
    if claim.kind is LiteralKind.ORDINAL:
        return claim.value == evidence.value
    if claim.kind in _SPELLED:
        return _same_spelling(claim, evidence)
    return claim.key == evidence.key


def _same_quantity(claim: Literal, evidence: Literal) -> bool:
    if claim.value is None or evidence.value is None:
        return False
    if claim.per and evidence.per and claim.per != evidence.per:
        return False
    if claim.unit != evidence.unit:
        return _pounds(claim, evidence)
    if LiteralKind.FRACTION in (claim.kind, evidence.kind) and claim.kind is not evidence.kind:
        # "two thirds" may be written as 67, 66.7 or 66.67 percent.
        return claim.high is evidence.high and abs(claim.value - evidence.value) <= Decimal("0.4")
    return claim.value == evidence.value and claim.high == evidence.high


def _pounds(claim: Literal, evidence: Literal) -> bool:
    """Whether an amount in pounds sterling has the same number as a weight in pounds: "five pounds"
    may mean either."""
    units = {claim.unit, evidence.unit}
    money = claim if claim.kind is LiteralKind.MONEY else evidence
    other = evidence if money is claim else claim
    return (
        units == {"GBP", "gram"} and other.text.endswith("pounds") and money.amount == other.amount
    )


def same_day(claim: Day, evidence: Day) -> bool:
    """Whether the evidence states every part of the date that the claim states."""
    if (claim.weekday, claim.decade) != (evidence.weekday, evidence.decade):
        return False
    if claim.quarter and claim.quarter != (evidence.quarter or _quarter(evidence.month)):
        return False
    return all(
        any(mine is None or mine == theirs for theirs in other)
        for mine, other in zip(
            claim.parts,
            zip(*(day.parts for day in _matching(claim, evidence)), strict=True),
            strict=True,
        )
    )


def _matching(claim: Day, evidence: Day) -> tuple[Day, ...]:
    both = readings(evidence)
    fitting = tuple(day for day in both if claim.month in (None, day.month))
    return fitting[:1] or both[:1]


def readings(day: Day) -> tuple[Day, ...]:
    """The possible readings of a date, one or two: 03/04/2025 is 4 March or 3 April."""
    if not day.ambiguous:
        return (day,)
    return Day(day.year, day.month, day.day), Day(day.year, day.day, day.month)


def _quarter(month: int | None) -> int | None:
    return None if month is None else (month + 2) // 3


def _same_time(claim: Literal, evidence: Literal) -> bool:
    if claim.value is None or evidence.value is None:
        return False
    unsure = "?" in (claim.key, evidence.key)
    apart = abs(claim.value - evidence.value)
    return apart == 0 or (unsure and apart == _HALF_DAY)


def _same_spelling(claim: Literal, evidence: Literal) -> bool:
    if claim.key == evidence.key:
        return True
    if claim.kind is LiteralKind.NAME:
        return _within(claim.key.split(), evidence.key.split())
    if claim.kind is LiteralKind.QUOTATION:
        return claim.key in evidence.key
    # "ISO 27001" matches "ISO 27001:2022", and "ON-3" matches "form ON-3".
    shorter, longer = sorted((claim.key, evidence.key), key=len)
    return evidence.key.startswith(f"{claim.key}:") or longer.endswith(f" {shorter}")


def _within(part: list[str], whole: list[str]) -> bool:
    if len(part) > len(whole):
        return len(whole) > 1 and set(whole) <= set(part)
    return set(part) <= set(whole)


def rounds_to(exact: Decimal, rough: Decimal, scaled: bool, hedged: bool) -> bool:
    """Whether `rough` is `exact` rounded: 14 for 14.3, 4.2 million for 4,213,000.

    At least two digits must remain. Digits before the decimal point may be rounded only if the
    number has a scale word or is hedged ("about").
    """
    if not rough or not exact:
        return False
    if hedged and abs(exact - rough) <= abs(exact) * Decimal("0.05"):
        return True
    normal = rough.normalize().as_tuple()
    exponent = int(normal.exponent)
    if not scaled and not hedged:
        exponent = min(exponent, 0)
    digits = len(str(abs(int(rough.scaleb(-exponent)))))
    if digits < (1 if hedged else 2) or abs(exact.adjusted() - rough.adjusted()) > 1:
        return False
    step = Decimal(1).scaleb(exponent)
    return (exact / step).quantize(Decimal(1), rounding=ROUND_HALF_UP) * step == rough


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
