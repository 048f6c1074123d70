"""Blanks instructions to the model in passages, so that no drafter, verifier or judge reads them.

A passage with a certain instruction, one that a pattern matches, is blanked as a whole: whoever
planted the instruction may have planted the rest too. Otherwise only the sentences that seem to
instruct are blanked, and the passage is marked: what it alone supports needs a caveat.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate

import numpy as np

from suffice.models.batching import ALONE, Batcher, Lanes
from suffice.models.card import margin
from suffice.models.catalog import open_fast
from suffice.models.cross_encoder import MARKS, SUPPORTED, Read, means
from suffice.models.reading import clean
from suffice.switch import rule
from suffice.text.digest import pieces
from suffice.text.instructions import STATEMENT, folded, matched
from suffice.text.instructions import model as words_model
from suffice.text.sentences import Span
from suffice.types import Evidence, Exclusion, Instruction, Passage, Retrieved

_SUSPICIOUS = -6.5
"""The words of half of the ordinary passages score at least this much."""
_WORDS = 0.15
"""The weight of the words beside the verifier."""
_THRESHOLD = -1.95
"""Three in two hundred of 2,985 ordinary passages score higher."""
_ROOM = 1400
"""The characters that the verifier reads at a time."""
_MOST = 5
"""The sentences of a portion that are found one by one."""


@dataclass(frozen=True, slots=True)
class InstructionReader:
    """Reads sentences with the fast tier, whichever tier judges the answers: the others do not know
    the statement. It uses as many `threads` as the verifier, and one of the `lanes`."""

    threads: int = 0
    lanes: Lanes | None = None

    def __call__(self, parts: Sequence[str]) -> tuple[float, int]:
        """The log-odds that consecutive sentences instruct the model, and the place of the one
        that does so most."""
        if self.lanes is None:
            return self._odds(parts)
        run = Batcher[Sequence[str], tuple[float, int]](self._each, self.lanes, ALONE)
        (odds,) = run([parts])
        return odds

    def _each(self, calls: Sequence[Sequence[str]]) -> list[tuple[float, int]]:
        return [self._odds(parts) for parts in calls]

    def _odds(self, parts: Sequence[str]) -> tuple[float, int]:
        model = open_fast(self.threads, os.getpid())
        ids, *tokens = model.encoder.tokens([STATEMENT, *map(clean, parts)])
        evidence = [token for part in tokens for token in part]
        room = model.card.window - len(ids) - MARKS
        reads = [Read(ids, evidence[at : at + room]) for at in range(0, len(evidence) or 1, room)]
        logits, marks = model.encoder.judge(reads, "support")
        odds = means(np.concatenate(marks), [len(part) for part in tokens])
        return float(margin(logits, SUPPORTED).max()), max(range(len(odds)), key=odds.__getitem__)


READER = InstructionReader()
"""For callers without an engine."""


@rule("instruction model", lambda text, reader=READER: ())
@lru_cache(maxsize=4096)  # many questions find the same passages
def suspected(text: str, reader: InstructionReader = READER) -> tuple[Span, ...]:
    """The sentences that seem to instruct the model."""
    plain, places = folded(text)
    found = (span for start, parts in _portions(plain) for span in _orders(start, parts, reader))
    return tuple((places[start], places[end - 1] + 1) for start, end in found)


def suspicion(text: str) -> float:
    """The score of the most suspicious portion of a text."""
    plain, _ = folded(text)
    return max((_scored(parts, READER)[0] for _, parts in _portions(plain)), default=-math.inf)


def _orders(start: int, parts: Sequence[str], reader: InstructionReader) -> Iterator[Span]:
    """The most suspicious sentence, and again that of the rest, until the rest is not suspicious.
    After `_MOST` sentences all of the rest counts."""
    starts = accumulate(map(len, parts), initial=start)
    left = [(at, part) for at, part in zip(starts, parts, strict=False) if part.strip()]
    for _ in range(_MOST):
        score, best = _scored([part for _, part in left], reader)
        if score < _THRESHOLD:
            return
        at, part = left.pop(best)
        yield at, at + len(part.rstrip())
    yield from ((at, at + len(part.rstrip())) for at, part in left)


def _scored(parts: Sequence[str], reader: InstructionReader) -> tuple[float, int]:
    """The score of consecutive sentences, and the most suspicious one."""
    words = words_model().suspicion("".join(parts))
    if words < _SUSPICIOUS:
        return -math.inf, 0
    odds, best = reader(parts)
    return odds + _WORDS * words, best


def _portions(plain: str) -> Iterator[tuple[int, list[str]]]:
    """Consecutive sentences that are read together, and where the first begins."""
    start, parts, used = 0, list[str](), 0
    for piece in pieces(plain):
        if parts and used + len(piece) > _ROOM:
            yield start, parts
            start, parts, used = start + used, [], 0
        parts.append(piece)
        used += len(piece)
    if parts:
        yield start, parts


_LETTER = re.compile(r"\S")
_LONGEST = 200
_NONE = Instruction()


@rule("instructions", lambda passage, reader=READER: _NONE)
def instruction_in(passage: Passage, reader: InstructionReader = READER) -> Instruction:
    """The instruction to the model in a passage, if any."""
    above = (passage.title, *passage.heading, passage.summary)
    if quote := next(filter(None, map(matched, (passage.text, *above))), None):
        return Instruction(quote, certain=True)
    whole = _whole(passage)
    spans = suspected(whole, reader)
    if not spans:
        return _NONE
    start, end = spans[0]
    return Instruction(whole[start:end].strip()[:_LONGEST], certain=False, spans=spans)


def examined(evidence: Evidence, reader: InstructionReader = READER) -> Evidence:
    """The evidence with every passage searched for instructions. What was found travels with the
    passage, so that each is searched once."""
    return replace(evidence, items=tuple(_examined(item, reader) for item in evidence))


def _examined(item: Retrieved, reader: InstructionReader = READER) -> Retrieved:
    if item.instruction is not None:
        return item
    return replace(item, instruction=instruction_in(item.passage, reader))


def sanitized(evidence: Evidence) -> Evidence:
    """The evidence for drafters, verifiers and checks. Blanked text keeps its length."""
    return replace(evidence, items=tuple(_cleared(_examined(item)) for item in evidence))


def _cleared(item: Retrieved) -> Retrieved:
    if not item.instruction:
        return item
    # The verifier that ordered the search has read another text.
    passage = cleared(item.passage, item.instruction)
    return replace(item, passage=passage, answers=None, instruction=_NONE)


def cleared(passage: Passage, found: Instruction) -> Passage:
    """The passage without its instructions to the model."""
    if found.certain:
        return blank(passage)
    title, summary, *heading, text = _blanked(_parts(passage), found.spans)
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


Flags = Mapping[int, Instruction]
"""The numbers of passages that try to instruct the model, or seem to, each with the words."""


def flagged(evidence: Evidence) -> Flags:
    items = enumerate(examined(evidence), 1)
    return {n: item.instruction for n, item in items if item.instruction}


def flag_exclusions(evidence: Evidence) -> tuple[Exclusion, ...]:
    """The flagged passages, each with the reason. One that only seems to instruct is left out only
    in part."""
    passages = evidence.passages
    return tuple(
        Exclusion(passages[n - 1], _reason(found), partly=not found.certain)
        for n, found in flagged(evidence).items()
    )


def flag_notes(evidence: Evidence) -> tuple[str, ...]:
    """One note for the reader per flagged passage."""
    return tuple(
        f"Passage {n} ({evidence.passages[n - 1].name}) {_reason(found)}"
        for n, found in flagged(evidence).items()
    )


def _reason(found: Instruction) -> str:
    if found.certain:
        return f"tries to instruct its reader and was not used as evidence: “{found.quote}”"
    return f"holds words that look like an instruction; they were left out: “{found.quote}”"
