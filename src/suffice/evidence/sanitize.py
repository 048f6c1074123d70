"""Blanks passages that contain instructions to the model, so that no verifier or judge reads
them."""

from __future__ import annotations

import re
from dataclasses import replace

from suffice.evidence.planted import planted
from suffice.switch import rule
from suffice.types import Evidence, Passage

_LETTER = re.compile(r"\S")


@rule("instructions", lambda evidence: evidence)
def sanitized(evidence: Evidence) -> Evidence:
    """The evidence for verifiers and checks. Passages with instructions are blanked but keep their
    length and position."""
    return replace(
        evidence,
        items=tuple(replace(item, passage=_cleared(item.passage)) for item in evidence),
    )


def instructs_in(passage: Passage) -> str | None:
    """The instruction in a passage, if any."""
    above = (passage.title, *passage.heading, passage.summary)
    return next(filter(None, map(planted, (passage.text, *above))), None)


def _cleared(passage: Passage) -> Passage:
    """Blank the whole passage: whoever planted the instruction may have planted the rest too."""
    if instructs_in(passage) is None:
        return passage
    return replace(passage, text=_LETTER.sub(" ", passage.text), title="", heading=(), summary="")
