"""With `--llm`, the LLM that drafts also verifies what the verifier is unsure of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from suffice.cli import cli
from suffice.cli.serve import _settings
from suffice.models.catalog import open_verifier
from suffice.models.llm.verifier import LlmVerifier, for_gate
from suffice.settings import DraftSettings, LlmSettings
from suffice.testing import Request, Scripted, ScriptedUpstream, says
from tests.models.llm_replies import SUPPORTED, llm, ruling, rulings

TEXT = "Employees may work remotely on three days per week. Thursday is the anchor day."
SAID = "You may stay at home on most days, but never on Thursday [1]."


def answers(request: Request) -> Scripted:
    """A draft, or a verdict on its claims."""
    if "claims of an answer" not in request["messages"][0]["content"]:
        return says(SAID)
    quote = "Employees may work remotely on three days per week"
    return rulings(ruling("supported", quote, 1))


def asked(tmp_path: Path, *options: str, settings: str = "") -> tuple[Any, list[Any]]:
    (tmp_path / "remote.md").write_text(f"# Remote work\n\n{TEXT}\n")
    config = tmp_path / "suffice.yaml"
    band = "verifier: {llm: {band_low: 0.0, band_high: 1.0}}\n"
    config.write_text(settings or f"search: {{rewrite: never}}\n{band}")
    command = ["ask", "How many days per week may employees work remotely?", "--json"]
    command += ["--docs", str(tmp_path / "remote.md"), "--store", str(tmp_path / "s.db")]
    with ScriptedUpstream([answers] * 6) as upstream:
        command += ["--llm", upstream.url, "--model", "m", "--config", str(config), *options]
        done = CliRunner().invoke(cli, command, standalone_mode=False)
        assert done.exception is None, done.output
        return json.loads(done.stdout), [one["messages"][0]["content"] for one in upstream.requests]


def judgements(requests: list[Any]) -> int:
    return sum("claims of an answer" in one for one in requests)


def test_the_llm_that_drafts_verifies_and_the_verdict_says_what_it_cost(tmp_path: Path) -> None:
    verdict, requests = asked(tmp_path)
    assert judgements(requests) > 0
    assert any("decide whether numbered passages" in one for one in requests) is False  # no gate
    assert (verdict["verdict"], verdict["answer"]) == ("SERVE", SAID)
    (note,) = [one for one in verdict["notes"] if one.startswith("The LLM verified")]
    assert "call" in note
    assert "tokens" in note


def test_a_flag_and_a_setting_switch_it_off(tmp_path: Path) -> None:
    verdict, requests = asked(tmp_path, "--no-verify")
    assert judgements(requests) == 0
    assert verdict["verdict"] != "SERVE"
    assert not [one for one in verdict["notes"] if one.startswith("The LLM verified")]
    never = "search: {rewrite: never}\nverifier: {llm: {ask: never}}\n"
    assert judgements(asked(tmp_path, settings=never)[1]) == 0


@pytest.mark.parametrize(
    ("llm", "verify", "url"),
    [
        ("http://127.0.0.1:9/v1", True, "http://127.0.0.1:9/v1"),
        ("http://127.0.0.1:9/v1", False, ""),
        ("extractive", True, ""),
        (None, True, ""),
    ],
)
def test_the_gateways_upstream_verifies(llm: str | None, verify: bool, url: str) -> None:
    settings = _settings(None, llm, verify, None, None, None)
    assert settings.verifier.llm.url == url
    assert settings.verifier.llm.key_env == ("OPENAI_API_KEY" if url else "")
    assert isinstance(open_verifier(settings.verifier), LlmVerifier) is bool(url)


def test_a_named_verifier_stays() -> None:
    own = LlmSettings(url="http://127.0.0.1:8/v1", model="big")
    assert own.by_drafter("http://127.0.0.1:9/v1", "small", "KEY") == own


def test_the_gate_does_not_ask_an_llm_that_says_the_same_with_its_draft() -> None:
    with llm(SUPPORTED) as (verifier, server):
        assert for_gate(verifier, DraftSettings(llm=server.url)) is verifier.inner
        assert for_gate(verifier, DraftSettings(llm="http://127.0.0.1:9/v1")) is verifier
        assert for_gate(verifier, DraftSettings()) is verifier
    with llm(SUPPORTED, ask="always") as (verifier, server):
        assert for_gate(verifier, DraftSettings(llm=server.url)) is verifier


def test_a_verifier_without_a_model_asks_that_of_the_request() -> None:
    with llm(SUPPORTED) as (verifier, _):
        assert verifier.asking("small").llm.model == "small"
        assert verifier.asking("small").asking("other").llm.model == "small"
        assert verifier.asking("") is verifier
