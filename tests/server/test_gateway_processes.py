"""Gateways in processes of their own on one PostgreSQL: one is killed under load, and nothing that
was acknowledged is lost."""

from __future__ import annotations

import signal
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from suffice.log.entry import Choice
from suffice.record.log import Log
from tests.server.gateway import PASSAGE, QUESTION
from tests.server.test_serve import ENVIRON, RUN
from tests.waiting import PATIENCE, until

GATEWAYS, CLIENTS = 3, 6
SETTINGS = """
store: {store}
index: {index}
server: {{port: 0, routes: {{default: {{evidence: request}}}}}}
monitor: {{every_seconds: 0.5, deep_share: 0}}
"""


@dataclass
class Served:
    process: subprocess.Popen[str]
    url: str = ""
    said: str = ""

    def listen(self) -> None:
        """Read to the end, so that the process never waits for its log to be read."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said += line
            if line.startswith("Suffice serves"):
                self.url = line.split()[2]


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
                "suffice": {"evidence": [PASSAGE], "tag": tag},
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
def gateways(config: Path, count: int) -> Iterator[list[Served]]:
    """They start at the same time, on a database that has no tables yet."""
    command = [*RUN, "serve", "--config", str(config)]
    options: dict[str, Any] = {"stderr": subprocess.PIPE, "text": True, "env": ENVIRON}
    found = [Served(subprocess.Popen(command, **options)) for _ in range(count)]
    listening = [threading.Thread(target=one.listen) for one in found]
    for thread in listening:
        thread.start()
    try:
        until(lambda: all(_up(one) for one in found))
        yield found
    finally:
        for one in found:
            one.process.kill()
            one.process.wait(PATIENCE)
        for thread in listening:
            thread.join(PATIENCE)


def _up(one: Served) -> bool:
    assert one.process.poll() is None, one.said
    return bool(one.url)


def test_a_gateway_killed_under_load_loses_no_acknowledged_record(
    postgres_url: str, tmp_path: Path
) -> None:
    config = tmp_path / "suffice.yaml"
    config.write_text(SETTINGS.format(store=postgres_url, index=tmp_path / "index"))
    with gateways(config, GATEWAYS) as served:
        load = Load([one.url for one in served])
        clients = [threading.Thread(target=load.run, args=(n,)) for n in range(CLIENTS)]
        for client in clients:
            client.start()
        try:
            first, *others = served
            until(lambda: all(load.by[one.url] >= 3 for one in served))
            first.process.send_signal(signal.SIGKILL)
            first.process.wait(PATIENCE)
            before = Counter(load.by)
            # The others go on: the killed one left no lock behind.
            until(lambda: all(load.by[one.url] >= before[one.url] + 3 for one in others))
        finally:
            load.stop.set()
            for client in clients:
                client.join(PATIENCE)
    assert load.broken, "nothing was under way when the gateway was killed"
    log = Log.open(postgres_url)
    entries = list(log.entries(Choice(kind="verdict")))
    whole = log.verify(deep=True)
    log.close()
    log.database.close()
    assert whole.whole, whole.faults
    kept = {one.tag: one.id for one in entries}
    assert kept.items() >= load.acknowledged.items()
    assert max(Counter(one.tag for one in entries).values()) == 1  # no request is decided twice
    assert set(kept) <= {*load.acknowledged, *load.broken}
