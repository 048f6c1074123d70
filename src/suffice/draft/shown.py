"""Selects the evidence for the prompt: all of it if it fits, otherwise the best statements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from suffice.draft.quotation import Ranked
from suffice.text.sentences import Span
from suffice.text.statements import apart
from suffice.types import Evidence, Passage

Rank = Callable[[Evidence], Sequence[Ranked]]
"""Returns the statements of the evidence, best first."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A numbered passage with the text that the prompt shows of it."""

    n: int
    passage: Passage
    text: str


def shown(evidence: Evidence, room: int, rank: Rank) -> tuple[Shown, ...]:
    """The evidence cut to `room` characters: best passages first, text in its original order."""
    passages = evidence.passages
    if sum(len(passage.text) for passage in passages) <= room:
        return tuple(Shown(n, passage, passage.text) for n, passage in enumerate(passages, 1))
    return excerpts(evidence, rank(evidence), room)


def excerpts(evidence: Evidence, ranked: Iterable[Ranked], room: int) -> tuple[Shown, ...]:
    """The best statements that fit, by passage. The best one is always included, cut if needed."""
    numbers = {passage.id: n for n, passage in enumerate(evidence.passages, 1)}
    chosen: dict[int, set[Span]] = {}
    left = room
    for entry in ranked:
        held = chosen.get(numbers[entry.passage.id], set())
        new = set(entry.statement.slices) - held
        size = sum(end - start for start, end in new)
        if chosen and size > left:
            continue
        chosen[numbers[entry.passage.id]] = held | new
        left -= size
    return tuple(
        Shown(n, evidence.passages[n - 1], _joined(evidence.passages[n - 1].text, spans)[:room])
        for n, spans in chosen.items()
    )


def left_out(evidence: Evidence, parts: Sequence[Shown]) -> tuple[str, ...]:
    """A note for the reader if the model did not receive all of the evidence."""
    whole = {part.n for part in parts if part.text == part.passage.text}
    missing = [str(n) for n in range(1, len(evidence) + 1) if n not in whole]
    if not missing:
        return ()
    which = f"passage{'s' * (len(missing) > 1)} {', '.join(missing)}"
    return (f"The model received only part of the evidence (shortened or omitted: {which}).",)


def _joined(text: str, spans: set[Span]) -> str:
    """The parts in order; an ellipsis marks omissions, except between table rows."""
    joined, last = "", 0
    for start, end in apart(spans):
        between = text[last:start]
        if joined:
            joined += "\n" if "|" in text[start:end] else " … " if between.strip() else between
        joined += text[start:end]
        last = end
    return joined
