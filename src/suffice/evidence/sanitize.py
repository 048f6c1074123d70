"""Evidence without passages that try to instruct their reader: no judge of ours reads them."""

from __future__ import annotations

import re
from dataclasses import replace

from suffice.switch import rule
from suffice.text.instructions import instructs
from suffice.types import Evidence, Passage

_LETTER = re.compile(r"\S")


@rule("instructions", lambda evidence: evidence)
def sanitized(evidence: Evidence) -> Evidence:
    """The evidence as it may be judged, and claims held against it: a passage that instructs is
    blank, and keeps its length and its place."""
    return replace(
        evidence,
        items=tuple(replace(item, passage=_cleared(item.passage)) for item in evidence),
    )


def instructs_in(passage: Passage) -> str | None:
    """The words of a passage that try to instruct, if there are any."""
    above = (passage.title, *passage.heading, passage.summary)
    return next(filter(None, map(instructs, (passage.text, *above))), None)


def _cleared(passage: Passage) -> Passage:
    """Who can plant an instruction can plant the sentence beside it: the whole passage goes."""
    if instructs_in(passage) is None:
        return passage
    return replace(passage, text=_LETTER.sub(" ", passage.text), title="", heading=(), summary="")
