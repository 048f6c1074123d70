"""The tests of what is in force pass on any day."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.conftest import ROOT

FILES = ("tests/test_pipeline.py", "tests/gate/test_history.py", "tests/gate/test_freshness.py")


def test_in_another_year() -> None:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *FILES]
    environ = {**os.environ, "SUFFICE_TEST_DAY": "2027-06-01"}
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]
