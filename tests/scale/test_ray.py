"""`suffice batch --engine ray` on a local Ray: the same bytes as one process, also after a worker
or the driver was killed. Needs the extra `ray`; without it, the tests are skipped."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from suffice.errors import SufficeError
from suffice.lab.batch.output import Workspace
from suffice.lab.batch.run import OneProcess, OnRay
from tests.lab.batch.batches import rows, work, write_lines
from tests.scale import ray_worker
from tests.waiting import until

ray = pytest.importorskip("ray")
pytest.importorskip("ray.data")
ROWS = 12


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    ray.init(num_cpus=2, log_to_driver=False, include_dashboard=False, _node_ip_address="127.0.0.1")
    yield
    ray.shutdown()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "rows.jsonl", [*rows(ROWS), "{broken"])


@pytest.fixture
def expected(source: Path, tmp_path: Path) -> bytes:
    work([source], tmp_path / "one.jsonl", engine=OneProcess())
    return (tmp_path / "one.jsonl").read_bytes()


@pytest.mark.usefixtures("cluster")
def test_the_same_bytes_as_one_process(source: Path, tmp_path: Path, expected: bytes) -> None:
    done = work([source], tmp_path / "ray.jsonl", engine=OnRay(workers=2), chunk_rows=2)
    assert (tmp_path / "ray.jsonl").read_bytes() == expected
    assert (done.rows, done.bad) == (ROWS + 1, 1)


@pytest.mark.usefixtures("cluster")
def test_a_killed_worker_costs_no_row(source: Path, tmp_path: Path, expected: bytes) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    engine = ray_worker.Deadly(marks)
    work([source], tmp_path / "ray.jsonl", engine=engine, chunk_rows=2)
    assert (marks / "killed").exists()
    assert (tmp_path / "ray.jsonl").read_bytes() == expected


@pytest.mark.usefixtures("cluster")
def test_an_error_in_a_worker_has_its_remedy(source: Path, tmp_path: Path) -> None:
    def remove(what: str, done: int, total: int) -> None:
        source.unlink(missing_ok=True)

    with pytest.raises(SufficeError, match="every machine must reach the file"):
        work([source], tmp_path / "ray.jsonl", engine=OnRay(workers=1), report=remove)


def test_an_address_where_nothing_listens(source: Path, tmp_path: Path) -> None:
    if ray.is_initialized():
        ray.shutdown()
    with pytest.raises(SufficeError, match="Cannot connect to Ray at 127"):
        work([source], tmp_path / "ray.jsonl", engine=OnRay("127.0.0.1:1"))


def test_a_killed_driver_resumes(source: Path, tmp_path: Path, expected: bytes) -> None:
    out = tmp_path / "ray.jsonl"
    command: list[Any] = [sys.executable, "-m", "tests.scale.ray_worker", source, out]
    root = Path(__file__).parents[2]
    space = Workspace(tmp_path / "ray.jsonl.work")
    driver = subprocess.Popen(command, cwd=root, start_new_session=True)
    until(lambda: driver.poll() is not None or space.finished(), 300)
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    assert 0 < len(space.finished()) < ROWS
    assert not out.exists()
    assert subprocess.run(command, cwd=root, check=False).returncode == 0
    assert out.read_bytes() == expected
