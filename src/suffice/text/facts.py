"""The facts of one claim: its clauses. In doubt a claim stays whole.

>>> facts("Leave is paid; the rate is 80 %, but it is due in June.")
['Leave is paid', 'the rate is 80 %', 'it is due in June']
"""

from __future__ import annotations

import re

from suffice.text.conditions import conditions
from suffice.text.words import auxiliaries

LONGEST = 1_000
"""A longer text is not a sentence (a dump, a table, code) and stays one fact."""
_JOINT = re.compile(r";\s+|,\s+(?:and|but|while|whereas)\s+")
_PAIRS = (("(", ")"), ("[", "]"), ("“", "”"))


def facts(claim: str) -> list[str]:
    """The facts of a claim in order; a claim that states one fact is that fact. A condition may
    apply to every clause, so a claim with one is not split."""
    if len(claim) > LONGEST:
        return [claim]
    found = [piece.strip(" ,;.") for piece in _JOINT.split(claim)]
    several = len(found) > 1 and all(map(_stands, found)) and not conditions(claim)
    return found if several else [claim]


def _stands(piece: str) -> bool:
    """Whether a text has an auxiliary verb after its first word, and closes what it opens."""
    closed = all(piece.count(left) == piece.count(right) for left, right in _PAIRS)
    says = any(place > 0 for place in auxiliaries(piece))
    return says and closed and piece.count('"') % 2 == 0
