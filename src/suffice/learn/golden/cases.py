"""Reads a golden set: JSON lines of questions with the expected verdict and texts.

    {"question": "When is pay day?", "verdict": "SERVE", "answers_all": [["25th", "25 of"]]}
    {"question": "Who is king?", "answerable": false}

The fields are those of `suffice eval`, plus `verdict`: one verdict or a list of allowed ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from suffice.errors import Unreadable
from suffice.eval.cases import GROUPS, Question
from suffice.eval.outcomes import SERVED, asked
from suffice.eval.rows import TEXT, TRUTH, Kind, numbered_rows, or_null
from suffice.types import Action, Verdict

_NAMES = tuple(action.value for action in Action)
VERDICTS = Kind(
    f"one of {', '.join(_NAMES)}, or a list of them",
    lambda value: (
        value in _NAMES
        if isinstance(value, str)
        else isinstance(value, list) and bool(value) and all(one in _NAMES for one in value)
    ),
)
_KINDS = {
    "question": TEXT, "answerable": or_null(TRUTH), "answers_all": or_null(GROUPS),
    "verdict": or_null(VERDICTS), "collection": or_null(TEXT),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class GoldenCase:
    """A question with the allowed actions (empty: any that fits the question)."""

    question: Question
    allowed: tuple[Action, ...] = ()
    line: int = 1
    """The line of the file."""

    def passes(self, verdict: Verdict) -> bool:
        """Whether the outcome is as expected: the action, and the texts of a served answer."""
        if not self.allowed:
            return asked(self.question, verdict).good == 1
        if verdict.action not in self.allowed:
            return False
        texts = bool(self.question.answers) and verdict.served
        return not texts or self.question.share(verdict.released) == 1


def read_golden(path: Path) -> tuple[GoldenCase, ...]:
    """The cases of a file. A collection may contain each question once."""
    rows = numbered_rows(path, ("question",), _KINDS)
    cases = tuple(_case(row, number, f"{path}, line {number}") for number, row in rows)
    names = [key_of(case) for case in cases]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise Unreadable(f"{path}: “{twice}” occurs twice.", remedy="Remove one of the rows.")
    return cases


def key_of(case: GoldenCase) -> str:
    """The name by which a case is found in an earlier run."""
    own = case.question
    return f"{own.collection}: {own.question}" if own.collection else own.question


def _case(row: dict[str, Any], line: int, where: str) -> GoldenCase:
    named = row.get("verdict") or ()
    allowed = tuple(Action(one) for one in ([named] if isinstance(named, str) else named))
    answers = tuple(tuple(group) for group in row.get("answers_all") or ())
    answerable = row.get("answerable")
    if answerable is None:
        answerable = bool(answers) or any(action in SERVED for action in allowed)
        if not allowed and not answers:
            raise Unreadable(
                f"{where}: the expected outcome is missing.",
                remedy="Add “verdict”, “answers_all” or “answerable”.",
            )
    if answerable and not allowed and not answers:
        raise Unreadable(
            f"{where}: the question is answerable, but answers_all is missing.",
            remedy="Add answers_all: groups of texts. A right answer contains one of each group.",
        )
    question = Question(row["question"], answerable, answers, str(row.get("collection") or ""))
    return GoldenCase(question, allowed, line)
