"""For whoever may not read a document, nothing shows that it exists.

Two gateways hold the same public documents. One of them also holds documents with a label, in every
position that could show: newer versions of public ones, the same names, and with answers, feedback
and reviews by people who may read them. A key without the label calls every endpoint, page, tool
and export of both: no byte of a reply differs. The endpoints come from the table of routes and the
tools from the server, so a new one without a case fails here.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client, MCPError
from starlette.routing import BaseRoute, Mount, Route

from suffice.access.keys import Principals, Role
from suffice.engine import Engine
from suffice.evidence.library import Library
from suffice.log import trace
from suffice.log.log import Log
from suffice.server.app import create_app
from suffice.server.mcp.server import open_server
from suffice.server.mcp.tools import ToolCaller, Tools
from suffice.settings import RecordSettings, RouteSettings, Settings
from suffice.webhooks import event_of, payload_of
from tests.server.gateway import RunningGateway, routes, running
from tests.waiting import PATIENCE

LEAVE = "How long is parental leave?"
BONUS = "How much is the bonus?"
PUBLIC = {
    "leave.md": "---\nid: leave\ntitle: Parental leave\nversion: 1\n---\n"
    "# Parental leave\n\nParental leave is 16 weeks for every employee.\n",
    "travel.md": "# Travel\n\nTrains are booked in second class.\n",
    "doors.md": "# Doors\n\nThe office doors open at 8 in the morning.\n",
}
HIDDEN = {
    "leave-2026.md": "---\nid: leave\ntitle: Parental leave\nversion: 2\neffective: 2026-01-01\n"
    "expires: 2027-01-01\naccess: [hr]\n---\n# Parental leave\n\n"
    "Parental leave is 18 weeks for every employee.\n",
    "travel.md": "---\naccess: [hr]\n---\n# Travel\n\nDirectors travel in first class.\n",
    "bonus.md": "---\ntitle: Bonus\naccess: [hr]\n---\n# Bonus\n\nThe bonus is 900 euros.\n",
    "aa/bonus.md": "---\ntitle: Doors and leave\naccess: [hr, board]\n---\nDoors of the vault.\n",
}
ANY_ID = "01m7s0fbj88e6ex95vy012zfgz"
_NORMAL = (
    # Random ids and secrets, and times of the clock; nothing else may differ.
    (re.compile(r"\b01[0-9a-hjkmnp-tv-z]{24}\b"), "ID"),
    (re.compile(r"\b[0-9a-f]{32,64}\b"), "HEX"),
    (re.compile(r"\b(?:chatcmpl|cmpl|resp|msg|call|req)[-_][0-9A-Za-z_-]{8,}"), "CALL"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?"), "TIME"),
    (re.compile(r'("|&#34;)created(_at)?\1: ?\d+'), '"created": 0'),
    (re.compile(r"127\.0\.0\.1:\d+"), "HOST"),
)
_PASSING_HEADERS = {"date", "content-length", "set-cookie"}


def normal(text: str) -> str:
    for pattern, word in _NORMAL:
        text = pattern.sub(word, text)
    return text


@dataclass
class World:
    """One of the two gateways, as the key without the label sees it."""

    site: RunningGateway
    library: Library
    key: str
    known: dict[str, str] = field(default_factory=dict)
    """Ids of records: `mine`, and `foreign`, which exists in one world only."""
    replies: dict[str, str] = field(default_factory=dict)

    def call(self, method: str, path: str, **options: Any) -> httpx2.Response:
        headers = {"authorization": f"Bearer {self.key}", **options.pop("headers", {})}
        url = f"{self.site.url}{path}"
        return httpx2.request(method, url, headers=headers, timeout=PATIENCE, **options)

    def note(self, method: str, path: str, **options: Any) -> httpx2.Response:
        reply = self.call(method, path, **options)
        headers = {k: v for k, v in reply.headers.items() if k.lower() not in _PASSING_HEADERS}
        body = f"{reply.status_code}\n{json.dumps(headers, sort_keys=True)}\n{reply.text}"
        self.replies[f"{len(self.replies)} {method} {normal(path)}"] = normal(body)
        return reply

    def submit(self, page: str, to: str, **fields: str) -> httpx2.Response:
        """Send a form with the token of a page."""
        with httpx2.Client(timeout=PATIENCE) as client:
            client.headers["authorization"] = f"Bearer {self.key}"
            found = re.search(
                r'name="csrf" value="([0-9a-f]{64})"', client.get(f"{self.site.url}{page}").text
            )
            token = found[1] if found else "0" * 64
            headers = {"origin": self.site.url}
            reply = client.post(
                f"{self.site.url}{to}", data={"csrf": token, **fields}, headers=headers
            )
        self.replies[f"{len(self.replies)} FORM {normal(to)} {fields}"] = normal(
            f"{reply.status_code} {reply.headers.get('location', '')}\n{reply.text}"
        )
        return reply


Case = Callable[[World], object]


def post(path: str, **body: Any) -> Case:
    return lambda world: world.note("POST", path, json=body)


def get(*paths: str) -> Case:
    def case(world: World) -> None:
        for path in paths:
            world.note("GET", path.format(**world.known))

    return case


def form(page: str, to: str, *each: dict[str, str]) -> Case:
    def case(world: World) -> None:
        for fields in each or ({},):
            for record in ("mine", "foreign"):
                place = to.format(record=world.known[record])
                world.submit(page.format(record=world.known["mine"]), place, **fields)
                if place == to:
                    break

    return case


def chat(path: str) -> Case:
    def case(world: World) -> None:
        for question in (LEAVE, BONUS, "What did version 2 of the parental leave say?"):
            asked = [{"role": "user", "content": question}]
            body = {"model": "any", "messages": asked, "max_tokens": 100}
            world.note("POST", path, json=body)
            world.note("POST", path, json={**body, "stream": True})

    return case


def uploads(world: World) -> None:
    """Names, ids and titles of hidden documents, and labels that the key does not hold."""
    for name, text in {**PUBLIC, **HIDDEN}.items():
        for written in (text, re.sub(r"access:.*\n", "", text), f"# Other\n\n{name}.\n"):
            path = f"/v1/documents?name={name}"
            world.note("POST", path, content=written.encode())
            events = {"accept": "text/event-stream"}
            world.note("POST", path, content=written.encode(), headers=events)
    world.note("POST", "/v1/documents?name=x.md&access=hr", content=b"Text.")
    world.note("GET", "/v1/documents?limit=2")
    world.note("GET", "/v1/documents?collection=vault")


def retirements(world: World) -> None:
    for name in (*HIDDEN, "none.md"):
        world.note("DELETE", f"/v1/documents/{name}")
    world.note("GET", "/v1/documents")


_ENTRIES = [f"/{name}" for name in (*PUBLIC, *HIDDEN, "none.md")]
CASES: dict[tuple[str, str], Case] = {
    ("GET", "/healthz"): get("/healthz"),
    ("GET", "/readyz"): get("/readyz"),
    ("GET", "/openapi.json"): get("/openapi.json"),
    ("GET", "/metrics"): get("/metrics"),
    ("POST", "/v1/chat/completions"): chat("/v1/chat/completions"),
    ("POST", "/v1/completions"): post("/v1/completions", model="any", prompt=LEAVE),
    ("POST", "/v1/responses"): post("/v1/responses", model="any", input=BONUS),
    ("POST", "/v1/messages"): chat("/v1/messages"),
    ("POST", "/v1/embeddings"): post("/v1/embeddings", model="any", input="leave"),
    ("GET", "/v1/models"): get("/v1/models"),
    ("GET", "/v1/models/{model:path}"): get("/v1/models/any"),
    ("POST", "/v1/gate"): lambda world: [
        world.note("POST", "/v1/gate", json={"question": one}) for one in (LEAVE, BONUS, "Vault?")
    ],
    ("POST", "/v1/check"): post(
        "/v1/check", answer="Leave is 18 weeks (bonus.md) [1].", evidence=["Leave is 16 weeks."]
    ),
    ("POST", "/v1/feedback"): lambda world: [
        world.note("POST", "/v1/feedback", json={"record": one, "rating": "down"})
        for one in (*world.known.values(), "none", "3")
    ],
    ("GET", "/v1/reviews/{record}"): get(
        "/v1/reviews/{mine}", "/v1/reviews/{foreign}", "/v1/reviews/{upload}", "/v1/reviews/4"
    ),
    ("GET", "/v1/guarantee"): get("/v1/guarantee"),
    ("GET", "/v1/monitor"): get("/v1/monitor"),
    ("GET", "/v1/documents"): get("/v1/documents", "/v1/documents?limit=1&after=bonus.md"),
    ("GET", "/v1/documents/{name:path}"): get(
        *(f"/v1/documents{name}" for name in _ENTRIES),
        "/v1/documents/leave.md?version=2",
        "/v1/documents/leave-2026.md?version=2",
        "/v1/documents/bonus.md?collection=vault",
    ),
    ("POST", "/v1/council/vote"): post("/v1/council/vote", question=LEAVE, answer="16 weeks."),
    ("GET", "/ui/"): get("/ui/"),
    ("GET", "/ui/static/{name}"): get("/ui/static/data.css"),
    ("GET", "/ui/sign-in"): get("/ui/sign-in"),
    ("GET", "/ui/overview"): get("/ui/overview", "/ui/overview?period=24h"),
    ("GET", "/ui/log"): get(
        "/ui/log",
        "/ui/log?text=bonus",
        "/ui/log?text=18 weeks",
        "/ui/log?document=bonus.md",
        "/ui/log?document=leave.md",
        "/ui/log?caller=ada",
        "/ui/log?before={foreign}",
        "/ui/log?before=3",
    ),
    ("POST", "/ui/log/export"): form("/ui/log", "/ui/log/export", {}, {"text": "bonus"}),
    ("POST", "/ui/log/verify"): form("/ui/log", "/ui/log/verify"),
    ("GET", "/ui/log/{id}"): get("/ui/log/{mine}", "/ui/log/{foreign}", "/ui/log/{upload}"),
    ("GET", "/ui/log/{id}/json"): get("/ui/log/{mine}/json", "/ui/log/{foreign}/json"),
    ("POST", "/ui/log/{id}/replay"): form("/ui/log/{record}", "/ui/log/{record}/replay"),
    ("GET", "/ui/documents"): get(
        "/ui/documents",
        "/ui/documents?text=bonus",
        "/ui/documents?view=never",
        "/ui/documents?view=cited",
        "/ui/documents?view=expired",
        "/ui/documents?view=calendar",
        "/ui/documents?collection=vault",
    ),
    ("GET", "/ui/documents/{name:path}"): get(*(f"/ui/documents{name}" for name in _ENTRIES)),
    ("GET", "/ui/health"): get("/ui/health"),
    ("GET", "/ui/health/tests"): get("/ui/health/tests"),
    ("GET", "/ui/health/gaps"): get("/ui/health/gaps"),
    ("POST", "/ui/health/gaps"): form("/ui/health/gaps", "/ui/health/gaps"),
    ("GET", "/ui/try"): get("/ui/try"),
    ("POST", "/ui/try"): form("/ui/try", "/ui/try", {"question": LEAVE}, {"question": BONUS}),
    ("GET", "/ui/queue"): get("/ui/queue", "/ui/queue?view=decided", "/ui/queue?view=dismissed"),
    ("POST", "/ui/queue/labels.jsonl"): form("/ui/queue", "/ui/queue/labels.jsonl"),
    ("GET", "/ui/queue/{record}"): get("/ui/queue/{mine}", "/ui/queue/{foreign}", "/ui/queue/3"),
    ("POST", "/ui/queue/{record}"): form(
        "/ui/queue/{record}",
        "/ui/queue/{record}",
        {"do": "comment", "comment": "Hm.", "seen": "9"},
        {"do": "decide", "choice": "dismiss", "reason": "x", "seen": "9"},
    ),
    ("GET", "/ui/settings"): get("/ui/settings"),
    ("GET", "/ui/people"): get("/ui/people"),
    ("GET", "/ui/password"): get("/ui/password"),
    ("GET", "/ui/{path:path}"): get("/ui/none"),
    ("POST", "/v1/documents/reindex"): lambda world: [
        world.note("POST", "/v1/documents/reindex"),
        world.note("POST", "/v1/documents/reindex?stream=true"),
    ],
    # These change documents, so they come last.
    ("POST", "/v1/documents"): uploads,
    ("DELETE", "/v1/documents/{name:path}"): retirements,
}
SHOW_NOTHING = {
    # Forms about sign-in, keys, settings and the guide, which read no documents and no records.
    ("POST", "/ui/sign-in"),
    ("POST", "/ui/sign-out"),
    ("POST", "/ui/password"),
    ("POST", "/ui/people/keys"),
    ("POST", "/ui/people/keys/revoke"),
    ("POST", "/ui/people/accounts"),
    ("POST", "/ui/people/accounts/disable"),
    ("POST", "/ui/{path:path}"),
}


def table(found: list[BaseRoute], above: str = "") -> Iterator[tuple[str, str]]:
    """Each endpoint of an app; those under a route's name are those under `/v1`."""
    for one in found:
        if isinstance(one, Mount) and one.path != "/{route}/v1":
            yield from table(list(one.routes), above + one.path)
        elif isinstance(one, Route):
            yield from ((method, above + one.path) for method in (one.methods or ()))


def test_every_endpoint_has_a_case(library: Library) -> None:
    app = create_app(routes(RouteSettings(upstream="extractive")), library)
    found = {(method, path) for method, path in table(list(app.routes)) if method != "HEAD"}
    gaps = found - CASES.keys() - SHOW_NOTHING
    assert not {one for one in gaps if not one[1].startswith("/ui/guide")}
    assert not CASES.keys() - found


@contextmanager
def world(folder: Path, *, hidden: bool) -> Iterator[World]:
    settings = replace(
        routes(RouteSettings(upstream="extractive"), keys="required"),
        record=RecordSettings(review_sample=1.0),
    )
    library = Library.open(folder / "s.db", Settings(), create=True)
    everything = [role for role in Role if role is not Role.ADMIN]
    principals = Principals(library.store.database)
    mallory = principals.create("mallory", everything, routes=["default"]).secret
    ada = principals.create("ada", everything, labels=["hr", "board"], routes=["default"]).secret
    with running(library, settings) as site:
        site.inner.indexing._pause = 0.0  # each page reads the newest records
        one, other = World(site, library, mallory), World(site, library, ada)
        for name, text in PUBLIC.items():
            reply = one.call("POST", f"/v1/documents?name={name}", content=text.encode())
            assert reply.status_code == 200, reply.text
        foreign = upload = ANY_ID
        if hidden:
            foreign, upload = inhabit(other)
        asked = [{"role": "user", "content": LEAVE}]
        mine = one.call(
            "POST", "/v1/chat/completions", json={"model": "any", "messages": asked}
        ).json()["suffice"]["record"]
        one.known = {"mine": mine, "foreign": foreign, "upload": upload, "record": mine}
        yield one
    library.store.close()


def inhabit(ada: World) -> tuple[str, str]:
    """Add the hidden documents, ask about them, and review what came of it."""
    for name, text in HIDDEN.items():
        reply = ada.call("POST", f"/v1/documents?name={name}", content=text.encode())
        assert reply.status_code == 200, reply.text
    vault = "/v1/documents?name=bonus.md&collection=vault"
    assert ada.call("POST", vault, content=HIDDEN["bonus.md"].encode()).status_code == 200
    records = []
    for question in (BONUS, LEAVE, "How much is the bonus of the vault in Lisbon?"):
        asked = {"model": "any", "messages": [{"role": "user", "content": question}]}
        answer = ada.call("POST", "/v1/chat/completions", json=asked).json()
        records.append(answer["suffice"]["record"])
        ada.call("POST", "/v1/gate", json={"question": question})
    for record in records:
        reply = ada.call("POST", "/v1/feedback", json={"record": record, "rating": "down"})
        assert reply.status_code == 200
    page = f"/ui/queue/{records[0]}"
    assert ada.submit(page, page, do="assign", assignee="ada", seen="9").status_code == 303
    log = Log(ada.library.store.database)
    upload = next(entry.id for entry in log.entries() if entry.kind == "document")
    return records[0], upload


def tools_of(world: World) -> None:
    """Call every tool and resource of the MCP server."""
    log = Log(world.library.store.database)
    tools = Tools(Engine(library=world.library, log=log))
    for caller in (ToolCaller("mallory", by_key=True), ToolCaller("local")):
        server = open_server(tools, caller)
        anyio.run(_use, world, server)
    log.close()


TOOL_CALLS: dict[str, list[dict[str, Any]]] = {
    "search_evidence": [{"question": one} for one in (LEAVE, BONUS, "Vault?")],
    "ask": [{"question": LEAVE}, {"question": BONUS}],
    "validate_draft": [
        {"draft": "Leave is 18 weeks.", "question": LEAVE},
        {"draft": "The bonus is 900 euros [1].", "passages": ["bonus.md@12345678#0-9"]},
    ],
    "show_passage": [{"passage": "bonus.md@12345678#0-9"}],
    "show_document": [
        {"document": name, "version": version}
        for name in (*PUBLIC, *HIDDEN, "none.md")
        for version in ("", "2")
    ],
    "report_feedback": [
        {"record": record, "rating": "up"} for record in ("{mine}", "{foreign}", "3", "none")
    ],
}


async def _use(world: World, server: Any) -> None:
    async with Client(server) as client:
        named = {tool.name for tool in (await client.list_tools()).tools}
        assert named == TOOL_CALLS.keys(), "a tool without a case"
        world.replies[f"{len(world.replies)} tools"] = str(sorted(named))
        for name, calls in TOOL_CALLS.items():
            for arguments in calls:
                filled = {
                    key: value.format(**world.known) if isinstance(value, str) else value
                    for key, value in arguments.items()
                }
                result = await client.call_tool(name, filled)
                world.replies[f"{len(world.replies)} {name} {arguments}"] = normal(
                    f"{result.is_error} {result.structured_content} {result.content}"
                )
        listed = (await client.list_resources()).resources
        world.replies[f"{len(world.replies)} resources"] = str(listed)
        for name in (*PUBLIC, *HIDDEN):
            try:
                read = str(await client.read_resource(f"suffice://documents/{name}"))
            except MCPError as problem:
                read = str(problem)
            world.replies[f"{len(world.replies)} resource {name}"] = read


def webhooks_of(world: World) -> None:
    """What a webhook tells about decisions of the key without the label."""
    log = Log(world.library.store.database)
    mine = [one for one in log.entries() if one.caller == "mallory"]
    for n, entry in enumerate(mine):
        event = event_of(entry)
        if entry.kind in ("verdict", "gap", "queue", "feedback"):
            told = payload_of(entry, event, "delivery", "all")
            world.replies[f"{len(world.replies)} webhook {n}"] = normal(json.dumps(told))
    log.close()


def observed(folder: Path, *, hidden: bool) -> dict[str, str]:
    with world(folder, hidden=hidden) as one:
        cases = list(CASES.values())
        for case in cases[:-2]:
            case(one)
        tools_of(one)
        for case in cases[-2:]:
            case(one)
        for case in (CASES["POST", "/v1/gate"], CASES["GET", "/ui/documents"]):
            case(one)  # after the uploads and retirements
        webhooks_of(one)
        return one.replies


def test_a_hidden_document_changes_no_byte_of_any_reply(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Durations stand still: they are shown, and they are beside the point.
    monkeypatch.setattr(time, "perf_counter", lambda: 0.0)
    made: Any = trace.Timings.__init__
    monkeypatch.setattr(made, "__defaults__", (lambda: 0.0, *made.__defaults__[1:]))
    without = observed(tmp_path / "without", hidden=False)
    within = observed(tmp_path / "with", hidden=True)
    assert without.keys() == within.keys()
    differing = [name for name in without if without[name] != within[name]]
    for name in differing[:6]:
        pairs = zip(without[name].splitlines(), within[name].splitlines(), strict=False)
        first = next((pair for pair in pairs if pair[0] != pair[1]), ("", "length"))
        print(name, *(f"\n   {side[:600]}" for side in first))
    assert differing == []
    assert len(without) > 150
