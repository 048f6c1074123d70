"""A kind's weight counts in the gate, and nowhere else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice import Library
from suffice.gate.gate import adjusted
from suffice.gate.policies.tiers import Tiers
from suffice.settings import KindSettings, KindWeights
from suffice.types import Evidence, Kind, Level, Passage, Retrieved


def evidence(relevance: float | None, kind: Kind = Kind.DISCUSSION) -> Evidence:
    passage = Passage(id="p", text="We might leave early.", document="p.md", kind=kind)
    return Evidence("Leave?", (Retrieved(passage, relevance, 2.0, 0.3),), ("a note",))


def relevance(found: Evidence) -> float | None:
    return found.items[0].relevance


def test_each_kind_has_its_weight() -> None:
    settings = KindSettings(weights=KindWeights(fact=1.5, qa=1.25, procedure=0.5, discussion=0.0))
    told = [relevance(adjusted(evidence(0.4, kind), settings)) for kind in Kind]
    assert told == pytest.approx([0.6, 0.5, 0.2, 0.0])


def test_the_raw_relevance_stays_where_it_was() -> None:
    found = evidence(0.44)
    read = adjusted(found)
    assert relevance(found) == 0.44
    assert Tiers().decide(found).level is Level.SUFFICIENT
    assert Tiers().decide(read).level is Level.INSUFFICIENT
    assert (read.question, read.notes) == (found.question, found.notes)
    assert (read.items[0].keywords, read.items[0].score) == (2.0, 0.3)


@given(
    st.one_of(st.none(), st.floats(-1, 1)),
    st.sampled_from(Kind),
    st.floats(0, 2),
)
def test_never_out_of_range_and_never_made_up(value: float | None, kind: Kind, by: float) -> None:
    read = relevance(adjusted(evidence(value, kind), KindSettings(weights=KindWeights(*[by] * 4))))
    if value is None or value <= 0:
        assert read == value
    else:
        assert read == pytest.approx(min(value * by, 1))


def test_the_default_weights_shut_no_gate_on_the_handbook(library: Library) -> None:
    search, gate = library.search(), Tiers()
    rows = map(json.loads, Path("examples/questions.jsonl").read_text().splitlines())
    found = [search(row["question"]) for row in rows if row["answerable"]]
    open_before = [evidence for evidence in found if gate.decide(evidence).open]
    assert len(open_before) == 29
    assert all(gate.decide(adjusted(evidence)).open for evidence in open_before)
