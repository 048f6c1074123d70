"""Blanks instructions to the model in passages, so that no drafter, verifier or judge reads them.

A passage with a certain instruction, one that a pattern matches, is blanked as a whole: whoever
planted the instruction may have planted the rest too. Otherwise only the sentences that seem to
instruct are blanked, and the passage is marked: what it alone supports needs a caveat.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from suffice.evidence.planted import suspected
from suffice.switch import rule
from suffice.text.instructions import matched
from suffice.text.sentences import Span
from suffice.types import Evidence, Passage, Retrieved

_LETTER = re.compile(r"\S")
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Instruction:
    """The words of a passage that instruct the model, and whether that is certain."""

    quote: str
    certain: bool


@lru_cache(maxsize=4096)
def instruction_in(passage: Passage) -> Instruction | None:
    """The instruction in a passage, if any."""
    above = (passage.title, *passage.heading, passage.summary)
    if quote := next(filter(None, map(matched, (passage.text, *above))), None):
        return Instruction(quote, certain=True)
    spans = suspected(_whole(passage))
    if not spans:
        return None
    start, end = spans[0]
    return Instruction(_whole(passage)[start:end].strip()[:_LONGEST], certain=False)


def sanitized(evidence: Evidence) -> Evidence:
    """The evidence for drafters, verifiers and checks. Blanked text keeps its length."""
    return replace(evidence, items=tuple(map(_cleared, evidence)))


def _cleared(item: Retrieved) -> Retrieved:
    passage = cleared(item.passage)
    # The verifier that ordered the search has read another text.
    return item if passage == item.passage else replace(item, passage=passage, answers=None)


@rule("instructions", lambda passage: passage)
def cleared(passage: Passage) -> Passage:
    """The passage without its instructions to the model."""
    found = instruction_in(passage)
    if found is None:
        return passage
    if found.certain:
        return blank(passage)
    title, summary, *heading, text = _blanked(_parts(passage), suspected(_whole(passage)))
    return replace(
        passage,
        title=title if title == passage.title else "",
        summary=summary if summary == passage.summary else "",
        text=text,
        heading=tuple(new for new, old in zip(heading, passage.heading, strict=True) if new == old),
    )


def blank(passage: Passage) -> Passage:
    """The passage without any words, of the same length."""
    return replace(passage, text=_LETTER.sub(" ", passage.text), title="", heading=(), summary="")


def _blanked(parts: Sequence[str], spans: Sequence[Span]) -> list[str]:
    """The parts of a text with spans of the whole blanked; between parts is one character."""
    blanked, at = [], 0
    for part in parts:
        for first, last in spans:
            start, end = max(first - at, 0), max(last - at, 0)
            part = part[:start] + _LETTER.sub(" ", part[start:end]) + part[end:]
        blanked.append(part)
        at += len(part) + 1
    return blanked


def _parts(passage: Passage) -> tuple[str, ...]:
    return (passage.title, passage.summary, *passage.heading, passage.text)


def _whole(passage: Passage) -> str:
    """The passage with what stands above it: an imperative heading by itself misleads the model."""
    return "\n".join(_parts(passage))
