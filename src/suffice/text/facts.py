"""Splits a claim into its clauses, each a separate fact. In doubt, the claim is not split.

>>> facts("Leave is paid; the rate is 80 %, but it is due in June.")
['Leave is paid', 'the rate is 80 %', 'it is due in June']
"""

from __future__ import annotations

import re

from suffice.text.conditions import conditions
from suffice.text.words import auxiliaries

LONGEST = 1_000
"""A longer text is not a sentence but a dump, a table or code, and is not split."""
_JOINT = re.compile(r";\s+|,\s+(?:and|but|while|whereas)\s+")
_PAIRS = (("(", ")"), ("[", "]"), ("“", "”"))


def facts(claim: str) -> list[str]:
    """The facts of a claim in order, or the claim itself if it states one fact. A claim with a
    condition is not split, because the condition may apply to every clause."""
    if len(claim) > LONGEST:
        return [claim]
    found = [piece.strip(" ,;.") for piece in _JOINT.split(claim)]
    several = len(found) > 1 and all(map(_stands, found)) and not conditions(claim)
    return found if several else [claim]


def _stands(piece: str) -> bool:
    """Whether a clause is complete: it has an auxiliary verb after its first word, and its brackets
    and quotation marks are balanced."""
    closed = all(piece.count(left) == piece.count(right) for left, right in _PAIRS)
    says = any(place > 0 for place in auxiliaries(piece))
    return says and closed and piece.count('"') % 2 == 0
