"""Parses model output into a `Draft`: claims with exact spans, and their citations."""

from __future__ import annotations

import re
from collections.abc import Sequence

from suffice.sql.storable import replace_unstorable
from suffice.text.claims import claims
from suffice.types import Citation, Claim, Draft, Passage

# Reasoning that some models write before the answer; it is not meant for the reader.
_OPENED = re.compile(r"\s*<think(?:ing)?>")
_CLOSED = re.compile(r"</think(?:ing)?>")
_TAGS = ("<think>", "<thinking>")
THOUGHT = "The model's reasoning before the answer was removed."


def read_draft(
    text: str,
    passages: Sequence[Passage],
    *,
    drafter: str = "",
    cut: bool = False,
    notes: Sequence[str] = (),
    tokens: int = 0,
) -> Draft:
    """Parse a text as a draft in which `[n]` cites the n-th passage.

    A number that matches no passage stays in its claim but gets no `Citation`; the citations check
    reports it.
    """
    clean = storable(text)
    thought = thought_aloud(clean)
    answer = "" if thought is None else clean[thought:].strip()
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
    """Where the reasoning at the start of a text ends: 0 if there is none, `None` if it has no
    end."""
    place = 0
    while opened := _OPENED.match(text, place):
        closed = _CLOSED.search(text, opened.end())
        if closed is None:
            return None
        place = closed.end()
    return place


def answer_begins(text: str) -> int | None:
    """Where the answer begins in a text that is still being streamed; `None` if not yet known."""
    thought = thought_aloud(text)
    if thought is None:
        return None
    answer = text[thought:].lstrip()
    if any(tag.startswith(answer) for tag in _TAGS):
        return None
    return len(text) - len(answer)


def storable(text: str) -> str:
    """The text with lone surrogates and NUL replaced, so that it can be stored and shown."""
    return replace_unstorable(text)
