"""`/readyz` names the part that failed; a store that cannot be written gives 503 and recovers;
files are for the owner alone; a keyless gateway is not opened to everybody by a proxy."""

from __future__ import annotations

import sqlite3
import stat
from collections import namedtuple
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from suffice.access.keys import Principals, Role
from suffice.evidence.library import Library
from suffice.server import endpoints
from suffice.settings import LimitSettings, RouteSettings, Settings
from suffice.testing import ScriptedUpstream, says
from tests.server.gateway import QUESTION, RIGHT, RunningGateway, plays, routes, running

BODY = {"messages": [{"role": "user", "content": QUESTION}]}
Usage = namedtuple("Usage", "total used free")


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Library]:
    """A small library of its own, whose lock timeout is short."""
    opened = Library.open(
        tmp_path / "own" / "store.db", Settings(store_wait_seconds=0.2), create=True
    )
    yield opened
    opened.store.close()


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "_FRESH", 0.0)


def ready(gateway: RunningGateway) -> tuple[int, Any]:
    reply = httpx2.get(f"{gateway.url}/readyz", timeout=60)
    return reply.status_code, reply.json().get("failed")


def test_what_failed_is_named_and_a_locked_store_gives_503_and_recovers(
    own: Library, upstream: ScriptedUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(own, routes(RouteSettings(upstream=upstream.url))) as gateway:
        status, failed = ready(gateway)
        assert (status, list(failed)) == (503, ["index"])
        assert "No documents in the collection 'default'" in failed["index"]
        own.add_texts([("remote.md", "Remote work", RIGHT)])
        assert ready(gateway) == (200, None)
        monkeypatch.setattr("shutil.disk_usage", lambda path: Usage(1, 1, 1_000_000))
        status, failed = ready(gateway)
        assert (status, list(failed)) == (503, ["disk"])
        monkeypatch.undo()
        monkeypatch.setattr(endpoints, "_FRESH", 0.0)
        path = own.store.database.path
        assert path is not None
        plays(upstream, says(RIGHT))
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        status, failed = ready(gateway)
        assert (status, list(failed)) == (503, ["store"])
        refused = gateway.post("/chat/completions", BODY)
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "store_failed")
        assert "3 days" not in refused.text
        other.execute("ROLLBACK")
        other.close()
        assert ready(gateway) == (200, None)
        assert gateway.post("/chat/completions", BODY).status_code == 200


def test_an_empty_gateway_is_ready_for_uploads_and_says_that_its_index_is_empty(
    own: Library,
) -> None:
    with running(own, routes(RouteSettings(upstream="extractive"))) as gateway:
        assert ready(gateway)[0] == 503
        made = Principals(own.store.database).create("curator", roles=[Role.LIBRARIAN])
        reply = httpx2.get(f"{gateway.url}/readyz", timeout=60)
        assert (reply.status_code, reply.json()["status"]) == (200, "ready")
        assert "No documents in the collection 'default'" in reply.json()["conditions"]["index"]
        uploaded = httpx2.post(
            f"{gateway.base}/documents?name=remote.md",
            content=RIGHT.encode(),
            headers={"Authorization": f"Bearer {made.secret}"},
            timeout=60,
        )
        assert uploaded.status_code == 200
        assert "conditions" not in httpx2.get(f"{gateway.url}/readyz", timeout=60).json()


@pytest.mark.parametrize(("wanted", "status"), [("always", 200), ("never", 503)])
def test_readiness_without_documents_can_be_set(own: Library, wanted: Any, status: int) -> None:
    Principals(own.store.database).create("curator", roles=[Role.LIBRARIAN])
    settings = routes(RouteSettings(upstream="extractive"), ready_without_documents=wanted)
    with running(own, settings) as gateway:
        assert ready(gateway)[0] == status


def test_a_full_store_gives_503_and_recovers(own: Library, upstream: ScriptedUpstream) -> None:
    own.add_texts([("remote.md", "Remote work", RIGHT)])
    plays(upstream, says(RIGHT))
    with running(own, routes(RouteSettings(upstream=upstream.url))) as gateway:
        database = own.store.database
        with database.writing() as connection:  # the only connection that writes
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
            connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
        answered = [gateway.post("/chat/completions", BODY) for _ in range(8)]
        full = answered[-1]
        assert (full.status_code, full.json()["error"]["code"]) == (503, "store_failed")
        assert all("3 days" not in one.text for one in answered if one.status_code != 200)
        with database.writing() as connection:
            connection.exec_driver_sql("PRAGMA max_page_count = 1000000")
        assert gateway.post("/chat/completions", BODY).status_code == 200


def test_the_store_and_the_index_are_for_the_owner_alone(own: Library) -> None:
    own.add_texts([("remote.md", "Remote work", RIGHT)])
    path = own.store.database.path
    assert path is not None
    files = [one for one in path.parent.iterdir() if one.is_file()]
    assert {f"{path.name}-wal", f"{path.name}-shm"} <= {one.name for one in files}
    assert {stat.S_IMODE(one.stat().st_mode) for one in files} == {0o600}
    assert stat.S_IMODE(own.store.index.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "header", ["X-Forwarded-For", "X-Forwarded-Proto", "Forwarded", "X-Real-IP"]
)
def test_a_keyless_gateway_refuses_what_a_proxy_forwards(library: Library, header: str) -> None:
    body, sent = {"question": QUESTION}, {header: "203.0.113.7"}
    with running(library, routes(RouteSettings())) as gateway:
        refused = gateway.post("/gate", body, headers=sent)
        assert refused.status_code == 403
        assert "suffice keys create NAME" in refused.json()["error"]["message"]
        assert gateway.post("/gate", body).status_code == 200
    if header == "Forwarded":
        with running(library, routes(RouteSettings(), keyless_forwarded=True)) as gateway:
            assert gateway.post("/gate", body, headers=sent).status_code == 200


def test_headers_that_arrive_at_once_are_limited_too(library: Library) -> None:
    limits = LimitSettings(header_bytes=4_000)
    with running(library, routes(RouteSettings(), limits=limits)) as gateway:
        small, large = ({"X-Note": "a" * size} for size in (2_000, 5_000))
        assert httpx2.get(f"{gateway.url}/healthz", headers=small, timeout=60).status_code == 200
        refused = httpx2.get(f"{gateway.url}/healthz", headers=large, timeout=60)
        assert refused.status_code == 431
        assert "limit of 4,000 bytes" in refused.json()["error"]["message"]
