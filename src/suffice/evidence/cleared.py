"""Evidence without what tries to instruct its reader: no judge of ours reads it as a statement."""

from __future__ import annotations

from dataclasses import replace

from suffice.switch import rule
from suffice.text.instructions import instructs
from suffice.text.statements import statements
from suffice.types import Evidence, Passage


@rule("instructions", lambda evidence: evidence)
def cleared(evidence: Evidence) -> Evidence:
    """The evidence as it may be judged, and claims held against it: what instructs is blank, and
    every other character stands where it stood."""
    return replace(
        evidence,
        items=tuple(replace(item, passage=_cleared(item.passage)) for item in evidence),
    )


def instructs_in(passage: Passage) -> str | None:
    """The words of a passage that try to instruct, if there are any."""
    return instructs(passage.text) or instructs(passage.title)


def _cleared(passage: Passage) -> Passage:
    if instructs_in(passage) is None:
        return passage
    kept = list(passage.text)
    for statement in statements(passage.text):
        if instructs(statement.wording):
            for start, end in statement.slices:
                kept[start:end] = " " * (end - start)
    title = "" if instructs(passage.title) else passage.title
    return replace(passage, text="".join(kept), title=title)
