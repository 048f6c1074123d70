"""Reads all literals of a text, in order and without overlap."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

from suffice.deadline import watched
from suffice.text.literals.dates import dates, times
from suffice.text.literals.identifiers import codes, identifiers, marks, names, quotations, versions
from suffice.text.literals.numbers import ORDINALS, SCALES, SMALL
from suffice.text.literals.quantities import dated_comparator, heights, periods, quantities, ratios
from suffice.text.literals.values import QUANTITIES, Literal, LiteralKind, named
from suffice.text.sentences import Span, sentences
from suffice.text.words import STOP_WORDS, stem

_LINE = re.compile(r"[^\n]+")
_RULE = re.compile(r"[ \t]*+(?:\|[ \t]*+)?:?--[-:| \t]*")


@dataclass(frozen=True, slots=True)
class Row:
    """One table row. `start` is where its text starts, `edges` where each cell starts."""

    start: int
    edges: tuple[int, ...]
    cells: tuple[str, ...]
    heading: tuple[str, ...]

    def column(self, at: int) -> int:
        """The index of the cell at position `at`."""
        return max(0, bisect_right(self.edges, at) - 1)


def table_rows(text: str) -> Iterator[Row]:
    """The rows below a heading and its rule line. Lines with bars but without both do not count."""
    heading: tuple[str, ...] = ()
    previous: tuple[str, ...] = ()
    after = -1
    for line in _LINE.finditer(text):
        if "|" not in line[0] or (after >= 0 and line.start() != after + 1):
            heading = previous = ()
        if "|" in line[0]:
            if _RULE.fullmatch(line[0]):
                heading = previous
            else:
                row = _row(line, heading)
                if heading:
                    yield row
                previous = row.cells
        after = line.end()


def _row(line: re.Match[str], heading: tuple[str, ...]) -> Row:
    written = line[0]
    lead = len(written) - len(written.lstrip())
    at = line.start() + lead
    body = written.strip()
    start = at
    if body.startswith("|"):
        body, at = body[1:], at + 1
    body = body.removesuffix("|")
    cells = body.split("|")
    edges = []
    for cell in cells:
        edges.append(at)
        at += len(cell) + 1
    return Row(start, tuple(edges), tuple(cell.strip() for cell in cells), heading)


_WORD = re.compile(r"[^\W\d_]{3,40}")
_HARD = re.compile(r"[;|\n]|\b(?:but|while|whereas|whilst)\b", re.I)
_STRONG = re.compile(
    r"[,()]|\s[—–-]\s|\b(?:versus|vs|compared|against|than|instead|rather)\b", re.I
)
_WEAK = re.compile(r"\b(?:and|or|plus)\b", re.I)
_LEFT, _RIGHT, _CONTEXT = 24, 14, 40
_HEAD = 1_000
"""How many characters before the first value of a sentence can apply to its later values."""
_JOINT = len("and $")
_NOUNS = re.compile(
    r"(?:[ -](?:of )?(?:the |its |their |"
    r"all )?)(?:[^\W\d_]-)?([^\W\d_]{3,30}|[A-Z]{2})"
    r"(?:[ -]([^\W\d_]{3,30}))?(?:[ -]([^\W\d_]{3,30}))?"
)
# "… and 0.40 euros in colour", "… and for withdrawals 600 euros": the words left out are those of
# the previous value.
_GAPPED = re.compile(
    r",?\s*(?:(?:and|or|plus|but|while)\s+)?(?:only |about |just )?"
    r"(?:(?P<link>for|in|on|at|by|with|from|to|per|after|before|during|under|over|outside|within)\b"
    r"[^,;:()]*)?[$€£]?",
    re.I,
)
_RATE = re.compile(r" (?:an?|per|each|every) [^\W\d_]+\b", re.I)
# Verbs and hedges that fit any subject do not identify what a number is about.
_LIGHT = frozenset(
    """about approximately around roughly nearly almost least most exactly total
    receive received receives entitled entitle granted grant allow allowed allows provide provided
    provides include included includes including become became remain remained amount amounts equal
    stand stood reach reached see according also well new old percent percentage per cent
    respectively year years month months day days time times number first last next set due ago
    later earlier early late increase increased increases decrease decreased rise rose fell fall
    grew grow growth need needs needed require required requires beyond""".split()
)
_NO_ABOUT = STOP_WORDS | _LIGHT | frozenset(SMALL) | frozenset(SCALES) | frozenset(ORDINALS)


@dataclass(frozen=True, slots=True)
class _Words:
    """The content words of one sentence with their positions, and its clause boundaries."""

    starts: tuple[int, ...]
    stems: tuple[str, ...]
    hard: tuple[int, ...]
    strong: tuple[int, ...]
    weak: tuple[int, ...]


def bind(
    text: str, found: Sequence[Literal], sentences: Sequence[tuple[int, int]]
) -> list[Literal]:
    """The literals, each with `nouns`, `about`, `context` and `shared` set."""
    bound: list[Literal] = []
    rows = {row.start: row for row in table_rows(text)}
    at = 0
    for start, end in sentences:
        inside: list[Literal] = []
        while at < len(found) and found[at].start < end:
            inside.append(found[at])
            at += 1
        if inside and (row := rows.get(start)):
            bound.extend(_bind_row(row, one) for one in inside)
        elif inside:
            bound.extend(_bind_sentence(text, start, end, inside))
    bound.extend(found[at:])
    return bound


def _bind_row(row: Row, literal: Literal) -> Literal:
    """Link a table cell to its subject: the words of its row and its column's heading."""
    column = row.column(literal.start)
    label = f"{row.heading[0]} {row.cells[0]}".lower() if row.heading else ""
    beside = [cell for number, cell in enumerate(row.cells) if number != column]
    head = row.heading[column] if column < len(row.heading) else ""
    words = [*_content(head), *(word for cell in beside for word in _content(cell))]
    if column and row.cells[0][:1].isdigit():
        words.append(label)
    return replace(literal, about=_distinct(words), cell=True, sentence=row.start)


def _content(text: str) -> list[str]:
    return [stem(m[0]) for m in _WORD.finditer(text[:400]) if m[0].lower() not in STOP_WORDS]


def _bind_sentence(text: str, start: int, end: int, inside: list[Literal]) -> Iterator[Literal]:
    words = _words(text, start, end, inside)
    together = "respectively" in text[start:end]
    reach: dict[int, tuple[int, int]] = {}
    shared: dict[int, tuple[str, ...]] = {}
    families = sorted(inside, key=_family)
    for _, group in groupby(families, key=_family):
        members = list(group)
        cuts = [start, *(_cut(words, a, b) for a, b in pairwise(members)), end]
        for number, member in enumerate(members):
            left = _next(cuts[max(0, number - 40) : number + 1][::-1], 0, start)
            reach[member.start] = (left, _next(cuts, number + 1, end))
            if number and cuts[number] >= 0 and not together:
                cut = cuts[number]
                shared[member.start] = _shared(text, words, start, members[0], cut, member)
            if together:
                reach[member.start] = (start, end)
    for literal in inside:
        bound = _attach(text, literal, words, start, *reach[literal.start])
        yield replace(bound, shared=shared.get(literal.start, ()))


def _shared(
    text: str, words: _Words, start: int, first: Literal, cut: int, later: Literal
) -> tuple[str, ...]:
    """Words before the sentence's first value that also apply to a later value without a subject of
    its own. They end at the preposition that introduces the later value."""
    gap = _GAPPED.fullmatch(text, cut, later.start)
    if not gap or first.kind not in QUANTITIES | {LiteralKind.TIME}:
        return ()
    separate = bisect_left(words.starts, first.end) < bisect_left(words.starts, cut)
    if not (separate or gap["link"]):
        return ()  # "M1, M2 and M4 cells", "70 miles (113 km) from": the words apply to all values
    start, end = max(start, first.start - _HEAD), first.start
    if gap["link"]:
        link = re.compile(rf"\b{gap['link']}\b", re.I).search(text, start, first.start)
        end = link.start() if link else end
    head = words.stems[bisect_left(words.starts, start) : bisect_left(words.starts, end)]
    rate = _RATE.match(text, first.end)
    beside = (
        bisect_left(words.starts, first.end),
        bisect_left(words.starts, rate.end() if rate else 0),
    )
    return _distinct((*head, *words.stems[slice(*beside)]))


def _next(cuts: list[int], number: int, end: int) -> int:
    for cut in cuts[number : number + 40]:
        if cut >= 0:
            return cut
    return end


def _family(literal: Literal) -> tuple[str, str]:
    kind = LiteralKind.PERCENTAGE if literal.kind is LiteralKind.FRACTION else literal.kind
    return kind, literal.unit


def _cut(words: _Words, first: Literal, second: Literal) -> int:
    """Where the context of the first literal ends and the second's begins; -1 if they share it.

    The subject usually precedes its number, so text after the first comma belongs to the second.
    """
    for ends in (words.hard, words.strong):
        at = bisect_left(ends, first.end)
        if at < len(ends) and ends[at] < second.start:
            return ends[at]
    here = words.weak[bisect_left(words.weak, first.end) : bisect_left(words.weak, second.start)]
    # In "black and white and 0.40", the first "and" does not separate two values.
    beside = here and second.start - here[-1] <= _JOINT
    return (here[-1] if beside else here[0]) if here else -1


def _words(text: str, start: int, end: int, inside: list[Literal]) -> _Words:
    covered = [
        (lit.start, lit.end)
        for lit in inside
        if lit.kind not in (LiteralKind.NAME, LiteralKind.QUOTATION)
    ]
    free = _outside(covered)
    content = [
        (m.start(), stem(m[0]))
        for m in _WORD.finditer(text, start, end)
        if _tells(m[0]) and free(m.start())
    ]
    # A year distinguishes numbers as well as a word does.
    content += [(lit.start, str(lit.day.year)) for lit in inside if lit.day and lit.day.year]
    content += [(lit.start, f"q{lit.day.quarter}") for lit in inside if lit.day and lit.day.quarter]
    content += [(lit.start, stem(lit.text)) for lit in inside if lit.day and lit.day.weekday]
    content += [(lit.start, lit.key) for lit in inside if lit.kind is LiteralKind.IDENTIFIER]
    content.sort()
    starts, stems = tuple(at for at, _ in content), tuple(word for _, word in content)
    hard, strong, weak = (
        tuple(m.start() for m in pattern.finditer(text, start, end) if free(m.start()))
        for pattern in (_HARD, _STRONG, _WEAK)
    )
    return _Words(starts, stems, hard, strong, weak)


def _outside(covered: list[tuple[int, int]]) -> _Free:
    return _Free([start for start, _ in covered], [end for _, end in covered])


@dataclass(frozen=True, slots=True)
class _Free:
    starts: list[int]
    ends: list[int]

    def __call__(self, at: int) -> bool:
        before = bisect_right(self.starts, at) - 1
        return before < 0 or self.ends[before] <= at


def _attach(
    text: str, literal: Literal, words: _Words, sentence: int, left: int, right: int
) -> Literal:
    first, last = bisect_left(words.starts, left), bisect_left(words.starts, right)
    here = bisect_left(words.starts, literal.start)
    after = bisect_left(words.starts, literal.end)
    near = (
        *words.stems[after : min(last, after + _RIGHT)],
        *words.stems[max(first, here - _LEFT) : here][::-1],
    )
    around = words.stems[max(0, here - _CONTEXT) : here + _CONTEXT]
    nouns = _nouns(text, literal)
    own = {str(literal.day.year), f"q{literal.day.quarter}"} if literal.day else {literal.key}
    about = tuple(word for word in dict.fromkeys((*nouns, *near)) if word not in own)
    context = tuple(word for word in _distinct(around) if word not in about and word not in own)
    return replace(literal, nouns=nouns, about=about, context=context, sentence=sentence)


def _nouns(text: str, literal: Literal) -> tuple[str, ...]:
    """The words directly after a number: "16 weeks of parental leave" gives "parental", "leave"."""
    found = _NOUNS.match(text, literal.end)
    if not found:
        return ()
    taken: list[str] = []
    for word in found.groups():
        if word is None or (word.lower() in STOP_WORDS):
            break
        if _tells(word) or literal.kind is LiteralKind.ORDINAL:
            taken.append(stem(word))
    return tuple(taken)


def _tells(word: str) -> bool:
    """Whether a word can identify what a number is about. Units and numbers cannot."""
    return word.lower() not in _NO_ABOUT and named(word) is None


def _distinct(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))


_PART = 10_000


def literals(text: str) -> list[Literal]:
    """Every part of a text that can be compared exactly: `text[l.start:l.end] == l.text`.

    >>> [str(literal.value) for literal in literals("It costs four million dollars.")]
    ['4000000']
    """
    spans = list(_pieces(text))
    taken = bytearray(len(text))
    found: list[Literal] = []
    for part in watched(_parts(text, spans)):
        found += _read(text, taken, *part)
    # What is a name depends on the whole text.
    _take(found, taken, names(text, spans))
    found.sort(key=lambda literal: literal.start)
    return bind(text, found, spans)


def _pieces(text: str) -> Iterator[Span]:
    """The sentences of a text; a very long one is cut at spaces."""
    for start, end in sentences(text):
        while end - start > _PART:
            cut = text.rfind(" ", start + 1, start + _PART) + 1 or start + _PART
            yield start, cut
            start = cut
        yield start, end


def _parts(text: str, pieces: Sequence[Span]) -> Iterator[Span]:
    """The text in parts of whole pieces: a pattern stops all other threads while it runs."""
    start = 0
    for first, last in pieces:
        if first > start and last - start > _PART:
            yield start, first
            start = first
    yield start, len(text)


def _read(source: str, claimed: bytearray, begin: int, stop: int) -> list[Literal]:
    """The literals between two places of a text, except names. Their characters are marked in
    `claimed`."""
    text = source[begin:stop]
    taken = bytearray(len(text))
    for start, end in marks(text):
        taken[start:end] = b"\1" * (end - start)
    found: list[Literal] = []
    # More specific readers come first and claim their characters.
    _take(found, taken, identifiers(text))
    _take(found, taken, versions(text))
    _take(found, taken, codes(text))
    _take(found, taken, times(text))
    _take(found, taken, dates(text))
    found = [_dated(text, literal) for literal in found]
    _take(found, taken, heights(text))
    _take(found, taken, ratios(text))
    _take(found, taken, quantities(text, taken))
    _take(found, taken, periods(text, taken))
    _take(found, taken, quotations(text))
    claimed[begin:stop] = taken
    if not begin:
        return found
    return [replace(one, start=one.start + begin, end=one.end + begin) for one in found]


def _take(found: list[Literal], taken: bytearray, candidates: Iterable[Literal]) -> None:
    for literal in candidates:
        if literal.start < literal.end and not any(taken[literal.start : literal.end]):
            taken[literal.start : literal.end] = b"\1" * (literal.end - literal.start)
            found.append(literal)


def _dated(text: str, literal: Literal) -> Literal:
    if literal.kind not in (LiteralKind.DATE, LiteralKind.TIME):
        return literal
    return replace(literal, comparator=dated_comparator(text, literal.start))
