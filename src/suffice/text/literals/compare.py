"""Compares the literals of a claim with the evidence: equal, mismatched, absent or derived."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal, DivisionByZero, InvalidOperation
from enum import StrEnum
from itertools import combinations, pairwise

from suffice.text.literals.identifiers import normalised
from suffice.text.literals.read import literals
from suffice.text.literals.same import (
    agrees,
    comparable,
    ends_at,
    readings,
    rounded,
    rounds_to,
    same_amount,
)
from suffice.text.literals.values import QUANTITIES, Comparator, Day, Literal, LiteralKind


def words(literal: Literal) -> set[str]:
    """The words of the sentence that contains the literal."""
    return {*literal.about, *literal.context}


def rival(claim: Literal, rivals: Iterable[Literal], vocabulary: frozenset[str]) -> Literal | None:
    """The literal that gives the claim's subject another value: it shares most of the claim's
    words."""
    mine = {word for word in claim.about if word in vocabulary}
    best: Literal | None = None
    most = 0.0
    for one in rivals:
        shared = mine & set(one.about)
        cover = len(shared) / len(mine) if mine else 0.0
        if cover > most and _attached(claim, one, shared, cover):
            best, most = one, cover
    return best


def _attached(claim: Literal, literal: Literal, shared: set[str], cover: float) -> bool:
    if claim.kind is LiteralKind.NUMBER and not claim.unit:
        if claim.nouns and not literal.cell:
            # A small number in words is often the writer's own count ("two of the 84 passengers"),
            # so it must share more words.
            enough = 0.67 if not claim.text[-1].isdigit() else 0.34
            return bool(set(claim.nouns) & set(literal.nouns)) and cover >= enough
        return cover >= 0.67
    if claim.kind is LiteralKind.ORDINAL:
        return bool(set(claim.nouns[:1]) & set(literal.nouns[:1])) and cover >= 0.5
    if claim.kind in (LiteralKind.DATE, LiteralKind.TIME):
        return cover >= 0.5 and (len(shared) >= 2 or cover == 1)
    return cover >= 0.5


def namesake(claim: Literal, literal: Literal) -> bool:
    """Whether two full names differ in one word and occur in the same context."""
    if claim.kind is not LiteralKind.NAME or literal.kind is not LiteralKind.NAME:
        return False
    mine, theirs = claim.key.split(), literal.key.split()
    if not 2 <= len(mine) == len(theirs) <= 3 or "of" in mine:
        return False
    # The first word of a sentence is always capitalised, so it may not be part of the name.
    if claim.start == claim.sentence or literal.start == literal.sentence:
        return False
    shared = set(claim.about) & set(literal.about)
    differing = sum(a != b for a, b in zip(mine, theirs, strict=True))
    return differing == 1 and bool(shared) and 2 * len(shared) >= len(claim.about)


_OPERATORS: Mapping[str, Callable[[Decimal, Decimal], Decimal]] = {
    "*": lambda one, other: one * other,
    "/": lambda one, other: one / other,
    "+": lambda one, other: one + other,
    "-": lambda one, other: one - other,
}
_SIGNS = {
    **dict.fromkeys(("x", "×", "*", "·", "times", "multiplied by"), "*"),
    **dict.fromkeys(("/", "÷", "divided by"), "/"),
    **dict.fromkeys(("+", "plus"), "+"),
    **dict.fromkeys(("-", "−", "–", "minus", "less"), "-"),
}
_EQUALS = frozenset({"=", "is", "are", "equals", "makes", "gives"})
_GAP = re.compile(r"[ \t]*(?P<sign>[^\s()]+(?: by)?)[ \t]*")


@dataclass(frozen=True, slots=True)
class Calculation:
    """A result as it is stated, and whether its operands give it."""

    result: Literal
    right: bool


def calculations(text: str, literals: Sequence[Literal]) -> list[Calculation]:
    """The calculations that the text writes out in full, with a sign between every two values."""
    found: list[Calculation] = []
    operands: list[Literal] = []
    signs: list[str] = []
    for one, following in pairwise(literals):
        gap = _GAP.fullmatch(text[one.end : following.start])
        word = gap["sign"].lower() if gap else ""
        operands = operands or [one]
        if not (_single(one) and _single(following)) or not gap:
            operands, signs = [], []
        elif word in _SIGNS:
            operands.append(following)
            signs.append(_SIGNS[word])
        else:
            if word in _EQUALS and signs:
                value = _value(operands, signs, following)
                found += [] if value is None else [Calculation(following, _same(value, following))]
            operands, signs = [], []
    return found


def _single(literal: Literal) -> bool:
    return literal.kind in QUANTITIES and literal.amount is not None and literal.high is None


def _value(operands: Sequence[Literal], signs: Sequence[str], result: Literal) -> Decimal | None:
    """The value of the calculation in the unit of the result, products before sums; `None` if it
    adds values of different dimensions."""
    values = [_number(one) for one in operands]
    if not {"*", "/"}.intersection(signs):
        if {one.unit for one in operands} != {result.unit} or not result.value:
            return None
        scale = (result.amount or Decimal(1)) / result.value
        values = [(one.value or Decimal(0)) * scale for one in operands]
    elif {"+", "-"}.intersection(signs) and any(one.unit for one in operands):
        return None
    left = list(signs)
    try:
        for level in ("*/", "+-"):
            while place := next((n for n, sign in enumerate(left, 1) if sign in level), 0):
                sign = left.pop(place - 1)
                values[place - 1 : place + 1] = [_OPERATORS[sign](*values[place - 1 : place + 1])]
    except (DivisionByZero, InvalidOperation):
        return None
    shared = result.unit == "percent" and all(one.unit != "percent" for one in operands)
    return values[0] * 100 if shared else values[0]


def _number(literal: Literal) -> Decimal:
    amount = literal.amount or Decimal(0)
    return amount / 100 if literal.unit == "percent" else amount


def _same(value: Decimal, result: Literal) -> bool:
    """Whether the result is this value, as exact as it is written."""
    written = result.amount or Decimal(0)
    hedged = result.comparator is Comparator.ABOUT
    return value == written or rounds_to(value, written, scaled=False, hedged=hedged)


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


class Basis(StrEnum):
    """What an outcome rests on, if not on equal or absent values."""

    CALCULATED = "calculated"
    ROUNDED = "rounded"
    PARTS = "parts"
    HEADING = "heading"
    VALUE = "another value"
    BOUND = "another bound"
    NAME = "another name"


@dataclass(frozen=True, slots=True)
class Comparison:
    """One literal of the claim, the outcome, and the evidence literal that decided it.

    If the outcome is EQUAL, callers must still compare the comparators ("5" and "up to 5").
    """

    claim: Literal
    outcome: Outcome
    evidence: Literal | None = None
    derivation: Derivation | None = None
    reason: Basis | None = None


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
    return Comparison(result, outcome, reason=Basis.CALCULATED)


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
        return Comparison(claim, Outcome.EQUAL, near, reason=Basis.ROUNDED)
    if part := _composed(claim, reading) or _on_weekday(claim, reading):
        return Comparison(claim, Outcome.EQUAL, part, reason=Basis.PARTS)
    if derived := derive(claim, text, reading.literals):
        return Comparison(claim, Outcome.DERIVED, derivation=derived)
    if _heads(claim, reading):
        return Comparison(claim, Outcome.EQUAL, reason=Basis.HEADING)
    if other:
        return Comparison(claim, Outcome.MISMATCH, other, reason=Basis.VALUE)
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
        return Comparison(claim, Outcome.MISMATCH, best, reason=Basis.BOUND)
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
        return Comparison(claim, Outcome.MISMATCH, other, reason=Basis.NAME)
    return Comparison(claim, Outcome.ABSENT)


def _spelled(text: str) -> str:
    return re.sub(r"[^\w]+", " ", normalised(text).replace("'s ", " ")).strip()
