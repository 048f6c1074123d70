"""Verb phrases joined by "and", "but" or commas: each gets the subject they share."""

from __future__ import annotations

from collections.abc import Sequence

from suffice.text.facts import verbs
from suffice.text.facts.clauses import (
    PREPOSITIONS,
    Group,
    Shape,
    Token,
    finite,
    is_adverb,
    is_condition,
    starts_phrase,
    verb_group,
)
from suffice.text.facts.coordination import LOCAL, has_opener, pair_open
from suffice.text.facts.pieces import Piece, join
from suffice.text.facts.verbs import Form

# A subject that denies or pairs is not shared by what follows: "No employee may … and …".
_UNSHARED = frozenset("no none neither nobody nor few both either only".split())
_TIMES = frozenset("before after when once until till where without".split())

Cut = tuple[int, int, int]
"""Where a verb phrase is cut off, where it starts, and how many words it takes from the left."""


def predicates(piece: Piece) -> list[Piece]:
    """ "X covers A and excludes B" -> "X covers A", "X excludes B"."""
    words = piece.words
    group = verb_group(words)
    if group is None or any(w.low in _UNSHARED for w in words[: group.first]):
        return []
    cuts = _cuts(words, group)
    if not cuts:
        return []
    if _conditioned(words[cuts[-1][1] :], told=_told(words, group)):
        return []
    ends = [cut[0] for cut in cuts[1:]] + [len(words)]
    parts = [piece.between(0, cuts[0][0])]
    for (_, start, shared), end in zip(cuts, ends, strict=True):
        parts.append(join(piece.upto(shared), piece.between(start, end)))
    return parts


def _told(words: Sequence[Token], group: Group) -> bool:
    """Whether the sentence tells of the past: "after" and "when" are times then, no conditions."""
    head = words[group.first].low
    return head in ("was", "were", "had", "did") or (
        group.shape is Shape.PLAIN and verbs.form(head) in (Form.PAST, Form.PAST | Form.PARTICIPLE)
    )


def _conditioned(words: Sequence[Token], *, told: bool) -> bool:
    """Whether a condition stands here that may restrict what comes before it too."""
    soft = LOCAL | _TIMES if told else LOCAL
    return any(w.low not in soft and is_condition(words, at) for at, w in enumerate(words))


def _cuts(words: Sequence[Token], group: Group) -> list[Cut]:
    """Where verb phrases start: after "and" or "but", and after the commas of their list."""
    cuts: list[Cut] = []
    joined = 0
    for place in range(group.last + 1, len(words) - 1):
        low = words[place].low
        if not words[place].top or low not in ("and", "but", ","):
            continue
        if low == "," and words[place + 1].low in ("and", "but"):
            continue
        shared = _shared(words, group, cuts, place)
        if shared is not None:
            cuts.append((place, place + 1, shared))
            joined = len(cuts) if low != "," else joined
    return cuts[:joined]


def _shared(words: Sequence[Token], group: Group, cuts: list[Cut], place: int) -> int | None:
    """How many words from the left the verb after `place` needs before it; `None`: no split."""
    verb = place + 1
    while verb < len(words) - 1 and is_adverb(words[verb]) and words[verb].low != "not":
        verb += 1
    since = cuts[-1][1] + 1 if cuts else group.last + 1
    middle = words[since:place]
    if has_opener(middle) or pair_open(middle) or _verb_before(words, place):
        return None
    if any(finite(words, at) for at in range(since, place)):
        return None
    if words[verb].low == "to" or (any(w.low == "to" for w in middle) and _bare_verb(words, verb)):
        return None
    return _prefix(words, group, verb)


def _bare_verb(words: Sequence[Token], verb: int) -> bool:
    return bool(verbs.form(words[verb].low) & Form.BASE)


def _verb_before(words: Sequence[Token], place: int) -> bool:
    # "designs and manufactures pumps": the two verbs share their object.
    before = words[place - 1]
    if before.low == ",":
        return False
    return bool(verbs.form(before.low) & ~Form.ING) and not verbs.ambiguous(before.low)


def _prefix(words: Sequence[Token], group: Group, verb: int) -> int | None:
    token, after = words[verb], words[verb + 1] if verb + 1 < len(words) else None
    subject = group.first
    while subject > 1 and is_adverb(words[subject - 1]):
        subject -= 1
    head = words[group.first].low
    if not token.top or after is None or token.capital:
        return None
    if token.low in verbs.AUXILIARIES:
        plural = token.low in verbs.PLURAL_AUXILIARIES
        singular = token.low in verbs.SINGULAR_AUXILIARIES
        clash = (plural and head in verbs.SINGULAR_AUXILIARIES) or (
            singular and head in verbs.PLURAL_AUXILIARIES
        )
        return None if clash else subject
    form = verbs.form(token.low)
    listed = words[verb - 1].low == "," and verbs.mostly_verb(token.low)
    if verbs.ambiguous(token.low) and not starts_phrase(after) and not listed:
        return None
    plain = verbs.form(head) if group.shape is Shape.PLAIN else Form.NONE
    if form & Form.S:
        fits = bool(plain & Form.S) or head in verbs.SINGULAR_AUXILIARIES | verbs.MODALS
        return subject if fits and _takes(after) else None
    if form & (Form.PAST | Form.PARTICIPLE) and not form & Form.BASE:
        return _past_prefix(group, subject, token, after, plain, head)
    if form & Form.BASE and not group.negated and _takes(after):
        if head in verbs.MODALS:
            return group.first + 1
        if plain & Form.BASE or head in ("are", "have", "do"):
            return subject if not plain & Form.PAST else None
    return None


def _past_prefix(
    group: Group, subject: int, token: Token, after: Token, plain: Form, head: str
) -> int | None:
    objects = starts_phrase(after) or (after.capital and after.low not in PREPOSITIONS)
    objects = objects or after.low in ("over", "about", "around", "nearly")
    turns = after.low in PREPOSITIONS or after.low == "that" or is_adverb(after)
    active = verbs.base(token.low) in verbs.INTRANSITIVE
    only_past = not verbs.form(token.low) & Form.PARTICIPLE
    if group.shape is Shape.PERFECT and (objects or turns) and not group.negated:
        return group.last if not only_past else None
    if plain & Form.PAST or only_past:
        past = plain & Form.PAST or head in ("was", "were", "had", "did")
        return subject if past and (objects or turns or active) else None
    if group.shape is Shape.PASSIVE and turns and not objects and not active and not group.negated:
        return group.last
    if head in ("was", "were", "had") and group.shape is not Shape.PERFECT:
        return subject if objects or (active and turns) else None
    return None


def _takes(after: Token) -> bool:
    """Whether this word may follow a verb and shows that it is one."""
    return after.low not in ("of", "out", ",", "and", "or") and after.low not in verbs.AUXILIARIES
