"""What is published: the sdist can be tested and retrained from, the wheels hold the packages."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from zipfile import ZipFile

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

from suffice import __version__
from suffice.models.card import read_card

ROOT = Path(__file__).parent.parent
WEIGHTS = {"strong": "mpnet-verifier"}
"""The distributions of weights alone, with the model of each."""
LARGE = 1_000_000
LARGEST_WHEEL = 100_000_000
"""PyPI takes no larger file unless asked."""
LARGEST_FILE = 100_000_000
"""Nor do hosts of repositories."""


def packed(builder: SdistBuilder | WheelBuilder) -> dict[str, int]:
    """The files that a distribution takes from the checkout, with their sizes."""
    files = builder.recurse_included_files()
    return {file.distribution_path: Path(file.path).stat().st_size for file in files}


def test_the_sdist_holds_all_that_is_tracked() -> None:
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip("needs a git checkout")
    written = {"pyproject.toml", ".gitignore"}  # by the builder itself, whatever is included
    tracked = {name for name in listed.stdout.splitlines() if (ROOT / name).is_file()}
    assert tracked - packed(SdistBuilder(str(ROOT))).keys() <= written


def test_the_sdist_is_large_by_its_weights_alone() -> None:
    files = packed(SdistBuilder(str(ROOT)))
    large = [name for name, size in files.items() if size > LARGE]
    assert large
    weights = [f"{name}/src/suffice_{name}/weights/" for name in WEIGHTS]
    assert all(name.startswith(("src/suffice/models/weights/", *weights)) for name in large)
    for folder in ("training", "scripts", *WEIGHTS, "tests", "docs"):
        assert any(name.startswith(f"{folder}/") for name in files)


def test_the_wheel_holds_the_package_and_nothing_else() -> None:
    files = packed(WheelBuilder(str(ROOT)))
    assert {name.split("/")[0] for name in files} == {"suffice"}
    assert "suffice/models/weights/minilm-l12-verifier/model.onnx" in files
    assert "suffice/py.typed" in files
    assert "suffice/sql/migrations/0009_site.sql" in files
    for file in ("templates/base.html", "static/site.css", "static/site.js"):
        assert f"suffice/server/ui/{file}" in files
    assert [name for name in files if "smollm" in name or name.endswith(".gguf")] == []


def test_the_wheel_brings_the_handbook_of_the_demo() -> None:
    assert "suffice/handbook/remote-work.md" in packed(WheelBuilder(str(ROOT)))


def test_two_builds_of_a_commit_give_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In other folders, with other times and modes of the files. Without the large weights."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    built = []
    for name, mode, time in (("first", 0o644, 1_600_000_000), ("second", 0o600, 1_700_000_000)):
        copy = tmp_path / name
        skipped = shutil.ignore_patterns("*.onnx", "__pycache__")
        shutil.copytree(ROOT / "src", copy / "src", ignore=skipped)
        for file in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(ROOT / file, copy)
        for path in (path for path in copy.rglob("*") if path.is_file()):
            path.chmod(mode)
            os.utime(path, (time, time))
        (wheel,) = WheelBuilder(str(copy)).build(directory=str(copy), versions=["standard"])
        built.append(Path(wheel))
    first, second = built
    assert first.name == second.name == f"suffice-{__version__}-py3-none-any.whl"
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize(("folder", "model"), WEIGHTS.items())
def test_a_wheel_of_weights_holds_its_model(folder: str, model: str, tmp_path: Path) -> None:
    builder = WheelBuilder(str(ROOT / folder))
    (built,) = builder.build(directory=str(tmp_path), versions=["standard"])
    assert Path(built).stat().st_size < LARGEST_WHEEL
    with ZipFile(built) as wheel:
        names = set(wheel.namelist())
    package = f"suffice_{folder}"
    assert {name.split("/")[0] for name in names} == {package, f"{package}-0.1.0.dist-info"}
    described = read_card(ROOT / folder / "src" / package / "weights" / model).raw["files"]
    assert all(file["bytes"] < LARGEST_FILE for file in described.values())
    files = (*described, "card.json", "LICENSE", "NOTICE")
    weights = {name for name in names if name.startswith(f"{package}/weights/")}
    assert weights == {f"{package}/weights/{model}/{file}" for file in files}
