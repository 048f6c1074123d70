"""Literals: parts of a text that can be compared exactly, with their values and subjects."""

from suffice.text.literals.compare import (
    APART,
    Basis,
    Comparison,
    Derivation,
    Operation,
    Outcome,
    Reading,
    compare,
)
from suffice.text.literals.read import literals
from suffice.text.literals.same import comparable, same_amount, same_bound, same_value
from suffice.text.literals.values import QUANTITIES, Comparator, Day, Literal, LiteralKind

__all__ = [
    "APART",
    "QUANTITIES",
    "Basis",
    "Comparator",
    "Comparison",
    "Day",
    "Derivation",
    "Literal",
    "LiteralKind",
    "Operation",
    "Outcome",
    "Reading",
    "comparable",
    "compare",
    "literals",
    "same_amount",
    "same_bound",
    "same_value",
]
