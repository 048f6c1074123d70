"""Judgements flow from the queue through an export into a calibration."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from suffice.access.visibility import Reader
from suffice.lab.calibrate.labels import read_labels
from suffice.log.setup import Setup
from suffice.review.actions import Judge, Judgement
from suffice.review.case import Act
from suffice.review.review import Review
from suffice.types import Action, Verdict
from tests.review import examples as some

FILING = Setup().filing()


@pytest.fixture
def sampling(review: Review) -> Review:
    return some.at_rate(review, 1)


def write(review: Review, verdict: Verdict = some.SERVED) -> str:
    return review.log.write(verdict, filing=FILING)


def test_judgements_of_claims_and_answers_reach_the_calibration(
    sampling: Review, tmp_path: Path
) -> None:
    right, wrong, corrected, partly, open_ = (write(sampling) for _ in range(5))
    for claim in (1, 2):
        judgement = Judgement.OVERRULE if claim == 1 else Judgement.ACCEPT
        sampling.act(right, Judge(claim, judgement), by="Ada")
    sampling.decide(right, Act.CONFIRM, reason="x", by="Ada")
    sampling.act(wrong, Judge(2, Judgement.ACCEPT), by="Ada")  # a right claim of a wrong answer
    sampling.decide(wrong, Act.WITHDRAW, reason="x", by="Ada")
    sampling.decide(corrected, Act.CORRECT, text="3 days.", reason="x", by="Ada")
    sampling.decide(partly, Act.CONFIRM, reason="x", by="Ada")
    sampling.act(partly, Judge(1, Judgement.ACCEPT), by="Bob")  # afterwards: a claim is wrong
    sampling.act(open_, Judge(1, Judgement.OVERRULE), by="Ada")  # not decided yet
    rows = sampling.labels()
    assert [row["correct"] for row in rows] == [True, False, False, False, None]
    assert [len(row.get("claims", ())) for row in rows] == [2, 1, 0, 1, 0]
    assert rows[0]["claims"][0] == {
        "text": some.FIRST.text,
        "found": "CONTRADICTED",
        "correct": True,
    }
    path = tmp_path / "labels.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows))
    labels = read_labels(path)
    assert [label.correct for label in labels] == [True, False, False, False, None]
    assert {(label.probability, label.least_probability) for label in labels} == {(1.0, 1.0)}
    assert sampling.errors().wrong == 2  # withdrawn and corrected


def test_claims_of_a_draft_that_was_not_released_do_not_count(sampling: Review) -> None:
    conflict = replace(some.SERVED, action=Action.CONFLICT, released="Both sides.")
    id = write(sampling, conflict)
    sampling.act(id, Judge(1, Judgement.ACCEPT), by="Ada")
    sampling.decide(id, Act.CONFIRM, reason="Rightly both.", by="Ada")
    (row,) = sampling.labels()
    assert row["correct"] is True
    assert "claims" not in row


def test_an_export_holds_only_what_its_reader_may_read(sampling: Review) -> None:
    public = write(sampling)
    secret = write(sampling, some.labelled(some.SERVED, "staff"))
    assert [row["record"] for row in sampling.labels()] == [public, secret]
    assert [row["record"] for row in sampling.labels(reader=Reader())] == [public]
    staff = Reader(frozenset({"staff"}))
    assert [row["record"] for row in sampling.labels(reader=staff)] == [public, secret]
