"""The examples that need no framework run, block what they should, and are short."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integrations.test_pytest_plugin import ran
from tests.integrations.test_retrievers import Stub, stub
from tests.postgres import Postgres

__all__ = ["stub"]  # a fixture
FOLDER = Path(__file__).parent.parent.parent / "examples" / "integrations"


def printed(name: str, **variables: str) -> str:
    done = subprocess.run(
        [sys.executable, str(FOLDER / name)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **variables},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.py")), ids=lambda file: file.name)
def test_every_example_is_short(file: Path) -> None:
    assert len(file.read_text(encoding="utf-8").splitlines()) <= 30


def test_openai() -> None:
    out = printed("openai_guard.py")
    assert out.startswith("WITHHOLD")
    assert "52" not in out


def test_pytest(tmp_path: Path) -> None:
    for name in ("test_grounded.py", "leave.golden.jsonl", "pytest.ini"):
        shutil.copy(FOLDER / name, tmp_path)
    done = ran(tmp_path)
    assert "3 passed" in done.stdout, done.stdout + done.stderr


def test_pgvector(postgres: Postgres) -> None:
    postgres.execute("DROP DATABASE IF EXISTS example")
    postgres.execute("CREATE DATABASE example")
    url = postgres.url("example")
    assert printed("pgvector_search.py", DATABASE_URL=url).strip() == "SUFFICIENT"


def test_opensearch(stub: Stub) -> None:
    out = printed("opensearch_search.py", OPENSEARCH_URL=stub.url)
    assert out.startswith("SUFFICIENT")
    assert "WITHHOLD" in out
