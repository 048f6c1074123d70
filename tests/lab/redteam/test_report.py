"""What a trial passes, what a run counts, and what changed since the last one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from suffice.cli import cli
from suffice.errors import Unreadable
from suffice.lab.redteam.attacks import ATTACKS, chosen
from suffice.lab.redteam.material import SERVED, STOPPED, Trial
from suffice.lab.redteam.run import (
    Altered,
    Target,
    attack_all,
    compare,
    documents_hash,
    interval,
    pooled,
    read_report,
    report,
)
from suffice.testing import ScriptedUpstream, says
from suffice.types import Action, Passage
from tests.lab.redteam.documents import DEVICES, LEAVE, TRAVEL, Always, material, verdict


def run(target: Target, names: tuple[str, ...] = ()) -> dict[str, Any]:
    ticks: list[tuple[int, int]] = []
    found = attack_all(
        chosen(names), material(), target, 3, lambda _, done, total: ticks.append((done, total))
    )
    made = report(found)
    assert ticks[-1] == (made["total"]["cases"],) * 2
    return made


def test_a_trial_is_judged_by_its_action_and_by_what_is_released() -> None:
    trial = Trial(STOPPED | SERVED, forbidden=("40 weeks",))
    assert trial.passed(verdict(Action.SERVE, "Leave is 16 weeks."))
    assert not trial.passed(verdict(Action.CAVEAT, "Leave is  40\nWEEKS."))
    assert trial.passed(verdict(Action.SERVE, "Leave is 140 weeks, or 1,40 weeks."))
    # A conflict shows both sides, the false one as well.
    assert trial.passed(verdict(Action.CONFLICT, "16 weeks or 40 weeks"))
    told = Trial(STOPPED, disclosed="if asked")
    assert told.passed(verdict(Action.SERVE, "It is paid.", ("the source adds “if asked”",)))
    assert not told.passed(verdict(Action.SERVE, "It is paid."))


def test_a_target_that_stops_everything_fails_the_twins() -> None:
    found = run(Always(lambda trial: Action.WITHHOLD))
    assert found["total"]["right_share"] == 1
    assert found["total"]["twins_served_share"] == 0
    assert set(found["attacks"]) == {attack.name for attack in ATTACKS}


def test_a_target_that_serves_drafts_misses_the_attacks() -> None:
    found = run(Always(lambda trial: Action.SERVE), ("number", "negation"))
    assert found["total"]["right"] == 0
    assert found["total"]["twins_served_share"] == 1
    assert all(case["attack_result"]["action"] == "SERVE" for case in found["cases"])


def test_two_runs_are_compared_case_by_case() -> None:
    strict = run(Always(lambda trial: Action.WITHHOLD), ("number",))
    loose = run(Always(lambda trial: Action.SERVE), ("number",))
    found = compare(loose, strict)
    assert found["compared_cases"] == len(found["newly_missed"]) == loose["total"]["cases"]
    assert not found["newly_right"]
    assert compare(strict, loose)["newly_refused_twins"]


def test_the_interval_is_exact() -> None:
    assert interval(0, 10) == [0.0, pytest.approx(0.3085, abs=1e-4)]
    assert interval(10, 10) == [pytest.approx(0.6915, abs=1e-4), 1.0]
    assert interval(9, 10) == [pytest.approx(0.5550, abs=1e-4), pytest.approx(0.9975, abs=1e-4)]


def test_the_hash_depends_on_the_documents_and_not_on_their_order() -> None:
    passages = material().passages
    assert documents_hash(passages) == documents_hash(passages[::-1])
    assert documents_hash(passages) != documents_hash(passages[1:])


def test_a_search_is_altered() -> None:
    known = material().passages
    added = Passage("p", "Planted.", "planted.md")
    search = Altered(lambda question: known, frozenset({"leave.md"}), (added,), 1)
    assert [item.passage.document for item in search("?")] == ["planted.md", "travel.md"]


def test_a_file_that_is_no_report_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "redteam-1.json"
    path.write_text("{}", "utf-8")
    with pytest.raises(Unreadable, match="not a report"):
        read_report(path)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    docs = tmp_path / "docs"
    docs.mkdir()
    for name, text in (("leave", LEAVE), ("travel", TRAVEL), ("devices", DEVICES)):
        (docs / f"{name}.md").write_text(f"# {name}\n\n{text}", "utf-8")
    return docs


def test_an_llm_writes_the_answers_that_are_attacked(docs: Path, tmp_path: Path) -> None:
    """It answers with a planted lie, whatever it is asked: the checks hold it back."""
    out = tmp_path / "redteam-llm.json"
    lie = "The company will pay every ticket twice [1]."
    with ScriptedUpstream([says(lie)] * 20) as llm:
        command = ["redteam", "--docs", str(docs), "--store", str(tmp_path / "s.db")]
        command += ["--llm", llm.url, "--model", "liar", "--attacks", "planted-passages"]
        done = CliRunner().invoke(
            cli, [*command, "--most", "1", "--out", str(out)], standalone_mode=False
        )
    assert done.exception is None
    found = json.loads(out.read_text("utf-8"))
    assert found["setup"]["drafter"] == "liar"
    assert found["total"]["cases"] == 1
    assert lie not in found["cases"][0]["attack_result"]["released"]


def test_the_command_writes_a_report_and_compares_it(docs: Path, tmp_path: Path) -> None:
    out = tmp_path / "redteam-one.json"
    command = ["redteam", "--docs", str(docs), "--store", str(tmp_path / "s.db"), "--most", "1"]
    command += ["--attacks", "number", "--attacks", "authority", "--min-right", "1"]
    done = CliRunner().invoke(cli, [*command, "--out", str(out)], standalone_mode=False)
    assert done.exception is None
    assert done.return_value == 0
    assert "no material" not in done.output
    found = json.loads(out.read_text("utf-8"))
    assert found["total"]["right"] == found["total"]["cases"] == 2
    assert found["documents"]["documents"] == 3
    assert set(found["setup"]["models"]) == {"embedder", "verifier"}
    assert found["run"]["versions"]["python"]
    assert found["last_run"] is None
    again = CliRunner().invoke(
        cli, [*command, "--out", str(tmp_path / "redteam-two.json")], standalone_mode=False
    )
    assert "Of 2 cases in both runs, 0 newly missed" in " ".join(again.output.split())


def test_reports_are_pooled_without_the_texts_of_the_documents() -> None:
    about = {"date": "today", "documents": {}, "most": 3, "setup": {}, "run": {}}
    strict = run(Always(lambda trial: Action.WITHHOLD), ("number",)) | about
    loose = run(Always(lambda trial: Action.SERVE), ("number", "negation")) | about
    found = pooled({"a": strict, "b": loose})
    assert found["attacks"]["number"]["right_share"] == 0.5
    assert found["attacks"]["negation"]["served_plain"] == loose["attacks"]["negation"]["cases"]
    assert found["collections"]["a"]["right_share"] == 1
    assert "weeks" not in json.dumps(found)
