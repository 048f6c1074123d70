"""Reports the cost of the llm tier on the rows of a benchmark, and how often it answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from suffice.eval.judged import Judged
from suffice.models.llm.verifier import LlmVerifier
from suffice.models.verifier import Verifier


def unbounded(verifier: Verifier) -> Verifier:
    """The verifier without budgets per request, because a benchmark puts many rows in one request.
    The time limit for a single row still applies."""
    if not isinstance(verifier, LlmVerifier):
        return verifier
    settings = replace(
        verifier.settings, total_calls=1_000_000, total_tokens=1_000_000_000, total_seconds=86_400.0
    )
    return replace(verifier, settings=settings)


def llm_figures(verifier: Verifier, judged: Sequence[Judged]) -> dict[str, Any]:
    """Calls, tokens and seconds of the LLM, and the shares of rows in which it answered or in which
    the cheaper tier's score was used instead; empty for other tiers."""
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
