"""What is published: the sdist can be tested and retrained from, the wheels hold the packages."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from zipfile import ZipFile

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parent.parent
STRONG = ROOT / "strong"
LARGE = 1_000_000
LARGEST_WHEEL = 100_000_000
"""PyPI takes no larger file unless asked."""


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
    weights = "src/suffice/models/weights/", "strong/src/suffice_strong/weights/"
    assert all(name.startswith(weights) for name in large)
    for folder in ("training", "scripts", "strong", "results", "tests", "docs"):
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
    builder = WheelBuilder(str(ROOT))
    forced = builder.recurse_forced_files(builder.config.get_force_include())
    brought = {file.distribution_path for file in forced}
    assert "suffice/handbook/remote-work.md" in brought
    assert {name.split("/")[1] for name in brought} == {"handbook"}


def test_the_strong_wheel_holds_the_weights_of_its_tier(tmp_path: Path) -> None:
    (built,) = WheelBuilder(str(STRONG)).build(directory=str(tmp_path), versions=["standard"])
    assert Path(built).stat().st_size < LARGEST_WHEEL
    with ZipFile(built) as wheel:
        names = set(wheel.namelist())
        weights = "suffice_strong/weights"
        card = json.loads(wheel.read(f"{weights}/strong-verifier/card.json"))
    assert {name.split("/")[0] for name in names} == {
        "suffice_strong",
        "suffice_strong-0.1.0.dist-info",
    }
    for member in card["members"]:
        for file in ("model.onnx", "tokenizer.json", "card.json", "LICENSE"):
            assert f"{weights}/{member}/{file}" in names
