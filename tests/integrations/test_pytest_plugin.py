"""The pytest plugin, in runs of pytest of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from suffice.testing import assert_grounded
from suffice.types import Action

PLUGIN = "suffice.integrations.pytest_plugin"
EVIDENCE = ["Parental leave lasts 18 weeks."]
APP = """
async def answer(question):
    if "king" in question:
        return "I do not know.", []
    weeks = 52 if "sabbatical" in question else 18
    return f"Parental leave lasts {weeks} weeks.", ["Parental leave lasts 18 weeks."]
"""
CASES: list[dict[str, object]] = [
    {"question": "How long is parental leave?", "answerable": True, "answers_all": [["18"]]},
    {"question": "Who is king?", "answerable": False},
]
WRONG: dict[str, object] = {
    "question": "How long is parental leave, not the sabbatical?",
    "answerable": True,
    "answers_all": [["18"]],
}


def ran(folder: Path) -> subprocess.CompletedProcess[str]:
    known = {one.value for one in entry_points(group="pytest11")}
    plugin = [] if PLUGIN in known else ["-p", PLUGIN]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *plugin, "-p", "no:cacheprovider", "-v", "."],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def project(folder: Path, ini: str, cases: list[dict[str, object]]) -> Path:
    (folder / "pytest.ini").write_text(f"[pytest]\npythonpath = .\n{ini}\n")
    lines = "".join(json.dumps(case) + "\n" for case in cases)
    (folder / "leave.golden.jsonl").write_text(lines)
    return folder


def test_assert_grounded() -> None:
    verdict = assert_grounded("Parental leave lasts 18 weeks.", EVIDENCE, "How long is leave?")
    assert verdict.action is Action.SERVE
    with pytest.raises(AssertionError, match=r"52 weeks.*18 weeks"):
        assert_grounded("Parental leave lasts 52 weeks.", EVIDENCE)
    allowed = assert_grounded("Parental leave lasts 52 weeks.", EVIDENCE, allow=["WITHHOLD"])
    assert allowed.released == ""


def test_golden_files_of_an_application(tmp_path: Path) -> None:
    folder = project(tmp_path, "suffice_app = app:answer", [*CASES, WRONG])
    (folder / "app.py").write_text(APP)
    (folder / "test_own.py").write_text(
        "def test_it(assert_grounded):\n"
        "    assert_grounded('Leave lasts 52 weeks.', ['Leave lasts 18 weeks.'])\n"
    )
    done = ran(folder)
    assert done.returncode == 1
    assert "2 failed, 2 passed" in done.stdout, done.stdout + done.stderr
    assert "The answer is not grounded: WITHHOLD" in done.stdout
    assert "expected an answer, got WITHHOLD" in done.stdout


def test_golden_files_over_documents(tmp_path: Path) -> None:
    folder = project(tmp_path, "suffice_docs = docs", CASES)
    (folder / "docs").mkdir()
    (folder / "docs" / "leave.md").write_text("# Leave\n\nParental leave lasts 18 weeks.\n")
    done = ran(folder)
    assert (done.returncode, "2 passed" in done.stdout) == (0, True), done.stdout + done.stderr


def test_without_an_application_the_error_names_the_setting(tmp_path: Path) -> None:
    done = ran(project(tmp_path, "", CASES[:1]))
    assert done.returncode != 0
    assert "suffice_app = module:function" in done.stdout + done.stderr


def test_the_plugin_is_light() -> None:
    code = f"import sys, {PLUGIN}; print([m for m in ('numpy', 'onnxruntime') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
