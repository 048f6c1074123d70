"""Reading what a judge replied, strictly: the object that was asked for, or UNCERTAIN."""

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
    """What a judge may answer."""

    PASS = "PASS"
    FAIL = "FAIL"
    UNCERTAIN = "UNCERTAIN"


@dataclass(frozen=True, slots=True)
class Answer:
    """To one question, with a sentence that says why."""

    mark: Mark
    sentence: str


Answers = Mapping[Question, Answer]
"""One for each of the five."""


def read_answers(reply: str, case: str) -> Answers:
    """The answers of a reply that is the object asked for and nothing else, with the mark of its
    case; of any other reply five times UNCERTAIN."""
    try:
        return _answers(json.loads(reply, object_pairs_hook=_once), case)
    except (ValueError, RecursionError) as problem:
        said = f": {problem}" if type(problem) is ValueError else ""
        return uncertain(f"the judge's reply is not the object asked for{said}")


def uncertain(why: str) -> Answers:
    """Nothing was answered, for one reason."""
    return dict.fromkeys(Question, Answer(Mark.UNCERTAIN, why))


def _answers(value: Any, case: str) -> Answers:
    if not isinstance(value, dict) or value.keys() != {"case", *Question}:
        raise ValueError("other keys than asked for")
    if value["case"] != case:
        raise ValueError("the mark of another case")
    return {question: _answer(value[question]) for question in Question}


def _answer(value: Any) -> Answer:
    if not isinstance(value, dict) or value.keys() != {"answer", "sentence"}:
        raise ValueError("an answer of other keys")
    mark, sentence = value["answer"], value["sentence"]
    if not isinstance(mark, str) or mark not in set(Mark):
        raise ValueError("an answer that is none of PASS, FAIL and UNCERTAIN")
    if not isinstance(sentence, str) or not _tells(line := _line(sentence)):
        raise ValueError("an answer without its sentence")
    return Answer(Mark(mark), line)


def _tells(line: str) -> bool:
    """Whether a sentence says anything beyond the words of the form it was to fill in."""
    return bool({word.upper() for word in re.findall(r"\w+", line)} - _FORM)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Of two values of one key readers take one or the other: neither is taken here."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key twice")
    return found


def _line(text: str) -> str:
    """One line of characters that can be shown and stored anywhere."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
