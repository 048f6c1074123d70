"""`suffice gate` on the sample handbook."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from suffice.cli import cli

HANDBOOK = str(Path(__file__).parents[2] / "src" / "suffice" / "handbook")
ASKED = "How many days per week may I work remotely?"


def run(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(cli, ["gate", *arguments], standalone_mode=False)
    if done.exception is not None:
        raise done.exception
    return done.return_value, done.stdout


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = str(tmp_path_factory.mktemp("gate") / "s.db")
    done = CliRunner().invoke(cli, ["index", HANDBOOK, "--store", file, "--quiet"])
    assert done.exit_code == 0, done.output
    return file


def test_an_open_gate_shows_what_it_rests_on(store: str) -> None:
    code, output = run(ASKED, "--store", store)
    assert code == 0
    assert "SUFFICIENT" in output
    assert "threshold: 0.5" in output


def test_a_shut_gate_helps(store: str) -> None:
    code, output = run("What does a red panda eat?", "--store", store)
    assert code == 2
    assert "INSUFFICIENT" in output


@pytest.mark.parametrize("policy", ["learned", "coverage", "bound", "checkpoint", "reranked"])
def test_any_policy_can_be_asked(store: str, policy: str) -> None:
    code, output = run(ASKED, "--store", store, "--policy", policy, "--json")
    decision = json.loads(output)
    assert decision["policy"] == policy
    assert decision["signals"]
    assert code == (0 if decision["level"] in ("SUFFICIENT", "PARTIAL") else 2)
