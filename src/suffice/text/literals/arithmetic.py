"""Recalculates what a text calculates: “£1,800 × 8% = £144” is right whatever a source says."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, DivisionByZero, InvalidOperation
from itertools import pairwise

from suffice.text.literals.same import rounds_to
from suffice.text.literals.values import QUANTITIES, Comparator, Literal

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
