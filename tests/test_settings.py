"""Settings are read from one place; an error names the origin, the key and the allowed values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from suffice.errors import SettingsError
from suffice.settings import (
    CoverageSettings,
    GateSettings,
    LlmSettings,
    SearchSettings,
    Settings,
    read_settings,
)


def write(folder: Path, text: str) -> Path:
    file = folder / "suffice.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def test_defaults_are_the_published_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    settings = read_settings(environ={})
    assert settings == Settings()
    tiers = settings.gate.tiers
    assert (tiers.relevant, tiers.one_passage, tiers.two_passages, tiers.three_passages) == (
        0.30,
        0.40,
        0.35,
        0.30,
    )


def test_file_then_environment(tmp_path: Path) -> None:
    file = write(tmp_path, "gate:\n  policy: coverage\nsearch:\n  top_k: 7\n")
    settings = read_settings(file, {"SUFFICE_SEARCH__TOP_K": "9"})
    assert settings.gate.policy == "coverage"
    assert settings.search.top_k == 9


def test_the_working_folder_and_the_variable_name_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(tmp_path, "store: here.db\n")
    monkeypatch.chdir(tmp_path)
    assert read_settings(environ={}).store == "here.db"
    monkeypatch.chdir("/")
    assert read_settings(environ={"SUFFICE_CONFIG": str(file)}).store == "here.db"


def test_a_collection_changes_only_what_it_names(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        "search:\n  top_k: 4\ncollections:\n  legal:\n    passages:\n      max_tokens: 99\n",
    )
    settings = read_settings(file, {})
    legal = settings.collection("legal")
    assert (legal.passages.max_tokens, legal.search.top_k) == (99, 4)
    assert settings.collection("other").passages.max_tokens == Settings().passages.max_tokens


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "gate:\n  polcy: tiers\n",
            ["unknown key 'gate.polcy'", "Did you mean 'policy'? Allowed here: bound, "],
        ),
        ("gate:\n  policy: magic\n", ["'gate.policy' is 'magic'", "tiers, coverage"]),
        ("search:\n  top_k: many\n", ["'search.top_k' is 'many'", "a whole number from 1"]),
        ("search:\n  top_k: 2.5\n", ["'search.top_k' is 2.5", "a whole number from 1"]),
        ("search:\n  dense_weight: 1.5\n", ["'search.dense_weight'", "from 0 to 1"]),
        (
            "verifier:\n  llm: {band_low: 0.95}\n",
            ["'verifier.llm.band_low' is 0.95", "which is 0.8"],
        ),
        (
            "verifier:\n  llm: {band_high: 0}\n",
            ["'verifier.llm.band_high' is 0", "at least 'band_low'"],
        ),
        (
            "verifier: {llm: {band_low: 0.6, band_high: 0.5}}\n",
            ["llm.band_low' is 0.6", "which is 0.5"],
        ),
        ("gate: yes\n", ["'gate' is True", "a mapping"]),
        ("- a\n- b\n", ["(top level)", "a mapping"]),
        ("gate: [\n", ["cannot be read as YAML"]),
        ("collections:\n  hr:\n    top: 1\n", ["unknown key 'collections.hr.top'", "passages"]),
        ("collections: 3\n", ["'collections' is 3"]),
        ("search:\n  synonyms: a?\n", ["search.synonyms'", "a list of texts"]),
        ("server: {identity: {labels: {hr: 3}}}\n", ["labels.hr' is 3", "a list of texts"]),
        ("search:\n  synonyms: [1]\n", ["search.synonyms'", "a list of texts"]),
        ("gate:\n  kinds:\n    weights:\n      faq: 1\n", ["weights.faq'", "qa"]),
        ("gate:\n  kinds:\n    weights:\n      qa: 3\n", ["weights.qa' is 3", "from 0 to 2"]),
    ],
)
def test_a_mistake_names_file_key_and_what_is_allowed(
    tmp_path: Path, text: str, says: list[str]
) -> None:
    file = write(tmp_path, text)
    with pytest.raises(SettingsError) as caught:
        read_settings(file, {})
    assert str(file) in str(caught.value)
    assert all(part in str(caught.value) for part in says)


def test_a_list_in_the_file_and_in_a_variable(tmp_path: Path) -> None:
    file = write(tmp_path, "search:\n  synonyms: ['wfh, remote work', 'pto, holiday']\n")
    assert read_settings(file, {}).search.synonyms == ("wfh, remote work", "pto, holiday")
    name = "SUFFICE_SEARCH__SYNONYMS"
    assert read_settings(file, {name: "['ok, fine']"}).search.synonyms == ("ok, fine",)


def test_a_wrong_variable_is_named() -> None:
    with pytest.raises(SettingsError, match=r"environment: unknown key 'gate\.nope'"):
        read_settings(environ={"SUFFICE_GATE__NOPE": "1"})


def test_two_settings_of_a_group_keep_their_order_over_file_and_environment(tmp_path: Path) -> None:
    file = write(tmp_path, "verifier: {llm: {band_low: 0.3, band_high: 0.3}}\n")
    assert read_settings(file, {}).verifier.llm.band_high == 0.3
    assert (
        read_settings(file, {"SUFFICE_VERIFIER__LLM__BAND_LOW": "0.2"}).verifier.llm.band_low == 0.2
    )
    wrong = (
        r"environment: 'verifier.llm.band_high' is 0.2. Allowed: at least 'band_low', which is 0.3"
    )
    with pytest.raises(SettingsError, match=wrong):
        read_settings(file, {"SUFFICE_VERIFIER__LLM__BAND_HIGH": "0.2"})


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no such settings file"):
        read_settings(tmp_path / "none.yaml", {})


def test_variables_that_contradict_each_other() -> None:
    for environ in (
        {"SUFFICE_GATE": "x", "SUFFICE_GATE__POLICY": "tiers"},
        {"SUFFICE_COLLECTIONS": "x"},
    ):
        with pytest.raises(SettingsError, match="environment"):
            read_settings(environ=environ)


def test_the_judge_of_the_settings_is_every_collections_judge(tmp_path: Path) -> None:
    file = tmp_path / "suffice.yaml"
    file.write_text("judge:\n  timeout: 7\n")
    assert read_settings(file, {}).collection("any").judge.timeout == 7


@pytest.mark.parametrize(
    "build",
    [
        lambda: SearchSettings(top_k=-5),
        lambda: SearchSettings(rewrite="sometimes"),  # type: ignore[arg-type]
        lambda: replace(SearchSettings(), min_dense_similarity=2.0),
        lambda: LlmSettings(band_low=0.9, band_high=0.1),
        lambda: SearchSettings(top_k=2.5),  # type: ignore[arg-type]
    ],
)
def test_settings_built_in_code_are_checked_too(build: Callable[[], object]) -> None:
    with pytest.raises(SettingsError, match="Settings: '"):
        build()


def block(folder: Path, said: str) -> GateSettings:
    return read_settings(write(folder, said), {}).gate


def test_the_published_block_is_the_exact_mode_and_declines_nothing(tmp_path: Path) -> None:
    gate = block(tmp_path, "sufficient_context: {enabled: true}\n")
    assert gate.policy == "coverage"
    assert gate.coverage == CoverageSettings(min_contexts=2, decline_insufficient=False, exact=True)
    own = "sufficient_context: {}\ngate: {coverage: {exact: false, decline_insufficient: true}}\n"
    assert block(tmp_path, own).coverage == CoverageSettings(min_contexts=2)


def test_a_published_block_that_is_not_enabled_switches_the_gate_off(tmp_path: Path) -> None:
    off = "sufficient_context: {enabled: false}\n"
    assert block(tmp_path, off) == GateSettings(policy="none")
    assert block(tmp_path, off + "gate: {policy: tiers}\n") == GateSettings(policy="tiers")
