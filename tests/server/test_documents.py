"""Documents over HTTP, on a real server and store; chat then answers from them."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest

from suffice.access.keys import Principals
from suffice.evidence.library import Library
from suffice.log.log import Log
from suffice.models.wire.replies import EventReader
from suffice.settings import RouteSettings, Settings
from tests.server.gateway import RunningGateway, routes, running
from tests.waiting import PATIENCE

LEAVE = b"# Parental leave\n\nParental leave is 16 weeks for every employee.\n"


def events_of(body: bytes) -> list[tuple[str, Any]]:
    return [(name, json.loads(data)) for name, data in EventReader().feed(body)]


@dataclass(frozen=True)
class Desk:
    """A gateway over an empty store, and keys for it."""

    gateway: RunningGateway
    keys: dict[str, str]
    library: Library

    def call(self, method: str, path: str, key: str = "ada", **more: Any) -> httpx2.Response:
        headers = {"authorization": f"Bearer {self.keys[key]}", **more.pop("headers", {})}
        url = f"{self.gateway.base}/documents{path}"
        return httpx2.request(method, url, headers=headers, timeout=PATIENCE, **more)

    def ask(self, question: str, key: str = "ada") -> Any:
        return self.gateway.client(self.keys[key]).chat.completions.create(
            model="any", messages=[{"role": "user", "content": question}]
        )

    def log(self) -> list[tuple[str, dict[str, Any]]]:
        log = Log(self.library.store.database)
        return [(one.caller, one.fields()) for one in log.entries() if "document" in one.kind]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    folder = tmp_path_factory.mktemp("desk")
    library = Library.open(folder / "s.db", Settings(), create=True)
    principals = Principals(library.store.database)
    keys = {
        "ada": principals.create("ada", ["caller", "librarian"], labels=["hr"]).secret,
        "bob": principals.create("bob", ["librarian"], collections=["public"]).secret,
        "eve": principals.create("eve", ["caller"]).secret,
        "mia": principals.create("mia", ["caller", "librarian"]).secret,
    }
    settings = routes(RouteSettings(upstream="extractive"), keys="required")
    with running(library, settings) as gateway:
        yield Desk(gateway, keys, library)
    library.store.close()


def test_an_uploaded_file_is_searched_listed_shown_and_retired(desk: Desk) -> None:
    made = desk.call("POST", "?name=hr/leave.md&version=2.0&effective=2020-01-01", content=LEAVE)
    assert made.status_code == 200, made.text
    [one] = made.json()["data"]
    assert (one["document"], one["result"], one["version"]) == ("hr/leave.md", "added", "2.0")
    assert "16 weeks" in desk.ask("How long is parental leave?").choices[0].message.content
    form = {"name": "hr/leave.md", "version": "2.0", "effective": "2020-01-01"}
    again = desk.call("POST", "", files={"file": ("x.md", LEAVE)}, data=form)
    assert again.json()["data"][0]["result"] == "unchanged"
    # The same bytes with another date are another version.
    dated = "?name=hr/leave.md&version=2.0&effective=2020-01-01&expires=2020-12-31"
    assert desk.call("POST", dated, content=LEAVE).json()["data"][0]["status"] == "expired"
    shown = desk.call("GET", "/hr/leave.md").json()
    assert "16 weeks" in shown["text"]
    assert len(shown["versions"]) == 2
    assert [one["document"] for one in desk.call("GET", "").json()["data"]] == ["hr/leave.md"]
    assert desk.call("DELETE", "/hr/leave.md").json()["status"] == "retired"
    assert "16 weeks" not in desk.ask("How long is parental leave?").choices[0].message.content
    acts = [fields["act"] for who, fields in desk.log() if who == "ada" and "act" in fields]
    assert acts == ["upload"] * 3 + ["retire"]
    assert [f["done"] for _, f in desk.log() if "done" in f] == [True] * 4
    assert Log(desk.library.store.database).verify().whole


def test_a_form_reports_each_file_and_its_progress_as_events(desk: Desk) -> None:
    files = [
        ("file", ("travel.md", b"# Travel\n\nTrains are second class.\n")),
        ("file", ("broken.pdf", b"not a pdf")),
    ]
    sent = desk.call(
        "POST", "", files=files, data={"access": "hr"}, headers={"accept": "text/event-stream"}
    )
    assert sent.headers["content-type"].startswith("text/event-stream")
    events = events_of(sent.content)
    steps = {data["step"] for name, data in events if name == "progress"}
    assert steps == {"files"}  # the steps of indexing count passages of others
    name, result = events[-1]
    assert name == "result"
    travel, broken = result["data"]
    assert travel["access"] == ["hr"]
    assert broken["document"] == "broken.pdf"
    assert "broken.pdf is damaged or not a PDF" in broken["error"]
    # Only who holds the label sees it, changes it, or gets answers from it.
    assert desk.call("GET", "/travel.md", "mia").status_code == 404
    listed = [one["document"] for one in desk.call("GET", "", "mia").json()["data"]]
    assert "travel.md" not in listed
    assert desk.call("DELETE", "/travel.md", "mia").status_code == 404


def test_an_index_that_is_rebuilt_says_how_far_it_is(desk: Desk) -> None:
    desk.call("POST", "?name=a.txt", content=b"The office opens at 8.")
    events = events_of(desk.call("POST", "/reindex?stream=true").content)
    assert events[-1][0] == "result"
    assert any(name == "progress" and data["step"] == "index" for name, data in events)
    assert desk.call("POST", "/reindex", "bob").status_code == 403


@pytest.mark.parametrize(
    ("query", "body", "status", "says"),
    [
        ("?name=a.exe", b"x", 422, "unsupported suffix ('.exe')"),
        ("?name=a.md", b"", 422, "is empty"),
        ("?name=a.pdf", b"%PDF-broken", 422, "damaged or not a PDF"),
        ("?name=a.md&expires=soon", b"Text.", 422, "Write it as YYYY-MM-DD"),
        ("?name=a.md&expires=2030-01-01", b"---\nexpires: 2031-01-01\n---\nT.\n", 422, "differs"),
        ("?name=../a.md", b"Text.", 400, "relative path"),
        ("", b"Text.", 400, "?name="),
        ("?name=a.md&owner=me", b"Text.", 400, "Unknown field 'owner'"),
        ("?name=a.md&access=board", b"Text.", 403, "labels"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_reason(
    desk: Desk, query: str, body: bytes, status: int, says: str
) -> None:
    reply = desk.call("POST", query, content=body)
    assert (reply.status_code, says in reply.json()["error"]["message"]) == (status, True), (
        reply.text
    )


def test_only_a_librarian_manages_documents_and_only_its_collections(desk: Desk) -> None:
    for method, path in (("POST", "?name=a.md"), ("GET", ""), ("GET", "/a.md"), ("DELETE", "/a")):
        reply = desk.call(method, path, "eve")
        assert reply.status_code == 403
        assert "librarian" in reply.json()["error"]["message"]
    assert desk.call("POST", "?name=a.md", "bob", content=b"T.").status_code == 403
    mine = desk.call("POST", "?name=a.md&collection=public", "bob", content=b"Tea is free.")
    assert mine.json()["data"][0]["collection"] == "public"
    keyless = httpx2.post(f"{desk.gateway.base}/documents?name=a.md", content=b"T.")
    assert keyless.status_code == 401


def test_size_and_forms_are_limited(desk: Desk) -> None:
    def sent() -> Iterator[bytes]:  # no content-length: the limit holds while it arrives
        for _ in range(52):
            yield b"x" * 1_000_000

    assert desk.call("POST", "?name=a.txt", content=sent()).status_code == 413
    many = [("file", (f"{n}.md", b"T.")) for n in range(21)]
    assert desk.call("POST", "", files=many).status_code == 400
    odd = {"content-type": "multipart/form-data"}
    assert desk.call("POST", "", content=b"x", headers=odd).status_code == 400


def test_the_gateway_answers_while_a_file_is_indexed(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    held, begun = threading.Event(), threading.Event()
    save = type(desk.library.store).save

    def slow(*args: Any) -> None:
        begun.set()
        assert held.wait(PATIENCE)
        save(*args)

    monkeypatch.setattr(type(desk.library.store), "save", slow)
    replies: list[httpx2.Response] = []
    upload = threading.Thread(
        target=lambda: replies.append(desk.call("POST", "?name=slow.md", content=b"Slow text."))
    )
    upload.start()
    assert begun.wait(PATIENCE)
    assert httpx2.get(f"{desk.gateway.url}/healthz", timeout=PATIENCE).status_code == 200
    assert desk.ask("When does the office open?").choices
    held.set()
    upload.join(PATIENCE)
    assert json.loads(replies[0].text)["data"][0]["result"] == "added"
