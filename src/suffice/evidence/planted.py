"""Detects passages that try to give instructions to the model, with the fast verifier.

Patterns are certain but few, and the words of a sentence do not tell to whom it is addressed. The
fast verifier is trained to judge `STATEMENT`. It reads passages whose words are at all suspicious,
about half of them. The sum of both scores decides.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache

import numpy as np

from suffice.models.calibration import margin
from suffice.models.catalog import open_verifier
from suffice.models.cross_encoder import SUPPORTED, CrossEncoder, means
from suffice.models.encoder import MARKS, Read
from suffice.models.reading import clean
from suffice.settings import VerifierSettings
from suffice.switch import rule
from suffice.text.digest import pieces
from suffice.text.instruction_model import model as words_model
from suffice.text.instructions import STATEMENT, folded, matched

_SUSPICIOUS = -6.5
"""The words of half of the ordinary passages score at least this much."""
_WORDS = 0.15
"""The weight of the words beside the verifier."""
_THRESHOLD = -1.95
"""Three in two hundred of 2,985 ordinary passages score higher."""
_ROOM = 1400
"""The characters that the verifier reads at a time."""
_LONGEST = 200


def planted(text: str) -> str | None:
    """The sentence of a text that tries to instruct the model; `None` without any."""
    return matched(text) or _read(text)


@rule("instruction model", lambda text: None)
@lru_cache(maxsize=4096)  # gate, drafter and checks read the same passages
def _read(text: str) -> str | None:
    return next((quote for score, quote in scored(text) if score >= _THRESHOLD), None)


def scored(text: str) -> Iterator[tuple[float, str]]:
    """The scores of the suspicious portions of a text, each with its most suspicious sentence."""
    plain, places = folded(text)
    for start, parts in _portions(plain):
        words = words_model().suspicion("".join(parts))
        if words < _SUSPICIOUS:
            continue
        odds, best = _judged(parts)
        first = start + sum(map(len, parts[:best]))
        last = first + len(parts[best].rstrip()) - 1
        yield odds + _WORDS * words, text[places[first] : places[last] + 1].strip()[:_LONGEST]


def _portions(plain: str) -> Iterator[tuple[int, list[str]]]:
    """Consecutive sentences that are read together, and where the first begins."""
    start, parts, used = 0, list[str](), 0
    for piece in pieces(plain):
        if parts and used + len(piece) > _ROOM:
            yield start, parts
            start, parts, used = start + used, [], 0
        parts.append(piece)
        used += len(piece)
    if parts:
        yield start, parts


def _judged(parts: Sequence[str]) -> tuple[float, int]:
    """The log-odds that the sentences instruct the model, and the one that does so most."""
    model = _verifier(os.getpid())
    ids, *tokens = model.encoder.tokens([STATEMENT, *map(clean, parts)])
    evidence = [token for part in tokens for token in part]
    room = model.card.window - len(ids) - MARKS
    reads = [Read(ids, evidence[at : at + room]) for at in range(0, len(evidence) or 1, room)]
    logits, marks = model.encoder.judge(reads, "support")
    odds = means(np.concatenate(marks), [len(part) for part in tokens])
    return float(margin(logits, SUPPORTED).max()), max(range(len(odds)), key=odds.__getitem__)


@cache
def _verifier(_process: int) -> CrossEncoder:
    """The fast tier, whichever tier judges the answers: the others do not know the statement. A
    forked process opens its own."""
    found = open_verifier(VerifierSettings(), "fast")
    assert isinstance(found, CrossEncoder)
    return found
