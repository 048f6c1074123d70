"""From labels to a certificate: what is refused, what is written, what a later run may spend."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from suffice.errors import LabelsError, Unreadable
from suffice.lab.calibrate.calibrate import Rule, Wish, calibrate
from suffice.lab.calibrate.certificate import Certificate
from suffice.lab.calibrate.labels import Label, read_labels
from suffice.lab.calibrate.report import page
from suffice.lab.calibrate.select import Costs, Family, Promise, rows_needed
from suffice.settings import CollectionSettings
from suffice.types import Action
from suffice.verdict.thresholds import WITH_CAVEAT, Thresholds

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
RULE = Rule(CollectionSettings(), {"embedder": "e-1", "verifier": "v-1"}, gated=True)
Write = Callable[[list[dict[str, Any]]], list[Label]]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(rows: list[dict[str, Any]]) -> list[Label]:
        path = tmp_path / "labels.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return read_labels(path)

    return written


def rows(count: int, seed: int = 1, **more: Any) -> list[dict[str, Any]]:
    """Answers whose errors fall with both scores."""
    rng = np.random.default_rng(seed)
    found = []
    for number in range(count):
        gate, confidence = (float(one) for one in rng.random(2) ** 0.5)
        correct = bool(rng.random() < min(0.99, 0.3 + 1.3 * gate * confidence))
        scores = {"gate": gate, "confidence": confidence}
        found.append(
            {"question": f"{seed} {number}?", "correct": correct, "scores": scores, **more}
        )
    return found


def certify(labels: list[Label], wish: Wish, earlier: Certificate | None = None) -> Certificate:
    scores = [label.scores for label in labels if label.scores]
    return calibrate(labels, scores, RULE, wish, NOW, earlier, "labels.jsonl")


WISH = Wish(alpha=0.15, delta=0.1)


def test_a_certificate_says_what_it_promises_and_for_what(write: Write, tmp_path: Path) -> None:
    made = certify(write(rows(600, kind="number", collection="hr")), WISH)
    assert made.thresholds is not None
    assert (made.alpha, made.delta, made.level, made.n) == (0.15, 0.1, 0.05, 600)
    assert made.method["test"] == "binomial"
    assert made.method["family"] == "fixed-sequence"
    assert made.served_error["rate"] < 0.15
    assert made.models == RULE.models
    assert made.figures["groups"]["collection"]["hr"]["n"] == 600
    assert {one["at"] for one in made.figures["sensitivity"]["gate"]} >= {0.0, 0.5}
    assert made.figures["published"]["thresholds"] == {"gate": 0.6, "confidence": 0.8}
    made.write(tmp_path / "thresholds.json")
    assert Certificate.read(tmp_path / "thresholds.json") == made


def test_the_reference_holds_the_confidences_of_the_rows_that_get_a_draft(write: Write) -> None:
    labels = rows(600)
    for number, row in enumerate(labels[:60]):
        row["scores"]["confidence"] = float(number % 2)  # no probability was available
    made = certify(write(labels), WISH)
    assert made.thresholds is not None
    gate = made.thresholds["gate"]
    assert gate
    scores = [row["scores"] for row in labels[60:]]
    expected = [round(one["confidence"], 6) for one in scores if one["gate"] >= gate]
    assert 0 < len(expected) < 540
    assert list(made.reference) == expected


def test_a_certificate_that_was_edited_is_refused(write: Write, tmp_path: Path) -> None:
    path = tmp_path / "thresholds.json"
    certify(write(rows(600)), WISH).write(path)
    tree = json.loads(path.read_text())
    tree["alpha"] = 0.01
    path.write_text(json.dumps(tree))
    with pytest.raises(Unreadable, match="changed after it was written"):
        Certificate.read(path)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"record": "01j"}, "gate or a review queue selected it"),
        ({"why": ["borderline"]}, "gate or a review queue selected it"),
        ({"correct": None}, "“correct” is null"),
        ({"scores": {"gate": 2, "confidence": 0.5}}, "scores.gate"),
        ({"scores": None}, "needs “question”, “evidence” and “answer”, or “scores”"),
    ],
)
def test_labels_that_prove_nothing_are_refused(
    write: Write, row: dict[str, Any], message: str
) -> None:
    with pytest.raises(LabelsError, match=message) as caught:
        write([{**rows(1)[0], **row}])
    assert caught.value.remedy


def test_some_rows_with_a_probability_and_others_without_are_refused(write: Write) -> None:
    with pytest.raises(LabelsError, match="1 of 2 rows"):
        write([{**rows(1)[0], "probability": 0.5}, *rows(1, seed=2)])


@pytest.mark.parametrize("least", [None, 0.6])
def test_weights_without_a_bound_known_beforehand_are_refused(
    write: Write, least: float | None
) -> None:
    with pytest.raises(LabelsError, match="“least_probability” is") as caught:
        write([{**rows(1)[0], "probability": 0.5, "least_probability": least}])
    assert "suffice review export" in caught.value.remedy


def test_rows_that_all_had_to_be_drawn_are_still_weighted_if_others_had_not(write: Write) -> None:
    every = [{**row, "probability": 1, "least_probability": 0.01} for row in rows(300)]
    made = certify(write(every), Wish(alpha=0.5, delta=0.1))
    assert made.method["test"] == "betting"
    known = [{**row, "probability": 1, "least_probability": 1} for row in rows(300)]
    assert certify(write(known), WISH).method["test"] == "binomial"


def test_claims_make_an_answer_wrong_if_one_of_them_is(write: Write) -> None:
    one = {"scores": {"gate": 1, "confidence": 1}}
    labels = write(
        [
            {**one, "claims": [{"correct": True}, {"correct": False}]},
            {**one, "claim": "Leave is 18 weeks.", "label": "entail"},
            {**one, "claim": "Leave is 19 weeks.", "label": "neutral"},
        ]
    )
    assert [label.correct for label in labels] == [False, True, False]


def test_nothing_is_certified_from_few_rows_and_the_labels_needed_are_told(write: Write) -> None:
    made = certify(write(rows(60)), Wish(alpha=0.05, delta=0.05))
    assert not made.certified
    assert made.method["family"] == "bonferroni"
    assert made.needed[0]["labels"] > 60
    assert rows_needed(0.0, Promise(0.05, 0.05)) == 59  # .95 ** 59 is the first power under .05
    assert rows_needed(0.06, Promise(0.05, 0.05)) is None


def test_calibrating_again_on_the_same_rows_spends_delta(write: Write) -> None:
    first = certify(write(rows(100)), Wish(alpha=0.02, delta=0.1))
    assert not first.certified
    same = certify(write(rows(100)), Wish(alpha=0.02, delta=0.1), first)
    assert [run.level for run in same.history] == [0.05]  # the same calibration: the same result
    more = certify(write([*rows(100), *rows(50, seed=2)]), Wish(alpha=0.02, delta=0.1), same)
    assert [run.level for run in more.history] == pytest.approx([0.05, 0.1 / 6])
    new = certify(write(rows(100, seed=3)), Wish(alpha=0.02, delta=0.1), more)
    assert new.history[-1].fresh
    assert new.level == 0.05
    last = certify(write(rows(100, seed=3)), Wish(alpha=0.03, delta=0.1, final=True), new)
    assert last.level == pytest.approx(0.05)
    with pytest.raises(LabelsError, match="spent all of δ"):
        certify(write(rows(100, seed=3)), Wish(alpha=0.04, delta=0.1), last)


def test_rows_are_charged_to_their_own_series_even_if_others_came_between(write: Write) -> None:
    made, levels = None, []
    for alpha, seed in ((0.02, 1), (0.02, 2), (0.03, 1), (0.03, 2), (0.02, 1)):
        made = certify(write(rows(40, seed=seed)), Wish(alpha=alpha, delta=0.1), made)
        levels.append(made.level)
    assert levels == pytest.approx([0.05, 0.05, 0.1 / 6, 0.1 / 6, 0.05])  # the last is the first
    assert made is not None
    assert made.left == pytest.approx(0.1 - 0.05 - 0.1 / 6)
    both = certify(write([*rows(40), *rows(40, seed=2)]), Wish(alpha=0.03, delta=0.1), made)
    assert both.level == pytest.approx(0.1 / 12)
    assert both.history[-1].series == (0, 1)
    assert [len(one) for one in both.rows] == [80, 80]


def test_rows_of_a_file_without_series_are_charged(write: Write, tmp_path: Path) -> None:
    path = tmp_path / "thresholds.json"
    certify(write(rows(40)), Wish(alpha=0.02, delta=0.1)).write(path)
    tree = json.loads(path.read_text())
    del tree["history"][0]["series"]
    path.write_text(json.dumps({**tree, "rows": tree["rows"][0]}))
    again = certify(write(rows(40)), Wish(alpha=0.03, delta=0.1), Certificate.read(path))
    assert again.level == pytest.approx(0.1 / 6)


def test_other_thresholds_in_force_make_another_calibration(write: Write) -> None:
    """The tested pairs depend on them, so each is another chance to succeed by luck."""
    labels, wish = write(rows(60)), Wish(alpha=0.02, delta=0.1)
    first = certify(labels, wish)
    rule = replace(RULE, settings=Thresholds(0.7, 0.75).apply(RULE.settings))
    scores = [label.scores for label in labels if label.scores]
    other = calibrate(labels, scores, rule, wish, NOW, first)
    assert [run.level for run in other.history] == pytest.approx([0.05, 0.1 / 6])


def test_a_row_stays_the_same_whatever_else_is_said_about_it(write: Write) -> None:
    text = {"question": "Q?", "evidence": ["E."], "answer": "A.", "correct": True}
    same = [
        {**text, "correct": False},
        {**text, "comment": "x", "kind": "number", "collection": "hr", "sufficient": True},
        {**text, "scores": {"gate": 0.5, "confidence": 0.5}},
        {**text, "evidence": "E."},
    ]
    (first,) = write([text])
    assert {write([row])[0].digest for row in same} == {first.digest}
    assert write([{**text, "answer": "B."}])[0].digest != first.digest
    drawn = {"probability": 1, "least_probability": 1}
    assert write([{**text, "record": "1", **drawn}])[0].digest != first.digest


def test_a_failed_calibration_keeps_the_earlier_thresholds(write: Write) -> None:
    first = certify(write(rows(600)), WISH)
    assert first.certified
    failed = certify(write(rows(600)), Wish(alpha=0.001, delta=0.1), first)
    assert not failed.certified
    kept = failed.or_else(first)
    assert kept.thresholds == first.thresholds
    assert kept.id == first.id
    assert [run.certified for run in kept.history] == [True, False]


def test_a_review_export_is_weighted_and_certifies_nothing_looser(write: Write) -> None:
    floor = {name: {"gate": 0.6, "confidence": 0.7} for name in ("serve", "caveat")}
    drawn = [
        {**row, "record": str(n), "probability": 0.5, "least_probability": 0.5, "floor": floor}
        for n, row in enumerate(rows(1500))
        if row["scores"]["gate"] >= 0.6 and row["scores"]["confidence"] >= 0.7
    ]
    made = certify(write(drawn), WISH)
    assert made.method["test"] == "betting"
    assert made.thresholds is not None
    assert made.thresholds["gate"] is not None
    assert made.thresholds["gate"] >= 0.6
    assert (made.thresholds["confidence"] or 0) >= 0.7
    with pytest.raises(LabelsError, match="served answers only"):
        certify(write(drawn), replace(WISH, false_withhold=0.5))


def test_an_answer_drawn_and_not_judged_counts_as_wrong(write: Write) -> None:
    every = [
        {**row, "probability": 0.9, "least_probability": 0.9, "correct": None} for row in rows(300)
    ]
    assert not certify(write(every), Wish(alpha=0.5, delta=0.1)).certified


def test_what_counts_as_served_is_the_users_choice(write: Write) -> None:
    labels = write(
        [
            {**row, "scores": {**row["scores"], "action": "CAVEAT" if n % 2 else "SERVE"}}
            for n, row in enumerate(rows(600))
        ]
    )
    alone = certify(labels, WISH)
    both = certify(labels, replace(WISH, served=WITH_CAVEAT))
    assert alone.coverage["rate"] < both.coverage["rate"]
    assert both.served == (Action.SERVE.value, Action.CAVEAT.value)


def test_a_second_promise_and_costs_change_the_choice(write: Write) -> None:
    labels = write(rows(900))
    free = certify(labels, replace(WISH, alpha=0.2))
    dear = certify(labels, replace(WISH, alpha=0.2, costs=Costs(wrong=50, withheld=1)))
    assert dear.coverage["rate"] < free.coverage["rate"]
    assert dear.served_error["rate"] < free.served_error["rate"]
    impossible = certify(labels, replace(WISH, false_withhold=0.01))
    assert not impossible.certified
    easy = certify(labels, replace(WISH, alpha=0.25, false_withhold=0.6))
    assert easy.certified
    assert easy.false_withhold["rate"] < 0.6


def test_a_policy_without_a_tunable_score_keeps_its_gate(write: Write) -> None:
    labels = write(rows(600))
    scores = [label.scores for label in labels if label.scores]
    made = calibrate(labels, scores, replace(RULE, gated=False), WISH, NOW)
    assert made.thresholds is not None
    assert made.thresholds["gate"] is None
    assert made.figures["gate"] is None


def test_bonferroni_on_request(write: Write) -> None:
    made = certify(write(rows(600)), replace(WISH, family=Family.BONFERRONI))
    assert made.method["pairs"] == 4
    assert made.method["testing_rows"] == 600


def test_the_report_is_one_page_with_every_figure(write: Write) -> None:
    hostile = [{**row, "kind": "<script>alert(1)</script>"} for row in rows(300)]
    text = page(certify(write(hostile), WISH), b"png")
    for title in ("Thresholds compared", "The gate alone", "By kind of error", "History"):
        assert title in text
    assert "<script>" not in text
    assert "http" not in text
