"""What is published: the sdist can be tested and retrained from, the wheel holds the package."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parent.parent
LARGE = 1_000_000


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
    assert all(name.startswith("src/suffice/models/weights/") for name in large)
    for folder in ("training", "scripts", "results", "tests", "docs"):
        assert any(name.startswith(f"{folder}/") for name in files)


def test_the_wheel_holds_the_package_and_nothing_else() -> None:
    files = packed(WheelBuilder(str(ROOT)))
    assert {name.split("/")[0] for name in files} == {"suffice"}
    assert "suffice/models/weights/minilm-l6-verifier/model.onnx" in files
    assert "suffice/py.typed" in files
