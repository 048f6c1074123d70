"""From what a model wrote to a `Draft`: its claims with exact spans, and what they cite."""

from __future__ import annotations

import re
from collections.abc import Sequence

from suffice.text.claims import claims
from suffice.types import Citation, Claim, Draft, Passage

# What some models think aloud before they answer; a reader is not meant to see it.
_OPENED = re.compile(r"\s*<think(?:ing)?>")
_CLOSED = re.compile(r"</think(?:ing)?>")
_TAGS = ("<think>", "<thinking>")
_NO_CHARACTER = re.compile(r"[\ud800-\udfff\0]")
THOUGHT = "What the model thought aloud before its answer is left out."


def read_draft(
    text: str,
    passages: Sequence[Passage],
    *,
    drafter: str = "",
    cut: bool = False,
    notes: Sequence[str] = (),
    tokens: int = 0,
) -> Draft:
    """The draft a text is: mark `[n]` cites the n-th of the passages.

    A mark that names no passage stays with its claim and has no citation: a check tells it.
    """
    said = storable(text)
    thought = thought_aloud(said)
    answer = "" if thought is None else said[thought:].strip()
    found = claims(answer)
    marks = {n for statement in found for n in statement.cites}
    return Draft(
        text=answer,
        claims=tuple(Claim(s.text, s.start, s.end, s.cites) for s in found if s.checkable),
        citations=tuple(Citation(n, p, "") for n, p in enumerate(passages, 1) if n in marks),
        drafter=drafter,
        cut=cut,
        notes=tuple(notes) if thought == 0 else (*notes, THOUGHT),
        tokens=tokens,
    )


def thought_aloud(text: str) -> int | None:
    """Where the thinking at the beginning of a text ends: 0 where there is none, `None` where it
    has no end."""
    place = 0
    while opened := _OPENED.match(text, place):
        closed = _CLOSED.search(text, opened.end())
        if closed is None:
            return None
        place = closed.end()
    return place


def answer_begins(text: str) -> int | None:
    """Where the answer in a text that still grows begins; `None` while nobody can know."""
    thought = thought_aloud(text)
    if thought is None:
        return None
    answer = text[thought:].lstrip()
    if any(tag.startswith(answer) for tag in _TAGS):
        return None
    return len(text) - len(answer)


def storable(text: str) -> str:
    """A text that can be stored and shown: half a surrogate pair and NUL are no characters."""
    return _NO_CHARACTER.sub("\N{REPLACEMENT CHARACTER}", text)
