"""Recognises numbers derived from two stated numbers: sum, difference, share or change."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from itertools import combinations

from suffice.text.literals.same import rounds_to
from suffice.text.literals.values import QUANTITIES, Comparator, Literal, LiteralKind

_MOST = 40
_APART = 600
_BEFORE, _AFTER = 70, 40


class Operation(StrEnum):
    """How a derived value is computed from its two operands."""

    SUM = "sum"
    DIFFERENCE = "difference"
    SHARE = "share"
    CHANGE = "change"
    TIMES = "times"


@dataclass(frozen=True, slots=True)
class Derivation:
    """`operation` applied to `operands` gives the claim's value."""

    operation: Operation
    operands: tuple[Literal, Literal]


_CHANGE = (
    r"\b(?:differ\w*|increas\w*|decreas\w*|ris\w*|rose|fell|fall\w*|gr[eo]w\w*|gap|more|less|"
    r"fewer|higher|"
    r"lower|longer|shorter|up(?! to)|down|dropp?\w*|gain\w*|reduc\w*|chang\w*|rais\w*|cut|extra|"
    r"additional|"
    r"declin\w*|sav\w*|later|earlier|older|younger|margin|lead|remain\w*|left)\b"
)
# "More than 8 hours" is a bound, not a calculation.
_BOUND = re.compile(
    r"\b(?:more|less|fewer|longer|shorter|higher|lower|later|earlier) than\s*$", re.I
)
_CUES = {
    Operation.SUM: re.compile(r"\b(?:total\w*|sum|combined|together|altogether|in all)\b", re.I),
    Operation.DIFFERENCE: re.compile(_CHANGE, re.I),
    Operation.CHANGE: re.compile(_CHANGE, re.I),
    Operation.SHARE: re.compile(r"\b(?:share|proportion|of|ratio|rate|portion)\b", re.I),
    Operation.TIMES: re.compile(r"\b(?:times|twice|double\w*|triple\w*)\b|\dx\b", re.I),
}


def derive(claim: Literal, text: str, evidence: Sequence[Literal]) -> Derivation | None:
    """A derivation of the claim's value from two numbers in the evidence with the same unit.

    The claim must present the value as derived ("in total", "rose by") and share a word with both
    numbers. Among many unrelated numbers, some always add up.
    """
    if claim.kind not in QUANTITIES or claim.value is None or claim.high is not None:
        return None
    before = _BOUND.sub(" ", text[max(0, claim.start - _BEFORE) : claim.start])
    near = f"{before}{text[claim.start : claim.end + _AFTER]}"
    allowed = frozenset(operation for operation, cue in _CUES.items() if cue.search(near))
    if not allowed:
        return None
    about = {*claim.about, *claim.context}
    numbers = [
        one
        for one in evidence
        if one.kind in QUANTITIES
        and one.value is not None
        and one.high is None
        and about & set(one.about if one.unit or one.cell else one.nouns)
    ][:_MOST]
    hedged = claim.comparator is Comparator.ABOUT
    for first, second in combinations(numbers, 2):
        if (
            second.start - first.end > _APART
            or first.unit != second.unit
            or first.value == second.value
        ):
            continue
        for operation, result in _results(claim, first, second):
            if operation not in allowed:
                continue
            exact = result == claim.value
            if exact or (
                operation not in (Operation.SUM, Operation.DIFFERENCE)
                and rounds_to(result, claim.value, scaled=False, hedged=hedged)
            ):
                return Derivation(operation, (first, second))
    return None


def _results(
    claim: Literal, first: Literal, second: Literal
) -> Iterator[tuple[Operation, Decimal]]:
    assert first.value is not None
    assert second.value is not None
    small, large = sorted((first.value, second.value))
    if claim.unit == first.unit and claim.unit != "percent":
        yield Operation.SUM, small + large
        yield Operation.DIFFERENCE, large - small
    if claim.unit == "percent" == first.unit:
        yield Operation.SUM, small + large
    if claim.unit in ("percentage point", "percent") and first.unit == "percent":
        yield Operation.DIFFERENCE, large - small
    if claim.unit == "percent" and first.unit != "percent" and small > 0:
        yield Operation.SHARE, round(100 * small / large, 6)
        yield Operation.CHANGE, round(100 * (large - small) / small, 6)
        yield Operation.CHANGE, round(100 * (large - small) / large, 6)
    if claim.unit == "time" and claim.kind is LiteralKind.NUMBER and small > 0:
        yield Operation.TIMES, round(large / small, 6)
