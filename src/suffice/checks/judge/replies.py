"""Parses the judge's reply strictly. Anything but the requested object means UNCERTAIN."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from suffice.checks.judge.prompt import Question

_LONGEST = 300
_FORM = frozenset({"ONE", "SENTENCE", "OR", "PASS", "FAIL", "UNCERTAIN"})


class Mark(StrEnum):
    """The possible answers of a judge."""

    PASS = "PASS"
    FAIL = "FAIL"
    UNCERTAIN = "UNCERTAIN"


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one question, with a sentence that explains it."""

    mark: Mark
    sentence: str


Answers = Mapping[Question, Answer]
"""One answer for each of the five questions."""


def read_answers(reply: str, case: str) -> Answers:
    """The answers in a reply. If it is not exactly the requested object with the id of its case,
    all answers are UNCERTAIN."""
    try:
        return _answers(json.loads(reply, object_pairs_hook=_once), case)
    except (ValueError, RecursionError) as problem:
        detail = f": {problem}" if type(problem) is ValueError else ""
        return uncertain(f"the judge's reply is not the requested object{detail}")


def uncertain(why: str) -> Answers:
    """UNCERTAIN for all questions, with the same reason."""
    return dict.fromkeys(Question, Answer(Mark.UNCERTAIN, why))


def _answers(value: Any, case: str) -> Answers:
    if not isinstance(value, dict) or value.keys() != {"case", *Question}:
        raise ValueError("unexpected keys")
    if value["case"] != case:
        raise ValueError("the id of another case")
    return {question: _answer(value[question]) for question in Question}


def _answer(value: Any) -> Answer:
    if not isinstance(value, dict) or value.keys() != {"answer", "sentence"}:
        raise ValueError("an answer with unexpected keys")
    mark, sentence = value["answer"], value["sentence"]
    if not isinstance(mark, str) or mark not in set(Mark):
        raise ValueError("an answer other than PASS, FAIL or UNCERTAIN")
    if not isinstance(sentence, str) or not _tells(line := _line(sentence)):
        raise ValueError("an answer without a sentence")
    return Answer(Mark(mark), line)


def _tells(line: str) -> bool:
    """Whether a sentence contains more than the words of the template."""
    return bool({word.upper() for word in re.findall(r"\w+", line)} - _FORM)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Reject duplicate keys: JSON parsers disagree on which value counts."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a duplicate key")
    return found


def _line(text: str) -> str:
    """The text as one printable line, shortened to the limit."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
