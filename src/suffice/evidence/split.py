"""Splits a document into passages at headings and sentences.

Each piece is a slice of the source text, `source[piece.start:piece.end]`. Pieces do not overlap,
and together they omit only headings, white space, and rules without words.
"""

from __future__ import annotations

import hashlib
import math
import re
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from suffice.evidence.read import Content
from suffice.text.sentences import TABLE_RULE, Span, is_header, sentences
from suffice.types import Passage

_HEADING = re.compile(r"^(#{1,6})[ \t]++(.+)$", re.MULTILINE)
_FENCE = re.compile(r"^[ \t]*+(```|~~~)([^\n]*)$", re.MULTILINE)
# A tokenizer creates an object per token, so very long text is counted in slices of this size.
_SLICE = 100_000
_LEAST_BUDGET = 16
_LONGEST_RULE = 400
_LONGEST_NAME = 300


class Tokens(Protocol):
    """Gives the end offset of each token, in characters. Every embedder provides this."""

    def token_ends(self, text: str) -> Sequence[int]: ...


@dataclass(frozen=True, slots=True)
class Piece:
    """A passage before it is stored: its position in the source text and the headings above it. If
    it continues a table, the last heading is the table's header."""

    start: int
    end: int
    heading: tuple[str, ...] = ()
    page: int | None = None


@dataclass(frozen=True, slots=True)
class _Section:
    start: int
    end: int
    heading: tuple[str, ...]


def split(content: Content, title: str, tokens: Tokens, budget: int) -> list[Piece]:
    """The pieces of a document, each within `budget` tokens including its title and headings."""
    found = list(_sections(content, title))
    pieces = [
        piece for section in found for piece in _pack(content, section, title, tokens, budget)
    ]
    if not pieces:  # only headings: keep them as text
        whole = _Section(content.body, len(content.text), ())
        pieces = list(_pack(content, whole, title, tokens, budget))
    return pieces


def placed(passage: Passage) -> str:
    """A passage below its headings, as a verifier reads it."""
    above = [part for part in (passage.title, *passage.heading) if part not in passage.text]
    return "\n".join([*above, passage.text])


def spanning(passages: Sequence[Passage], start: int, text: str) -> Passage:
    """Passages of one document version that follow each other, as one: the text from `start`."""
    first, last = passages[0], passages[-1]
    table = tuple(part for part in first.heading if part not in first.headings)
    return replace(
        first,
        id=f"{version_name(first.id)}#{start}-{last.end}",
        text=text,
        heading=(*shared_headings(passages), *table),
        start=start,
        end=last.end,
        content_hash=content_hash(text),
    )


def version_name(id: str) -> str:
    """The part of a passage's id that names the document and its version."""
    return id.rpartition("#")[0]


def shared_headings(passages: Sequence[Passage]) -> tuple[str, ...]:
    """The headings that all passages stand below."""
    shared: list[str] = []
    for names in zip(*(passage.headings for passage in passages), strict=False):
        if len(set(names)) > 1:
            break
        shared.append(names[0])
    return tuple(shared)


def content_hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def short_name(name: str) -> str:
    """A title or heading, cut if it is longer than any name: each passage is embedded below it."""
    return name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"


def context(title: str, heading: Sequence[str]) -> str:
    """The context of a passage: the document title and the headings above it."""
    parts = [title, *heading]
    return " > ".join(part for part in parts if part)


def embedded_text(passage: Passage) -> str:
    """The text embedded for a passage: its title, headings and text."""
    above = context(passage.title, passage.heading)
    return f"{above}\n{passage.text}" if above else passage.text


def _sections(content: Content, title: str) -> Iterator[_Section]:
    """The text between headings, each part with the headings above it."""
    text, start = content.text, content.body
    path: list[tuple[int, str]] = []
    if content.markdown:
        code = _code_blocks(text, content.body)
        block = next(code, None)
        for match in _HEADING.finditer(text, content.body):
            while block and block[1] <= match.start():
                block = next(code, None)
            if block and block[0] <= match.start():
                continue
            yield _Section(start, match.start(), _path(path, title))
            level = len(match[1])
            path = [entry for entry in path if entry[0] < level] + [(level, _name(match[2]))]
            start = match.end()
    yield _Section(start, len(text), _path(path, title))


def section_start(before: str, headings: Sequence[str]) -> int:
    """Where the headings begin that stand at the end of a text, of those named; its length if there
    are none."""
    start = len(before)
    for match in reversed(list(_HEADING.finditer(before))):
        below = before[match.end() : start]
        if below.strip() or _name(match[2]) not in headings:
            break
        start = match.start()
    return start


def _name(heading: str) -> str:
    """The words of a heading, without the signs that may close it: "## Leave ##"."""
    return short_name(heading.rstrip(" \t").rstrip("#").rstrip(" \t") or heading)


def _code_blocks(text: str, start: int) -> Iterator[Span]:
    """The fenced code blocks, in order. A fence that no bare fence closes opens no block."""
    fences = list(_FENCE.finditer(text, start))
    closing = {fence[1]: fence for fence in fences if not fence[2].strip(" \t")}
    opened: re.Match[str] | None = None
    for fence in fences:
        if opened is None:
            last = closing.get(fence[1])
            opened = fence if last and fence.start() < last.start() else None
        elif fence[1] == opened[1] and not fence[2].strip(" \t"):
            yield opened.start(), fence.end()
            opened = None


def _path(path: list[tuple[int, str]], title: str) -> tuple[str, ...]:
    """The headings, without a heading that only repeats the document title."""
    names = [name for _, name in path]
    return tuple(names[1:] if names and names[0].casefold() == title.casefold() else names)


def _pack(
    content: Content, section: _Section, title: str, tokens: Tokens, budget: int
) -> Iterator[Piece]:
    """Pack whole sentences up to the budget. A longer sentence is split between words."""
    above = len(tokens.token_ends(context(title, section.heading)))
    room = max(budget - above - 2, _LEAST_BUDGET)  # two for the model's start and end tokens
    body = content.text[section.start : section.end]
    ends = _token_ends(body, tokens)

    def size(span: Span) -> int:
        return bisect_right(ends, span[1]) - bisect_right(ends, span[0])

    def page(place: int) -> int:
        return bisect_right(content.pages, section.start + place)

    tables, cost = _Tables(body), {"": 0}
    goal, left = _even(len(ends), room), room
    start: int | None = None
    end, header = 0, ""
    for unit in _together(_units(body, ends, room), body, size, room):
        turned = start is not None and page(start) != page(unit[0])
        full = start is not None and size((start, end)) >= goal
        if start is not None and (turned or full or size((start, unit[1])) > left):
            if _states(body, start, end):
                yield _piece(content, section, start, end, header)
            start = None
        if start is None:
            start, header = unit[0], tables.header(unit[0])
            if header not in cost:  # a header is the same for all pieces of its table
                cost = {"": 0, header: len(tokens.token_ends(header))}
            left = room - cost[header]
            if left < max(room // 2, size(unit)):  # no room left for the table's rows
                header, left = "", room
        end = unit[1]
    if start is not None and _states(body, start, end):
        yield _piece(content, section, start, end, header)


def _states(body: str, start: int, end: int) -> bool:
    """Whether there are words: a rule or a bracket alone is no passage."""
    return any(char.isalnum() for char in body[start:end])


def _together(
    units: Iterable[Span], body: str, size: Callable[[Span], int], room: int
) -> Iterator[Span]:
    """The units, each with what introduces it, because neither can be understood alone: a line that
    ends with a colon, a question before its answer, the header of a table and its rule."""
    lead: Span | None = None
    for unit in units:
        joined = unit if lead is None else (lead[0], unit[1])
        if lead is not None and size(joined) > room:
            yield lead
            joined = unit
        introduces = _introduces(body, *unit)
        lead = joined if introduces else None
        if not introduces:
            yield joined
    if lead is not None:
        yield lead


def _introduces(body: str, start: int, end: int) -> bool:
    last = body[max(start, end - 20) : end].rstrip("*_ ")
    line = body[start:end].rpartition("\n")[2] if last.endswith("|") else ""
    below = body[end : end + _LONGEST_RULE].lstrip(" \t").removeprefix("\n").partition("\n")[0]
    ruled = bool(line) and any(TABLE_RULE.fullmatch(one.strip()) for one in (line, below))
    return last.endswith((":", "?")) or ruled


def _units(body: str, ends: Sequence[int], room: int) -> Iterator[Span]:
    """The sentences of a section. Sentences over the budget are split."""
    for start, end in sentences(body):
        first, last = bisect_right(ends, start), bisect_right(ends, end)
        if last - first <= room:
            yield start, end
            continue
        part = _even(last - first, room)
        while start < end:
            # The rest may contain no token at all (a soft hyphen). It stays with its sentence.
            limit = ends[first + part - 1] if first + part <= last else end
            cut = _cut(body, start, limit, end)
            yield start, cut
            start = cut
            while start < end and body[start].isspace():
                start += 1
            first = bisect_right(ends, start)


def _even(tokens: int, room: int) -> int:
    """A size that gives parts of even length, instead of a tiny last part."""
    return math.ceil(tokens / max(1, math.ceil(tokens / room)))


def _cut(body: str, start: int, limit: int, end: int) -> int:
    """The last end of a line in the second half, or the last word boundary, at or before `limit`;
    `limit` if there is none."""
    if limit >= end:
        return end
    line = body.rfind("\n", start + (limit - start) // 2, limit)
    cut = limit if line < 0 else line
    while cut > start and not body[cut].isspace():
        cut -= 1
    while cut > start and body[cut - 1].isspace():
        cut -= 1
    return cut if cut > start else limit


def _token_ends(body: str, tokens: Tokens) -> Sequence[int]:
    ends = array("I")  # a tenth of the memory of a list
    start = 0
    while start < len(body):
        stop = min(start + _SLICE, len(body))
        ends.extend(start + end for end in tokens.token_ends(body[start:stop]))
        start = stop
    return ends


class _Tables:
    """Finds the header of the table that a position continues, reading each line once: a table may
    have a million rows. Positions must not decrease."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._rows = 0
        """Rows of the table before the line."""
        self._first = self._header = ""
        self._read(0)

    def header(self, start: int) -> str:
        """The first row of the table; empty outside a table and in its first two rows."""
        while self._end < start:
            self._pass()
        return self._header if start <= self._bar else ""

    def _read(self, start: int) -> None:
        end = self._text.find("\n", start)
        self._start, self._end = start, end if end >= 0 else len(self._text)
        self._bar = self._text.rfind("|", start, self._end)

    def _pass(self) -> None:
        line = self._text[self._start : self._end].strip() if self._rows < 2 else ""
        self._rows = self._rows + 1 if self._bar >= 0 else 0
        if self._rows == 1:
            self._first = line
        elif self._rows == 2 and TABLE_RULE.fullmatch(line):
            whole = is_header(self._first)
            self._header = self._first if whole else f"| {self._first.strip('| ')} |"
        if self._rows < 2:
            self._header = ""
        self._read(self._end + 1)


def _piece(content: Content, section: _Section, start: int, end: int, header: str) -> Piece:
    first, last = section.start + start, section.start + end
    page = bisect_right(content.pages, first) or None if content.pages else None
    return Piece(first, last, (*section.heading, header) if header else section.heading, page)
