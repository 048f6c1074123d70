"""Clauses joined by "and", "but", "while", "because", ";": each becomes a fact of its own."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from suffice.text.facts import verbs
from suffice.text.facts.clauses import (
    CONDITIONS,
    NEGATIONS,
    OPENERS,
    PREPOSITIONS,
    PRONOUNS,
    Group,
    Shape,
    Token,
    finite,
    frame_end,
    is_adverb,
    is_condition,
    is_number,
    is_plural,
    starts_phrase,
    verb_group,
)
from suffice.text.facts.pieces import Piece, join
from suffice.text.facts.verbs import Form

_JOINING = ("and", "but", "so", "yet", "while", "whereas", "although", "though", "because", ";")
_CONTRAST = ("while", "whereas", "although", "though", "so", "yet")
_CONCESSIVE = ("although", "though", "whereas")
_DEGREE = frozenset("only just simply partly mainly not even largely merely".split())
_PAIRED = frozenset("between both either neither".split())
# They restrict only what stands right beside them.
LOCAL = frozenset(("only", "solely"))
_LONGEST_SUBJECT = 10


def clauses(piece: Piece) -> list[Piece]:
    """ "A pays, and B files" -> "A pays", "B files"; a leading phrase goes with both."""
    words = piece.words
    if len(words) < 5:
        return []
    if parts := _concessive(piece):
        return parts
    for place, token in enumerate(words):
        if token.low in _JOINING and token.top and 1 < place < len(words) - 2:
            comma = words[place - 1].low == "," or token.low == ";"
            if _two_clauses(words, place, comma=comma):
                return _both(piece, place)
    return []


def _concessive(piece: Piece) -> list[Piece]:
    """ "Although A is open, B is closed" -> "A is open", "B is closed"."""
    words = piece.words
    first = 1 if words[0].low in _CONCESSIVE else 2 if words[0].low == "even" else 0
    if not first or words[first - 1].low not in _CONCESSIVE:
        return []
    end = frame_end(words) if first == 1 else _first_comma(words) + 1
    inner, outer = words[first : end - 1], words[end:]
    if end < 4 or not outer or is_adverb(outer[0]) or outer[0].low in OPENERS:
        return []
    if not _own_subject(inner, loose=True) or not _own_subject(outer, loose=True):
        return []
    return [piece.between(first, end - 1), piece.between(end, len(words))]


def _first_comma(words: Sequence[Token]) -> int:
    return next((place for place, w in enumerate(words) if w.low == "," and w.top), -1)


def _two_clauses(words: Sequence[Token], place: int, *, comma: bool) -> bool:
    joiner, left, right = words[place].low, words[:place], words[place + 1 :]
    group = verb_group(left)
    if group is None or right[0].low in ("of", "that", "far") or words[place - 1].low in _DEGREE:
        return False
    if joiner in _CONTRAST and not comma:
        return False
    if not _own_subject(right, loose=comma):
        return False
    if joiner == ";":
        return words[0].low not in CONDITIONS
    if _reports(left, group) or (joiner == "because" and group.negated):
        return False
    if not comma and joiner != "because" and has_opener(left[group.last + 1 :]):
        return False
    if not comma and _stranded(left, group):
        return False
    return not _shared_condition(right, comma=comma) and not pair_open(left)


def _stranded(left: Sequence[Token], group: Group) -> bool:
    """ "…, but prices (and sizes are high)": a subject of two has begun on the left."""
    joints = [
        at for at in range(group.last + 1, len(left)) if left[at].low in (",", "but", "while")
    ]
    return bool(joints) and not any(finite(left, at) for at in range(joints[-1] + 2, len(left)))


def _own_subject(words: Sequence[Token], *, loose: bool) -> bool:
    """Whether these words are a clause: a plausible subject, then a finite verb."""
    start = frame_end(words) if loose else 0
    group = verb_group(words)
    if group is None or not start < group.first <= start + _LONGEST_SUBJECT:
        return False
    named = words[start : group.first]
    paired = {",", "or"} if loose else {",", "or", "and"}
    if any(w.low in paired or not w.top for w in named):
        return False
    if named[0].low in verbs.AUXILIARIES | {"not", "rather", "to"}:
        return False
    if named[0].low in PREPOSITIONS or (is_adverb(named[0]) and len(named) == 1):
        return False
    if verbs.ambiguous(words[group.first].low) and not (loose and _starts_subject(named[0])):
        return False
    if verbs.form(named[0].low) & Form.ING and not named[0].capital:
        return False
    if _may_be_participle(words, group) or _elliptic(words, group):
        return False
    # "the services it offers", "the services the firm is offering": no clause of its own.
    inner = [w for before, w in pairwise(named) if before.low not in PREPOSITIONS]
    return not any(
        w.low in PRONOUNS - {"there", "who", "this", "these", "those"}
        or w.low in ("the", "a", "an")
        for w in inner
    )


def _starts_subject(token: Token) -> bool:
    return starts_phrase(token) or token.capital or is_plural(token)


def _may_be_participle(words: Sequence[Token], group: Group) -> bool:
    """ "the shop located in Rome" is no clause, "the team moved to Rome" is."""
    low = words[group.first].low
    if group.shape is not Shape.PLAIN or not verbs.form(low) & Form.PARTICIPLE:
        return False
    after = words[group.last + 1] if group.last + 1 < len(words) else None
    return verbs.base(low) not in verbs.CHANGES and not starts_phrase(after)


def _elliptic(words: Sequence[Token], group: Group) -> bool:
    """ "deer do not": what they do not is said on the left."""
    return (
        group.shape is not Shape.PLAIN
        and (group.last == len(words) - 1 and group.shape is not Shape.PASSIVE)
        and words[group.last].low in verbs.AUXILIARIES | NEGATIONS
    )


def _reports(words: Sequence[Token], group: Group) -> bool:
    """Whether the clause tells what somebody says: its parts are not facts of their own."""
    rest = range(group.last + 1, len(words))
    said = verbs.base(words[group.last].low) in verbs.REPORTING
    telling = any(
        verbs.form(words[place].low) & Form.ING and verbs.base(words[place].low) in verbs.REPORTING
        for place in rest
    )
    return any(words[place].low == "that" for place in rest if place < group.last + 4) or (
        (said or telling) and any(finite(words, place) for place in rest)
    )


def has_opener(words: Sequence[Token]) -> bool:
    """Whether a clause that hangs on another starts in these words."""
    return any(w.low in OPENERS and w.top for w in words)


def _shared_condition(right: Sequence[Token], *, comma: bool) -> bool:
    """Whether a condition at the end may restrict the clause on the left as well."""
    start = frame_end(right)
    for place in range(start + 1, len(right)):
        if is_condition(right, place) and right[place].low not in LOCAL:
            return not comma or right[place - 1].low == ","
    return False


def pair_open(left: Sequence[Token]) -> bool:
    """Whether a "between" or "both" on the left still waits for its "and"."""
    for w in reversed(left):
        if w.low == "and":
            return False
        if w.low in _PAIRED:
            return True
    return False


def _both(piece: Piece, place: int) -> list[Piece]:
    words = piece.words
    stop = place - 1 if words[place - 1].low in (",", "even") else place
    stop = stop - 1 if words[stop - 1].low == "," else stop
    left, right = piece.between(0, stop), piece.between(place + 1, len(words))
    frame = frame_end(words[:place])
    if words[place].low == ";" or not frame or frame_end(right.words):
        return [left, right]
    dated = any(is_number(w) for w in words[:frame]) and any(
        is_number(w) and len(w.low) == 4 for w in right.words
    )
    if dated or (is_adverb(words[0]) and frame == 2):
        return [left, right]
    return [left, join(piece.cut(0, words[frame - 1].end), right)]
