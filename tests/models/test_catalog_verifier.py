"""Opening a verifier from the settings: tiers by name, a folder, and the errors."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from suffice.errors import ExtraMissing, ModelDamaged, ModelMissing, SettingsError
from suffice.models import catalog, hub
from suffice.models.card import read_card
from suffice.models.catalog import FAST, STRONG, open_verifier, weights
from suffice.models.cross_encoder import CrossEncoder
from suffice.models.verifier import Pair, Verifier
from suffice.settings import VerifierSettings

ROOT = Path(__file__).parents[2]
FOLDERS = {
    FAST: weights(FAST),
    STRONG: ROOT / "strong" / "src" / "suffice_strong" / "weights" / STRONG,
}
SETTINGS = {
    FAST: VerifierSettings(),
    STRONG: VerifierSettings(strong=True),
}
"""What opens each of the built-in verifiers."""
FACT = "Employees with at least one year of service may take 16 weeks of paid parental leave."


def opened(settings: VerifierSettings, tier: str = "") -> CrossEncoder:
    verifier = open_verifier(settings, tier)
    assert isinstance(verifier, CrossEncoder)
    return verifier


@pytest.mark.parametrize(("name", "tier"), [(FAST, "fast"), (STRONG, "strong")])
def test_the_settings_name_one_encoder(name: str, tier: str) -> None:
    verifier = opened(replace(SETTINGS[name], threads=3))
    assert (verifier.tier, verifier.card.name, verifier.card.folder) == (tier, name, FOLDERS[name])
    assert verifier.id.startswith(name)
    assert verifier.encoder.threads == 3
    assert not verifier.encoder._opened  # nothing is loaded before it is asked


def test_the_strong_tier_judges() -> None:
    leave = "Employees with one year of service may take 16 weeks of paid parental leave."
    said = leave, "Parental leave is 26 weeks."
    right, wrong = opened(SETTINGS[STRONG]).support([Pair(text, (FACT,)) for text in said])
    assert right.supported > 0.5 > wrong.supported
    assert (right.tier, wrong.tier) == ("strong", "strong")


@pytest.mark.parametrize(("tier", "name"), [("fast", FAST), ("strong", STRONG)])
@pytest.mark.parametrize("settings", [*SETTINGS.values(), VerifierSettings(model="org/own")])
def test_a_tiers_name_goes_before_the_settings(
    settings: VerifierSettings, tier: str, name: str
) -> None:
    verifier = opened(settings, tier)
    assert (verifier.tier, verifier.card.name) == (tier, name)


def test_the_strong_tier_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        catalog, "find_spec", lambda name: None if name == "suffice_strong" else find_spec(name)
    )
    with pytest.raises(ExtraMissing, match=r"strong tier.*pip install 'suffice\[strong\]'"):
        open_verifier(SETTINGS[STRONG])
    assert opened(VerifierSettings()).tier == "fast"


def test_the_strong_tier_goes_with_our_own_fast_tier_only() -> None:
    with pytest.raises(SettingsError, match=r"verifier\.strong replaces .*'org/own'"):
        open_verifier(VerifierSettings(strong=True, model="org/own"))


def test_a_folder_with_a_card_is_opened_under_any_name(tmp_path: Path) -> None:
    folder = tmp_path / "ours"
    shutil.copytree(weights(FAST), folder)
    settings = VerifierSettings(model=str(folder))
    verifier = opened(settings)
    assert (verifier.tier, verifier.card.name, verifier.card.folder) == ("fast", FAST, folder)
    assert catalog.open_reader(settings).card.folder == folder
    (folder / "model.onnx").write_bytes(b"other weights")
    with pytest.raises(ModelDamaged, match="sha256"):
        open_verifier(settings)


def test_a_folder_or_hub_name_is_opened_with_the_fast_tier_beside_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[tuple[str, int, bool]] = []

    def open_hub(name: str, threads: int, fallback: Verifier, *, english: bool) -> Verifier:
        asked.append((name, threads, english))
        assert isinstance(fallback, CrossEncoder)
        return fallback

    monkeypatch.setattr(hub, "open_hub", open_hub)
    open_verifier(VerifierSettings(model=str(tmp_path), threads=2))
    open_verifier(VerifierSettings(model="org/own", language="any"))
    assert asked == [(str(tmp_path), 2, True), ("org/own", 0, False)]


def test_what_is_no_verifier(tmp_path: Path) -> None:
    with pytest.raises(ModelMissing, match=r"'no-such-name' is neither a folder.* Use a folder"):
        open_verifier(VerifierSettings(model="no-such-name"))
    with pytest.raises(ModelMissing, match="contains no weights"):
        open_verifier(VerifierSettings(model=str(tmp_path)))


@pytest.fixture(params=SETTINGS)
def copied(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A copy of the weights of a built-in verifier, opened in their place. A test may spoil it."""
    name: str = request.param
    shutil.copytree(FOLDERS[name], tmp_path / name)
    if name == FAST:
        monkeypatch.setattr(catalog, "weights", lambda name: tmp_path / name)
    else:
        monkeypatch.setattr(catalog, "_strong_weights", lambda: tmp_path / name)
    return tmp_path / name


def test_damaged_weights_are_refused_when_they_are_opened(copied: Path) -> None:
    settings = SETTINGS[copied.name]
    for file in read_card(copied).files:
        assert opened(settings).card.folder == copied
        data = (copied / file).read_bytes()
        (copied / file).write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        with pytest.raises(ModelDamaged, match=rf"{copied.name}: {file} has sha256.*pip install"):
            open_verifier(settings)
        (copied / file).write_bytes(data)


def test_missing_weights_are_said(copied: Path) -> None:
    shutil.rmtree(copied)
    with pytest.raises(ModelMissing, match="no model card"):
        open_verifier(SETTINGS[copied.name])


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
