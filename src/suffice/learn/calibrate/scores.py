"""Scores labelled answers with the gate and the checks of the pipeline, and saves the scores in a
file, so that an interrupted calibration resumes where it stopped."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from suffice.checks.judge.judge import open_judge
from suffice.checks.registry import open_checks
from suffice.draft.reading import read_draft
from suffice.eval.once import once
from suffice.evidence.ingest import Progress
from suffice.evidence.inputs import given
from suffice.evidence.retriever import gather
from suffice.learn.calibrate.labels import Label, Scores
from suffice.models.caching import CachedEmbedder
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
        embedder, judged = CachedEmbedder(embedder), once(verifier)
        pipeline = Pipeline.of(_nothing, embedder, opened, judged)
        judge = open_judge(opened.judge, opened.draft) if opened.checks.judge else None
        marked = {
            uncited: replace(
                pipeline,
                checks=open_checks(opened.checks, judged, embedder, judge=judge, uncited=uncited),
            )
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
