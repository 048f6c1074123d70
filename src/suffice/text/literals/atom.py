"""One number with its unit, as read from text by `atoms.py`."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from suffice.text.literals.numbers import plain, significant
from suffice.text.literals.values import LiteralKind, Unit


@dataclass(frozen=True, slots=True)
class Atom:
    """A number with its unit; `unit` is `None` for a plain number."""

    start: int
    end: int
    amount: Decimal
    unit: Unit | None = None
    kind: LiteralKind = LiteralKind.NUMBER
    scaled: bool = False

    @property
    def value(self) -> Decimal:
        if self.unit is None:
            return plain(self.amount)
        return significant((self.amount + self.unit.shift) * self.unit.factor)

    @property
    def canonical(self) -> str:
        return self.unit.canonical if self.unit else ""
