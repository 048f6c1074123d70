"""Uses the surrounding words to decide whether two literals refer to the same thing."""

from __future__ import annotations

from collections.abc import Iterable

from suffice.text.literals.values import Literal, LiteralKind


def words(literal: Literal) -> set[str]:
    """The words of the sentence that contains the literal."""
    return {*literal.about, *literal.context}


def rival(claim: Literal, rivals: Iterable[Literal], vocabulary: frozenset[str]) -> Literal | None:
    """The literal that gives the claim's subject another value: it shares most of the claim's
    words."""
    mine = {word for word in claim.about if word in vocabulary}
    best: Literal | None = None
    most = 0.0
    for one in rivals:
        shared = mine & set(one.about)
        cover = len(shared) / len(mine) if mine else 0.0
        if cover > most and _attached(claim, one, shared, cover):
            best, most = one, cover
    return best


def _attached(claim: Literal, literal: Literal, shared: set[str], cover: float) -> bool:
    if claim.kind is LiteralKind.NUMBER and not claim.unit:
        if claim.nouns and not literal.cell:
            # A small number in words is often the writer's own count ("two of the 84 passengers"),
            # so it must share more words.
            enough = 0.67 if not claim.text[-1].isdigit() else 0.34
            return bool(set(claim.nouns) & set(literal.nouns)) and cover >= enough
        return cover >= 0.67
    if claim.kind is LiteralKind.ORDINAL:
        return bool(set(claim.nouns[:1]) & set(literal.nouns[:1])) and cover >= 0.5
    if claim.kind in (LiteralKind.DATE, LiteralKind.TIME):
        return cover >= 0.5 and (len(shared) >= 2 or cover == 1)
    return cover >= 0.5


def namesake(claim: Literal, literal: Literal) -> bool:
    """Whether two full names differ in one word and occur in the same context."""
    if claim.kind is not LiteralKind.NAME or literal.kind is not LiteralKind.NAME:
        return False
    mine, theirs = claim.key.split(), literal.key.split()
    if not 2 <= len(mine) == len(theirs) <= 3 or "of" in mine:
        return False
    # The first word of a sentence is always capitalised, so it may not be part of the name.
    if claim.start == claim.sentence or literal.start == literal.sentence:
        return False
    shared = set(claim.about) & set(literal.about)
    differing = sum(a != b for a, b in zip(mine, theirs, strict=True))
    return differing == 1 and bool(shared) and 2 * len(shared) >= len(claim.about)
