"""Several things after one verb: amounts of several years, items of a list."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from suffice.text.facts import verbs
from suffice.text.facts.clauses import (
    ARTICLES,
    CONDITIONS,
    NEGATIONS,
    OPENERS,
    PREPOSITIONS,
    Group,
    Shape,
    Token,
    finite,
    is_adverb,
    is_number,
    is_plural,
    verb_group,
)
from suffice.text.facts.pieces import Piece, join
from suffice.text.facts.verbs import Form

_AMOUNT = r"(?:(?:by|to|at|about|around|roughly|nearly|approximately)\s)?[-+]?[$€£]?\d[\d.,]*"
_UNIT = r"(?:\s?(?:%|percent|million|billion|thousand|[a-z]+))?(?:\s[a-z]+)?"
# "5 % in 2023": an amount and what it is for. The same word must tie each amount to its own.
_TIED = re.compile(
    rf"({_AMOUNT}{_UNIT})\s(in|for|on|at|from|during)\s((?:the\s)?[\w.'-]+(?:\s[\w'-]+){{0,3}}?)"
    r"(?=,?\s(?:and|but)\s|,\s|\.?$)"
)
_BETWEEN = re.compile(r"^(?:,|,?\s(?:and|but))\s$")
_RANGES = frozenset("between from both total combined respectively together average".split())

_UNITS = frozenset(
    """second minute hour day week month year foot feet inch inche yard mile meter metre kilometer
    gram kilogram pound ounce dollar cent euro pence penny percent degree million thousand billion
    hundred half quarter point""".split()
)
_EXCEPT = frozenset("except excluding without than besides only solely exclusively just".split())
_MEASURES = frozenset("variety range selection number list types kinds array".split())
# "… and more", "… and other goods" are nothing without the items before them.
_REST = frozenset("or not other others more etc".split())
_LONGEST_ITEM = 6


def amounts(piece: Piece) -> list[Piece]:
    """ "Revenue rose 5 % in 2023 and 7 % in 2024" -> each amount with subject and verb."""
    text = piece.text
    found = list(_TIED.finditer(text))
    group = verb_group(piece.words)
    if len(found) < 2 or group is None or group.negated:
        return []
    gaps = [text[one.end() : other.start()] for one, other in pairwise(found)]
    if not all(_BETWEEN.match(gap) for gap in gaps) or text[found[-1].end() :].strip(" ."):
        return []
    head = text[: found[0].start()]
    tied = {match[2] for match in found}
    before = [w.low for w in piece.words if w.end <= found[0].start()]
    if len(tied) > 1 or not before or piece.words[group.first].start >= found[0].start():
        return []
    if _RANGES & set(before) or any(word in CONDITIONS for word in before[-3:]):
        return []
    prefix = piece.cut(0, len(head)).tidy()
    return [join(prefix, piece.cut(match.start(), match.end())) for match in found]


def items(piece: Piece) -> list[Piece]:
    """ "Employees get a laptop, a phone and a badge" -> three facts with the same verb."""
    words = piece.words
    group = verb_group(words)
    if group is None or group.negated or not _lists(words, group):
        return []
    ands = [at for at in range(group.last + 1, len(words)) if words[at].low == "and"]
    if len(ands) != 1 or not words[ands[0]].top:
        return []
    commas = [
        at
        for at in range(group.last + 1, len(words))
        if words[at].low == "," and words[at].top and at + 1 != ands[0]
    ]
    if commas and commas[-1] > ands[0]:
        return []
    starts = [at + 1 for at in (*commas, ands[0])]
    first = _first_item(words, group, starts[0] - 1)
    if first is None:
        return []
    ends = [start - 1 for start in starts] + [len(words)]
    spans = list(zip([first, *starts], ends, strict=True))
    parts = [_trim(words[start:end]) for start, end in spans]
    shared = _shared_start(first, parts)
    if shared is None or (group.shape is Shape.BE and parts[-1][0].low not in ("a", "an")):
        return []
    prefix = piece.between(0, shared)
    spans[0] = (shared, spans[0][1])
    return [join(prefix, piece.between(start, end)) for start, end in spans]


def _trim(words: Sequence[Token]) -> Sequence[Token]:
    return words[:-1] if words and words[-1].low == "," else words


def _lists(words: Sequence[Token], group: Group) -> bool:
    """Whether what stands after this verb holds of each item alone."""
    verb = verbs.base(words[group.last].low)
    if verb in verbs.COLLECTIVE or any(w.low in _EXCEPT for w in words):
        return False
    if any(w.low in ("both", "between", "either", "respectively", "together") for w in words):
        return False
    if any(w.low in NEGATIONS for w in words[: group.first]):
        return False
    if group.shape is Shape.BE:
        after = words[group.last + 1] if group.last + 1 < len(words) else None
        return (
            words[group.first].low in ("is", "was")
            and after is not None
            and after.low in ("a", "an")
        )
    rest = range(group.last + 1, len(words))
    return not any(words[at].low in OPENERS or finite(words, at) for at in rest)


def _first_item(words: Sequence[Token], group: Group, end: int) -> int | None:
    """Where the first item starts: after the verb, or after "including" and the like."""
    start = group.last + 1
    inside = range(start, end)
    marks = [at for at in inside if words[at].low in ("including", "like", ":")]
    marks += [at for at in inside if words[at].low == "as" and words[at - 1].low == "such"]
    if marks:
        return max(marks) + 1
    ties = [at for at in inside if words[at].low in PREPOSITIONS]
    measure = [at for at in ties if words[at].low == "of" and words[at - 1].low in _MEASURES]
    if ties == measure and len(ties) == 1:
        return ties[0] + 1
    if ties and ties[0] == start and len(ties) == 1 and words[start].low not in ("as", "like"):
        return start + 1
    if ties or any(is_adverb(words[at]) for at in inside):
        return None
    articles = [at for at in inside if words[at].low in ("a", "an")]
    return articles[-1] if articles else start


def _shared_start(first: int, parts: Sequence[Sequence[Token]]) -> int | None:
    """Where the items start if they are alike enough to be told one by one, else `None`."""
    if any(not part or len(part) > _LONGEST_ITEM or _odd(part) for part in parts):
        return None
    articled = [part[0].low in ARTICLES for part in parts]
    numbered = [is_number(part[0]) for part in parts]
    if all(numbered):
        return first if all(len(p) > 1 and not _unit(p[1]) for p in parts) else None
    if any(numbered) or any(is_number(w) for w in parts[0][:2]):
        return None
    if all(articled):
        return first
    if len(parts) < 3 or any(articled[1:]):
        return None
    bare = [len(part) - articled[0] if at == 0 else len(part) for at, part in enumerate(parts)]
    # "dental, vision and hearing care": a longer last item may lend its noun to the others.
    if bare[-1] > max(bare[:-1]) or min(bare) < 1:
        return None
    if articled[0] and parts[0][0].low in ("a", "an") and any(is_plural(p[-1]) for p in parts):
        return None
    return first + 1 if articled[0] else first


def _odd(part: Sequence[Token]) -> bool:
    if len(part) > 1 and any(verbs.form(w.low) & Form.ING for w in part):
        return True
    return any(
        w.low in PREPOSITIONS - {"of"}
        or w.low in CONDITIONS
        or w.low in _REST
        or w.low in verbs.AUXILIARIES
        or w.low in (":", ";", "—", "–")
        or is_adverb(w)
        for w in part
    )


def _unit(token: Token) -> bool:
    return token.low.removesuffix("s") in _UNITS or token.low == "%"
