"""From the settings to a verifier: tiers by name, a folder, and what is said when there is none."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from suffice.errors import ModelDamaged, ModelMissing
from suffice.models import catalog, hub
from suffice.models.catalog import FAST, STRONG, open_verifier, weights
from suffice.models.fast import FastVerifier
from suffice.models.strong import StrongVerifier
from suffice.models.verifier import Verifier
from suffice.settings import VerifierSettings


def test_the_fast_tier_is_the_default() -> None:
    verifier = open_verifier(VerifierSettings(threads=3))
    assert isinstance(verifier, FastVerifier)
    assert verifier.tier == "fast"
    assert verifier.id.startswith(FAST)
    assert verifier.threads == 3
    assert not verifier._opened  # nothing is loaded before it is asked


def test_the_strong_tier_takes_its_bounds_from_the_settings() -> None:
    settings = VerifierSettings(strong=True, low=0.2, high=0.7, pairs=5, threads=2)
    verifier = open_verifier(settings)
    assert isinstance(verifier, StrongVerifier)
    assert verifier.tier == "strong"
    assert (verifier.band, verifier.pairs, verifier.threads) == ((0.2, 0.7), 5, 2)
    assert verifier.card.name == STRONG
    assert verifier.fast.card.name == FAST
    assert not verifier._opened


@pytest.mark.parametrize("strong", [False, True])
@pytest.mark.parametrize(("tier", "kind"), [("fast", FastVerifier), ("strong", StrongVerifier)])
def test_a_tiers_name_goes_before_the_settings(strong: bool, tier: str, kind: type) -> None:
    assert isinstance(open_verifier(VerifierSettings(strong=strong), tier), kind)
    assert isinstance(open_verifier(VerifierSettings(model="org/own"), tier), kind)


def test_a_folder_or_hub_name_is_opened_with_the_fast_tier_beside_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[tuple[str, int, bool]] = []

    def open_hub(name: str, threads: int, fallback: Verifier, *, english: bool) -> Verifier:
        asked.append((name, threads, english))
        assert isinstance(fallback, FastVerifier)
        return fallback

    monkeypatch.setattr(hub, "open_hub", open_hub)
    open_verifier(VerifierSettings(model=str(tmp_path), threads=2))
    open_verifier(VerifierSettings(model="org/own", language="any"))
    assert asked == [(str(tmp_path), 2, True), ("org/own", 0, False)]


def test_what_is_no_verifier(tmp_path: Path) -> None:
    with pytest.raises(ModelMissing, match=r"no folder 'no-such-name'.* Name a folder"):
        open_verifier(VerifierSettings(model="no-such-name"))
    with pytest.raises(ModelMissing, match="holds no weights"):
        open_verifier(VerifierSettings(model=str(tmp_path)))


@pytest.mark.parametrize(("name", "file"), [(FAST, "model.onnx"), (STRONG, "adapter.gguf")])
def test_damaged_weights_are_refused_when_they_are_opened(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, file: str
) -> None:
    for each in (FAST, STRONG):
        shutil.copytree(weights(each), tmp_path / each)
    monkeypatch.setattr(catalog, "weights", lambda each: tmp_path / each)
    open_verifier(VerifierSettings(strong=True))
    data = (tmp_path / name / file).read_bytes()
    (tmp_path / name / file).write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(ModelDamaged, match=rf"{name}: {file} has sha256.*pip install"):
        open_verifier(VerifierSettings(strong=True))
    shutil.rmtree(tmp_path / name)
    with pytest.raises(ModelMissing, match="no model card"):
        open_verifier(VerifierSettings(strong=True))


OPENED = """
from suffice.models.catalog import open_verifier
from suffice.settings import VerifierSettings
open_verifier(VerifierSettings(strong=True))
"""


@pytest.mark.parametrize(
    ("code", "heavy"),
    [
        ("import suffice", ("onnxruntime", "xllamacpp", "tokenizers", "numpy")),
        (OPENED, ("onnxruntime", "xllamacpp", "tokenizers")),
    ],
    ids=["imported", "opened"],
)
def test_nothing_heavy_is_loaded_before_it_is_used(code: str, heavy: tuple[str, ...]) -> None:
    tell = f"{code}\nimport json, sys; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", tell], capture_output=True, text=True, check=True)
    loaded = json.loads(done.stdout)
    assert "suffice" in loaded
    assert not set(heavy) & set(loaded)
