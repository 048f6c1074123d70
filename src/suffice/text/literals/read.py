"""Reads all literals of a text, in order and without overlap."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from suffice.deadline import watched
from suffice.text.literals.binding import bind
from suffice.text.literals.dates import dates, times
from suffice.text.literals.identifiers import codes, identifiers, marks, quotations, versions
from suffice.text.literals.names import names
from suffice.text.literals.periods import periods
from suffice.text.literals.quantities import dated_comparator, heights, quantities, ratios
from suffice.text.literals.values import Literal, LiteralKind
from suffice.text.sentences import Span, sentences

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
