"""Without an extra: what works, what says which extra it needs, and how large it is."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import cache
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest

from tests.installed import ROOT, core_packages, other_modules, project

LARGEST = 250_000_000
MOVED = {"pypdfium2": "pdf", "qdrant-edge-py": "store", "sqlalchemy": "store", "tokenizers": "hub"}
MODULES = ("pypdfium2", "qdrant_edge", "sqlalchemy", "tokenizers")
PROGRAM = Path(__file__).with_name("core_install_program.py")


@cache
def seen() -> dict[str, Any]:
    """What a process does that can import the core packages only."""
    done = subprocess.run(
        [sys.executable, str(PROGRAM)],
        input=json.dumps(sorted(other_modules())),
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert not done.returncode, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_the_process_cannot_import_what_extras_bring() -> None:
    assert {*MODULES, "starlette", "mcp", "suffice_strong"} <= other_modules()
    assert not other_modules() & {"numpy", "onnxruntime", "click", "rich", "yaml", "google"}
    assert not seen()["loaded"]


def test_checks_and_the_gate_work() -> None:
    assert seen()["check"] == "WITHHOLD"
    assert seen()["gate"] == "SUFFICIENT"
    assert seen()["command check"] == 2
    assert seen()["command batch"] == 0
    assert seen()["command config"] == 0


@pytest.mark.parametrize(
    ("door", "extra"),
    [
        ("open", "store"),
        ("Library", "store"),
        ("Log", "store"),
        ("index", "store"),
        ("pdf", "pdf"),
        ("tokenizer", "hub"),
        ("command ask", "store"),
        ("command audit", "store"),
        ("command recorded check", "store"),
        ("command serve", "server"),
        ("command demo", "server"),
        ("command mcp", "mcp"),
    ],
)
def test_what_needs_an_extra_says_which(door: str, extra: str) -> None:
    said = seen()[door]
    assert f"requires the optional extra '{extra}'. Run: pip install 'suffice[{extra}]'" in said


def test_no_module_fails_without_saying_which_extra_to_install() -> None:
    assert seen()["bare"] == []


def test_each_extra_brings_its_packages_and_all_brings_the_product() -> None:
    extras = project()["optional-dependencies"]
    for package, extra in MOVED.items():
        assert any(line.startswith(package) for line in extras[extra]), package
        assert not any(line.startswith(package) for line in project()["dependencies"])
    for room in ("server", "mcp"):
        assert "suffice[pdf,store]" in extras[room]
    (every,) = extras["all"]
    assert {"store", "pdf", "server", "mcp", "record"} <= set(every[8:-1].split(","))


def test_the_docs_name_every_extra() -> None:
    page = (ROOT / "docs" / "how-to" / "install.md").read_text(encoding="utf-8")
    rows = "".join(line for line in page.splitlines() if line.startswith("| `"))
    extras = set(project()["optional-dependencies"]) - {"dev", "docs"}  # for contributors
    assert set(re.findall(r"`(\w+)`", rows)) >= extras


def test_the_core_install_is_small() -> None:
    own = [path for path in (ROOT / "src" / "suffice").rglob("*") if path.is_file()]
    brought = [
        Path(str(file.locate()))
        for name in core_packages()
        for file in distribution(name).files or ()
    ]
    sizes = {path: path.stat().st_size for path in (*own, *brought) if path.is_file()}
    assert LARGEST / 2 < sum(sizes.values()) < LARGEST
