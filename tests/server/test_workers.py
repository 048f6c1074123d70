"""`suffice serve --workers` as real processes: shared counts, and dead workers are replaced."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest

from suffice.access.keys import Principals
from suffice.log.log import Log
from suffice.sql.database import Database
from tests.server.gateway import QUESTION
from tests.server.test_metrics import samples
from tests.server.test_serve import ENVIRON, RUN
from tests.waiting import PATIENCE, until

SETTINGS = "server:\n  port: 0\n  shutdown_seconds: 10\n  routes:\n    {}: {{}}\n"
BODY = {"messages": [{"role": "user", "content": QUESTION}]}


@dataclass
class Served:
    process: Any
    folder: Path
    url: str = ""
    lines: queue.Queue[str] = field(default_factory=queue.Queue)

    def listen(self) -> None:
        for line in self.process.stderr:
            self.lines.put(line)

    def says(self, words: str) -> str:
        """The next line that contains these words."""
        while True:
            line = self.lines.get(timeout=1200)
            if words in line:
                return line

    @property
    def config(self) -> Path:
        return self.folder / "suffice.yaml"

    def workers(self) -> set[int]:
        """The worker processes: those with a gauge of requests in progress."""
        found = (self.folder / "metrics").glob("gauge_livesum_*.db")
        return {int(one.stem.rpartition("_")[2]) for one in found}


def get(url: str) -> httpx2.Response:
    return httpx2.get(url, timeout=120)


def ask(url: str, **headers: str) -> int:
    reply = httpx2.post(f"{url}/v1/chat/completions", json=BODY, timeout=120, headers=headers)
    return reply.status_code


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("workers")
    docs = folder / "docs"
    docs.mkdir()
    (docs / "remote.md").write_text("# Remote\n\nYou may work remotely 3 days per week.\n")
    (folder / "suffice.yaml").write_text(SETTINGS.format("first"))
    words = ["serve", "--workers", "2", "--docs", str(docs), "--store", str(folder / "s.db")]
    process = subprocess.Popen(
        [*RUN, *words, "--config", str(folder / "suffice.yaml")],
        stderr=subprocess.PIPE,
        text=True,
        env={**ENVIRON, "PROMETHEUS_MULTIPROC_DIR": str(folder / "metrics")},
    )
    found = Served(process, folder)
    threading.Thread(target=found.listen, daemon=True).start()
    try:
        found.url = found.says("Suffice serves").split()[2].removesuffix("/v1")
        yield found
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait(120)


def test_workers_from_start_to_end(served: Served) -> None:
    url, process = served.url, served.process
    assert len(served.workers()) == 2

    # They share counts: requests, limits of a key, and one chain of records.
    database = Database.open(served.folder / "s.db")
    key = Principals(database).create("five", limits={"requests_per_day": 5}).secret
    bearer = {"Authorization": f"Bearer {key}"}
    with ThreadPoolExecutor(8) as pool:
        codes = list(pool.map(lambda _: ask(url, **bearer), range(8)))
        assert list(pool.map(lambda _: ask(url), range(8))) == [200] * 8
    assert sorted(codes) == [200] * 5 + [429] * 3
    found = samples(get(f"{url}/metrics").text)
    asked = [
        value
        for name, value in found.items()
        if name.startswith("suffice_requests_total") and "chat" in name
    ]
    assert sum(asked) == 16
    assert found["suffice_requests_under_way"] == 0
    log = Log(database)
    assert log.verify().whole

    # All workers apply new settings, or none; the reason is printed once.
    served.config.write_text(SETTINGS.format("second"))
    process.send_signal(signal.SIGHUP)
    served.says("reloaded: 2 routes")
    until(lambda: get(f"{url}/readyz").json()["routes"] == ["default", "second"])
    names = [get(f"{url}/readyz").json()["routes"] for _ in range(20)]
    assert names == [["default", "second"]] * 20
    for bad, why in (
        ("server: {prot: 1}", "prot"),
        ("store: other.db", "'store' cannot be changed"),
    ):
        served.config.write_text(bad)
        process.send_signal(signal.SIGHUP)
        assert why in served.says("the old ones stay in effect")

    # One worker is killed: the others answer, and it is replaced with the current settings.
    before = served.workers()
    os.kill(min(before), signal.SIGKILL)
    served.says("is being replaced")
    assert ask(url) == 200
    until(lambda: len(served.workers()) == 2 and served.workers() != before)
    for _ in range(20):
        assert get(f"{url}/readyz").json()["routes"] == ["default", "second"]
    total = samples(get(f"{url}/metrics").text)
    asked = [
        value
        for name, value in total.items()
        if name.startswith("suffice_requests_total") and "chat" in name
    ]
    assert sum(asked) == 17  # the dead worker's counts are kept
    assert total["suffice_requests_under_way"] == 0
    assert ask(url, **bearer) == 429  # and so is its use of the limit

    pids = served.workers()

    # On SIGTERM all stop, and every request is answered or refused.
    with ThreadPoolExecutor(4) as pool:
        last = [pool.submit(ask, url) for _ in range(4)]
        wait(last, timeout=PATIENCE, return_when=FIRST_COMPLETED)  # the others are under way
        process.send_signal(signal.SIGTERM)
        for one in last:
            with suppress(httpx2.TransportError):  # no longer accepted
                assert one.result() in (200, 503)
    assert process.wait(120) == 0
    assert len(pids) == 2
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    log.close()
    database.close()


def test_a_worker_that_cannot_start_is_told(tmp_path: Path) -> None:
    config = tmp_path / "suffice.yaml"
    config.write_text("server:\n  port: 0\n  routes:\n    trial: {shadow: true}\n")
    words = ["serve", "--workers", "2", "--store", str(tmp_path / "s.db"), "--config", str(config)]
    Database.open(tmp_path / "s.db", create=True).close()
    told = subprocess.run([*RUN, *words], capture_output=True, text=True, env=ENVIRON, timeout=1200)
    assert told.returncode == 1
    assert "server.routes.trial has no upstream" in told.stderr
    assert "A worker could not start" in told.stderr
