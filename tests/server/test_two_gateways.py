"""Two gateways on one PostgreSQL: uploads, the cache of verdicts, and webhooks."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from suffice.access.keys import Principals, Role
from suffice.evidence.library import Library
from suffice.log.log import Log
from suffice.log.record import Record
from suffice.settings import RouteSettings, Settings
from suffice.settings.record import WebhookSettings
from suffice.settings.server import CacheSettings
from suffice.testing import ScriptedUpstream, says
from suffice.webhooks import Outbox
from tests.server.gateway import RunningGateway, plays, routes, running
from tests.server.test_webhooks import Receiver, receiver
from tests.waiting import PATIENCE, until

QUESTION = "How many days per week may I work remotely?"
OLD, NEW = b"You may work remotely 3 days per week.", b"You may work remotely 4 days per week."
"""Two versions of a document."""


@dataclass
class Both:
    """Two gateways with connections and caches of their own, and what their webhook received."""

    first: RunningGateway
    second: RunningGateway
    hook: Receiver
    key: str

    def ask(self, gateway: RunningGateway, question: str = QUESTION) -> Any:
        body = {"model": "m", "messages": [{"role": "user", "content": question}]}
        reply = gateway.post("/chat/completions", body, headers=self._headers)
        assert reply.status_code == 200, reply.text
        return reply.json()

    def upload(self, gateway: RunningGateway, name: str, data: bytes) -> Any:
        url = f"{gateway.base}/documents?name={name}"
        reply = httpx2.post(url, content=data, headers=self._headers, timeout=PATIENCE)
        assert reply.status_code == 200, reply.text
        return reply.json()["data"][0]["result"]

    @property
    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"}


@pytest.fixture
def both(postgres_url: str, tmp_path: Path, upstream: ScriptedUpstream) -> Iterator[Both]:
    with receiver() as hook, ExitStack() as stack:
        settings = Settings(store=postgres_url, index=str(tmp_path / "index"))
        libraries = [Library.open(postgres_url, settings, create=n == 0) for n in range(2)]
        for library in libraries:
            stack.callback(library.store.close)
        served = routes(
            RouteSettings(upstream=upstream.url),
            keys="required",
            cache=CacheSettings(enabled=True),
            webhooks={"ops": WebhookSettings(url=hook.url)},
        )
        first, second = (stack.enter_context(running(one, served)) for one in libraries)
        made = Principals(libraries[0].store.database).create(
            "app", roles=[Role.CALLER, Role.LIBRARIAN]
        )
        yield Both(first, second, hook, made.secret)


def test_what_one_gateway_indexes_the_other_finds_and_repeats_no_old_verdict(
    both: Both, upstream: ScriptedUpstream
) -> None:
    assert both.upload(both.first, "remote.md", OLD) == "added"
    plays(upstream, says(f"{OLD.decode()} [1]"))
    fresh = [both.ask(one)["suffice"] for one in (both.first, both.second)]
    again = [both.ask(one)["suffice"] for one in (both.first, both.second)]
    assert [one["verdict"] for one in fresh] == ["SERVE", "SERVE"]
    assert [one["cached"] for one in fresh + again] == [False, False, True, True]
    assert both.upload(both.second, "remote.md", NEW) == "changed"
    plays(upstream, says(f"{NEW.decode()} [1]"))
    for gateway in (both.first, both.second):
        told = both.ask(gateway)
        assert told["suffice"]["cached"] is False
        assert "4 days" in told["choices"][0]["message"]["content"]


def test_uploads_to_both_at_once_are_all_kept(both: Both) -> None:
    names = [f"page-{n}.md" for n in range(6)]

    def upload(n: int) -> str:
        gateway = (both.first, both.second)[n % 2]
        text = f"The door of room {n} is opened by the key number {n + 40}."
        return str(both.upload(gateway, names[n], text.encode()))

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(upload, range(6))) == ["added"] * 6
    for gateway in (both.first, both.second):
        found = httpx2.get(
            f"{gateway.base}/documents",
            headers={"Authorization": f"Bearer {both.key}"},
            timeout=PATIENCE,
        ).json()
        assert [one["document"] for one in found["data"]] == names
        asked = gateway.post(
            "/gate",
            {"question": "Which key opens the door of room 5?"},
            headers={"Authorization": f"Bearer {both.key}"},
        )
        assert "page-5.md" in asked.text
    log = Log(both.first.inner.library.store.database)
    changes = [one for one in log.entries() if one.kind == "document"]
    assert len(changes) == 12
    assert log.verify(deep=True).whole
    log.close()


def test_each_event_is_delivered_once(both: Both, upstream: ScriptedUpstream) -> None:
    plays(upstream, says(f"{OLD.decode()} [1]"))
    body = {
        "model": "m",
        "messages": [{"role": "user", "content": QUESTION}],
        "suffice": {"evidence": [OLD.decode()], "from": "request"},
    }

    def ask(n: int) -> str:
        gateway = (both.first, both.second)[n % 2]
        reply = gateway.post("/chat/completions", body, headers=both._headers)
        return str(reply.json()["suffice"]["record"])

    with ThreadPoolExecutor(8) as pool:
        records = list(pool.map(ask, range(16)))

    def delivered() -> list[str]:
        return [one["record"] for one in both.hook.events() if one["event"].startswith("verdict.")]

    until(lambda: set(delivered()) >= set(records))
    outbox = both.first.inner.webhooks._outbox
    until(lambda: not outbox.list())
    assert sorted(delivered()) == sorted(records)


def test_two_outboxes_take_each_delivery_once(place: str) -> None:
    """What one process has taken, the other does not take until the claim ends."""
    logs = [Log.open(place, create=True) for _ in range(2)]
    outboxes = [Outbox(one.database) for one in logs]
    wants = {"ops": lambda event, entry: True}
    outboxes[0].gather(wants)  # a new webhook begins with the next record
    for _ in range(10):
        logs[0].append(Record("verdict", {"outcome": {"action": "SERVE"}}))

    def taken(outbox: Outbox) -> list[str]:
        found: list[str] = []
        while outbox.gather(wants):
            pass
        while len(found) < 20 and (one := outbox.claim(["ops"], 60.0)) is not None:
            found.append(one.id)
        return found

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(taken, outboxes)
    assert len({*first, *second}) == len(first) + len(second) == 10
    for one in logs:
        one.close()
        one.database.close()
