"""The facts of one claim: its clauses, each with its subject. In doubt a claim stays whole.

>>> facts("The policy covers theft and excludes floods.")
['The policy covers theft', 'The policy excludes floods']
>>> facts("Leave is paid; the rate is 80 %, but it is due in June.")
['Leave is paid', 'the rate is 80 %', 'it is due in June']
"""

from __future__ import annotations

from collections.abc import Sequence

from suffice.text import verbs
from suffice.text.clauses import CONDITIONS, OPENERS, Token, finite, is_adverb, subject, tokens
from suffice.text.verbs import Form

LONGEST = 1_000
"""A longer text is not a sentence (a dump, a table, code) and stays one fact."""
_JOINTS = frozenset(("and", "but", "while", "whereas"))
# The text after these words may apply to every clause of the claim, so the claim is not split.
_BINDING = (CONDITIONS | OPENERS) - _JOINTS
_EDGES = " ,;."


def facts(claim: str) -> list[str]:
    """The facts of a claim in order; a claim that states one fact is that fact."""
    words = tokens(claim) if len(claim) <= LONGEST else None
    if words is None or any(word.low in _BINDING for word in words):
        return [claim]
    named = subject(claim)
    named_until = claim.find(named) + len(named)
    found: list[str] = []
    start, lead = 0, ""
    for place, word in enumerate(words):
        if not word.top or word.low not in _JOINTS | {";"} or word.start < start:
            continue
        comma = place > 0 and words[place - 1].low == ","
        shared = bool(named) and named_until < word.start and _verb_follows(words, place)
        if shared or ((comma or word.low == ";") and _stands(claim, words, place)):
            found.append(lead + claim[start : word.start].strip(_EDGES))
            start, lead = word.end, f"{named} " if shared else ""
    found.append(lead + claim[start:].strip(_EDGES))
    return [fact for fact in found if fact] if len(found) > 1 else [claim]


def _verb_follows(words: Sequence[Token], place: int) -> bool:
    """Whether the next word other than adverbs is a verb that continues the previous subject. A
    word in -ed may depend on "was" instead."""
    after = place + 1
    while after < len(words) - 1 and is_adverb(words[after]):
        after += 1
    if after == len(words) or not finite(words, after):
        return False
    low = words[after].low
    return low in verbs.AUXILIARIES or bool(verbs.form(low) & Form.S)


def _stands(claim: str, words: Sequence[Token], place: int) -> bool:
    """Whether the following text has its own subject and verb."""
    end = next((w.start for w in words[place + 1 :] if w.top and w.low == ";"), len(claim))
    return bool(subject(claim[words[place].end : end].strip(_EDGES)))
