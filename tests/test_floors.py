"""Rooms stand on floors: imports go downwards only, and importing the package is light."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "suffice"

FLOORS: tuple[tuple[str, ...], ...] = (
    ("types", "errors", "deadline", "validation"),
    ("settings", "bounds", "switch"),
    ("text",),
    ("sql",),
    ("evidence", "models"),
    ("gate", "draft", "checks"),
    ("verdict",),
    ("log",),
    ("access",),
    ("review",),
    ("webhooks",),
    ("pipeline", "checker"),
    ("engine",),
    ("answers", "corpus", "schema"),
    ("compat",),
    ("lab", "testing"),
    ("server", "integrations"),
    ("cli",),
    ("__main__",),
)
LEVEL = {room: level for level, rooms in enumerate(FLOORS) for room in rooms}
# Rooms of one floor that may know one another, and in which direction.
BESIDE = {("errors", "types"), ("evidence", "models")}


def room(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def imported(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


def imports(path: Path) -> set[str]:
    return {name for name in imported(path) if name.split(".")[0] == "suffice"}


def upward(path: Path) -> list[str]:
    """The imports of a file that go up a floor, or across to a room it may not know."""
    here = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    if here == "__init__":
        return []
    wrong = []
    for name in imports(path):
        there = room(name)
        if there in ("", here):
            continue
        if LEVEL[there] > LEVEL[here] or (
            LEVEL[there] == LEVEL[here] and (here, there) not in BESIDE
        ):
            wrong.append(f"{path.relative_to(SOURCE)} imports {name}")
    return wrong


def test_imports_go_downwards() -> None:
    assert [line for path in sorted(SOURCE.rglob("*.py")) for line in upward(path)] == []


def test_an_upward_import_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "SOURCE", tmp_path)
    culprit = tmp_path / "text" / "words.py"
    culprit.parent.mkdir()
    culprit.write_text("from suffice.pipeline import Pipeline\n")
    assert upward(culprit) == ["text/words.py imports suffice.pipeline"]


def test_the_wheel_does_not_need_the_benchmarks() -> None:
    for path in sorted(SOURCE.rglob("*.py")):
        assert "benchmarks" not in {name.split(".")[0] for name in imported(path)}, path


def test_no_drawers() -> None:
    names = {path.stem for path in SOURCE.rglob("*")}
    assert not names & {"utils", "util", "helpers", "common", "core", "misc"}


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_import_is_light() -> None:
    heavy = (
        "onnxruntime tokenizers numpy scipy starlette uvicorn sqlalchemy qdrant_edge rich".split()
    )
    code = f"import sys, suffice; print([m for m in {heavy!r} if m in sys.modules])"
    assert run(code) == "[]"


@pytest.mark.timing
def test_import_takes_no_longer_than_that_of_a_few_standard_modules() -> None:
    def seconds(module: str) -> float:
        timed = f"start = time.process_time(); import {module}; print(time.process_time() - start)"
        return min(float(run(f"import time; {timed}")) for _ in range(3))

    assert seconds("suffice") < 2 * seconds("asyncio, http.client, json")
