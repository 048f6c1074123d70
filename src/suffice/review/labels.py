"""Exports the answers drawn for review as labelled rows for `suffice calibrate`.

Each row holds the probability with which it was drawn, so that answers that are always reviewed do
not count more than the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from suffice.access.visibility import Reader
from suffice.errors import LabelsError, StoreError
from suffice.log.entry import Choice, Entry, find
from suffice.record.about import all_about
from suffice.record.decision import decision_of
from suffice.record.setup import setup_of
from suffice.review.actions import JUDGEMENT
from suffice.review.judged import judged
from suffice.review.sample import Sampled, sampled
from suffice.sql.toolkit import Connection
from suffice.types import Action, Passage, Verdict
from suffice.verdict.claim_status import claim_statuses
from suffice.verdict.thresholds import SERVE_ONLY, WITH_CAVEAT, in_force


def labelled(
    connection: Connection, choice: Choice, rate: float = 0.0, reader: Reader | None = None
) -> list[dict[str, Any]]:
    """One row per drawn answer; `correct` is null if nobody judged it. Erased records and answers
    checked without a gate are left out. Each row states the smallest sampling probability of any
    served answer, including the configured `rate`. Raises `LabelsError` if a served answer could
    not be drawn. With a reader, answers that it may not read are left out, drawn or not, so the
    rows represent the answers that it may read."""

    @lru_cache(maxsize=256)
    def floors(setup: str) -> dict[str, Any]:
        settings = setup_of(find(connection, setup))[0].settings
        return {
            name: {"gate": found.gate, "confidence": found.confidence}
            for name, served in (("serve", SERVE_ONLY), ("caveat", WITH_CAVEAT))
            for found in (in_force(settings, served),)
        }

    rows, least = [], rate or 1.0
    for one in sampled(connection, choice):
        least = min(least, one.probability or 1.0)
        if not one.drawn and one.probability > 0:
            continue
        entry = find(connection, one.id)
        verdict = _covered(entry, reader)
        if verdict is None:
            continue
        if not one.drawn:
            raise _never_drawn(entry)
        rows.append(
            {
                **_row(entry, verdict),
                "probability": one.probability,
                **_judgement(connection, one, verdict),
                "floor": floors(entry.fields()["setup"]),
            }
        )
    return [{**row, "least_probability": least} for row in rows]


def _never_drawn(entry: Entry) -> LabelsError:
    """The error for an answer that could not be drawn: other answers say nothing about it."""
    return LabelsError(
        f"The served answer {entry.id} of {entry.time} could not be drawn for review, so the drawn "
        "answers do not represent all served answers.",
        remedy="Set record.review_sample, for example to 0.1, and export only answers from that "
        "moment on: suffice review export --since TIME",
    )


def _judgement(connection: Connection, one: Sampled, verdict: Verdict) -> dict[str, Any]:
    """Whether the answer is correct, and the claims that a reviewer judged. An answer with a claim
    that a reviewer found unsupported is not correct."""
    if one.correct is None:
        return {"correct": None}
    about = all_about(connection, one.id)
    last = {
        item.claim: item for item in (judged(e) for e in about if e.kind == JUDGEMENT and e.payload)
    }
    claims = [
        {
            "text": status.claim.text,
            "found": status.support.value,
            "correct": last[status.n].supported,
        }
        for status in claim_statuses(verdict)
        if status.n in last and verdict.action is not Action.CONFLICT  # its draft is not released
    ]
    correct = one.correct and all(claim["correct"] for claim in claims)
    return {"correct": correct, **({"claims": claims} if claims else {})}


def _covered(entry: Entry, reader: Reader | None) -> Verdict | None:
    """The verdict, unless its content was erased, no gate decided or the reader may not read it."""
    try:
        decision = decision_of(entry)
    except StoreError:
        return None
    verdict = decision.verdict
    if verdict is None or verdict.gate.policy == "none":
        return None
    return verdict if reader is None or reader.may_know(entry) else None


def _row(entry: Entry, verdict: Verdict) -> dict[str, Any]:
    passages = verdict.evidence.passages
    confidence = 1.0 if verdict.confidence is None else verdict.confidence
    return {
        "record": entry.id,
        "question": verdict.question,
        "evidence": [dict(_passage(one)) for one in passages],
        "answer": verdict.released,
        "collection": next((one.collection for one in passages), "default"),
        "scores": {
            "gate": verdict.gate.score,
            "confidence": confidence,
            "action": verdict.action.value,
        },
    }


def _passage(passage: Passage) -> Iterator[tuple[str, str]]:
    yield "text", passage.text
    for name in ("document", "title", "version"):
        if value := getattr(passage, name):
            yield name, value
