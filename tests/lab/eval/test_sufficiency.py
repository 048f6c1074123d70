"""The sufficiency bench with a verifier that counts words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from suffice.errors import SourceMissing, Unreadable
from suffice.lab.eval.verifiers import bench_sufficiency
from suffice.models.verifier import Pair, Thresholds
from tests.lab.eval.overlap import OverlapVerifier, silent, write

PASSAGES = ["Leave lasts twenty weeks.", "Cats sleep on the roof."]


def row(question: str, sufficient: object = True, **fields: object) -> dict[str, object]:
    return {
        "set": "own", "question": question, "evidence": PASSAGES, "sufficient": sufficient, **fields
    }  # fmt: skip


def measured(
    tmp_path: Path,
    rows: list[dict[str, object]],
    verifier: OverlapVerifier | None = None,
    limit: int | None = None,
) -> dict[str, Any]:
    data = write(tmp_path / "rows.jsonl", rows)
    return bench_sufficiency(data, verifier or OverlapVerifier(), limit, silent)


ROWS = [
    row("Cats sleep twenty weeks?"),
    row("Do cats sleep on roof tiles?"),
    row("Who pays penguins?", False),
    row("Where do cats sleep, roof?", False, set="hard"),
    row("Who pays penguins?", True, set="hard", evidence=[]),
]


def test_figures(tmp_path: Path) -> None:
    figures = measured(tmp_path, ROWS)
    assert figures.keys() == {
        "tier",
        "model",
        "threshold",
        "limit",
        "sets",
        "pooled",
        "means",
        "run",
    }
    own, hard = figures["sets"]["own"], figures["sets"]["hard"]
    assert (own["n"], own["share_positive"], own["auroc"], own["f1"]) == (3, 0.6667, 1.0, 1.0)
    assert (hard["auroc"], hard["balanced_accuracy"], hard["accuracy"]) == (0.0, 0.0, 0.0)
    assert own["f1_flag_all"] == 0.5
    assert figures["pooled"]["n"] == 5
    assert figures["means"] == {"auroc": 0.5, "balanced_accuracy": 0.5}


def test_a_row_is_one_pair(tmp_path: Path) -> None:
    verifier = OverlapVerifier()
    measured(tmp_path, [row("Who?"), row("Why?", evidence="One text.")], verifier)
    assert verifier.judged == [Pair("Who?", tuple(PASSAGES)), Pair("Why?", ("One text.",))]


def test_much_evidence_counts_as_sufficient_for_the_length_alone(tmp_path: Path) -> None:
    figures = measured(tmp_path, [row("Who?"), row("Who?", False, evidence=["Nobody.", "."])])
    assert figures["sets"]["own"]["evidence_length_auroc"] == 1.0
    figures = measured(tmp_path, [row("Who?"), row("Who?", False)])
    assert figures["sets"]["own"]["evidence_length_auroc"] == 0.5


def test_the_verifier_s_own_threshold_holds(tmp_path: Path) -> None:
    lax = OverlapVerifier(thresholds=Thresholds(support=1.0, sufficiency=0.0))
    figures = measured(tmp_path, ROWS, lax)
    assert figures["threshold"] == 0.0
    assert figures["pooled"]["f1"] == 0.0
    assert figures["pooled"]["accuracy"] == 0.6


def test_unchecked_rows_score_nothing_and_are_counted(tmp_path: Path) -> None:
    figures = measured(tmp_path, [row("Cats sleep?"), row("Latin cats sleep?")])
    own = figures["sets"]["own"]
    assert (own["checks"], own["unchecked"], own["accuracy"]) == (2, 1, 0.5)


def test_the_limit_is_a_fixed_draw_from_each_set(tmp_path: Path) -> None:
    rows = [row(f"Question {n}?", set=name) for n in range(80) for name in ("a", "b")]
    drawn = []
    for _ in range(2):
        verifier = OverlapVerifier()
        figures = measured(tmp_path, rows, verifier, 7)
        assert [entry["n"] for entry in figures["sets"].values()] == [7, 7]
        drawn.append([pair.text for pair in verifier.judged])
    assert drawn[0] == drawn[1]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"sufficient": "yes"}, "line 1: 'sufficient' is 'yes'. Write it as true or false"),
        ({"sufficient": 1}, "'sufficient' is int"),
        ({"question": None}, "'question' is NoneType"),
        ({"evidence": [["a"]]}, "'evidence' is list"),
        ({"evidence": None}, "'evidence' is NoneType"),
    ],
)
def test_rows_that_do_not_fit(tmp_path: Path, change: dict[str, object], says: str) -> None:
    with pytest.raises(Unreadable, match=says):
        measured(tmp_path, [{**row("Who?"), **change}])


def test_files_that_do_not_fit(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="no field sufficient"):
        measured(tmp_path, [{"set": "own", "evidence": "", "question": "Who?"}])
    with pytest.raises(Unreadable, match="no rows"):
        measured(tmp_path, [])
    with pytest.raises(SourceMissing):
        bench_sufficiency(tmp_path / "none.jsonl", OverlapVerifier(), None, silent)


def test_the_dev_file_can_be_read(shared_data: Path) -> None:
    data = shared_data / "sufficiency" / "dev.jsonl.gz"
    figures = bench_sufficiency(data, OverlapVerifier(), 20, silent)
    assert {entry["n"] for entry in figures["sets"].values()} == {20}
