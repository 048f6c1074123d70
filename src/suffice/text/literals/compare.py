"""Compares the literals of a claim with the evidence: equal, mismatched, absent or derived."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date
from enum import StrEnum
from itertools import pairwise

from suffice.text.literals.agree import agrees, comparable, ends_at, rounded
from suffice.text.literals.arithmetic import calculations
from suffice.text.literals.attach import namesake, rival, words
from suffice.text.literals.derive import Derivation, derive
from suffice.text.literals.identifiers import normalised
from suffice.text.literals.read import literals
from suffice.text.literals.same import readings, same_amount
from suffice.text.literals.values import QUANTITIES, Day, Literal, LiteralKind

_HEADED = frozenset({"section", "clause", "chapter", "paragraph", "part", "article"})

APART = "\n\n"
"""The separator between joined texts."""


class Outcome(StrEnum):
    """The result of comparing one literal of a claim with the evidence."""

    EQUAL = "equal"
    MISMATCH = "mismatch"
    MISCALCULATED = "miscalculated"
    """The claim writes out a calculation with another result."""
    ABSENT = "absent"
    DERIVED = "derived"


@dataclass(frozen=True, slots=True)
class Comparison:
    """One literal of the claim, the outcome, and the evidence literal that decided it.

    If the outcome is EQUAL, callers must still compare the comparators ("5" and "up to 5").
    """

    claim: Literal
    outcome: Outcome
    evidence: Literal | None = None
    derivation: Derivation | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """A parsed text, to be compared any number of times."""

    text: str
    literals: tuple[Literal, ...]
    vocabulary: frozenset[str]
    spelled: str = field(repr=False, default="")

    @classmethod
    def of(cls, text: str) -> Reading:
        found = tuple(literals(text))
        known = frozenset(word for one in found for word in (*one.about, *one.context))
        return cls(text, found, known, f" {_spelled(text)} ")

    @classmethod
    def joined(cls, readings: Sequence[Reading]) -> Reading:
        """Join parsed texts, separated by a blank line, without parsing them again."""
        if len(readings) == 1:
            return readings[0]
        found: list[Literal] = []
        offset = 0
        for one in readings:
            found += (_moved(literal, offset) for literal in one.literals)
            offset += len(one.text) + len(APART)
        return cls(
            APART.join(one.text for one in readings),
            tuple(found),
            frozenset[str]().union(*(one.vocabulary for one in readings)),
            "".join(one.spelled for one in readings),
        )


def _moved(literal: Literal, offset: int) -> Literal:
    return replace(
        literal,
        start=literal.start + offset,
        end=literal.end + offset,
        sentence=literal.sentence + offset,
    )


def compare(claim: str | Reading, evidence: str | Reading) -> list[Comparison]:
    """The result for every literal of the claim, in order."""
    stated = claim if isinstance(claim, Reading) else Reading.of(claim)
    reading = evidence if isinstance(evidence, Reading) else Reading.of(evidence)
    results = {one.result: one.right for one in calculations(stated.text, stated.literals)}
    return [
        _calculated(one, results[one]) if one in results else _judge(one, stated.text, reading)
        for one in stated.literals
    ]


def _calculated(result: Literal, right: bool) -> Comparison:
    outcome = Outcome.EQUAL if right else Outcome.MISCALCULATED
    return Comparison(result, outcome, reason="calculated")


def _judge(claim: Literal, text: str, reading: Reading) -> Comparison:
    if claim.kind in (LiteralKind.NAME, LiteralKind.QUOTATION):
        return _judge_spelling(claim, reading)
    loose = [one for one in reading.literals if agrees(claim, one)]
    agreeing = {one.start for one in loose}
    rivals = [
        one for one in reading.literals if comparable(claim, one) and one.start not in agreeing
    ]
    other = rival(claim, rivals, reading.vocabulary)
    equal = [one for one in loose if same_amount(claim, one) or ends_at(claim, one)]
    # A number without its unit supports the claim only if no value with that unit contradicts it.
    if equal or (loose and not (other and claim.unit and other.unit == claim.unit)):
        return _judge_bound(claim, equal or loose)
    if near := next((one for one in reading.literals if rounded(claim, one)), None):
        return Comparison(claim, Outcome.EQUAL, near, reason="rounded")
    if part := _composed(claim, reading) or _on_weekday(claim, reading):
        return Comparison(claim, Outcome.EQUAL, part, reason="parts")
    if derived := derive(claim, text, reading.literals):
        return Comparison(claim, Outcome.DERIVED, derivation=derived, reason=derived.operation)
    if _heads(claim, reading):
        return Comparison(claim, Outcome.EQUAL, reason="heading")
    if other:
        return Comparison(claim, Outcome.MISMATCH, other, reason="another value")
    return Comparison(claim, Outcome.ABSENT)


def _judge_bound(claim: Literal, equal: list[Literal]) -> Comparison:
    """Compare the bounds of a value that the evidence contains. The verifier decides whether its
    subject matches."""
    mine = set(claim.about)
    best = max(
        equal,
        key=lambda one: (
            _compatible(claim, one),
            len(mine & words(one)),
            len(mine & set(one.about)),
        ),
    )
    if not _compatible(claim, best):
        return Comparison(claim, Outcome.MISMATCH, best, reason="another bound")
    return Comparison(claim, Outcome.EQUAL, best)


def _compatible(claim: Literal, evidence: Literal) -> bool:
    """Whether two bounds are compatible. If only one side has a bound, the caller decides."""
    return claim.comparator.direction * evidence.comparator.direction >= 0


def _composed(claim: Literal, reading: Reading) -> Literal | None:
    """Evidence for a date or range whose parts occur separately: "3 May" and "2021"."""
    if claim.day and claim.day.year and _dated(reading, Day(claim.day.year)):
        for day in readings(claim.day):
            rest = _dated(reading, Day(None, day.month, day.day, day.quarter))
            if (day.month or day.quarter) and rest and rest.day and rest.day.year is None:
                return rest
    if claim.pair:
        numbers = (one for one in reading.literals if one.kind in QUANTITIES)
        for low, high in pairwise(numbers):
            apart = low.amount, high.value, low.sentence
            units = {low.unit, high.unit} <= {claim.unit, ""}
            if units and apart == (claim.amount, claim.high, high.sentence):
                return low
    return None


def _on_weekday(claim: Literal, reading: Reading) -> Literal | None:
    """A date in the evidence that falls on the claim's weekday: 12 March 2024 for "Tuesday"."""
    if not claim.day or claim.day.weekday is None:
        return None
    for one in reading.literals:
        if one.day and all(one.day.parts) and not one.day.ambiguous:
            with suppress(ValueError):  # such as 30 February
                if date(*one.day.parts).isoweekday() == claim.day.weekday:  # type: ignore[arg-type]
                    return one
    return None


def _heads(claim: Literal, reading: Reading) -> bool:
    """Whether a heading in the evidence has the claim's number: "4.2 Safety" is Section 4.2."""
    if claim.kind is not LiteralKind.IDENTIFIER or claim.unit not in _HEADED:
        return False
    number = re.escape(claim.key.rpartition(" ")[2])
    return bool(re.search(rf"(?m)^[ \t]*(?:#{{1,6}}[ ])?{number}\.?[ \t]+\S", reading.text))


def _dated(reading: Reading, day: Day) -> Literal | None:
    wanted = Literal(LiteralKind.DATE, "", 0, 0, day=day)
    return next((one for one in reading.literals if same_amount(wanted, one)), None)


def _judge_spelling(claim: Literal, reading: Reading) -> Comparison:
    same = next((one for one in reading.literals if same_amount(claim, one)), None)
    if same or f" {_spelled(claim.key)} " in reading.spelled:
        return Comparison(claim, Outcome.EQUAL, same)
    other = next((one for one in reading.literals if namesake(claim, one)), None)
    if other:
        return Comparison(claim, Outcome.MISMATCH, other, reason="another name")
    return Comparison(claim, Outcome.ABSENT)


def _spelled(text: str) -> str:
    return re.sub(r"[^\w]+", " ", normalised(text).replace("'s ", " ")).strip()
