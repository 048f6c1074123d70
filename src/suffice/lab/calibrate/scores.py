"""Scores labelled answers with the gate and the checks of the pipeline, and saves the scores in a
file, so that an interrupted calibration resumes where it stopped.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from suffice.bounds import Flags, Numbers, interval
from suffice.draft.reading import read_draft
from suffice.engine import Engine
from suffice.evidence.index import gather
from suffice.evidence.ingest import Progress
from suffice.evidence.inputs import given
from suffice.lab.calibrate.labels import Label, Scores
from suffice.lab.eval.worker import once
from suffice.models.embedder import Embedder
from suffice.models.verifier import Verifier
from suffice.pipeline import Pipeline
from suffice.settings import CollectionSettings
from suffice.text.marks import citations
from suffice.types import Action, Draft, Evidence, Finding, Level
from suffice.verdict.decide import decide
from suffice.verdict.route import read_routes
from suffice.verdict.thresholds import Thresholds, policy_of


@dataclass(frozen=True, slots=True)
class Scorer:
    """Scores labelled answers with the pipeline, with both thresholds set to 0."""

    settings: CollectionSettings
    pipelines: dict[bool, Pipeline]
    """Keyed by whether the answer lacks citations."""
    served: tuple[Action, ...]
    key: str
    """Identifies the models, the settings and the served actions. Scores with another key are not
    reused."""

    @classmethod
    def of(
        cls,
        settings: CollectionSettings,
        embedder: Embedder,
        verifier: Verifier,
        served: tuple[Action, ...],
        *,
        gated: bool,
    ) -> Scorer:
        verdict = replace(settings.verdict, thresholds_file="")
        bare = replace(settings, verdict=verdict)
        opened = Thresholds(0.0 if gated else None, 0.0, served).apply(bare)
        engine = Engine(embedder=embedder, verifier=once(verifier))
        assembly = engine.assemble(opened)
        marked = {
            uncited: assembly.pipeline(retriever=_nothing, uncited=uncited)
            for uncited in (True, False)
        }
        parts = (embedder.id, verifier.id, *policy_of(settings).values(), *served)
        key = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
        return cls(opened, marked, served, key)

    def __call__(self, label: Label) -> Scores:
        uncited = not citations(label.answer)
        pipeline = self.pipelines[uncited]
        found = gather(label.question, given(label.evidence), pipeline.embedder)
        decision = pipeline.gate.apply(found).decision
        draft = _draft(label.answer, found, uncited=uncited)
        if not draft.claims:
            return Scores(decision.score, 0.0, Action.WITHHOLD)
        findings = pipeline.check(draft, found)
        # The gate is assumed open, because the confidence in an answer does not depend on it.
        opened = decision if decision.open else replace(decision, level=Level.PARTIAL)
        routes = read_routes(self.settings.verdict.routes)
        verdict = decide(found, opened, draft, findings, routes)
        action = verdict.action if decision.open else Action.WITHHOLD
        own = 1.0 if verdict.confidence is None else verdict.confidence
        return Scores(decision.score, own, action, _kind(findings))


def score(labels: Sequence[Label], scorer: Scorer, path: Path, progress: Progress) -> list[Scores]:
    """The scores of all labels. Scores supplied with a row are used as they are; the others are
    computed and appended to `path` one by one."""
    known = dict(_known(path, scorer.key))
    missing = [one for one in labels if one.scores is None and one.digest not in known]
    if missing:
        with path.open("a", encoding="utf-8") as file:
            for number, label in enumerate(missing, 1):
                known[label.digest] = scorer(label)
                file.write(_line(scorer.key, label.digest, known[label.digest]))
                file.flush()
                progress("answers", number, len(missing))
    return [one.scores or known[one.digest] for one in labels]


def _draft(answer: str, evidence: Evidence, *, uncited: bool) -> Draft:
    draft = read_draft(answer, evidence.passages, drafter="given")
    if not uncited:
        return draft
    return replace(draft, claims=tuple(replace(one, cites=()) for one in draft.claims))


def _kind(findings: Sequence[Finding]) -> str:
    """The kind of hallucination that most findings name; empty: none."""
    found = Counter(one.kind.value for one in findings if one.kind)
    return found.most_common(1)[0][0] if found else ""


def _line(key: str, digest: str, scores: Scores) -> str:
    action = scores.action.value if scores.action else None
    tree = {"gate": scores.gate, "confidence": scores.confidence, "action": action}
    return json.dumps({"key": key, "digest": digest, **tree, "found": scores.found}) + "\n"


def _known(path: Path, key: str) -> Iterator[tuple[str, Scores]]:
    """The scores in the file that were made with the same models and settings. A truncated line is
    skipped."""
    if not path.is_file():
        return
    for line in path.read_text(encoding="utf-8").splitlines():
        with suppress(ValueError, KeyError, TypeError):
            tree: dict[str, Any] = json.loads(line)
            if tree["key"] == key:
                action = Action(tree["action"]) if tree["action"] else None
                yield (
                    tree["digest"],
                    Scores(tree["gate"], tree["confidence"], action, tree["found"]),
                )


def _nothing(question: str) -> Evidence:
    return Evidence(question)


DECIMALS = 4
"""Thresholds have this many decimals, so that the file and the routing table agree."""


@dataclass(frozen=True, slots=True)
class Table:
    """One entry per row. `allowed`: every rule besides the two thresholds is met. `weights` are
    inverse sampling probabilities; `None`: all rows count the same. `largest` is the largest weight
    that any answer could have had, sampled or not."""

    gate: Numbers
    confidence: Numbers
    allowed: Flags
    wrong: Flags
    weights: Numbers | None = None
    largest: float = 1.0

    @classmethod
    def of(
        cls, labels: Sequence[Label], scores: Sequence[Scores], served: Sequence[Action]
    ) -> Table:
        """The table of these labels. An answer that was sampled but not judged counts as wrong."""
        chances = [label.probability for label in labels if label.probability is not None]
        least = min((label.least_probability for label in labels), default=1.0)
        return cls(
            np.array([one.gate for one in scores], np.float64),
            np.array([one.confidence for one in scores], np.float64),
            np.array([one.action is None or one.action in served for one in scores], np.bool_),
            np.array([label.correct is not True for label in labels], np.bool_),
            1 / np.array(chances) if least < 1 else None,
            1 / least,
        )

    def __len__(self) -> int:
        return len(self.gate)

    def rows(self, chosen: Any) -> Table:
        """A table of the chosen rows only; `chosen` is a mask or an array of row numbers."""
        weights = None if self.weights is None else self.weights[chosen]
        return Table(
            self.gate[chosen],
            self.confidence[chosen],
            self.allowed[chosen],
            self.wrong[chosen],
            weights,
            self.largest,
        )

    def served(self, grid: Grid) -> Flags:
        """Whether each row (second axis) is served at each pair of thresholds (first axis)."""
        opens = self.gate >= grid.gate[:, None]
        return np.asarray(opens & (self.confidence >= grid.confidence[:, None]) & self.allowed)

    def share(self, hit: Flags, among: Flags | None = None) -> Numbers:
        """The weighted share of hits, along the last axis; 0 where there are no rows."""
        weights = np.ones(len(self)) if self.weights is None else self.weights
        base = np.ones(len(self), np.bool_) if among is None else among
        total = np.asarray((base * weights).sum(axis=-1))
        hits = np.asarray(((hit & base) * weights).sum(axis=-1))
        return np.asarray(np.divide(hits, total, out=np.zeros_like(hits), where=total > 0))

    def rate(self, hit: Flags, among: Flags | None = None) -> dict[str, Any]:
        """A share with its 95 % interval and its counts. With weights, the interval uses the
        effective number of rows, which is an approximation."""
        base = np.ones(len(self), np.bool_) if among is None else among
        rows, hits = int(base.sum()), int((hit & base).sum())
        value = float(self.share(hit, base))
        low, high = interval(hits, rows)
        if self.weights is not None and rows:
            own = self.weights[base]
            effective = float(own.sum() ** 2 / (own**2).sum())
            low, high = interval(round(value * effective), max(1, round(effective)))
        known = rows > 0
        return {
            "rate": value if known else None,
            "low": low,
            "high": high,
            "hits": hits,
            "rows": rows,
        }


@dataclass(frozen=True, slots=True)
class Grid:
    """Pairs of thresholds to test."""

    gate: Numbers
    confidence: Numbers

    def __len__(self) -> int:
        return len(self.gate)

    @property
    def pairs(self) -> list[tuple[float, float]]:
        return list(zip(self.gate.tolist(), self.confidence.tolist(), strict=True))

    @classmethod
    def product(cls, gate: Sequence[float], confidence: Sequence[float]) -> Grid:
        pairs = np.array([(g, c) for g in sorted(set(gate)) for c in sorted(set(confidence))])
        return cls(pairs[:, 0], pairs[:, 1])

    @classmethod
    def of(cls, table: Table, floor: tuple[float, float], *, gated: bool, steps: int = 20) -> Grid:
        """Every combination of quantiles of the two scores, none under the floor. Without a gate to
        tune, its threshold stays 0."""
        gate = _quantiles(table.gate[table.allowed], floor[0], steps) if gated else [0.0]
        return cls.product(
            gate, _quantiles(table.confidence[table.allowed], floor[1], steps + steps // 2)
        )

    def keep(self, chosen: Any) -> Grid:
        return Grid(self.gate[chosen], self.confidence[chosen])


def _quantiles(scores: Numbers, floor: float, steps: int) -> list[float]:
    """Thresholds with equal shares of the rows between them, and the floor itself. They are rounded
    down, so that the row that gave a threshold reaches it."""
    found = np.quantile(scores, np.arange(steps) / steps) if len(scores) else np.array([])
    scale = 10**DECIMALS
    floors = np.floor(found * scale) / scale
    return [floor, *(float(one) for one in floors if one > floor)]
