"""Joins passages that stand side by side, so that what is read can be understood alone.

A search finds small passages. Each is read with the passages of its section before and after it,
and with those of the next sections that the search found too, as far as the room allows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from suffice.evidence.index import Filter
from suffice.evidence.split import section_start, shared_headings, spanning, version_name
from suffice.evidence.store import Store
from suffice.types import Passage, Retrieved

_REACH = 8
"""A passage is joined with at most this many on either side."""
_NEAR = 0.6
"""A passage of another section joins one if its score is at least this share of its score."""
_HEADINGS = 1_000
"""The headings between two passages have at most this many characters."""


def joined(
    items: Sequence[Retrieved], store: Store, allowed: Filter, room: int
) -> Iterator[Retrieved]:
    """The items in order, each with its neighbours in at most `room` characters. A passage that has
    been joined with a better one is not repeated."""
    if not room:
        yield from items
        return
    scores = {item.number: item for item in items}
    near = {n for number in scores for n in range(number - _REACH, number + _REACH + 1)}
    around = _Around(scores, store.passages(sorted(near)), allowed, room)
    for item in items:
        if item.number not in around.used:
            members = around.members(item)
            yield _joined(item, members, scores, store)


@dataclass(slots=True)
class _Around:
    """The passages around the items, by number. Those of a document version follow each other."""

    items: Mapping[int, Retrieved]
    passages: Mapping[int, Passage]
    allowed: Filter
    room: int
    used: set[int] = field(default_factory=set)

    def members(self, item: Retrieved) -> dict[int, Passage]:
        """The item and its neighbours, in the order of the document."""
        first = last = item.number
        chosen = {first: item.passage}
        sides = [1, -1]
        while sides:
            for side in list(sides):
                number = last + 1 if side > 0 else first - 1
                passage = self.passages.get(number)
                if passage is None or not self._joins(item, number, passage, chosen):
                    sides.remove(side)
                    continue
                chosen[number] = passage
                first, last = min(first, number), max(last, number)
        self.used |= chosen.keys()
        return dict(sorted(chosen.items()))

    def _joins(
        self, item: Retrieved, number: int, passage: Passage, chosen: Mapping[int, Passage]
    ) -> bool:
        size = sum(len(other.text) for other in (passage, *chosen.values()))
        if number in self.used or size > self.room or not self.allowed.allows(passage):
            return False
        if not _same_version(passage, item.passage) or abs(number - item.number) > _REACH:
            return False
        if passage.headings == item.passage.headings:
            return True
        found = self.items.get(number)
        return found is not None and found.answers is not None and found.score >= _NEAR * item.score


def _same_version(first: Passage, second: Passage) -> bool:
    return (first.collection, first.access, version_name(first.id)) == (
        second.collection,
        second.access,
        version_name(second.id),
    )


def _joined(
    item: Retrieved, members: Mapping[int, Passage], scores: Mapping[int, Retrieved], store: Store
) -> Retrieved:
    if len(members) == 1:
        return item
    passages = list(members.values())
    answers = [scores[n].answers for n in members if n in scores]
    known = [value for value in answers if value is not None]
    return replace(
        item,
        passage=_spanning(item, passages, store),
        answers=max(known) if known else None,
    )


def _spanning(item: Retrieved, passages: Sequence[Passage], store: Store) -> Passage:
    first, end = passages[0], passages[-1].end
    own = first.headings[len(shared_headings(passages)) :]
    before = max(0, first.start - _HEADINGS)
    source = store.source(item.number, before, end)
    start = section_start(source[: first.start - before], own)
    return spanning(passages, before + start, source[start:])
