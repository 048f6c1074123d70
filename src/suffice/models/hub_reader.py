"""Splits evidence and claims into inputs that fit a model's window, without truncating anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from suffice.models.reading import clean, foreign
from suffice.models.verifier import Pair
from suffice.text.sentences import Span, sentences

# A claim must leave this many tokens for the evidence.
_LEAST_ROOM = 32


@dataclass(frozen=True, slots=True)
class Window:
    """One input: part of the evidence with the claim, and the passage it comes from."""

    passage: int
    encoding: Any


@dataclass(frozen=True, slots=True)
class Reading:
    """The windows of a pair, or why it cannot be judged."""

    windows: tuple[Window, ...] = ()
    unchecked: str = ""


@dataclass(frozen=True, slots=True)
class Reader:
    """Splits pairs into windows of at most `window` tokens. With `asks`, each window includes the
    question. With `english`, text in other languages stays unchecked."""

    tokenizer: Any
    window: int
    asks: bool = False
    english: bool = False

    def read(self, pair: Pair) -> Reading:
        """All evidence in one window if it fits, otherwise separate windows for each passage."""
        pair = replace(pair, text=clean(pair.text), question=clean(pair.question))
        passages = {
            n: clean(text) for n, text in enumerate(pair.evidence) if any(map(str.isalnum, text))
        }
        question = f"{pair.question}\n" if self.asks and pair.question else ""
        marks = self.tokenizer.num_special_tokens_to_add(True)
        room = self.window - marks - len(self._ids(question)) - len(self._ids(pair.text))
        if not any(map(str.isalnum, pair.text)):
            return Reading(unchecked="There is nothing to judge.")
        if not passages:
            return Reading(unchecked="There is no evidence.")
        if room < _LEAST_ROOM:
            return Reading(unchecked=f"The claim is too long for a window of {self.window} tokens.")
        if self.english and (reason := foreign(pair)):
            return Reading(unchecked=reason)
        windows = tuple(
            Window(passage, self.tokenizer.encode(question + text, pair.text))
            for passage, text in self._texts(pair.text, passages, room)
        )
        if any(len(window.encoding) > self.window for window in windows):
            return Reading(unchecked=f"The evidence exceeds the window of {self.window} tokens.")
        return Reading(windows)

    def stretches(self, text: str, room: int) -> Iterator[str]:
        """Runs of sentences of at most `room` tokens. Each starts with the last sentence of the
        previous run if it fits."""
        spans = [part for span in sentences(text) for part in self._parts(text, span, room)]

        def fits(first: int, last: int) -> bool:
            return len(self._ids(text[spans[first][0] : spans[last][1]])) <= room

        first = 0
        while first < len(spans):
            last = first
            while last + 1 < len(spans) and fits(first, last + 1):
                last += 1
            yield text[spans[first][0] : spans[last][1]]
            overlaps = first < last < len(spans) - 1 and fits(last, last + 1)
            first = last if overlaps else last + 1

    def _texts(
        self, query: str, passages: Mapping[int, str], room: int
    ) -> Iterator[tuple[int, str]]:
        together = "\n".join(passages.values())
        if len(self._ids(together)) <= room:
            yield self._nearest(query, passages), together
            return
        for passage, text in passages.items():
            for stretch in self.stretches(text, room):
                yield passage, stretch

    def _parts(self, text: str, span: Span, room: int) -> Iterator[Span]:
        """A sentence, or parts of half a window if it is too long, so that windows overlap."""
        if len(self._ids(text[span[0] : span[1]])) <= room:
            yield span
        else:
            yield from self._halved(text, span, room // 2)

    def _halved(self, text: str, span: Span, room: int) -> Iterator[Span]:
        start, end = span
        encoding = self.tokenizer.encode(text[start:end], add_special_tokens=False)
        if len(encoding) <= room or end - start < 2:
            yield span
            return
        middle = start + encoding.offsets[len(encoding) // 2][0]
        middle = min(max(middle, start + 1), end - 1)
        yield from self._halved(text, (start, middle), room)
        yield from self._halved(text, (middle, end), room)

    def _nearest(self, query: str, passages: Mapping[int, str]) -> int:
        """The passage that shares the most words with the claim. Rare words count more."""
        wanted = set(self._ids(query))
        shared = {n: sorted(wanted & set(self._ids(text))) for n, text in passages.items()}
        spread = Counter(token for tokens in shared.values() for token in tokens)
        return max(shared, key=lambda n: sum(1 / spread[token] for token in shared[n]))

    def _ids(self, text: str) -> list[int]:
        if not text.strip():
            return []
        ids: list[int] = self.tokenizer.encode(text, add_special_tokens=False).ids
        return ids
