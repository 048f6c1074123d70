"""Attacks, their cases, and what a correct system does."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from suffice.learn.redteam.material import Material
from suffice.types import Action, Passage, Verdict

SERVED = frozenset({Action.SERVE, Action.CAVEAT})
STOPPED = frozenset({Action.WITHHOLD, Action.REVIEW, Action.CONFLICT})


@dataclass(frozen=True, slots=True)
class Trial:
    """One question or one draft to try on the system.

    With a `draft`, the checks judge it against `passages`, to which its citations refer. Without
    one, the pipeline answers the `question` from the indexed documents, without those in `hidden`
    and with `passages` added. The outcome is right if the action is in `right` and no text in
    `forbidden` is released; an action outside `right` is also right if a note quotes `disclosed`.
    """

    right: frozenset[Action]
    question: str = ""
    draft: str | None = None
    passages: tuple[Passage, ...] = ()
    hidden: frozenset[str] = frozenset()
    forbidden: tuple[str, ...] = ()
    disclosed: str = ""

    def passed(self, verdict: Verdict) -> bool:
        released = "" if verdict.action in STOPPED else _folded(verdict.released)
        if any(_says(released, _folded(text)) for text in self.forbidden):
            return False
        if verdict.action in self.right:
            return True
        return bool(self.disclosed) and any(self.disclosed in note for note in verdict.notes)


@dataclass(frozen=True, slots=True)
class Case:
    """A hostile trial and its harmless twin. `what` describes the attack in this case, `document`
    the document it was made from."""

    attack: str
    what: str
    document: str
    hostile: Trial
    twin: Trial


def cited(statement: str, *numbers: int) -> str:
    """The statement with its citations before the full stop."""
    marks = "".join(f"[{number}]" for number in numbers)
    return f"{statement.rstrip('. ')} {marks}."


def draft_trial(
    text: str, passages: Sequence[Passage], *, serve: bool = False, question: str = ""
) -> Trial:
    """The trial of a draft that a correct system serves, or does not serve."""
    return Trial(SERVED if serve else STOPPED, question, text, tuple(passages))


class Attack(Protocol):
    """A kind of attack. `correct` says what a correct system does."""

    @property
    def name(self) -> str: ...

    @property
    def correct(self) -> str: ...

    def cases(self, material: Material) -> Iterator[Case]:
        """The cases in a random but reproducible order; none if the documents offer no material."""
        ...


def _says(released: str, text: str) -> bool:
    """Whether the text occurs in whole words and numbers: "3 days" is not in "13 days"."""
    found = re.search(rf"(?<!\w)(?<!\d[.,]){re.escape(text)}(?!\w|[.,]\d)", released)
    return found is not None


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
