"""An interrupted evaluation goes on where it stopped, and only with the same inputs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from suffice.errors import Unreadable
from suffice.lab.eval.cases import Cases, Draft
from suffice.lab.eval.evaluation import State, evaluate, provenance
from suffice.lab.eval.outcomes import Outcome
from suffice.settings import Settings
from tests.lab.eval.overlap import OverlapVerifier, silent

DONE = Outcome("right draft: served", "SERVE", 1.0, measures={"faithfulness": 0.5})


def never() -> Outcome:
    raise AssertionError("decided twice")


def test_an_outcome_is_decided_once(tmp_path: Path) -> None:
    path = tmp_path / "state.jsonl"
    assert State.open(path, "a").once("draft 1", lambda: DONE) == DONE
    assert State.open(path, "a").once("draft 1", never) == DONE


def test_a_row_that_was_cut_off_is_decided_again(tmp_path: Path) -> None:
    path = tmp_path / "state.jsonl"
    state = State.open(path, "a")
    for key in ("draft 1", "draft 2"):
        state.once(key, lambda: DONE)
    path.write_text(path.read_text("utf-8")[:-9], "utf-8")
    again = State.open(path, "a")
    assert set(again.known) == {"draft 1"}
    again.once("draft 2", lambda: DONE)
    assert set(State.open(path, "a").known) == {"draft 1", "draft 2"}


def test_a_state_of_another_run_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "state.jsonl"
    State.open(path, "a")
    with pytest.raises(Unreadable, match="different data, models or settings"):
        State.open(path, "b")
    path.write_text("no json\n", "utf-8")
    with pytest.raises(Unreadable, match="not a saved"):
        State.open(path, "a")


def test_a_file_that_is_no_state_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    for text in ('{"verifier": {}}', '{"a": 1}\n{"b": 2}'):
        path.write_text(text, "utf-8")
        with pytest.raises(Unreadable, match="not a saved evaluation state"):
            State.open(path, "a")
        assert path.read_text("utf-8") == text


def test_an_evaluation_goes_on_from_its_state(tmp_path: Path) -> None:
    drafts = tuple(
        Draft(f"Leave is {n} weeks.", ({"text": "Leave is 16 weeks."},), n == 16) for n in (16, 26)
    )
    path, cases = tmp_path / "state.jsonl", Cases("n", drafts=drafts)
    first = evaluate(cases, Settings(), OverlapVerifier(), silent, resume=path)
    assert first["outcomes"] == {"right draft: served": 1, "wrong draft: withheld": 1}
    rows = path.read_text("utf-8").splitlines()
    assert [json.loads(row).get("key") for row in rows] == [None, "base, case 1", "base, case 2"]
    kept = rows[1].replace("right draft: served", "kept")
    path.write_text(f"{rows[0]}\n{kept}\n", "utf-8")
    again = evaluate(cases, Settings(), OverlapVerifier(), silent, resume=path)
    assert again["outcomes"] == {"kept": 1, "wrong draft: withheld": 1}


def test_provenance_names_the_documents(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("one", "utf-8")
    cases = Cases("n", documents={"n": tmp_path})
    before = provenance(cases, Settings(), "e", "v")
    assert before == provenance(cases, Settings(), "e", "v")
    (tmp_path / "a.md").write_text("two", "utf-8")
    after = provenance(cases, Settings(), "e", "v")
    assert after["documents"] != before["documents"]
    assert after["id"] != before["id"]
    assert after["setup"] == before["setup"]
