"""What the llm tier cost on the rows of a bench, and how often it spoke."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from suffice.bench.judged import Judged
from suffice.models.llm.verifier import LlmVerifier
from suffice.models.verifier import Verifier

_MOST = 1_000_000_000


def unbounded(verifier: Verifier) -> Verifier:
    """A bench puts many rows into one request: the budgets of a request do not hold there, only
    the time of a single row."""
    if not isinstance(verifier, LlmVerifier):
        return verifier
    settings = replace(verifier.settings, calls=_MOST, tokens=_MOST, seconds=float(_MOST))
    return replace(verifier, settings=settings)


def llm_figures(verifier: Verifier, judged: Sequence[Judged]) -> dict[str, Any]:
    """Calls, tokens and seconds, and the share of rows in which the LLM spoke or fell back to the
    cheaper tier; nothing for another tier."""
    if not isinstance(verifier, LlmVerifier):
        return {}
    cost, rows = verifier.cost, [row.judgement for row in judged]
    return {
        "llm": {
            "calls": cost.calls,
            "tokens": cost.tokens,
            "seconds": round(cost.seconds, 2),
            "spoke": round(sum(row.llm > 0 for row in rows) / len(rows), 4),
            "fell_back": round(sum(row.fell_back > 0 for row in rows) / len(rows), 4),
        }
    }
