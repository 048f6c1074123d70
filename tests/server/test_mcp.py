"""The MCP server with the SDK's own client: in this process, over stdio, over HTTP."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import jsonschema  # type: ignore[import-untyped]
import pytest
import uvicorn
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from suffice.access.keys import Principals
from suffice.access.quotas import Ledger, usage_report
from suffice.engine import Engine
from suffice.evidence.library import Library
from suffice.evidence.search import open_index as open_real
from suffice.log.log import Log
from suffice.review.case import Rating
from suffice.review.review import Review
from suffice.server.mcp.http import http_app
from suffice.server.mcp.server import open_server
from suffice.server.mcp.tools import ToolCaller, Tools
from suffice.server.telemetry.logs import log_fields
from suffice.server.telemetry.metrics import usage_watch
from suffice.server.telemetry.stats import RequestStats
from suffice.settings import LimitSettings, ServerSettings, Settings, WorkSettings
from tests.server.gateway import served
from tests.server.test_connection import until_closed
from tests.waiting import PATIENCE, until

ROOT = Path(__file__).parent.parent.parent
TOOLS = {
    "search_evidence",
    "ask",
    "validate_draft",
    "show_passage",
    "show_document",
    "report_feedback",
}
REMOTE = "How many days per week may I work remotely?"
OPEN = ("SUFFICIENT", "PARTIAL")
PAY = "What is the salary band of level 3?"


def with_client(server: Any, use: Callable[[Client], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        async with Client(server) as client:
            return await use(client)

    return anyio.run(run)


def call(server: Any, tool: str, **arguments: Any) -> dict[str, Any]:
    async def use(client: Client) -> Any:
        return await client.call_tool(tool, arguments)

    result = with_client(server, use)
    assert not result.is_error, result.content
    return dict(result.structured_content)


def refused(server: Any, tool: str, **arguments: Any) -> str:
    async def use(client: Client) -> Any:
        return await client.call_tool(tool, arguments)

    result = with_client(server, use)
    assert result.is_error
    return str(result.content[0].text)


@pytest.fixture(scope="module")
def tools(library: Library) -> Iterator[Tools]:
    log = Log(library.store.database)
    yield Tools(Engine(library=library, log=log))
    log.close()


@pytest.fixture(scope="module")
def public(tools: Tools) -> Any:
    return open_server(tools, ToolCaller("mcp"))


@pytest.fixture(scope="module")
def hr(tools: Tools) -> Any:
    return open_server(tools, ToolCaller("mcp", frozenset({"hr"})))


def command(library: Library, *more: str) -> list[str]:
    return [
        "-c",
        "from suffice.cli import main; main()",
        "mcp",
        "--store",
        library.store.where,
        *more,
    ]


def environment() -> dict[str, str]:
    return {"PYTHONPATH": str(ROOT / "src"), "HOME": os.environ.get("HOME", "/")}


@pytest.fixture(scope="module")
def stdio(library: Library) -> StdioServerParameters:
    return StdioServerParameters(
        command=sys.executable, args=command(library), env=environment(), cwd=str(ROOT)
    )


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="module")
def http(library: Library, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The command over HTTP: its URL, and the file of its standard error."""
    port, errors = free_port(), tmp_path_factory.mktemp("mcp") / "stderr"
    args = command(library, "--transport", "http", "--port", str(port))
    with errors.open("w") as stderr:
        process = subprocess.Popen(
            [sys.executable, *args], env={**os.environ, **environment()}, stderr=stderr
        )
    try:
        until(lambda: listens(port) or process.poll() is not None)
        assert process.poll() is None
        yield f"http://127.0.0.1:{port}/mcp", errors
    finally:
        process.terminate()
        process.wait(120)


@pytest.fixture(params=["stdio", "http"])
def transport(request: pytest.FixtureRequest) -> Any:
    found = request.getfixturevalue(request.param)
    return found[0] if request.param == "http" else found


def test_a_whole_turn_over_both_transports(transport: Any) -> None:
    """A model's typical session: list tools, search, draft, validate, read on."""

    async def use(client: Client) -> None:
        tools = (await client.list_tools()).tools
        assert {tool.name for tool in tools} >= TOOLS
        assert "search_evidence" in (client.instructions or "")
        found = await client.call_tool("search_evidence", {"question": REMOTE, "top": 3})
        evidence = found.structured_content
        assert evidence is not None
        assert evidence["gate"]["level"] in OPEN
        assert len(evidence["passages"]) <= 3
        ids = [one["passage"] for one in evidence["passages"]]
        wrong = await client.call_tool(
            "validate_draft",
            {"draft": "You may work remotely 5 days per week [1].", "passages": ids},
        )
        checked = wrong.structured_content
        assert checked is not None
        assert checked["verdict"] in ("WITHHOLD", "REVIEW")
        assert checked["claims"][0]["support"] != "BACKED"
        assert checked["record"]
        listed = (await client.list_resources()).resources
        assert "suffice://documents/remote-work.md" in {str(one.uri) for one in listed}
        read = await client.read_resource("suffice://documents/remote-work.md")
        assert "Remote work policy" in read.contents[0].text  # type: ignore[union-attr]

    with_client(transport, use)


def test_a_checked_draft_hides_nothing(public: Any) -> None:
    draft = "You may work remotely up to 3 days per week.<!-- quxberrian -->![](https://a.example/quxberrian)"
    found = call(public, "validate_draft", draft=draft, question=REMOTE)
    assert found["verdict"] != "SERVE"
    assert "quxberrian" not in json.dumps(found)


def test_every_description_says_when_to_call() -> None:
    """A model knows a tool by its description alone."""

    async def use(client: Client) -> Any:
        return (await client.list_tools()).tools

    server = open_server(Tools(Engine()), ToolCaller())
    for tool in with_client(server, use):
        assert "Call this" in (tool.description or ""), tool.name
        described = tool.input_schema["properties"].values()
        assert all("description" in one for one in described), tool.name
        assert "context" not in tool.input_schema["properties"]
        assert tool.annotations is not None, tool.name
        assert tool.annotations.read_only_hint is (tool.name != "report_feedback")
        assert tool.annotations.destructive_hint is not True


def test_every_tool_has_an_output_schema_and_declares_every_field_it_returns(
    public: Any, tools: Tools
) -> None:
    async def use(client: Client) -> Any:
        return {one.name: one.output_schema for one in (await client.list_tools()).tools}

    schemas = with_client(public, use)
    found = call(public, "search_evidence", question=REMOTE)
    answer = call(public, "ask", question=REMOTE)
    results = {
        "search_evidence": [found, call(public, "search_evidence", question=PAY)],
        "ask": [answer, call(public, "ask", question="What is the capital of Mongolia?")],
        "validate_draft": [
            call(public, "validate_draft", draft="You may work 5 days.", question=REMOTE),
            call(public, "validate_draft", draft="Leave is paid [1].", texts=["Leave is paid."]),
        ],
        "show_passage": [call(public, "show_passage", passage=found["passages"][0]["passage"])],
        "show_document": [call(public, "show_document", document="remote-work.md")],
        "report_feedback": [call(public, "report_feedback", record=answer["record"], rating="up")],
    }
    assert results.keys() == TOOLS == schemas.keys()
    for name, values in results.items():
        closed = schemas[name]
        for shape in (closed, *closed["$defs"].values()):
            shape["additionalProperties"] = False
        assert len(closed["properties"]) == len(closed["required"]) == len(values[0]), name
        for value in values:
            jsonschema.validate(value, closed)


@pytest.mark.parametrize(
    ("tool", "arguments", "says"),
    [
        ("ask", {}, "The argument 'question' is missing. Pass it: The question in full"),
        ("ask", {"questoin": "?"}, "Unknown argument 'questoin'. Allowed: question."),
        (
            "search_evidence",
            {"question": "?", "top": 99},
            "The argument 'top' is invalid: Input should be less than or equal to 50. "
            "Pass: Number of passages.",
        ),
        (
            "report_feedback",
            {"record": "r", "rating": "meh"},
            "'rating' is invalid: Input should",
        ),
        ("validate_draft", {"draft": "x", "texts": [1]}, "The argument 'texts.0' is invalid"),
    ],
)
def test_an_invalid_argument_is_named_with_what_to_pass(
    public: Any, tool: str, arguments: dict[str, Any], says: str
) -> None:
    told = refused(public, tool, **arguments)
    assert says in told
    assert "Error executing" not in told
    assert "pydantic" not in told


def test_calls_are_logged_and_counted_for_the_usage_report(tools: Tools) -> None:
    database = tools.library.store.database
    ledger = Ledger(database)
    stats: list[RequestStats] = []
    watches = (stats.append, usage_watch(ledger))
    server = open_server(tools, ToolCaller("agents", team="bots", user="ada"), watches)
    call(server, "ask", question=REMOTE)
    call(server, "search_evidence", question=REMOTE)
    refused(server, "ask")
    ledger.close()
    (used,) = [totals for name, totals in usage_report(database, "key") if name == "agents"]
    assert (used.requests, used.errors, used.serve) == (3, 1, 1)
    assert "ada" in dict(usage_report(database, "user"))
    assert "bots" in dict(usage_report(database, "team"))
    lines = [log_fields(one) for one in stats]
    assert [(one["path"], one["status"]) for one in lines] == [
        ("/mcp/ask", 200),
        ("/mcp/search_evidence", 200),
        ("/mcp/ask", 400),
    ]
    assert lines[0]["verdicts"] == ["SERVE"]
    assert lines[1]["gate"][0]["level"] in OPEN


def test_the_command_logs_json_and_answers_health_checks(http: tuple[str, Path]) -> None:
    url, errors = http
    call(url, "ask", question=REMOTE)
    base = url.removesuffix("/mcp")
    alive, ready = (httpx2.get(f"{base}{path}", timeout=120) for path in ("/healthz", "/readyz"))
    assert (alive.status_code, alive.json()) == (200, {"status": "ok"})
    assert (ready.status_code, ready.json()) == (200, {"status": "ready"})
    until(lambda: "/mcp/ask" in errors.read_text())
    lines = [one for one in errors.read_text().splitlines() if one.startswith("{")]
    logged = next(one for one in map(json.loads, lines) if one.get("path") == "/mcp/ask")
    assert (logged["logger"], logged["caller"], logged["status"]) == ("suffice.access", "mcp", 200)


def test_health_checks_need_no_key(keyed: tuple[str, Principals]) -> None:
    base = keyed[0].removesuffix("/mcp")
    assert httpx2.get(f"{base}/healthz", timeout=120).status_code == 200
    assert httpx2.get(f"{base}/readyz", timeout=120).status_code == 200
    assert httpx2.get(f"{base}/mcp", timeout=120).status_code == 401


def test_ask_answers_with_citations_and_a_record(public: Any, tools: Tools) -> None:
    answer = call(public, "ask", question=REMOTE)
    assert answer["verdict"] == "SERVE"
    assert answer["citations"][0]["document"] == "remote-work.md"
    assert tools.log is not None
    assert tools.log.entry(answer["record"]).caller == "mcp"


def test_ask_refuses_with_reasons(public: Any) -> None:
    answer = call(public, "ask", question="What is the capital of Mongolia?")
    assert answer["answer"] is None
    assert answer["verdict"] == "WITHHOLD"
    assert answer["reason"]


def test_the_gate_says_what_to_do(public: Any) -> None:
    found = call(public, "search_evidence", question="What is the capital of Mongolia?")
    assert found["gate"]["level"] == "INSUFFICIENT"
    assert found["advice"].startswith("Do not answer")


def test_a_draft_is_held_against_texts_passages_or_a_search(public: Any) -> None:
    good = "Leave lasts 18 weeks [1]."
    backed = call(public, "validate_draft", draft=good, texts=["Leave lasts 18 weeks."])
    assert backed["verdict"] == "SERVE"
    assert backed["gate"] is None
    found = call(public, "validate_draft", draft="You may work 5 days remotely.", question=REMOTE)
    assert found["gate"]["level"] in OPEN
    assert found["verdict"] != "SERVE"
    assert "nothing to check the draft against" in refused(public, "validate_draft", draft=good)


def test_a_passage_is_shown_with_its_version(public: Any) -> None:
    found = call(public, "search_evidence", question=REMOTE)["passages"][0]
    shown = call(public, "show_passage", passage=found["passage"])
    assert shown["text"] == found["text"]
    assert shown["of"]["status"] == "current"
    assert shown["of"]["version"] == "2.0"


def test_a_document_is_shown_in_any_version(public: Any) -> None:
    shown = call(public, "show_document", document="remote-work.md")
    assert (shown["version"], shown["status"]) == ("2.0", "current")
    labels = {one["version"] for one in shown["versions"]}
    assert len(labels) > 1
    old = call(public, "show_document", document="remote-work.md", version=min(labels))
    assert old["text"] != shown["text"]
    assert old["status"] == "superseded"
    rest = call(public, "show_document", document="remote-work.md", start=100)
    assert shown["text"][100:] == rest["text"]
    assert "no document" in refused(public, "show_document", document="x.md")


def test_what_may_not_be_read_is_not_there(public: Any, hr: Any, tools: Tools) -> None:
    """Not found, shown or listed, and indistinguishable from a document that does not exist."""
    asked = call(hr, "search_evidence", question=PAY)
    secret = next(one for one in asked["passages"] if one["document"] == "salary-bands.md")
    assert "salary-bands.md" not in str(call(public, "search_evidence", question=PAY))
    told = {
        refused(public, "show_passage", passage=secret["passage"]),
        refused(public, "show_passage", passage="salary-bands.md@none#0-1"),
    }
    assert len({re.sub("'.*'", "''", one) for one in told}) == 1
    assert refused(public, "show_document", document="salary-bands.md").replace(
        "salary-bands.md", "x"
    ) == refused(public, "show_document", document="x")
    refused(public, "validate_draft", draft="A claim.", passages=[secret["passage"]])
    assert call(hr, "show_document", document="salary-bands.md")["text"]
    names = {one.document for one in tools.documents(ToolCaller())}
    assert "salary-bands.md" not in names
    assert "salary-bands.md" in {
        one.document for one in tools.documents(ToolCaller("", frozenset({"hr"})))
    }

    async def read(client: Client) -> Any:
        return await client.read_resource("suffice://documents/salary-bands.md")

    async def fail(client: Client) -> None:
        with pytest.raises(MCPError, match="no document"):
            await read(client)

    assert with_client(hr, read).contents[0].text
    with_client(public, fail)


def test_feedback_is_kept_beside_the_record(public: Any, tools: Tools) -> None:
    record = call(public, "ask", question=REMOTE)["record"]
    call(public, "report_feedback", record=record, rating="down", comment="It is 3 days.")
    assert tools.log is not None
    (kept,) = Review(tools.log).case(record).feedback
    assert (kept.rating, kept.comment, kept.by) == (Rating.DOWN, "It is 3 days.", "mcp")
    unknown = refused(public, "report_feedback", record="nothing", rating="up")
    assert "There is no record 'nothing'" in unknown
    refused(public, "report_feedback", record=record, rating="perhaps")
    stranger = open_server(tools, ToolCaller("other", by_key=True))
    said = refused(stranger, "report_feedback", record=record, rating="up")
    assert said.replace(record, "nothing") == unknown
    unrecorded = open_server(Tools(Engine(library=tools.library)), ToolCaller())
    assert "are not recorded" in refused(unrecorded, "report_feedback", record=record, rating="up")


@pytest.fixture(scope="module")
def keyed(tools: Tools) -> Iterator[tuple[str, Principals]]:
    """The server as reached from other machines: every request needs a key."""
    server = open_server(tools, ToolCaller("mcp", frozenset({"hr"})))
    app = http_app(server, tools, ServerSettings(), "0.0.0.0")
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    running = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    thread = threading.Thread(target=running.run, args=([listening],), daemon=True)
    thread.start()
    until(lambda: running.started)
    url = f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
    yield url, Principals(tools.library.store.database)
    running.should_exit = True
    thread.join(120)


def with_key(url: str, secret: str) -> Any:
    client = httpx2.AsyncClient(headers={"Authorization": f"Bearer {secret}"}, timeout=120)
    return streamable_http_client(url, http_client=client)


def test_from_elsewhere_a_key_is_needed_and_its_labels_count(
    keyed: tuple[str, Principals], tools: Tools
) -> None:
    url, principals = keyed
    for headers in ({}, {"Authorization": "Bearer sk-suffice-wrong"}):
        assert httpx2.post(url, json={}, headers=headers, timeout=120).status_code == 401
    plain, hr = principals.create("site"), principals.create("hr desk", labels=["hr"])
    other = principals.create("elsewhere", collections=["other"])
    denied = httpx2.post(
        url, json={}, headers={"Authorization": f"Bearer {other.secret}"}, timeout=120
    )
    assert denied.status_code == 403
    assert (
        "salary"
        in call(with_key(url, hr.secret), "show_document", document="salary-bands.md")[
            "text"
        ].lower()
    )
    refused(with_key(url, plain.secret), "show_document", document="salary-bands.md")
    asked = call(with_key(url, plain.secret), "search_evidence", question=REMOTE)
    assert tools.log is not None
    assert tools.log.entry(asked["record"]).caller == "site"

    async def listed(client: Client) -> set[str]:
        return {one.name for one in (await client.list_resources()).resources}

    seen = [with_client(with_key(url, one.secret), listed) for one in (plain, hr)]
    assert seen[1] - seen[0] == {"salary-bands.md"}
    principals.revoke("site")
    again = httpx2.post(
        url, json={}, headers={"Authorization": f"Bearer {plain.secret}"}, timeout=120
    )
    assert again.status_code == 401


@pytest.mark.parametrize(
    "cursor",
    ["x", "-5", "3", "0", "05", "5 ", "\u00b2", "\u0665", "9" * 5_000, "500000", "5\x00"],
)
def test_a_cursor_that_no_list_gave_is_refused(
    tools: Tools, monkeypatch: pytest.MonkeyPatch, cursor: Any
) -> None:
    monkeypatch.setattr("suffice.server.mcp.server._PAGE", 5)

    async def use(client: Client) -> dict[str, Any]:
        lists = {
            "resources": client.list_resources,
            "templates": client.list_resource_templates,
            "tools": client.list_tools,
            "prompts": client.list_prompts,
        }
        refusals = {}
        for name, list_ in lists.items():
            with pytest.raises(MCPError) as refusal:
                await list_(cursor=cursor)
            refusals[name] = refusal.value
        assert (await client.list_resources()).resources  # the session goes on
        return refusals

    for name, refusal in with_client(open_server(tools, ToolCaller()), use).items():
        assert refusal.code == -32602, name
        assert "cursor" in refusal.message.lower(), name


def test_over_http_a_slow_or_ambiguous_body_is_refused_and_a_redirect_stays_here(
    tools: Tools,
) -> None:
    limits = LimitSettings(body_seconds=0.3, body_bytes=1_000)
    settings = ServerSettings(limits=limits, capacity=WorkSettings(max_requests=2))
    app = http_app(open_server(tools, ToolCaller()), tools, settings, "127.0.0.1")
    head = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with served(app, settings) as (url, _):

        def reply(sent: bytes) -> bytes:
            port = int(url.rpartition(":")[2])
            with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as client:
                client.sendall(sent)
                return until_closed(client)

        late = reply(head + b"Content-Length: 500\r\n\r\n{")
        assert late.split()[1] == b"408"
        assert b"request_timeout" in late
        large = reply(head + b"Connection: close\r\nContent-Length: 5000\r\n\r\n")
        assert large.split()[1] == b"413"
        both = b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        assert reply(head + both).split()[1] == b"400"
        moved = reply(b"GET /mcp/ HTTP/1.1\r\nHost: localhost:1\r\nConnection: close\r\n\r\n")
        assert moved.split()[1] == b"307"
        assert b"location: /mcp\r" in moved


def test_resources_are_listed_page_by_page(tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("suffice.server.mcp.server._PAGE", 5)
    server = open_server(tools, ToolCaller())

    async def use(client: Client) -> list[str]:
        names: list[str] = []
        cursor = None
        while True:
            page = await client.list_resources(cursor=cursor)
            assert len(page.resources) <= 5
            names += [one.name for one in page.resources]
            cursor = page.next_cursor
            if not cursor:
                return names

    names = with_client(server, use)
    assert sorted(names) == sorted(one.document for one in tools.documents(ToolCaller()))


def test_what_goes_wrong_in_the_store_is_not_shown(tools: Tools, tmp_path: Path) -> None:
    gone = Library.open(tmp_path / "gone.db", Settings(), create=True)
    gone.store.close()
    (tmp_path / "gone.db").unlink()
    server = open_server(Tools(Engine(library=gone)), ToolCaller())
    said = refused(server, "show_document", document="a.md")
    assert str(tmp_path) not in said


def test_the_index_is_not_opened_for_every_call(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def open_index(*args: Any) -> Any:
        opened.append("index")
        return open_real(*args)

    monkeypatch.setattr("suffice.evidence.library.open_index", open_index)
    fresh = Library(library.store, library.embedder, library.settings)
    server = open_server(Tools(Engine(library=fresh)), ToolCaller("mcp"))
    for question in ("When is pay day?", "How long is parental leave?"):
        assert call(server, "search_evidence", question=question)["passages"]
        call(server, "search_evidence", question=question, top=3)
    assert opened == ["index"]
