"""Certified thresholds in the settings: what they change, and when they are refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from suffice.errors import SettingsError, StaleThresholds
from suffice.log.setup import Setup
from suffice.settings import (
    ROUTES,
    CollectionSettings,
    DraftSettings,
    Settings,
    VerdictSettings,
    read_settings,
)
from suffice.types import Action
from suffice.verdict.route import read_routes
from suffice.verdict.thresholds import (
    SERVE_ONLY,
    WITH_CAVEAT,
    Thresholds,
    certificate_id,
    certified,
    in_force,
    policy_of,
)

MODELS = {"embedder": "e-1", "verifier": "v-1"}
OWN = CollectionSettings()


def certificate(tmp_path: Path, **changes: Any) -> CollectionSettings:
    """Settings that name a certificate made for them, apart from the changes."""
    tree = {
        "thresholds": {"gate": 0.7, "confidence": 0.65},
        "served": ["SERVE"],
        "models": MODELS,
        "policy": policy_of(OWN),
        "drafts": "recorded",
        **changes,
    }
    path = tmp_path / "thresholds.json"
    path.write_text(json.dumps({"id": certificate_id(tree), **tree}), encoding="utf-8")
    return replace(OWN, verdict=replace(OWN.verdict, thresholds_file=str(path)))


def written_id(tmp_path: Path) -> str:
    return str(json.loads((tmp_path / "thresholds.json").read_text())["id"])


def test_the_thresholds_reach_the_gate_the_table_and_the_record(tmp_path: Path) -> None:
    settings = certificate(tmp_path)
    found = certified(settings, MODELS)
    assert found.gate.learned.sufficient == 0.7
    assert found.opens == OWN.opens  # CAVEAT stays as it was
    assert in_force(found) == Thresholds(0.7, 0.65)
    serve = next(row for row in found.verdict.routes if row.endswith("SERVE"))
    assert "faithfulness >= 0.85" in serve
    read_routes(found.verdict.routes)
    filing = Setup.of(Settings(), settings, "e-1", "v-1").filing("ada")
    assert filing.certificate == written_id(tmp_path)
    alone = Setup.of(Settings(), settings, "e-1", "v-1", door="answers")
    assert alone.filing().certificate == ""  # `check` has no gate, so it is not covered


def test_they_are_applied_once(tmp_path: Path) -> None:
    found = certified(certificate(tmp_path), MODELS)
    (tmp_path / "thresholds.json").unlink()
    assert certified(found, MODELS) == found


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"models": {**MODELS, "verifier": "v-0"}}, "the verifier 'v-0', but 'v-1' is in use"),
        ({"policy": {**policy_of(OWN), "gate": "tiers"}}, "the policy 'tiers'"),
        ({"policy": {**policy_of(OWN), "digest": "0"}}, "the settings '0'"),
        ({"drafts": "written"}, "answers of an LLM"),
    ],
)
def test_thresholds_made_for_something_else_are_refused(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(StaleThresholds, match=message) as caught:
        certified(certificate(tmp_path, **changes), MODELS)
    assert "suffice calibrate" in caught.value.remedy


def test_written_answers_are_those_of_an_llm(tmp_path: Path) -> None:
    settings = certificate(tmp_path, drafts="written")
    llm = replace(settings, draft=DraftSettings(llm="http://127.0.0.1/v1"))
    assert certified(llm, MODELS).verdict.certificate == written_id(tmp_path)


@pytest.mark.parametrize("content", ["", "[]", '{"id": "x", "thresholds": null}'])
def test_a_file_without_thresholds_is_a_settings_error(tmp_path: Path, content: str) -> None:
    settings = certificate(tmp_path)
    (tmp_path / "thresholds.json").write_text(content)
    with pytest.raises(SettingsError, match="contains no certified thresholds"):
        certified(settings, MODELS)
    (tmp_path / "thresholds.json").unlink()
    with pytest.raises(SettingsError, match="there is no file"):
        certified(settings, MODELS)


def test_a_file_that_was_changed_by_hand_is_refused(tmp_path: Path) -> None:
    settings, path = certificate(tmp_path), tmp_path / "thresholds.json"
    tree = json.loads(path.read_text())
    path.write_text(json.dumps({**tree, "thresholds": {"gate": 0.1, "confidence": 0.1}}))
    with pytest.raises(SettingsError, match="its id does not match") as caught:
        certified(settings, MODELS)
    assert "suffice calibrate" in caught.value.remedy


def test_only_the_program_names_the_certificate_in_force(tmp_path: Path) -> None:
    file = tmp_path / "suffice.yaml"
    file.write_text("verdict: {certificate: c0ffee}")
    with pytest.raises(SettingsError, match=r"'verdict\.certificate' cannot be set") as caught:
        read_settings(file, {})
    assert "Remove the key" in caught.value.remedy
    with pytest.raises(SettingsError, match=r"environment: 'verdict\.certificate'"):
        read_settings(None, {"SUFFICE_VERDICT__CERTIFICATE": "c0ffee"})
    file.write_text("verdict: {certificate: ''}")
    assert read_settings(file, {}).verdict.certificate == ""


def test_the_digest_ignores_the_thresholds_and_sees_the_rest() -> None:
    for thresholds in (Thresholds(0.1, 0.2), Thresholds(0.9, 0.95, WITH_CAVEAT)):
        assert policy_of(thresholds.apply(OWN))["gate"] == "learned"
    moved = Thresholds(0.9, 0.95).apply(replace(OWN, gate=replace(OWN.gate, contact="hr@x.org")))
    moved = replace(moved, gate=replace(moved.gate, split_questions=True))
    assert policy_of(moved) == policy_of(OWN)
    off = replace(OWN, checks=replace(OWN.checks, literals=False))
    assert policy_of(off) != policy_of(OWN)
    table = replace(OWN, verdict=VerdictSettings(routes=("stale -> REVIEW", *ROUTES)))
    assert policy_of(table) != policy_of(OWN)
    assert policy_of(replace(OWN, subject="Acme")) != policy_of(OWN)


@pytest.mark.parametrize("gate", [0.02, 0.3, 0.52, 0.9])
def test_the_gate_opens_for_a_certified_answer_exactly_from_its_threshold(gate: float) -> None:
    serve = Thresholds(gate, 0.5).apply(OWN).gate.learned
    assert serve.sufficient == gate
    assert serve.opens() + serve.review_band / 2 <= gate + 1e-9
    both = Thresholds(gate, 0.5, WITH_CAVEAT).apply(OWN).gate.learned
    assert (both.threshold, both.review_band) == (gate, 0.0)


def test_with_caveats_certified_nothing_is_released_under_the_threshold() -> None:
    found = Thresholds(0.5, 0.6, WITH_CAVEAT).apply(OWN)
    released = [row for row in found.verdict.routes if row.endswith(("SERVE", "CAVEAT"))]
    assert all("confidence >= 0.6000" in row or "confidence >= 0.8000" in row for row in released)
    assert in_force(found, WITH_CAVEAT).confidence == 0.6


@pytest.mark.parametrize("action", WITH_CAVEAT)
def test_a_table_that_ends_by_serving_withholds_under_the_threshold(action: Action) -> None:
    own = replace(OWN, verdict=VerdictSettings(routes=(*ROUTES[:-1], f"else -> {action.value}")))
    applied = Thresholds(0.5, 0.6, WITH_CAVEAT).apply(own)
    assert applied.verdict.routes[-2:] == (
        f"confidence >= 0.6000 -> {action.value}",
        "else -> WITHHOLD",
    )
    read_routes(applied.verdict.routes)
    assert policy_of(applied) == policy_of(own)
    assert Thresholds(0.5, 0.6).apply(OWN).verdict.routes[-1] == ROUTES[-1]


def test_a_suspended_guarantee_takes_the_stricter_of_both() -> None:
    own = Thresholds(0.7, 0.65)
    assert own.stricter(in_force(OWN)) == Thresholds(0.7, 0.8)
    assert Thresholds(None, 0.9).stricter(in_force(OWN)).gate == 0.6
    assert own.served == SERVE_ONLY == (Action.SERVE,)
