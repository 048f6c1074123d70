"""Helpers for tests of the llm tier: a scripted cheaper tier, and replies."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from suffice.models.llm.verifier import LlmVerifier, open_llm_verifier
from suffice.models.verifier import Pair, SufficiencyScore, SupportScore, Thresholds, Verifier
from suffice.settings import LlmSettings
from suffice.testing import Reply, Scripted, ScriptedUpstream, says

LEAVE = "Parental leave lasts 18 weeks and is paid in full."
OFFICE = "The office in Berlin closes at six in the evening."
EVIDENCE = (LEAVE, OFFICE)


@dataclass(frozen=True)
class Rough:
    """The cheaper tier: one probability for everything, or one by what is said."""

    chance: float | Callable[[str], float] = 0.5
    unchecked: str = ""
    id: str = "rough-1"
    tier: str = "fast"
    thresholds: Thresholds = field(default_factory=lambda: Thresholds(0.6, 0.7))

    def support(self, pairs: Sequence[Pair]) -> list[SupportScore]:
        return [
            SupportScore(chance, 0.0, 1 - chance, 0, self.unchecked, self.tier)
            for chance in map(self._chance, pairs)
        ]

    def sufficiency(self, pairs: Sequence[Pair]) -> list[SufficiencyScore]:
        return [SufficiencyScore(self._chance(p), 0, self.unchecked, self.tier) for p in pairs]

    def _chance(self, pair: Pair) -> float:
        return self.chance(pair.text) if callable(self.chance) else self.chance


@contextmanager
def llm(
    *script: Reply, inner: Verifier | None = None, **changes: Any
) -> Iterator[tuple[LlmVerifier, ScriptedUpstream]]:
    """The tier around `inner` with a scripted endpoint."""
    with ScriptedUpstream(script) as server:
        settings = LlmSettings(**{"url": server.url, "total_seconds": 5.0, "retries": 0, **changes})
        yield open_llm_verifier(inner or Rough(), settings), server


def ruling(verdict: str, quote: str = "", passage: int = 0, claim: int = 1) -> dict[str, Any]:
    quotes = [{"passage": passage, "quote": quote}] if quote or passage else []
    return {"claim": claim, "quotes": quotes, "verdict": verdict}


def rulings(*rows: dict[str, Any]) -> Scripted:
    return says(json.dumps({"verdicts": list(rows)}))


def assessment(enough: object, *quotes: tuple[int, str], missing: Sequence[str] = ()) -> Scripted:
    found = [{"passage": passage, "quote": quote} for passage, quote in quotes]
    return says(json.dumps({"quotes": found, "missing": list(missing), "enough": enough}))


SUPPORTED = rulings(ruling("supported", "leave lasts 18 weeks", 1))
CONTRADICTED = rulings(ruling("contradicted", "leave lasts 18 weeks", 1))
NOT_MENTIONED = rulings(ruling("not_mentioned"))
