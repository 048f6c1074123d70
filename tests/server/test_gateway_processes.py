"""Four processes on one PostgreSQL: three of `serve --workers 3` and a separate gateway. A worker
and the gateway are killed under load: nothing acknowledged is lost, nothing is decided twice."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx2

from suffice.errors import ReviewTaken
from suffice.log.log import Log
from suffice.log.stored import RecordFilter
from suffice.review.case import Act
from suffice.review.review import Review
from suffice.testing import ScriptedUpstream, says
from tests.server.gateway import QUESTION, RIGHT
from tests.server.test_serve import ENVIRON, RUN
from tests.waiting import PATIENCE, until

WORKERS, CLIENTS, REVIEWERS = 3, 6, 4
SETTINGS = """
store: {store}
index: {index}
server: {{port: 0, routes: {{default: {{upstream: '{upstream}', grounding: false}}}}}}
monitor: {{every_seconds: 0.5, deep_share: 0}}
"""


@dataclass
class Served:
    process: subprocess.Popen[str]
    metrics: Path
    url: str = ""
    said: str = ""

    def listen(self) -> None:
        """Read to the end, so that the process never waits for its log to be read."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said += line
            if line.startswith("Suffice serves"):
                self.url = line.split()[2]

    def workers(self) -> set[int]:
        """The worker processes: those with a gauge of requests in progress."""
        found = self.metrics.glob("gauge_livesum_*.db")
        return {int(one.stem.rpartition("_")[2]) for one in found}


@dataclass
class Load:
    """Clients that ask until they are stopped, each under a tag of its own for each request."""

    urls: list[str]
    acknowledged: dict[str, str] = field(default_factory=dict)
    """The record of each tag."""
    by: Counter[str] = field(default_factory=Counter)
    """Acknowledged requests by gateway."""
    broken: list[str] = field(default_factory=list)
    """Tags of requests without a reply."""
    stop: threading.Event = field(default_factory=threading.Event)

    def run(self, client: int) -> None:
        number = 0
        while not self.stop.is_set():
            url, tag = self.urls[(client + number) % len(self.urls)], f"{client}-{number}"
            number += 1
            body = {
                "messages": [{"role": "user", "content": QUESTION}],
                "suffice": {"tag": tag},
            }
            try:
                reply = httpx2.post(f"{url}/chat/completions", json=body, timeout=PATIENCE)
            except httpx2.TransportError:
                self.broken.append(tag)
                self.stop.wait(0.05)
                continue
            assert reply.status_code == 200, reply.text
            self.acknowledged[tag] = reply.json()["suffice"]["record"]
            self.by[url] += 1


@contextmanager
def serving(store: str, folder: Path) -> Iterator[Path]:
    """Settings with a scripted upstream, without grounding: no process loads a model."""
    config = folder / "suffice.yaml"
    with ScriptedUpstream([says(RIGHT)]) as upstream:
        config.write_text(
            SETTINGS.format(store=store, index=folder / "index", upstream=upstream.url)
        )
        yield config


@contextmanager
def gateways(config: Path, *options: Sequence[str]) -> Iterator[list[Served]]:
    """They start at the same time, on a database that has no tables yet."""
    found = []
    for number, more in enumerate(options):
        metrics = config.parent / f"metrics-{number}"
        environ = {**ENVIRON, "PROMETHEUS_MULTIPROC_DIR": str(metrics)} if more else ENVIRON
        command = [*RUN, "serve", "--config", str(config), *more]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environ)
        found.append(Served(process, metrics))
    listening = [threading.Thread(target=one.listen) for one in found]
    for thread in listening:
        thread.start()
    try:
        until(lambda: all(_up(one) for one in found))
        yield found
    finally:
        for one in found:
            one.process.terminate()
        for one in found:
            one.process.wait(PATIENCE)
        for thread in listening:
            thread.join(PATIENCE)


def _up(one: Served) -> bool:
    assert one.process.poll() is None, one.said
    return bool(one.url)


def decided_by_all(place: str, records: Sequence[str]) -> Counter[str]:
    """Reviewers that saw the same queue decide on the same records at the same time, each over a
    connection of its own, as reviewers at different gateways do. Counts decisions by record."""
    logs = [Log.open(place) for _ in range(REVIEWERS)]
    seen = {one: Review(logs[0]).case(one).latest for one in records}
    decided: Counter[str] = Counter()

    def decide(log: Log) -> None:
        for one in records:
            try:
                Review(log).decide(
                    one, Act.WITHDRAW, reason="It is outdated.", by="Ada", seen=seen[one]
                )
            except ReviewTaken:
                continue
            decided[one] += 1

    with ThreadPoolExecutor(REVIEWERS) as pool:
        list(pool.map(decide, logs))
    for log in logs:
        log.close()
        log.database.close()
    return decided


def test_processes_killed_under_load_lose_no_acknowledged_record(
    postgres_url: str, tmp_path: Path
) -> None:
    with (
        serving(postgres_url, tmp_path) as config,
        gateways(config, ["--workers", str(WORKERS)], []) as (supervised, single),
    ):
        load = Load([supervised.url, single.url])
        clients = [threading.Thread(target=load.run, args=(n,)) for n in range(CLIENTS)]
        for client in clients:
            client.start()
        try:
            until(lambda: all(load.by[url] >= 3 for url in load.urls))
            before = supervised.workers()
            assert len(before) == WORKERS
            os.kill(min(before), signal.SIGKILL)
            single.process.kill()
            single.process.wait(PATIENCE)
            answered = load.by[supervised.url]
            # The others go on: the killed ones left no lock behind. The worker is replaced.
            until(lambda: load.by[supervised.url] >= answered + 3)
            until(lambda: len(supervised.workers() - {min(before)}) == WORKERS)
            records = list(load.acknowledged.values())[:3]
            decided = decided_by_all(postgres_url, records)
        finally:
            load.stop.set()
            for client in clients:
                client.join(PATIENCE)
        supervised.process.terminate()
        assert supervised.process.wait(PATIENCE) == 0
    assert "A worker exited and is being replaced." in supervised.said
    assert decided == dict.fromkeys(records, 1)
    assert load.broken, "nothing was under way when the gateway was killed"
    log = Log.open(postgres_url)
    entries = list(log.entries(RecordFilter(kind="verdict")))
    decisions = [one for one in log.entries() if one.kind == Act.WITHDRAW.kind]
    whole = log.verify(deep=True)
    log.close()
    log.database.close()
    assert whole.whole, whole.faults
    assert len(decisions) == len(records)
    kept = {one.tag: one.id for one in entries}
    assert kept.items() >= load.acknowledged.items()
    assert max(Counter(one.tag for one in entries).values()) == 1  # no request is decided twice
    assert set(kept) <= {*load.acknowledged, *load.broken}
