"""With the rule on, an answer needs a fact or a strong question and answer under it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from suffice import Library
from suffice.evidence.deduplicate import distinct
from suffice.gate.gate import adjusted, diverse
from suffice.gate.policies.tiers import Tiers
from suffice.settings import DiversitySettings
from suffice.types import Evidence, Kind, Passage, Retrieved

ON = DiversitySettings(require_fact=True)


def evidence(*found: tuple[Kind, float | None]) -> Evidence:
    items = tuple(
        Retrieved(Passage(id=str(n), text=f"Text {n}.", document="d", kind=kind), relevance)
        for n, (kind, relevance) in enumerate(found)
    )
    return Evidence("?", items)


@pytest.mark.parametrize(
    ("found", "enough"),
    [
        ([(Kind.FACT, 0.30)], True),
        ([(Kind.FACT, 0.29)], False),
        ([(Kind.FACT, None)], True),
        ([(Kind.QA, 0.40)], True),
        ([(Kind.QA, 0.39)], False),
        ([(Kind.QA, None)], False),
        ([(Kind.DISCUSSION, 0.9), (Kind.PROCEDURE, 0.9)], False),
        ([(Kind.DISCUSSION, 0.9), (Kind.FACT, 0.31)], True),
        ([], False),
    ],
)
def test_a_fact_or_a_strong_pair(found: list[tuple[Kind, float | None]], enough: bool) -> None:
    assert (diverse(evidence(*found), ON) is None) == enough
    assert diverse(evidence(*found)) is None  # off unless asked for


def test_the_reason_says_what_there_is() -> None:
    reason = diverse(evidence((Kind.DISCUSSION, 0.9), (Kind.QA, 0.2), (Kind.DISCUSSION, 0.5)), ON)
    assert reason is not None
    assert reason.endswith("(2 discussion, 1 qa)")
    assert "0.30" in reason
    assert "0.40" in reason


def test_the_rule_shuts_out_no_answer_of_the_handbook(library: Library) -> None:
    search, gate = library.search(), Tiers()
    rows = map(json.loads, Path("examples/questions.jsonl").read_text().splitlines())
    found = [search(row["question"]) for row in rows if row["answerable"]]
    counted = [adjusted(distinct(evidence)[0]) for evidence in found]
    open_by_tiers = [evidence for evidence in counted if gate.decide(evidence).open]
    assert len(open_by_tiers) == 29
    assert [e.question for e in open_by_tiers if diverse(e, ON)] == []
