"""Whether two literals are attached to the same thing, judged by the words around them."""

from __future__ import annotations

from collections.abc import Iterable

from suffice.text.literals.values import Literal, LiteralKind

_ROOT = 6


def words(literal: Literal) -> set[str]:
    """The words of the literal's whole sentence."""
    return {*literal.about, *literal.context}


def fits_better(mine: set[str], known: set[str], rival: Literal, equal: Literal) -> bool:
    """Whether the claim's words name the rival and not the literal that has the claim's value.

    `mine` are the claim's words, `known` those of them that the evidence uses. Two clauses of one
    sentence are told apart by one word; two sentences need more.
    """
    beside = rival.sentence == equal.sentence
    if not beside and _stranger(mine, known, rival, equal):
        return True
    theirs = set(equal.about) if beside else words(equal)
    for_rival = known & set(rival.about) - theirs
    for_equal = known & theirs - set(rival.about) - set(rival.shared)
    foreign = set(equal.about) - mine
    if not for_rival or not foreign or for_equal or 4 * len(for_rival) < len(mine):
        return False
    if not (beside or rival.cell) and _vague(rival):
        return False
    if beside or rival.cell:
        return 2 * len(for_rival) >= len(known & (set(rival.about) | theirs) - set(rival.shared))
    if known <= set(rival.about) and set(rival.about) & theirs & known:
        return True  # two sentences built alike: "The Paris office has…", "The London office has…"
    return len(for_rival) >= 2 and 3 * len(for_rival) >= 2 * len(known)


def _stranger(mine: set[str], known: set[str], rival: Literal, equal: Literal) -> bool:
    """Whether the sentence with the claim's value shares no word with the claim, and that of the
    rival nearly all. Words count as the same from their first letters: "automated", "automation".
    """
    said = _roots(mine)
    shared = said & _roots(rival.about)
    if said & _roots(words(equal)) or not shared:
        return False
    if shared == said or (len(shared) >= 2 and 3 * len(shared) >= 2 * len(said)):
        return True
    return not _vague(rival) and _roots(known) <= shared


def _roots(stems: Iterable[str]) -> set[str]:
    return {word[:_ROOT] for word in stems}


def _vague(literal: Literal) -> bool:
    """A year, a quarter or a number of nothing in particular stands in too many sentences."""
    if literal.day:
        return literal.day.day is None
    return literal.kind is LiteralKind.NUMBER and not literal.nouns


def same_sort(claim: Literal, rival: Literal) -> bool:
    """Plain numbers count the same sort of thing only if the noun after them is shared."""
    plain = claim.kind is LiteralKind.NUMBER and not rival.cell
    return not plain or not claim.nouns or bool(set(claim.nouns) & set(rival.nouns))


def rival(claim: Literal, rivals: Iterable[Literal], vocabulary: frozenset[str]) -> Literal | None:
    """The literal that gives the same thing another value: it shares most of the claim's words."""
    mine = {word for word in claim.about if word in vocabulary}
    best: Literal | None = None
    most = 0.0
    for one in rivals:
        shared = mine & set(one.about)
        cover = len(shared) / len(mine) if mine else 0.0
        if cover > most and _attached(claim, one, shared, cover):
            best, most = one, cover
    return best


def _attached(claim: Literal, one: Literal, shared: set[str], cover: float) -> bool:
    if claim.kind is LiteralKind.NUMBER and not claim.unit:
        if claim.nouns and not one.cell:
            # Writers count small things by themselves: "two of the 84 passengers".
            enough = 0.67 if not claim.text[-1].isdigit() else 0.34
            return bool(set(claim.nouns) & set(one.nouns)) and cover >= enough
        return cover >= 0.67
    if claim.kind is LiteralKind.ORDINAL:
        return bool(set(claim.nouns[:1]) & set(one.nouns[:1])) and cover >= 0.5
    if claim.kind in (LiteralKind.DATE, LiteralKind.TIME):
        return cover >= 0.5 and (len(shared) >= 2 or cover == 1)
    return cover >= 0.5


def namesake(claim: Literal, one: Literal) -> bool:
    """Two full names that differ in one word, said of the same thing."""
    if claim.kind is not LiteralKind.NAME or one.kind is not LiteralKind.NAME:
        return False
    mine, theirs = claim.key.split(), one.key.split()
    if not 2 <= len(mine) == len(theirs) <= 3 or "of" in mine:
        return False
    # The capital of a sentence's first word says nothing.
    if claim.start == claim.sentence or one.start == one.sentence:
        return False
    shared = set(claim.about) & set(one.about)
    differing = sum(a != b for a, b in zip(mine, theirs, strict=True))
    return differing == 1 and bool(shared) and 2 * len(shared) >= len(claim.about)
