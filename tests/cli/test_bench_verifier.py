"""`suffice bench grounding` and `sufficiency` with a verifier that counts words."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

from suffice.cli import cli
from suffice.cli.bench import _named
from suffice.errors import SourceMissing
from suffice.models.llm.verifier import open_llm_verifier
from suffice.settings import LlmSettings, Settings
from suffice.testing import ScriptedUpstream, fails
from tests.lab.eval.overlap import OverlapVerifier, write
from tests.models.llm_replies import Rough, ruling, rulings

GROUNDING = [
    {"set": name, "task": task, "evidence": "Leave lasts weeks.", "claim": claim, "label": label}
    for name, task in (("ragtruth", "qa"), ("ragtruth", "summary"), ("odd [/b]\x1b[31m", None))
    for claim, label in (("Leave lasts weeks.", "entail"), ("Latin is odd.", "neutral"))
]
SUFFICIENCY = [
    {"set": "own", "question": "Who sleeps?", "evidence": ["Tom sleeps."], "sufficient": True}
]


@pytest.fixture(autouse=True)
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The requested tiers; each opens the word counter."""
    tiers: list[str] = []

    def open_verifier(settings: object, tier: str, draft: object = None) -> OverlapVerifier:
        tiers.append(tier)
        return OverlapVerifier(tier=tier)

    def read_settings(path: str | None) -> Any:
        return SimpleNamespace(verifier=path, draft=None)

    monkeypatch.setattr("suffice.models.catalog.open_verifier", open_verifier)
    monkeypatch.setattr("suffice.cli.options.read_settings", read_settings)
    monkeypatch.setenv("COLUMNS", "100")
    return tiers


def run(*args: object) -> Result:
    return CliRunner().invoke(cli, ["bench", *map(str, args)], catch_exceptions=True)


def test_tables_fit_the_terminal(tmp_path: Path, opened: list[str]) -> None:
    done = run("grounding", write(tmp_path / "g.jsonl", GROUNDING))
    lines = done.output.splitlines()
    assert all(len(line) <= 100 for line in lines)
    for said in ("  qa", "pooled", "mean of sets", "mean of the two worst claims", "threshold 0.5"):
        assert said in done.output
    assert "3 of 6 checks were inconclusive" in done.output
    assert "odd [/b]" in done.output
    assert "\x1b[31m" not in done.output
    assert "…" not in done.output
    done = run("sufficiency", write(tmp_path / "s.jsonl", SUFFICIENCY), "--tier", "strong")
    assert "ranks longer evidence as more sufficient" in done.output
    assert "–" in done.output
    assert opened == ["", "strong"]


def test_names_give_way_before_numbers_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    rows = [{**SUFFICIENCY[0], "set": "a-set-with-a-long-name"}] * 3
    lines = run("sufficiency", write(tmp_path / "s.jsonl", rows)).output.splitlines()
    own = next(line for line in lines if "a-set-wit" in line)
    assert own.split()[1:-1] == "3 1.000 – – 1.000 – 0.000 – 1.000 0.500".split()


@pytest.mark.parametrize(("name", "rows"), [("grounding", GROUNDING), ("sufficiency", SUFFICIENCY)])
def test_a_limit_is_named_below_the_table(tmp_path: Path, name: str, rows: Any) -> None:
    data = write(tmp_path / "rows.jsonl", rows)
    assert "· at most 1,234 rows of each set" in run(name, data, "--limit", 1234).output
    assert "rows of each set" not in run(name, data).output


def test_json_and_limit(tmp_path: Path) -> None:
    data = write(tmp_path / "g.jsonl", GROUNDING)
    figures = json.loads(run("grounding", data, "--json", "--limit", 1, "--quiet").stdout)
    assert [entry["n"] for entry in figures["sets"].values()] == [1, 1]
    figures = json.loads(run("sufficiency", write(data, SUFFICIENCY), "--json").stdout)
    assert figures["pooled"]["auroc"] is None


@pytest.mark.parametrize("args", [("--limit", 0), ("--limit", -1), ("--tier", "huge")])
@pytest.mark.parametrize("name", ["grounding", "sufficiency"])
def test_bad_options(tmp_path: Path, name: str, args: tuple[object, ...], opened: Any) -> None:
    done = run(name, tmp_path / "none.jsonl", *args)
    assert done.exit_code == 2
    assert opened == []


def test_no_such_file(tmp_path: Path) -> None:
    assert isinstance(run("grounding", tmp_path / "none.jsonl").exception, SourceMissing)


def test_an_llm_is_measured_with_its_cost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = rulings(ruling("supported", "Leave lasts weeks", 1))
    monkeypatch.setattr("suffice.cli.options.read_settings", lambda path: Settings())
    with ScriptedUpstream([right, right, right, fails(400)]) as server:
        monkeypatch.setattr(
            "suffice.models.catalog.open_verifier",
            lambda settings, tier, draft: open_llm_verifier(Rough(), settings.llm, draft),
        )
        rows = [
            {**row, "claim": f"{str(row['claim'])[:-1]} {n}."} for n, row in enumerate(GROUNDING)
        ]
        data = write(tmp_path / "g.jsonl", rows)
        args = (data, "--tier", "llm", "--llm", server.url, "--model", "big-1", "--ask", "always")
        figures = json.loads(run("grounding", *args, "--json", "--quiet").stdout)
        assert figures["model"] == "rough-1+big-1+support-3+sufficiency-2"
        assert figures["llm"] == {
            "calls": 6,
            "tokens": figures["llm"]["tokens"],
            "seconds": figures["llm"]["seconds"],
            "spoke": 0.5,
            "fell_back": 0.5,
        }
        assert figures["llm"]["tokens"] > 0
        assert server.requests[0]["model"] == "big-1"
        shown = run("grounding", *args, "--quiet").output
        assert "fell back in" in shown


def test_options_of_the_llm_go_with_its_tier(tmp_path: Path) -> None:
    done = run("grounding", tmp_path / "none.jsonl", "--model", "big-1")
    assert done.exit_code == 2
    assert "--tier llm" in done.output


def test_a_key_of_the_settings_goes_to_no_other_url() -> None:
    own = LlmSettings(url="http://own/v1", model="m-1", key_env="OWN_KEY")
    same = _named(own, None, None, None, None)
    assert same == own
    other = _named(own, "http://other/v1", None, None, "always")
    assert (other.url, other.model, other.key_env, other.ask) == (
        "http://other/v1", "", "", "always",
    )  # fmt: skip
