"""Evidence in a line, for the tests of the drafters."""

from __future__ import annotations

from suffice.types import Conflict, Evidence, Passage, Retrieved

QUESTION = "How long does parental leave last?"


def passage(n: int, text: str, title: str = "") -> Passage:
    return Passage(id=f"d{n}@1#0-1", text=text, document=f"d{n}", title=title or f"T{n}")


def evidence(*passages: Passage | str, question: str = QUESTION) -> Evidence:
    made = [
        passage(n, given) if isinstance(given, str) else given for n, given in enumerate(passages)
    ]
    return Evidence(question, tuple(Retrieved(one, 0.5) for one in made))


def conflict(first: Passage, second: Passage) -> Conflict:
    return Conflict(first, second, first.text, second.text, 0.9)
