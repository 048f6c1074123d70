"""The simulation of calibrations, in a few runs; test_guarantee.py has the promise itself."""

from __future__ import annotations

import json

from click.testing import CliRunner

from benchmarks.__main__ import benchmarks


def test_every_method_is_measured_in_every_case() -> None:
    asked = ["calibration", "--runs", "3", "--scores", "correlated"]
    done = CliRunner().invoke(benchmarks, [*asked, "--json"], standalone_mode=False)
    cases = json.loads(done.stdout)["cases"]
    assert [(case["alpha"], case["n"]) for case in cases] == [(0.05, 500), (0.1, 200)]
    for case in cases:
        assert {"suffice", "empirical optimum"} <= case["methods"].keys()
        assert all(0 <= own["broken"] <= own["certified"] for own in case["methods"].values())
    table = CliRunner().invoke(benchmarks, asked, standalone_mode=False)
    assert "optimum" in table.stdout
