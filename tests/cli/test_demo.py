"""`suffice demo`: one command, on this machine only, and nothing is left behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx2

from suffice.cli.demo import WEEK, demo_settings, handbook
from suffice.server.auth import is_local
from suffice.settings import Settings
from tests.waiting import PATIENCE


def test_the_demo_serves_the_site_and_cleans_up(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "suffice", "demo", "--empty", "--no-browser", "--port", "0"]
    environment = {**os.environ, "TMPDIR": str(tmp_path), "SUFFICE_SERVER__HOST": "0.0.0.0"}
    process = subprocess.Popen(
        command, env=environment, cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stderr is not None
        lines = iter(process.stderr.readline, "")
        url = next(found[1] for line in lines if (found := re.search(r"runs at (\S+)", line)))
        assert url.startswith("http://127.0.0.1:")
        page = httpx2.get(url, timeout=PATIENCE)
        assert page.status_code == 200
        assert "Your first five minutes" in page.text
        assert list(tmp_path.glob("suffice-demo-*"))
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE)
    assert list(tmp_path.glob("suffice-demo-*")) == []


def test_only_the_demo_has_a_local_admin() -> None:
    assert demo_settings().server.site.local_role == "admin"
    assert Settings().server.site.local_role == "reviewer"


def test_the_demo_is_local_and_its_handbook_is_there() -> None:
    assert is_local(demo_settings().server.host)
    assert (handbook() / "remote-work.md").is_file()


def test_the_decisions_of_the_week_are_in_order() -> None:
    days = [asked.days for asked in WEEK]
    assert days == sorted(days, reverse=True)
    assert 0 < days[-1] < days[0] < 7
