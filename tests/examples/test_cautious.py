"""The cautious experiment on stub models, and the claim about empirical Bernstein."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.conftest import ROOT
from tests.lab.eval.overlap import OverlapVerifier


@pytest.fixture(scope="module")
def experiment() -> ModuleType:
    path = ROOT / "examples" / "cautious" / "experiment.py"
    spec = importlib.util.spec_from_file_location("experiment", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["experiment"] = module
    spec.loader.exec_module(module)
    return module


class Letters:
    """A vector for the letters of a text."""

    def embed(self, texts: Sequence[str]) -> Any:
        found = np.array([[text.count(chr(97 + n)) + 0.01 for n in range(26)] for text in texts])
        return found / np.linalg.norm(found, axis=1, keepdims=True)


def test_empirical_bernstein_loses_below_43_passages(experiment: ModuleType) -> None:
    assert experiment.break_even(0.05) == 43
    assert experiment.break_even(0.05, spread=0.2) > 43


def test_every_rule_decides_every_sample(experiment: ModuleType) -> None:
    cases = [
        experiment.Case(word * 3, (f"{word} {word}",), n % 2 == 0)
        for n, word in enumerate(["abc", "def", "ghi", "jkl", "mno", "pqr"])
    ]
    found = experiment.run(cases, Letters(), OverlapVerifier(), ks=(2, 5), documents=5, questions=4)
    rules = found["k"]["5"]["rules"]
    assert {len(row["scores"]) for row in rules.values()} == {8}
    assert rules["hoeffding"]["mean_epsilon"] == rules["azuma"]["mean_epsilon"]
    assert rules["betting"]["mean_epsilon"] < rules["empirical-bernstein"]["mean_epsilon"]
    assert "learned" in rules
    # Only samples that hold the passages of an answerable question are enough.
    assert not any(found["k"]["5"]["enough"][1::2])
    assert any(found["k"]["5"]["enough"])


def test_the_sample_needs_no_data(experiment: ModuleType) -> None:
    cases = experiment.handbook()
    assert len(cases) > 50
    assert 0 < sum(case.enough for case in cases) < len(cases)
