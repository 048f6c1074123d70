"""Finds sentences that seem to give instructions to the model, with the fast verifier.

The words of a sentence do not tell to whom it is addressed. The fast verifier is trained to judge
`STATEMENT`. It reads passages whose words are at all suspicious, about half of them. The sum of
both scores decides. It takes some sentences of ordinary pages for instructions too, so what it
finds is left out alone; only a pattern (`text.instructions.matched`) drops a passage.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import accumulate

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
from suffice.text.instructions import STATEMENT, folded
from suffice.text.sentences import Span

_SUSPICIOUS = -6.5
"""The words of half of the ordinary passages score at least this much."""
_WORDS = 0.15
"""The weight of the words beside the verifier."""
_THRESHOLD = -1.95
"""Three in two hundred of 2,985 ordinary passages score higher."""
_ROOM = 1400
"""The characters that the verifier reads at a time."""
_MOST = 5
"""The sentences of a portion that are found one by one."""


@rule("instruction model", lambda text: ())
@lru_cache(maxsize=4096)  # gate, drafter and checks read the same passages
def suspected(text: str) -> tuple[Span, ...]:
    """The sentences that seem to instruct the model."""
    plain, places = folded(text)
    found = (span for start, parts in _portions(plain) for span in _orders(start, parts))
    return tuple((places[start], places[end - 1] + 1) for start, end in found)


def suspicion(text: str) -> float:
    """The score of the most suspicious portion of a text."""
    plain, _ = folded(text)
    return max((_scored(parts)[0] for _, parts in _portions(plain)), default=-math.inf)


def _orders(start: int, parts: Sequence[str]) -> Iterator[Span]:
    """The most suspicious sentence, and again that of the rest, until the rest is not suspicious.
    After `_MOST` sentences all of the rest counts."""
    starts = accumulate(map(len, parts), initial=start)
    left = [(at, part) for at, part in zip(starts, parts, strict=False) if part.strip()]
    for _ in range(_MOST):
        score, best = _scored([part for _, part in left])
        if score < _THRESHOLD:
            return
        at, part = left.pop(best)
        yield at, at + len(part.rstrip())
    yield from ((at, at + len(part.rstrip())) for at, part in left)


def _scored(parts: Sequence[str]) -> tuple[float, int]:
    """The score of consecutive sentences, and the most suspicious one."""
    words = words_model().suspicion("".join(parts))
    if words < _SUSPICIOUS:
        return -math.inf, 0
    odds, best = _judged(parts)
    return odds + _WORDS * words, best


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
