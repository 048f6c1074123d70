"""Measures how well `check` as a whole separates supported answers from unsupported ones, compared
with the verifier alone on the same rows.

An answer is flagged if its verdict is not SERVE.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from suffice.checker import Checker
from suffice.draft.reading import storable
from suffice.evidence.ingest import Progress
from suffice.lab.eval import verifiers
from suffice.lab.eval.figures import (
    balanced_accuracy,
    f1_flagged,
    precision_flagged,
    recall_flagged,
    rounded,
)
from suffice.lab.eval.rows import Kind, or_null
from suffice.lab.eval.run_record import run_record
from suffice.lab.eval.verifiers import Judged, Judgement, Row, choose, passages
from suffice.lab.eval.worker import MemoizedVerifier
from suffice.models.verifier import Verifier
from suffice.types import Action, Code, Support, Verdict
from suffice.verdict.assess import assess

TASKS = ("qa", "summary")
"""The tasks to judge if rows name their task: like answers, their texts are written from texts."""
AGAINST = (Support.CONTRADICTED, Support.UNBACKED)
Span = tuple[int, int]


def _spans(value: Any) -> bool:
    pairs = isinstance(value, list) and all(isinstance(one, list) for one in value)
    return pairs and all(len(one) > 1 and all(type(n) is int for n in one[:2]) for one in value)


SPANS = Kind("a list of [start, end, …]", _spans)


@dataclass(frozen=True, slots=True)
class Answered(Judgement):
    """The result of `check` for one answer: the verdict, the characters of rejected claims, the
    checks that objected, and whether the verifier alone would have accepted it."""

    action: Action = Action.WITHHOLD
    flagged: frozenset[int] = frozenset()
    labelled: frozenset[int] | None = None
    """The characters that annotators marked; `None`: not annotated."""
    against: tuple[str, ...] = ()
    alone: bool = False


def bench_answers(
    data: Path,
    verifier: Verifier,
    opened: Callable[[Verifier], Checker],
    limit: int | None,
    progress: Progress,
    *,
    tasks: Sequence[str] = TASKS,
) -> dict[str, Any]:
    """The figures per set and task; `opened` creates the checker from a verifier."""
    rows = choose(chosen(verifiers.read(data, {"spans": or_null(SPANS)}), tasks), limit)
    once = MemoizedVerifier(verifier)
    checker = opened(once)
    bench = replace(verifiers.GROUNDING, more=_figures)
    judged = bench.run(rows, lambda chunk: [_answered(checker, once, r) for r in chunk], progress)
    return {
        "tier": verifier.tier,
        "model": verifier.id,
        "uncited": checker.uncited,
        "limit": limit,
        **bench.figures(judged),
        "run": run_record(data),
    }


def chosen(rows: Sequence[Row], tasks: Sequence[str]) -> list[Row]:
    """The rows of these tasks; all rows if none names a task or no task is requested."""
    named = any(row.get("task") for row in rows)
    return [row for row in rows if not tasks or not named or row.get("task") in tasks]


def _answered(checker: Checker, verifier: Verifier, row: Row) -> Answered:
    verdict = checker.check(row["claim"], passages(row), row.get("question") or None)
    (alone,) = verifiers.judged(verifier, [row])
    spans = row.get("spans")
    supported = verifiers.GROUNDING.positive(row)
    return Answered(
        score=1.0 if verdict.faithfulness is None else verdict.faithfulness,
        checks=len(verdict.draft.claims) if verdict.draft else 0,
        unchecked=_unchecked(verdict),
        passed=verdict.action is Action.SERVE,
        action=verdict.action,
        flagged=_characters(_rejected_spans(verdict, row["claim"])),
        labelled=_characters(spans or ()) if spans or supported else None,
        against=tuple(sorted(_against(verdict))),
        alone=alone.passed,
    )


def _unchecked(verdict: Verdict) -> int:
    return _standing(verdict).count(Support.UNCHECKED)


def _standing(verdict: Verdict) -> list[Support]:
    if verdict.draft is None:
        return []
    return list(assess(verdict.draft, verdict.findings).claims.values())


def _rejected_spans(verdict: Verdict, answer: str) -> list[Span]:
    """The spans of the claims that checks objected to."""
    if verdict.draft is None:
        return []
    start = max(storable(answer).find(verdict.draft.text), 0)
    fallen = assess(verdict.draft, verdict.findings).claims_with(*AGAINST)
    return [(start + claim.start, start + claim.end) for claim in fallen]


def _against(verdict: Verdict) -> list[str]:
    """The objections by check and code ("literals changed"), each once per claim."""
    return [
        f"{finding.check} {finding.code or finding.support.lower()}"
        + ("" if finding.support in AGAINST else ", noted only")
        for finding in verdict.findings
        if finding.support in AGAINST or finding.code is Code.OMITTED
    ]


def _characters(spans: Sequence[Sequence[Any]]) -> frozenset[int]:
    return frozenset(place for span in spans for place in range(span[0], span[1]))


def _figures(judged: Sequence[Judged]) -> dict[str, Any]:
    """The figures that only `check` has."""
    rows = [(row.positive, row.judgement) for row in judged]
    answers = [(good, one) for good, one in rows if isinstance(one, Answered)]
    positive = np.array([good for good, _ in answers], dtype=np.bool_)
    passed = np.array([one.passed for _, one in answers], dtype=np.bool_)
    alone = np.array([one.alone for _, one in answers], dtype=np.bool_)
    shares = {
        "precision": precision_flagged(passed, positive),
        "recall": recall_flagged(passed, positive),
        "span_f1": _span_f1([one for _, one in answers]),
        "false_withhold": _false_withhold([one for good, one in answers if good]),
        "verifier_f1": f1_flagged(alone, positive),
        "verifier_balanced_accuracy": balanced_accuracy(alone, positive),
    }
    return {
        **{name: rounded(value) for name, value in shares.items()},
        "actions": dict(Counter(one.action.value for _, one in answers)),
        "against": {
            name: _count_objections([one for good, one in answers if good is truth])
            for name, truth in (("supported", True), ("not supported", False))
        },
    }


def _count_objections(answers: Sequence[Answered]) -> dict[str, dict[str, int]]:
    """For each objection, by check and code: the number of claims and of answers."""
    claims = Counter(name for one in answers for name in one.against)
    rows = Counter(name for one in answers for name in set(one.against))
    return {name: {"claims": n, "answers": rows[name]} for name, n in claims.most_common()}


def _span_f1(answers: Sequence[Answered]) -> float | None:
    """Character-level F1 over all answers with known spans."""
    known = [(one.flagged, one.labelled) for one in answers if one.labelled is not None]
    either = sum(len(flagged) + len(labelled) for flagged, labelled in known)
    if not any(labelled for _, labelled in known):
        return None
    return 2 * sum(len(flagged & labelled) for flagged, labelled in known) / either


def _false_withhold(supported: Sequence[Answered]) -> float | None:
    """The share of supported answers that are not released."""
    kept_back = sum(one.action in (Action.WITHHOLD, Action.REVIEW) for one in supported)
    return kept_back / len(supported) if supported else None
