"""Extracts observations for the metrics from log records."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from suffice.learn.monitor.metrics import Metric
from suffice.log.entry import Entry
from suffice.log.payload import UNREADABLE, values
from suffice.record.decision import GATE, VERDICT
from suffice.review.case import FEEDBACK, Rating
from suffice.types import Action, Code, Level

DEEP_CHECK = "deep_check"
KINDS = (VERDICT, GATE, FEEDBACK, DEEP_CHECK)
"""The kinds of records that are observed."""
_FIELDS = ("outcome", "gate", "evidence", "findings", "drafts", "thresholds")
_SERVED = (Action.SERVE.value, Action.CAVEAT.value, Action.CONFLICT.value)
_OPEN = (Level.SUFFICIENT.value, Level.PARTIAL.value)


@dataclass(frozen=True, slots=True)
class Observation:
    """One value of a metric. `counts` says whether it adds to the number of observations. A
    correction does not: its answer was already counted."""

    metric: Metric
    value: float
    counts: bool = True


@dataclass(frozen=True, slots=True)
class DeepCheck:
    """The result of a deep check: faithfulness as first decided and as rechecked, and whether the
    action changed."""

    released: float
    again: float
    changed: bool


@dataclass(frozen=True, slots=True)
class Covered:
    """An answer under certified thresholds: the id of the certificate, and both scores."""

    certificate: str
    gate: float
    confidence: float


@dataclass(frozen=True, slots=True)
class Observed:
    """The observations in one record, the scores that the guarantee is tested on, and whether there
    is a draft for a deep check."""

    id: str
    sequence: int
    time: str
    observations: tuple[Observation, ...] = ()
    covered: Covered | None = None
    drafted: bool = False
    deep: DeepCheck | None = None

    def tie(self, purpose: str) -> float:
        """A reproducible pseudo-random number in [0, 1), derived from this record alone."""
        digest = hashlib.sha256(f"{self.id} {purpose}".encode()).digest()
        return int.from_bytes(digest[:6], "big") / 2**48


def observe(entry: Entry, similar: float) -> Observed:
    """Read a record, skipping parts that were erased or not stored. A search counts as empty if no
    passage reaches the similarity `similar`. A damaged record has no observations; verifying the
    log reports it."""
    try:
        return _observed(entry, similar)
    except UNREADABLE:
        return Observed(entry.id, entry.sequence, entry.time)


def _observed(entry: Entry, similar: float) -> Observed:
    if entry.kind == FEEDBACK:
        down = values(entry.payload, ("rating",)).get("rating") == Rating.DOWN.value
        made = (Observation(Metric.CORRECTIONS, 1.0, counts=False),) if down else ()
        return Observed(entry.id, entry.sequence, entry.time, made)
    if entry.kind == DEEP_CHECK:
        return Observed(entry.id, entry.sequence, entry.time, deep=_deep(entry))
    found: dict[str, Any] = dict(values(entry.payload, _FIELDS))
    gate, outcome = found.get("gate") or {}, found.get("outcome") or {}
    gated = gate.get("policy", "none") != "none"
    made = (
        *_searched(found, gated, similar),
        *(_decided(found, outcome, gated) if outcome else ()),
    )
    # A verdict that repeats another or was written by a reviewer is not a new sample.
    new = not outcome.get("repeats") and (not gated or gate.get("level") in _OPEN)
    drafted = (found.get("drafts") or {}).get("draft") is not None
    return Observed(
        entry.id,
        entry.sequence,
        entry.time,
        made if not outcome.get("repeats") else (),
        _covered(found, gate, outcome) if new and gated else None,
        drafted and new,
    )


def _covered(
    found: Mapping[str, Any], gate: Mapping[str, Any], outcome: Mapping[str, Any]
) -> Covered | None:
    certificate = (found.get("thresholds") or {}).get("certificate")
    score, confidence = gate.get("score"), outcome.get("confidence")
    if not certificate or score is None or confidence is None:
        return None
    return Covered(certificate, score, confidence)


def _searched(found: Mapping[str, Any], gated: bool, similar: float) -> Iterator[Observation]:
    evidence = found.get("evidence")
    if not gated or evidence is None:
        return
    items = (evidence.get("found") or evidence.get("counted") or {}).get("items", ())
    near = [one.get("relevance") for one in items]
    nothing = all(one is not None and one < similar for one in near)
    yield Observation(Metric.RETRIEVAL_NULL, float(nothing))


def _decided(
    found: Mapping[str, Any], outcome: Mapping[str, Any], gated: bool
) -> Iterator[Observation]:
    served = outcome.get("action") in _SERVED
    for metric, name in (
        (Metric.FAITHFULNESS, "faithfulness"),
        (Metric.FACT_SCORE, "fact_score"),
    ):
        if outcome.get(name) is not None:
            yield Observation(metric, float(outcome[name]))
    if gated:  # a refused answer of another system is not a question that was withheld
        yield Observation(Metric.WITHHOLD_RATE, float(not served))
    if "findings" in found and "drafts" in found:
        yield Observation(Metric.FABRICATED, float(_fabricated(found)))
    if served:
        yield Observation(Metric.CORRECTIONS, 0.0)


def _fabricated(found: Mapping[str, Any]) -> bool:
    """Whether a draft cited a source that does not exist, whatever was released."""
    attempts: Sequence[Mapping[str, Any]] = (found.get("drafts") or {}).get("attempts", ())
    every = [*found["findings"], *(one for item in attempts for one in item.get("findings", ()))]
    return any(one.get("code") == Code.FABRICATED.value for one in every)


def _deep(entry: Entry) -> DeepCheck | None:
    found: dict[str, Any] = dict(values(entry.payload, ("was", "now")))
    was, again = found.get("was") or {}, found.get("now") or {}
    if was.get("faithfulness") is None or again.get("faithfulness") is None:
        return None
    changed = was.get("action") != again.get("action")
    return DeepCheck(was["faithfulness"], again["faithfulness"], changed)
