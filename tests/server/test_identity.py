"""Two people behind one key see different documents, through every endpoint that shows any."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
from click.testing import CliRunner
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from openai import OpenAI

from suffice.access.identity import USER, signed_headers
from suffice.access.keys import Principals, Role
from suffice.access.quotas import usage_report
from suffice.cli import cli
from suffice.engine import Engine
from suffice.errors import SettingsError
from suffice.evidence.library import Library
from suffice.log.log import Log
from suffice.server.app import create_app
from suffice.server.mcp.http import http_app
from suffice.server.mcp.server import open_server
from suffice.server.mcp.tools import ToolCaller, Tools
from suffice.settings import (
    IdentitySettings,
    RouteSettings,
    Settings,
    SignedHeaderSettings,
    TokenSettings,
)
from tests.access.test_tokens import AUDIENCE, ISSUER, public, token
from tests.server.gateway import RunningGateway, routes, running, served
from tests.waiting import PATIENCE

SECRET = "one-secret-of-the-chat-app-and-the-gateway"
QUESTION = "What is the notice period for managers?"
HR, LAW = "six months", "nine months"
LABELS = {"people": ("hr",), "lawyers": ("law", "board"), "*": ()}
Headers = dict[str, str]


@pytest.fixture(scope="module")
def shelves(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    folder = tmp_path_factory.mktemp("identity")
    for label, period in (("hr", HR), ("law", LAW), ("board", "twelve months")):
        head = f"---\naccess: [{label}]\ntitle: Notice ({label})\n---\n\n"
        (folder / f"{label}.md").write_text(
            f"{head}# Notice\n\nThe notice period for managers is {period}.\n"
        )
    (folder / "keys.json").write_text(json.dumps({"keys": [public()]}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CHAT_SECRET", SECRET)
        library = Library.open(folder / "s.db", settings_of(folder), create=True)
        library.add(folder)
        yield library
        library.store.close()


def settings_of(folder: Path, **more: Any) -> Settings:
    tokens = TokenSettings(str(folder / "keys.json"), ISSUER, (AUDIENCE,), ("ES256",))
    identity = IdentitySettings(
        LABELS, headers=SignedHeaderSettings("CHAT_SECRET"), jwt=tokens, **more
    )
    return routes(RouteSettings(), identity=identity)


@pytest.fixture(scope="module")
def gateway(shelves: Library) -> Iterator[RunningGateway]:
    with running(shelves, shelves.settings, host="0.0.0.0") as one:
        yield one


@pytest.fixture(scope="module")
def key(shelves: Library) -> str:
    """The key of the chat app: it may read for its users what is labelled `hr` or `law`."""
    return Principals(shelves.store.database).create("chat", labels=["hr", "law"]).secret


def by_headers(user: str, *groups: str) -> Headers:
    return signed_headers(user, groups, SECRET)


def by_token(user: str, *groups: str) -> Headers:
    return {"X-Suffice-User-Token": token(sub=user, groups=list(groups))}


@pytest.fixture(scope="module")
def curator(shelves: Library) -> str:
    """The key of an application in which several people manage documents."""
    roles = [Role.CALLER, Role.LIBRARIAN]
    made = Principals(shelves.store.database).create("curator", roles=roles, labels=["hr"])
    return made.secret


def test_document_changes_name_the_person_behind_the_key(
    gateway: RunningGateway, curator: str
) -> None:
    headers = {"Authorization": f"Bearer {curator}", **by_headers("ada@example.org", "people")}
    url = f"{gateway.base}/documents"
    sent = httpx2.post(
        f"{url}?name=parking.md", content=b"Parking is free.", headers=headers, timeout=PATIENCE
    )
    gone = httpx2.delete(f"{url}/parking.md", headers=headers, timeout=PATIENCE)
    assert (sent.status_code, gone.status_code) == (200, 200)
    assert gateway.inner.log is not None
    changes = [one for one in gateway.inner.log.entries() if one.kind == "document"]
    assert len(changes) == 4
    assert {one.caller for one in changes} == {"curator"}
    (person,) = {one.tag for one in changes}
    asked = gateway.post("/gate", {"question": QUESTION}, headers=headers)
    assert person == gateway.inner.log.entry(asked.json()["record"]).tag != ""


@pytest.mark.parametrize("vouched", [by_headers, by_token])
def test_two_people_behind_one_key(gateway: RunningGateway, key: str, vouched: Any) -> None:
    ada, bob = vouched("ada@example.org", "people"), vouched("bob", "lawyers", "others")

    def shown(person: Headers) -> str:
        client = OpenAI(
            base_url=gateway.base, api_key=key, timeout=PATIENCE, default_headers=person
        )
        messages: Any = [{"role": "user", "content": QUESTION}]
        answer: Any = client.chat.completions.create(model="any", messages=messages)
        streamed: Any = client.chat.completions.create(model="any", messages=messages, stream=True)
        said = "".join(part.choices[0].delta.content or "" for part in streamed if part.choices)
        found = gateway.post("/gate", {"question": QUESTION}, headers=client.auth_headers | person)
        told = client.responses.create(model="any", input=QUESTION)
        assert gateway.inner.log is not None
        entry = gateway.inner.log.entry(answer.suffice["record"])
        assert entry.caller == "chat"
        assert entry.tag == ("bob" if person is bob else "xxx@xxxxxxx.xxx")
        assert gateway.inner.log.entry(found.json()["record"]).tag == entry.tag
        return " ".join((answer.model_dump_json(), said, found.text, told.model_dump_json()))

    seen = shown(ada), shown(bob)
    assert HR in seen[0]
    assert LAW in seen[1]
    assert LAW not in seen[0]
    assert HR not in seen[1]
    # The lawyers' group gives `board`, which the key does not have: nobody behind it reads that.
    assert "twelve" not in seen[0] + seen[1]
    nobody = gateway.post(
        "/gate", {"question": QUESTION}, headers={"X-API-Key": key, **vouched("eve")}
    )
    assert nobody.json()["passages"] == []


def test_a_bearer_token_beside_the_key(gateway: RunningGateway, key: str) -> None:
    headers = {"X-API-Key": key, "Authorization": f"Bearer {token(sub='ada', groups=['people'])}"}
    found = gateway.post("/gate", {"question": QUESTION}, headers=headers)
    assert HR in found.text
    expired = {"X-API-Key": key, "Authorization": f"Bearer {token(exp=1_000_000)}"}
    refused = gateway.post("/gate", {"question": QUESTION}, headers=expired)
    assert (refused.status_code, refused.json()["error"]["code"]) == (401, "invalid_identity")


@pytest.mark.parametrize(
    ("headers", "message"),
    [
        (lambda: {}, "must name the end user. Send signed headers"),
        (lambda: {USER: "ada"}, "not signed"),
        (lambda: by_headers("ada", "people") | {USER: "bob"}, "does not match"),
        (lambda: signed_headers("ada", ["people"], SECRET, 1_000_000), "seconds old"),
        (
            lambda: signed_headers("ada", ["people"], "another-secret-of-this-length-too"),
            "not match",
        ),
        (lambda: by_headers("ada") | by_token("bob"), "names its user twice"),
        (lambda: by_token("a\nb"), "not a valid name"),
        (lambda: [(USER, "eve"), *by_headers("ada").items()], "more than once"),
    ],
)
def test_who_is_not_vouched_for_sees_nothing(
    gateway: RunningGateway, key: str, headers: Any, message: str
) -> None:
    sent = headers()  # signed now: it must not be stale when the test runs
    pairs = list(sent.items()) if isinstance(sent, dict) else sent
    for path in ("/gate", "/chat/completions", "/responses", "/feedback"):
        reply = gateway.post(path, {}, headers=[("Authorization", f"Bearer {key}"), *pairs])
        error = reply.json()["error"]
        assert (reply.status_code, error["code"]) == (401, "invalid_identity")
        assert message in error["message"]
        assert HR not in reply.text


def test_the_key_comes_first(gateway: RunningGateway) -> None:
    reply = gateway.post("/gate", {"question": QUESTION}, headers=by_headers("ada", "people"))
    assert (reply.status_code, reply.json()["error"]["code"]) == (401, "invalid_api_key")


def test_feedback_is_for_ones_own_answers(gateway: RunningGateway, key: str) -> None:
    ada, bob = ({"X-API-Key": key, **by_headers(name, "people")} for name in ("ada", "bob"))
    asked = gateway.post("/gate", {"question": QUESTION}, headers=ada).json()["record"]
    rating = {"record": asked, "rating": "up"}
    assert gateway.post("/feedback", rating, headers=bob).status_code == 404
    assert gateway.post("/feedback", rating, headers=ada).status_code == 200


def test_logs_name_the_person_as_the_settings_say(
    shelves: Library, key: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("NAMES_KEY", "the-key-that-turns-names-into-pseudonyms")
    folder = Path(shelves.store.where).parent
    more = {"record_user": "pseudonym", "pseudonym_key_env": "NAMES_KEY", "required_for": ("chat",)}
    messages = [{"role": "user", "content": QUESTION}]
    body = {"model": "m", "suffice": {"tag": "bob"}, "messages": messages}
    with (
        running(shelves, settings_of(folder, **more), host="0.0.0.0") as one,
        caplog.at_level(logging.INFO, "suffice.access"),
    ):
        names = []
        for user in ("ada@example.org", "ada@example.org", "eva@example.org"):
            headers = {"X-API-Key": key, **by_headers(user, "people")}
            reply = one.post("/chat/completions", body, headers=headers)
            assert one.inner.log is not None
            names.append(one.inner.log.entry(reply.json()["suffice"]["record"]).tag)
        other = Principals(shelves.store.database).create("job", labels=["hr"]).secret
        assert one.post("/gate", {"question": QUESTION}, headers={"X-API-Key": other}).is_success
        one.inner.ledger.flush()
        used = dict(usage_report(shelves.store.database, "user"))
    assert [used[name].requests for name in (names[0], names[2])] == [2, 1]
    logged = [vars(line)["suffice"].get("user") for line in caplog.records]
    assert logged == [*names, None]
    assert names[0] == names[1] != names[2]
    assert names[0].startswith("user-")
    assert "example.org" not in str([vars(line) for line in caplog.records])


def test_a_gateway_that_knows_no_identities_refuses_them(
    shelves: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(shelves, routes(RouteSettings()), host="127.0.0.1") as plain:
        for person, missing in ((by_headers("ada"), "headers.secret_env"), (by_token("a"), "jwt")):
            reply = plain.post("/gate", {"question": QUESTION}, headers=person)
            assert reply.status_code == 401
            assert f"Set server.identity.{missing}" in reply.text
    for secret, message in (("", "is not set"), ("short", "too short")):
        monkeypatch.setenv("CHAT_SECRET", secret)
        with pytest.raises(SettingsError, match=message):
            create_app(shelves.settings, shelves)
    monkeypatch.delenv("CHAT_SECRET")
    file = Path(shelves.store.where).parent / "suffice.yaml"
    file.write_text("server: {identity: {headers: {secret_env: CHAT_SECRET}}}")
    checked = CliRunner().invoke(cli, ["config", "check", "--config", str(file)])
    assert "will not start: server.identity.headers.secret_env" in checked.stderr


def test_two_people_behind_one_key_of_the_mcp_server(shelves: Library, key: str) -> None:
    log = Log(shelves.store.database)
    tools = Tools(Engine(library=shelves, log=log))
    server = open_server(tools, ToolCaller("mcp", frozenset({"hr", "law", "board"})))
    app = http_app(server, tools, replace(shelves.settings.server), "0.0.0.0")

    async def found(url: str, person: Headers) -> dict[str, Any]:
        http = httpx2.AsyncClient(headers={"X-API-Key": key, **person}, timeout=PATIENCE)
        async with Client(streamable_http_client(url, http_client=http)) as client:
            result = await client.call_tool("search_evidence", {"question": QUESTION})
            return dict(result.structured_content or {})

    with served(app, shelves.settings.server) as (base, _):
        url = f"{base}/mcp"
        ada = asyncio.run(found(url, by_headers("ada", "people")))
        bob = asyncio.run(found(url, by_token("bob", "lawyers")))
        refused = httpx2.post(url, json={}, headers={"X-API-Key": key}, timeout=PATIENCE)
    assert [HR in str(ada), LAW in str(ada), HR in str(bob), LAW in str(bob)] == [1, 0, 0, 1]
    assert [log.entry(one["record"]).tag for one in (ada, bob)] == ["ada", "bob"]
    assert refused.status_code == 401
    assert "must name the end user" in refused.text
    log.close()
