"""What a claim puts in the place of something its source says: another party, another manner, no
"second" in "every second week". Pure rules over a claim and one clause of its source, for claims
that take their words from several clauses, where none of them has most."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator

from suffice.text.facts.clauses import subject
from suffice.text.facts.verbs import BE
from suffice.text.senses import TWISTED, Turn, Words, negates, opposites

Span = tuple[int, int]

_LINKS = frozenset("by with to from in at on for through under via".split())
_STOPS = _LINKS | frozenset(
    """, ; : — ( ) of and or but which who whose that because while whereas when where within before
    after during until unless if as only""".split()
)
_ONLY = frozenset("only exclusively solely alone".split())
_EVERY_ONE = frozenset("all both every each any either".split())
_LOOSE = frozenset("one either any".split())
_OBLIGED = frozenset(
    """must shall need needs needed require requires required has have oblige obliged""".split()
)
_EVERY = re.compile(
    r"\b(?:every|each) (?P<rarer>(?:second|other|third|fourth|fifth|sixth|[2-9](?:nd|rd|th)) )?"
    r"(?P<what>[^\W\d_]+)|\b(?P<adverb>daily|nightly|weekly|monthly|quarterly|yearly|annually)\b",
    re.IGNORECASE,
)
_OFTEN = {
    "daily": "day",
    "nightly": "night",
    "weekly": "week",
    "monthly": "month",
    "quarterly": "quarter",
    "yearly": "year",
    "annually": "year",
}
_REPLY = re.compile(r"(?:yes|no)\s*[,.:;—–-]\s*", re.IGNORECASE)
_LACKING = ("without", "no", "none", "nothing", "hardly")
"""These deny a part of what is said, not that something is done."""
_GRATIS = re.compile(r"\bfree of charge\b", re.IGNORECASE)
_LIMIT = re.compile(r"\buntil\b|\bfree of charge\b", re.IGNORECASE)
_HEAD = 2
"""So many words must stand before a part that is compared: who, and what is done."""


def plain(said: str) -> str:
    """A claim without the "Yes," that answers its question."""
    return said[reply.end() :] if (reply := _REPLY.match(said)) else said


def put_in(said: Words, source: Words, foreign: Callable[[Collection[str]], bool]) -> Turn | None:
    """ "It is ordered by the porter" for "It is ordered by the desk": all is alike up to a
    preposition, and what follows it is not in this clause at all. `foreign` tells whether such
    words are said of something else: other words for the same are in no source."""
    there = source.within(0, len(source.low))
    for (place, end), (at, stop) in _alike(said, source):
        mine, other = said.within(place, end), source.within(at, stop)
        if mine and other and not mine & there and not _valued(mine | other) and foreign(mine):
            given, instead = _quoted(said, place, end), _quoted(source, at, stop)
            return Turn(f"{given} is {instead} in the source", contrary=False)
    return None


def opened_up(said: Words, source: Words) -> Turn | None:
    """ "In both rooms" for "in the large room only"."""
    if _ONLY & set(said.low) or not _ONLY & set(source.low):
        return None
    for (place, end), (at, stop) in _alike(said, source):
        mine, other = said.within(place, end), source.within(at, stop)
        if said.low[place + 1] in _EVERY_ONE and other - mine:
            return Turn(f"{_quoted(said, place, end)} is “only” in the source", contrary=False)
    return None


def _alike(said: Words, source: Words) -> Iterator[tuple[Span, Span]]:
    """The parts of both that follow the same words and the same preposition, where the claim says
    nothing more behind it that its source does not."""
    there = source.within(0, len(source.low))
    for place, head in _parts(said):
        end = _end(said, place)
        if not said.within(end, len(said.low)) <= there:
            continue
        for at, theirs in _parts(source):
            if said.low[place] == source.low[at] and head == theirs:
                yield (place, end), (at, _end(source, at))


def _parts(words: Words) -> Iterator[tuple[int, set[str]]]:
    """The prepositions of a sentence, each with the words before it."""
    for place, low in enumerate(words.low[:-1]):
        if low in _LINKS:
            head = words.within(0, place)
            done = words.low[place - 1]
            if head and done not in BE and not words.roots[place - 1]:
                head.add(done)  # "made" carries no meaning of its own, but what is made does
            if len(head) >= _HEAD:
                yield place, head


def _end(words: Words, place: int) -> int:
    """Where the part that begins here ends."""
    ends = (n for n in range(place + 1, len(words.low)) if words.low[n] in _STOPS)
    return next(ends, len(words.low))


def _quoted(words: Words, first: int, last: int) -> str:
    return f"“{' '.join(words.low[first:last])}”"


def _valued(roots: Collection[str]) -> bool:
    return any(char.isdigit() for root in roots for char in root)


def forbidden(said: Words, source: Words) -> Turn | None:
    """What its source denies of the same subject altogether: "DVDs can be lent twice" where "DVDs
    cannot be lent". A denial of more particular things denies no more than those."""
    if TWISTED.search(_LIMIT.sub("", said.text)) or TWISTED.search(_GRATIS.sub("", source.text)):
        return None
    denied = source.within(0, len(source.low))
    mine = said.within(0, len(said.low))
    if len(denied) < _HEAD or not denied <= mine or not same_subject(said, source):
        return None
    alike = all(said.low.count(low) == source.low.count(low) for low in _LACKING)
    if not alike or _denials(source) % 2 == 0 or _denials(said):
        return None
    return Turn("it says what its source denies")


def _denials(words: Words) -> int:
    return sum(negates(low) for low in words.low if low not in _LACKING)


def same_subject(said: Words, source: Words) -> bool:
    """Whether both speak of the same, word for word."""
    mine, theirs = _subject(said), _subject(source)
    return bool(mine) and mine == theirs


def _subject(words: Words) -> set[str]:
    named = set(Words.of(subject(plain(words.text)), str).low)
    return {root for low, root in zip(words.low, words.roots, strict=True) if root and low in named}


def rarer(said: Words, source: Words) -> Turn | None:
    """ "Every Monday" for "every second Monday", or the other way round."""
    known = {_how_often(one) for one in _EVERY.finditer(source.text)}
    for mine in _EVERY.finditer(said.text):
        for theirs in _EVERY.finditer(source.text) if _how_often(mine) not in known else ():
            (what, seldom), (other, less) = _how_often(mine), _how_often(theirs)
            if what == other and bool(seldom) is not bool(less):
                return Turn(f"“{mine[0].lower()}” is “{theirs[0].lower()}” in the source")
    return None


def _how_often(found: re.Match[str]) -> tuple[str, str]:
    """What it happens on, and which of them: ("day", "third"); "daily" is "every day"."""
    rarer = (found["rarer"] or "").strip().lower().replace("other", "second")
    return _OFTEN[found["adverb"].lower()] if found["adverb"] else found["what"].lower(), rarer


def other_kind(said: Words, source: Words) -> Turn | None:
    """ "Oral consent" for "written consent", "is included" for "is excluded", of the same."""
    here, there = set(said.low), set(source.low)
    if any(map(negates, said.low)) or any(map(negates, source.low)) or "non" in here | there:
        return None
    for place, word in enumerate(said.low):
        for other in opposites(word) & there:
            if word in there or other in here:
                continue
            at = source.low.index(other)
            mine, theirs = said.roots[place + 1 : place + 2], source.roots[at + 1 : at + 2]
            of_it = said.low[place - 1] in BE and source.low[at - 1] in BE
            alike = of_it or (mine == theirs and any(mine))
            if alike and same_subject(said, source):
                return Turn(f"“{word}” is “{other}” in the source")
    return None


def loosened(said: Words, source: Words) -> Turn | None:
    """ "One parent" where the source asks for "both parents"."""
    if not (_OBLIGED & set(source.low)):
        return None
    for place, word in enumerate(said.low[:-1]):
        if word not in _LOOSE or not said.roots[place + 1]:
            continue
        for at, other in enumerate(source.low[:-1]):
            same = source.roots[at + 1] == said.roots[place + 1]
            if other in ("both", "all") and same and other not in said.low:
                return Turn(f"“{word}” is “{other}” in the source", contrary=False)
    return None
