"""A text put together from parts of a sentence, every character knowing where it came from."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from suffice.text.facts.clauses import Token, tokens

Span = tuple[int, int]
_GLUE = -1
_STOPS = re.compile(r"[\s,;:—–-]+")
# A final full stop is dropped, but not the one of an abbreviation.
_FULL_STOP = re.compile(r"(?<!\b[A-Z])(?<!\bInc)(?<!\bLtd)(?<!\bCorp)(?<!\betc)(?<!\bCo)\.$")


@dataclass(frozen=True)
class Piece:
    """`places[i]` is where `text[i]` stands in the sentence, or -1 for an added character."""

    text: str
    places: tuple[int, ...]

    @classmethod
    def of(cls, sentence: str, leave_out: list[Span]) -> Piece:
        """The sentence without some spans (marks, Markdown)."""
        keep = [True] * len(sentence)
        for start, end in leave_out:
            keep[start:end] = [False] * (end - start)
        places = tuple(place for place, kept in enumerate(keep) if kept)
        return cls("".join(sentence[place] for place in places), places).tidy()

    @classmethod
    def added(cls, text: str) -> Piece:
        return cls(text, (_GLUE,) * len(text))

    @cached_property
    def words(self) -> list[Token]:
        """The tokens, none where quotes or brackets do not close: nothing is split then."""
        return tokens(self.text) or []

    def cut(self, start: int, end: int) -> Piece:
        return Piece(self.text[start:end], self.places[start:end])

    def between(self, first: int, last: int) -> Piece:
        """From token `first` up to, not including, token `last`; to the end if there is no such."""
        start = self.words[first].start if first < len(self.words) else len(self.text)
        end = self.words[last].start if last < len(self.words) else len(self.text)
        return self.cut(start, end).tidy()

    def upto(self, last: int) -> Piece:
        """From the start up to, not including, token `last`; a comma before it stays."""
        text = self.text[: self.words[last].start].rstrip()
        return Piece(text, self.places[: len(text)])

    def tidy(self) -> Piece:
        """Without white space, commas and dashes around, and with one space where several stood."""
        text = self.text
        start, end = 0, len(text)
        if lead := _STOPS.match(text):
            start = lead.end() if not text[lead.end() :][:1].isdigit() else _after_space(text)
        while end > start and (text[end - 1].isspace() or text[end - 1] in ",;—–"):
            end -= 1
        keep = [
            place
            for place in range(start, end)
            if not (text[place].isspace() and place > start and text[place - 1].isspace())
        ]
        return Piece(
            "".join(" " if text[place].isspace() else text[place] for place in keep),
            tuple(self.places[place] for place in keep),
        )

    def unstopped(self) -> Piece:
        """Without the final full stop."""
        found = _FULL_STOP.search(self.text)
        return self.cut(0, found.start()).tidy() if found else self

    def spans(self) -> tuple[Span, ...]:
        """The runs of the sentence this is made of, in the order they stand in the text."""
        runs: list[list[int]] = []
        for char, place in zip(self.text, self.places, strict=True):
            if place == _GLUE or (char.isspace() and (not runs or runs[-1][1] != place)):
                continue
            if runs and runs[-1][1] == place:
                runs[-1][1] = place + 1
            else:
                runs.append([place, place + 1])
        return tuple((start, end) for start, end in runs)


def join(*parts: Piece | str) -> Piece:
    """The parts with a space between; a string is added text."""
    whole = Piece("", ())
    for part in parts:
        piece = Piece.added(part) if isinstance(part, str) else part
        if not piece.text:
            continue
        gap = Piece.added(" ") if whole.text and piece.text[0] not in ",.;:)" else Piece("", ())
        whole = Piece(whole.text + gap.text + piece.text, whole.places + gap.places + piece.places)
    return whole


def _after_space(text: str) -> int:
    # A minus before a number is its sign.
    return len(text) - len(text.lstrip(" \t\n,;"))
