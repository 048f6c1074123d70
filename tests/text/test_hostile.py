"""No text, however hostile, takes more than linear time to read."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import suffice
from suffice.text.claims import claims
from suffice.text.marks import citations
from tests.text.linear import superlinear
from tests.text.patterns import patterns

PROGRAM = "tests.text.hostile_program"
ROOT = Path(__file__).parents[2]
_PATIENCE = 400.0
"""Seconds for all functions, which take 80 on two idle cores: only one that hangs takes longer."""


def test_no_pattern_of_the_package_takes_more_than_linear_time() -> None:
    read = patterns()
    assert len(read) > 450
    slow = {
        one.where: word
        for one in read
        if (word := superlinear(one.pattern, one.flags, one.method)) is not None
    }
    assert slow == {}, "each of these patterns reads this text, repeated, in more than linear time"


@pytest.mark.parametrize(
    ("pattern", "method"),
    [
        (r"(a*)*b", "search"),
        (r"(?:a|a)*b", "match"),
        (r"(?:x+x+)+y", "fullmatch"),
        (r"\((?:\[\d\](?:\s?,?\s?\[\d\])*)\)", "search"),
        (r"\s+x", "search"),
        (r"\d+\b", "search"),
        (r"a.*b|a", "search"),
        (r"<!--.*?-->", "search"),
        (r"a*\s*\s*$", "match"),
        (r"```\s*\n(.*)\n\s*```", "match"),
        (r"^[ \t]*>?[ \t]*x", "match"),
        (r"[a-z]{0,500}x", "search"),
        (r"(?=\w*x)\w", "search"),
        (r"\w+(?=\s?[.,])", "search"),
    ],
)
def test_a_pattern_that_repeats_work_is_told(pattern: str, method: str) -> None:
    assert superlinear(pattern, method=method) is not None


@pytest.mark.parametrize(
    ("pattern", "method"),
    [
        (r"(?:a?)*b", "match"),
        (r"\s+x", "match"),
        (r"(?<!\s)\s++x", "search"),
        (r"\b\d+\b", "search"),
        (r"(?s)<!--.*?(?:-->|\Z)", "search"),
        (r'"[^"]*"', "search"),
        (r"[a-z]+$", "fullmatch"),
        (r"\w+(?:-\w+)*", "search"),
        (r"[a-z]{0,60}x", "search"),
    ],
)
def test_a_linear_pattern_is_told(pattern: str, method: str) -> None:
    assert superlinear(pattern, method=method) is None


def test_every_function_that_reads_text_takes_linear_time() -> None:
    """In a process that can be stopped, since a function may never return."""
    slow: dict[str, dict[str, float]] = {}
    last = "the import"
    with subprocess.Popen(
        [sys.executable, "-m", PROGRAM], stdout=subprocess.PIPE, text=True, cwd=ROOT,
        env={"PYTHONPATH": str(Path(suffice.__file__).parents[1]), "OMP_NUM_THREADS": "1"},
    ) as process:  # fmt: skip
        try:
            printed, _ = process.communicate(timeout=_PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            printed, _ = process.communicate()
    done = 0
    for line in map(json.loads, printed.splitlines()):
        last = line.get("starts", last)
        if "done" in line:
            done += 1
            if line["slow"]:
                slow[line["done"]] = line["slow"]
    assert slow == {}
    assert process.returncode == 0, f"{last} does not return"
    assert done > 40


@pytest.mark.parametrize("marks", [24, 1_000, 20_000])
def test_a_chain_of_marks_is_read_at_once(marks: int) -> None:
    text = "Leave is 20 days (" + "[1] " * marks
    assert citations(text)[0][1] == (1,)
    assert len(claims(text)) == 1
