"""Quoted statements, and the draft composed of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from suffice.evidence.split import placed
from suffice.text.readable import Readable, readable
from suffice.text.sentences import ITEM_MARK
from suffice.text.statements import TABLE_RULE, Statement, apart, is_header
from suffice.types import Citation, Claim, Draft, Passage

_NUMBER = re.compile(r"^[^\S\n]*+(\d{1,3})[.)]\s", re.MULTILINE)
_CELL = re.compile(r"[^|]+")


@dataclass(frozen=True, slots=True)
class Ranked:
    """A statement, or the block around it, with its score as an answer to the question."""

    passage: Passage
    statement: Statement
    score: float
    answers: float | None = None
    """The probability that it answers the question by itself, if it was judged."""
    headings: tuple[str, ...] = ()
    """The headings within the passage above a block."""
    lit: tuple[Statement, ...] = ()
    """The statements of a block that answer by themselves."""

    @property
    def alone(self) -> str:
        """The statement with its headings, and a table row with its header."""
        row = len(self.statement.slices) > 1
        text = "\n".join(self.quotes) if row else self.statement.wording
        heading = (*self.passage.heading, *self.headings)
        return placed(replace(self.passage, text=text, heading=heading))

    @property
    def quotes(self) -> list[str]:
        return [self.passage.text[start:end] for start, end in self.statement.slices]


def compose(chosen: Sequence[Ranked]) -> Draft:
    """The statements as one text with citations and exact claim spans.

    The passage of the best statement comes first; within a passage, statements keep their order and
    table rows share one header.
    """
    by_passage: dict[str, list[Ranked]] = {}
    for entry in chosen:
        by_passage.setdefault(entry.passage.id, []).append(entry)
    page = _DraftBuilder()
    citations: list[Citation] = []
    lit: list[str] = []
    for n, entries in enumerate(by_passage.values(), 1):
        passage = entries[0].passage
        slices = apart({span for entry in entries for span in entry.statement.slices})
        read = Readable.of(passage.text)
        numbers = frozenset(map(int, _NUMBER.findall(passage.text)))
        texts = (text for span in slices if (text := read.cut(*span)))
        page.write([_unlisted(text, numbers) for text in texts], n, _header(passage))
        lit += (read.cut(*one.slices[-1]) for entry in entries for one in entry.lit)
        quotes = (passage.text[start:end] for start, end in slices)
        citations.append(Citation(n, passage, " … ".join(quotes)))
    marked = tuple(text for text in dict.fromkeys(lit) if text and text in page.text)
    return Draft(page.text, tuple(page.claims), tuple(citations), "extractive", highlights=marked)


@dataclass(slots=True)
class _DraftBuilder:
    """The draft text under construction, with the claims written so far."""

    text: str = ""
    claims: list[Claim] = field(default_factory=list)

    def write(self, quotes: Sequence[str], n: int, header: str = "") -> None:
        """Append quotes from passage `n`. `header` is that of a table the passage continues."""
        for table, run in groupby(quotes, key=lambda quote: "|" in quote):
            if table:
                rows = list(run)
                headed = any(map(TABLE_RULE.fullmatch, rows[0].split("\n")))
                above = f"{header}\n" if header and not headed else ""
                self._add(rows, n, mark=f"\n\n[{n}]", gap="\n\n", above=above)
                continue
            for quote in run:
                gap = "\n\n" if "\n" in self.text else " "
                self._add([quote], n, mark=f" [{n}]", gap=gap)

    def _add(self, lines: Sequence[str], n: int, *, mark: str, gap: str, above: str = "") -> None:
        for place, line in enumerate(lines):
            self.text += "\n" if place else f"{gap if self.text else ''}{above}"
            start = len(self.text)
            self.text += line
            self.claims.append(Claim(line, start, len(self.text), (n,)))
        self.text += mark


def _header(passage: Passage) -> str:
    above = "".join(passage.heading[-1:])
    return f"{readable(above)}\n{_CELL.sub('---', above)}" if is_header(above) else ""


def _unlisted(quote: str, numbers: frozenset[int]) -> str:
    """A single list item without its bullet, or without its number if the passage has the next or
    the previous one: "12. March" may be a date."""
    mark = None if "\n" in quote else ITEM_MARK.match(quote)
    if mark is None or mark.end() == len(quote):
        return quote
    numbered = _NUMBER.match(quote)
    if numbered and not {int(numbered[1]) - 1, int(numbered[1]) + 1} & numbers:
        return quote
    return quote[mark.end() :]
