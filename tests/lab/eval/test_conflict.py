"""The conflict bench with a verifier that supports whatever occurs in the evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from suffice.errors import SourceMissing, Unreadable
from suffice.gate.conflict.detect import Conflicts
from suffice.lab.eval.conflict import bench_conflict
from suffice.models.verifier import Pair, SupportScore, Thresholds
from suffice.settings import ConflictSettings
from tests.lab.eval.overlap import OverlapVerifier, silent, write


@dataclass(frozen=True)
class Standing(OverlapVerifier):
    def support(self, pairs: Sequence[Pair]) -> list[SupportScore]:
        held = (pair.text in pair.evidence[0] for pair in pairs)
        return [SupportScore(0.9) if one else SupportScore(0.1, 0.8, 0.1) for one in held]


def document(text: str, type: str, answer: str) -> dict[str, str]:
    return {"text": text, "type": type, "answer": answer}


RIGHT = document("Parental leave is 16 weeks.", "correct", "16 weeks")
AGAIN = document("Parental leave lasts sixteen weeks.", "correct", "16 Weeks")
WRONG = document("Parental leave is 18 weeks.", "misinfo", "18 weeks")
FRENCH = document("Parental leave in France is 20 weeks.", "correct", "20 weeks")
GERMAN = document("Parental leave in Germany is 24 weeks.", "correct", "24 weeks")
NOISE = document("It rains in May.", "noise", "unknown")


def row(*documents: dict[str, str], **fields: object) -> dict[str, object]:
    asked = "How long is parental leave?"
    return {"set": "own", "question": asked, "documents": list(documents), **fields}


ROWS = [row(RIGHT, AGAIN, WRONG, NOISE), row(FRENCH, GERMAN), row(RIGHT, WRONG), row(RIGHT, AGAIN)]


def measured(
    tmp_path: Path,
    rows: list[dict[str, object]],
    settings: ConflictSettings | None = None,
    limit: int | None = None,
) -> dict[str, Any]:
    # On its scale, the share of the question's words, two of five are an answer.
    verifier = Standing(thresholds=Thresholds(sufficiency=0.3))
    conflicts = Conflicts(verifier, settings or ConflictSettings())
    return bench_conflict(write(tmp_path / "rows.jsonl.gz", rows), conflicts, limit, silent)


def test_figures(tmp_path: Path) -> None:
    figures = measured(tmp_path, ROWS)
    pairs = figures["pairs"]
    assert (pairs["n"], pairs["positive"], pairs["auroc"]) == (5, 3, 1.0)
    assert (pairs["precision"], pairs["recall"]) == (1.0, 1.0)
    assert figures["asked"]["number"]["auroc"] == 1.0
    assert figures["planted"] == {"n": 2, "share": 1.0}
    assert figures["clean"] == {"n": 2, "share": 0.0}
    assert figures["evidence"] == 6
    assert (figures["model"], figures["threshold"], figures["limit"]) == ("overlap-1", 0.8, None)
    assert figures["run"]["data"]


def test_ambiguous_pairs_stand_apart(tmp_path: Path) -> None:
    kinds = measured(tmp_path, ROWS)["pairs"]["kinds"]
    assert kinds["correct and misinforming"] == {"n": 3, "conflict": 1.0, "ambiguous": 0.0}
    assert kinds["same answer"] == {"n": 2, "conflict": 0.0, "ambiguous": 0.0}
    ambiguous = {"n": 1, "conflict": 0.0, "ambiguous": 1.0}
    assert kinds["both correct, different answers"] == ambiguous
    assert kinds["any other"] == {"n": 3, "conflict": 0.0, "ambiguous": 0.0}


def test_what_is_never_reported_has_no_precision(tmp_path: Path) -> None:
    figures = measured(tmp_path, ROWS, ConflictSettings(threshold=1.0))
    assert figures["pairs"]["precision"] is None
    assert figures["pairs"]["recall"] == 0.0
    assert figures["planted"]["share"] == 0.0
    assert figures["pairs"]["auroc"] == 1.0


def test_a_false_alarm_counts_against_the_clean_twin(tmp_path: Path) -> None:
    other = document("Parental leave is 17 weeks.", "correct", "16 weeks")
    figures = measured(tmp_path, [row(RIGHT, other, WRONG)])
    assert figures["clean"] == {"n": 1, "share": 1.0}
    assert figures["pairs"]["precision"] == pytest.approx(2 / 3, abs=1e-4)


def test_rows_without_misinformation_have_no_twins(tmp_path: Path) -> None:
    figures = measured(tmp_path, [row(RIGHT, AGAIN)])
    assert figures["planted"] == figures["clean"] == {"n": 0, "share": None}
    assert figures["pairs"]["auroc"] is None


def test_the_limit_takes_the_same_rows(tmp_path: Path) -> None:
    first, second = (measured(tmp_path, ROWS, limit=2) for _ in range(2))
    assert first["pairs"] == second["pairs"]
    assert first["evidence"] < 6


@pytest.mark.parametrize(
    "documents",
    ["text", [1], [{"text": "a", "type": "odd", "answer": "b"}], [{"text": "a", "type": "noise"}]],
)
def test_a_bad_row_is_named(tmp_path: Path, documents: object) -> None:
    with pytest.raises(Unreadable, match=r"line 1: 'documents'.*correct, misinfo, noise"):
        measured(tmp_path, [row(documents=documents)])


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(SourceMissing):
        bench_conflict(tmp_path / "none.jsonl", Conflicts(Standing()), None, silent)
