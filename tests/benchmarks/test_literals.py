"""The generated cases are valid, and the check meets the required shares on them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from random import Random

import pytest

from benchmarks import claim_edits
from benchmarks.literal_cases import REWORDED, Case, edits, rewordings
from benchmarks.literals import bench_literals, judge
from benchmarks.written import in_words
from suffice.errors import SourceMissing, Unreadable
from suffice.types import Support

EVIDENCE = "On 12 March 2024 the plant sold 1,250 pumps for $4,500, 30 % more than in 2019."
CLAIM = "The plant sold 1,250 pumps for $4,500 on 12 March 2024, up 30 % from 2019 [1]."


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    file = tmp_path / "rows.jsonl.gz"
    made = [
        {"set": "x", "claim": CLAIM, "evidence": [EVIDENCE], "label": "entail"},
        {"set": "x", "claim": "It sold 99 pumps.", "evidence": EVIDENCE, "label": "entail"},
        {"set": "x", "claim": "It sold 1,250 pumps.", "evidence": EVIDENCE, "label": "neutral"},
    ]
    with gzip.open(file, "wt", encoding="utf-8") as out:
        out.write("\n".join(map(json.dumps, made)))
    return file


def test_the_same_seed_makes_the_same_cases() -> None:
    assert list(edits(Random(3), 20)) == list(edits(Random(3), 20))
    assert list(edits(Random(3), 20)) != list(edits(Random(4), 20))


def test_an_edit_says_another_value_and_a_rewording_the_same() -> None:
    for case in edits(Random(5), 100):
        assert case.edited
        assert case.written in case.claim or case.written.capitalize() in case.claim
        assert case.what in ("number", "date", "unit")
    for case in rewordings(Random(5), 100):
        assert not case.edited
        assert case.what == REWORDED


def test_a_number_in_words() -> None:
    assert [in_words(n) for n in (0, 12, 20, 47, 100, 905)] == [
        "zero",
        "twelve",
        "twenty",
        "forty-seven",
        "one hundred",
        "nine hundred and five",
    ]


def test_the_check_meets_the_wanted_shares_on_templates() -> None:
    figures = bench_literals(None, 200, 11)
    assert figures["edits"]["share"] >= figures["wanted"]["caught"], figures["edits"]["wrong"]
    assert figures["rewordings"]["share"] <= figures["wanted"]["flagged"]


def test_the_bench_can_see_a_check_that_fails() -> None:
    """An edit that changes nothing is not caught, and is shown among what went wrong."""
    same = Case("The lease runs for 5 years.", "The lease runs for 5 years.", "number", "5", "5")
    assert judge(same).support is Support.UNCHECKED


def test_only_supported_claims_whose_numbers_stand_in_the_evidence_are_edited(rows: Path) -> None:
    figures = bench_literals(rows, 10, 0)
    assert figures["edits"]["n"] == figures["rewordings"]["n"] == 1
    assert figures["edits"]["share"] == 1
    assert figures["rewordings"]["share"] == 0


def test_every_edit_and_rewording_of_a_claim() -> None:
    said = CLAIM.replace(" [1]", "")
    for new, old, (what, written) in claim_edits.changes(Random(0), said, EVIDENCE):
        assert what in ("number", "date", "unit")
        assert new != said
        assert old != written
        assert judge(Case(new, EVIDENCE, what, old, written)).support is not Support.UNCHECKED
    reworded = [new for new, _, _ in claim_edits.same(Random(0), said, EVIDENCE)]
    assert len(reworded) == 5
    for new in reworded:
        assert judge(Case(new, EVIDENCE, REWORDED, "", "")).support is Support.UNCHECKED, new


def test_data_that_is_missing_or_wrong_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceMissing):
        bench_literals(tmp_path / "none.jsonl", 5, 0)
    wrong = tmp_path / "wrong.jsonl"
    wrong.write_text('{"claim": "x"}\n')
    with pytest.raises(Unreadable, match="no field evidence, label"):
        bench_literals(wrong, 5, 0)
