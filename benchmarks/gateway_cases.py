"""Requests for the gateway bench, and the model calls they need.

Each case is a question, five passages and an answer of three sentences that stays inside them. No
two cases share a text, so caches do not help.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from suffice.draft.reading import Brief, read_draft
from suffice.engine import Engine
from suffice.evidence.index import gather
from suffice.evidence.inputs import given
from suffice.models.catalog import open_embedder, open_verifier
from suffice.models.embedder import Embedder, Vectors
from suffice.models.verifier import Pair, SufficiencyScore, SupportScore, Thresholds, Verifier
from suffice.pipeline import Pipeline
from suffice.settings import Settings
from suffice.types import Draft, Evidence

_FIRMS = "Aldermoor Brightwater Castlegate Dunmere Eastvale Fairholm Greywick Harrowby".split()
_KINDS = "Works Logistics Foods Textiles Energy Insurance Railways Instruments".split()
_TOPICS = (
    (
        "How many weeks of parental leave do employees of {f} get?",
        "Parental leave at {f} lasts {a} weeks per child [1]. Requests must be with the people "
        "team {b} weeks ahead of the first day [1]. While on leave, staff keep {c} percent "
        "of their salary [2].",
        "Employees of {f} get {a} weeks of parental leave for each child. The "
        "request has to reach the people team {b} weeks before the leave begins. Both parents may "
        "take leave at the same time. Leave that is not taken in the first year is lost.",
        "During parental leave {f} pays {c} percent of the salary. Allowances for "
        "travel and meals are not paid. Pension contributions go on as before. The payroll team "
        "answers questions on taxes.",
    ),
    (
        "How many days per week may staff of {f} work remotely?",
        "Remote work is possible at {f} on {d} days of each week [1]. The days must be agreed with "
        "a manager {b} days or more ahead [1]. Home equipment is paid for up to {c} euros [2].",
        "Staff of {f} may work remotely on {d} days per week. A manager agrees to the "
        "days at least {b} days in advance. Meetings with customers are held in the office. Work "
        "from another country needs the consent of the legal team.",
        "For the equipment at home {f} pays up to {c} euros. A screen and a chair are "
        "lent by the company. Broken devices go back to the help desk. Private devices are not "
        "connected to the network.",
    ),
    (
        "What is the notice period at {f} after the trial period?",
        "Once the trial period is over, {f} and its staff give {a} weeks of notice [1]. In the "
        "trial period, {b} days are enough [1]. Devices and keys must be returned "
        "within {d} days [2].",
        "After the trial period the notice period at {f} is {a} weeks. During the "
        "trial period it is {b} days. Notice is given in writing. The works council is told of "
        "every notice that the company gives.",
        "Keys and devices are handed in within {d} days. The last salary is paid at the "
        "end of the month. A certificate of employment is written on request. Access to the "
        "systems of {f} ends on the last day.",
    ),
)
_OTHERS = (
    "Trips are booked through the travel desk of {f}. Trains are preferred where they are not "
    "slower than a flight. Whoever travels abroad asks for approval first and hands in "
    "receipts later on.",
    "Visitors are met at the gate and wear a badge. A lost device is reported to the help desk at "
    "once. Doors to the stores stay locked at night, and the guard on duty keeps the list of keys.",
    "The canteen opens at noon and serves a warm meal without meat each day. Guests of a team may "
    "eat there as well. Allergens are named on the board beside the entrance and on the intranet.",
)


@dataclass(frozen=True, slots=True)
class GatewayCase:
    question: str
    answer: str
    passages: tuple[str, ...]

    @property
    def body(self) -> dict[str, Any]:
        """The request body of a client. The canned upstream returns the value of `canned`."""
        return {
            "model": "canned",
            "messages": [{"role": "user", "content": self.question}],
            "suffice": {"evidence": list(self.passages), "from": "request"},
            "canned": self.answer,
        }


def cases(count: int, seed: int = 0) -> list[GatewayCase]:
    random = Random(seed)
    found = []
    for n in range(count):
        values = {
            "f": f"{_FIRMS[n % 8]} {_KINDS[n // 8 % 8]} {n // 64 + 1}",
            "a": random.randint(6, 40),
            "b": random.randint(8, 28),
            "c": random.randint(51, 980),
            "d": random.randint(2, 5),
        }
        question, answer, *own = (text.format(**values) for text in _TOPICS[n % len(_TOPICS)])
        others = [text.format(**values) for text in _OTHERS]
        found.append(GatewayCase(question, answer, (*own, *others)))
    return found


@dataclass
class _Heard:
    """Wraps models and records their inputs."""

    pairs: list[tuple[str, Sequence[Pair]]] = field(default_factory=list)
    texts: list[Sequence[str]] = field(default_factory=list)


class _Embedder:
    def __init__(self, inner: Embedder, heard: _Heard) -> None:
        self._inner, self._heard = inner, heard
        self.id, self.dimension, self.window = inner.id, inner.dimension, inner.window

    def embed(self, texts: Sequence[str]) -> Vectors:
        self._heard.texts.append(texts)
        return self._inner.embed(texts)

    def token_ends(self, text: str) -> Sequence[int]:
        return self._inner.token_ends(text)


class _Verifier:
    def __init__(self, inner: Verifier, heard: _Heard) -> None:
        self._inner, self._heard = inner, heard
        self.id, self.tier = inner.id, inner.tier

    @property
    def thresholds(self) -> Thresholds:
        return self._inner.thresholds

    def support(self, pairs: Sequence[Pair]) -> list[SupportScore]:
        self._heard.pairs.append(("support", pairs))
        return self._inner.support(pairs)

    def sufficiency(self, pairs: Sequence[Pair]) -> list[SufficiencyScore]:
        self._heard.pairs.append(("sufficiency", pairs))
        return self._inner.sufficiency(pairs)


@dataclass(frozen=True, slots=True)
class _Canned:
    answer: str

    def write(self, evidence: Evidence, brief: Brief | None = None) -> Draft:
        return read_draft(self.answer, evidence.passages, drafter="canned")


def bare_models(asked: Sequence[GatewayCase], settings: Settings) -> dict[str, Any]:
    """The requests per second that the models alone allow: the model inputs of a pipeline for these
    cases, run again without the pipeline, call by call and all at once."""
    heard = _Heard()
    embedder, verifier = open_embedder(settings.embedder), open_verifier(settings.verifier, "fast")
    listening = _Embedder(embedder, heard)
    pipeline = Engine(embedder=listening, verifier=_Verifier(verifier, heard)).pipeline(
        settings=settings.collection(""), retriever=lambda question: Evidence(question)
    )
    served = 0
    for case in asked:
        served += _answered(pipeline, case, listening).served
    one_by_one = _timed(lambda: _call_by_call(embedder, verifier, heard))
    at_once = _timed(lambda: _all_at_once(embedder, verifier, heard))
    seconds = min(one_by_one, at_once)
    return {
        "cases": len(asked),
        "served": served,
        "pairs_a_request": round(sum(len(p) for _, p in heard.pairs) / len(asked), 1),
        "texts_a_request": round(sum(map(len, heard.texts)) / len(asked), 1),
        "call_by_call_ms": round(1e3 * one_by_one / len(asked), 2),
        "at_once_ms": round(1e3 * at_once / len(asked), 2),
        "per_s": round(len(asked) / seconds, 2),
    }


def _answered(pipeline: Pipeline, case: GatewayCase, embedder: Embedder) -> Any:
    def carried(question: str) -> Evidence:
        return gather(question, list(given(list(case.passages))), embedder)

    return replace(pipeline, retriever=carried, drafter=_Canned(case.answer)).answer(case.question)


def _call_by_call(embedder: Embedder, verifier: Verifier, heard: _Heard) -> None:
    for texts in heard.texts:
        embedder.embed(texts)
    for question, pairs in heard.pairs:
        getattr(verifier, question)(pairs)


def _all_at_once(embedder: Embedder, verifier: Verifier, heard: _Heard) -> None:
    embedder.embed([text for texts in heard.texts for text in texts])
    for question in ("support", "sufficiency"):
        getattr(verifier, question)([p for q, ps in heard.pairs if q == question for p in ps])


def _timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
