"""From what a model wrote to a `Draft`: its claims with exact spans, and what they cite."""

from __future__ import annotations

import re
from collections.abc import Sequence

from suffice.text.claims import claims
from suffice.types import Citation, Claim, Draft, Passage

# What some models think aloud before they answer; a reader is not meant to see it.
_THINKING = re.compile(r"\s*<think(?:ing)?>(?:.*?</think(?:ing)?>|.*)", re.DOTALL)
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
    said = readable(text)
    thought = _THINKING.match(said)
    answer = said[thought.end() if thought else 0 :].strip()
    found = claims(answer)
    marks = {n for statement in found for n in statement.cites}
    return Draft(
        text=answer,
        claims=tuple(Claim(s.text, s.start, s.end, s.cites) for s in found if s.checkable),
        citations=tuple(Citation(n, p, "") for n, p in enumerate(passages, 1) if n in marks),
        drafter=drafter,
        cut=cut,
        notes=(*notes, THOUGHT) if thought else tuple(notes),
        tokens=tokens,
    )


def readable(text: str) -> str:
    """A text that can be stored and shown: half a surrogate pair and NUL are no characters."""
    return _NO_CHARACTER.sub("\N{REPLACEMENT CHARACTER}", text)
