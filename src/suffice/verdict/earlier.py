"""Answers of earlier turns as evidence for the next one."""

from __future__ import annotations

from collections.abc import Sequence

from suffice.text.marks import bare
from suffice.types import Action, Passage, Retrieved, Verdict


def served_answers(earlier: Sequence[Verdict]) -> tuple[Retrieved, ...]:
    """The verified answers of earlier turns, as passages."""
    served = (verdict for verdict in earlier if verdict.action is Action.SERVE)
    return tuple(
        Retrieved(Passage(f"turn-{n}", bare(verdict.released), "earlier answer"), None)
        for n, verdict in enumerate(served, 1)
    )
