"""Atomic facts of one claim sentence, each with its subject. In doubt a sentence stays whole.

>>> [fact.text for fact in facts("The policy covers theft and excludes floods.")]
['The policy covers theft', 'The policy excludes floods']
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from suffice.text.facts.asides import without_aside
from suffice.text.facts.coordination import clauses
from suffice.text.facts.enumerations import amounts, items
from suffice.text.facts.marks import decoration
from suffice.text.facts.pieces import Piece, Span
from suffice.text.facts.predicates import predicates

MAX_SENTENCE = 1000
"""A longer sentence is no sentence (a dump, a table, code): it stays one fact."""
MAX_FACTS = 24
MAX_JOINTS = 40
"""More commas and conjunctions than this are a dump too; every rule looks at each of them."""

_JOINTS = frozenset((",", ";", "and", "but", "so", "while", "because", "("))
_ROW = re.compile(r"\s*\|")
_CODE = re.compile(r"\s*(?:```|~~~)")
_LEADING = re.compile(
    r"(?:(?:and|but)\s+|(?:however|therefore|moreover|furthermore|additionally|thus|hence),\s+)",
    re.IGNORECASE,
)

# Each rule gives the pieces a piece falls into, or nothing. Order matters: a clause is taken apart
# from its neighbours before what stands inside it is looked at.
_RULES: tuple[Callable[[Piece], list[Piece]], ...] = (
    clauses,
    without_aside,
    predicates,
    amounts,
    items,
)


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact: `text` stands alone; `spans` are the parts of the sentence it is made of.

    `start` and `end` enclose what no other fact of the sentence says.
    """

    text: str
    start: int
    end: int
    spans: tuple[Span, ...]


def facts(sentence: str) -> list[Fact]:
    """The facts of a sentence, in order; together they hold all of its words but conjunctions."""
    whole = Piece.of(sentence, decoration(sentence))
    if not any(char.isalnum() for char in whole.text):
        return []
    if len(sentence) > MAX_SENTENCE or _ROW.match(sentence) or _CODE.match(sentence):
        return _facts([whole])
    if sum(word.low in _JOINTS for word in whole.words) > MAX_JOINTS:
        return _facts([whole])
    pieces = _split(whole)
    return _facts(pieces if len(pieces) <= MAX_FACTS else [whole])


def _split(piece: Piece) -> list[Piece]:
    waiting, done = [piece], list[Piece]()
    while waiting and len(done) + len(waiting) <= MAX_FACTS:
        piece = waiting.pop()
        for rule in _RULES:
            if parts := rule(piece):
                waiting += reversed(parts)
                break
        else:
            done.append(piece)
    return done + waiting


def _facts(pieces: list[Piece]) -> list[Fact]:
    said = Counter(place for piece in pieces for place in set(piece.places))
    found = []
    for piece in pieces:
        piece = _alone(piece)
        places = [
            place
            for char, place in zip(piece.text, piece.places, strict=True)
            if place >= 0 and not char.isspace()
        ]
        own = [place for place in places if said[place] == 1] or places
        text = piece.text[:1].upper() + piece.text[1:] if len(pieces) > 1 else piece.text
        found.append(Fact(text, min(own), max(own) + 1, piece.spans()))
    return found


def _alone(piece: Piece) -> Piece:
    """Without a leading conjunction and the final full stop, unless nothing would be left."""
    lead = _LEADING.match(piece.text)
    bare = (piece.cut(lead.end(), len(piece.text)) if lead else piece).unstopped()
    return bare if any(char.isalnum() for char in bare.text) else piece
