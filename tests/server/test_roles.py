"""Every endpoint, page and tool names the role it needs, and the running app enforces it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client, MCPError
from starlette.routing import Route

from suffice.access.identity import Identities
from suffice.access.keys import Principal, Principals, Role
from suffice.engine import Engine
from suffice.errors import SettingsError
from suffice.evidence.library import Library
from suffice.server.app import create_app
from suffice.server.auth import Endpoint, endpoints
from suffice.server.mcp.http import http_app
from suffice.server.mcp.server import open_server
from suffice.server.mcp.tools import ToolCaller, Tools
from suffice.server.ui import security
from suffice.settings import IdentitySettings, RouteSettings, ServerSettings, Settings
from tests.server.gateway import RunningGateway, running, served
from tests.waiting import PATIENCE

SECRET = "a-visitor-cookie"
ARGUMENTS: dict[str, dict[str, Any]] = {
    "search_evidence": {"question": "How long is leave?"},
    "ask": {"question": "How long is leave?"},
    "validate_draft": {"draft": "Leave is long. [1]", "texts": ["Leave is long."]},
    "show_passage": {"passage": "none"},
    "show_document": {"document": "none"},
    "report_feedback": {"record": "none", "rating": "up"},
}


@dataclass(frozen=True)
class Keys:
    principals: dict[Role, Principal]
    secrets: dict[Role, str]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    folder = tmp_path_factory.mktemp("roles")
    (folder / "docs").mkdir()
    (folder / "docs" / "leave.md").write_text("# Leave\n\nLeave is 30 days a year.\n")
    opened = Library.open(folder / "store.db", Settings(), create=True)
    opened.add(folder / "docs")
    yield opened
    opened.store.close()


@pytest.fixture(scope="module")
def keys(small: Library) -> Keys:
    made = {
        role: Principals(small.store.database).create(f"key-{role.value}", [role]) for role in Role
    }
    return Keys(
        {role: one.principal for role, one in made.items()},
        {role: one.secret for role, one in made.items()},
    )


def settings() -> Settings:
    route = RouteSettings(upstream="extractive")
    return Settings(server=replace(ServerSettings(), keys="required", routes={"default": route}))


@pytest.fixture(scope="module")
def gateway(small: Library) -> Iterator[RunningGateway]:
    with running(small, settings()) as served_:
        yield served_


@pytest.fixture(scope="module")
def found(small: Library) -> list[Endpoint]:
    return list(endpoints(create_app(settings(), small).routes))


def test_every_endpoint_names_its_roles(found: list[Endpoint]) -> None:
    assert len(found) > 60
    assert [one for one in found if one.roles is None] == []


def test_an_endpoint_without_roles_is_noticed(small: Library) -> None:
    async def forgotten(request: Any) -> Any: ...

    app = create_app(settings(), small, more=[Route("/forgotten", forgotten)])
    (one,) = [one for one in endpoints(app.routes) if one.roles is None]
    assert one.path == "/forgotten"
    assert not any(one.allows(role) for role in Role)


def test_endpoints_that_need_no_role(found: list[Endpoint]) -> None:
    assert {one.path for one in found if not one.roles} == {
        "/healthz",
        "/readyz",
        "/openapi.json",
        "/ui/static/{name}",
        "/ui/sign-in",
        "/ui/sign-out",
    }


@pytest.mark.parametrize("role", Role)
def test_the_app_answers_as_the_table_says(
    gateway: RunningGateway, keys: Keys, found: list[Endpoint], role: Role
) -> None:
    for one in found:
        response = called(gateway, keys, role, one)
        refused = response.status_code == 403 and "role" in response.text
        assert refused is not one.allows(role), (role, one, response.status_code, response.text)
        if not refused:
            assert response.status_code < 500, (role, one, response.text)
            assert response.status_code not in (401, 403), (role, one, response.text)


def called(gateway: RunningGateway, keys: Keys, role: Role, endpoint: Endpoint) -> httpx2.Response:
    filled = endpoint.path.replace("{route}", "default").replace("{n:int}", "1")
    url = gateway.url + re.sub(r"\{[^}]*\}", "none.md", filled)
    headers = {"X-API-Key": keys.secrets[role]}
    form: dict[str, Any] = {}
    if not endpoint.path.startswith("/ui"):
        form = {"json": {}} if endpoint.method == "POST" else {}
    elif "sign-" not in endpoint.path:  # signing in and out is for visitors without a key
        owner = keys.principals[role]
        whose = f"{owner.id} {owner.name} "
        headers |= {
            "Cookie": f"{security.VISITOR}={SECRET}",
            "X-CSRF-Token": security.csrf_token(SECRET, whose),
        }
        form = {"data": {}} if endpoint.method == "POST" else {}
    elif endpoint.method == "POST":
        headers = {
            "Cookie": f"{security.VISITOR}={SECRET}",
            "X-CSRF-Token": security.csrf_token(SECRET),
        }
        form = {"data": {"name": "nobody", "password": "wrong"}}
    response = httpx2.request(
        endpoint.method, url, headers=headers, timeout=PATIENCE, follow_redirects=False, **form
    )
    if "sign-" in endpoint.path and response.status_code == 401:
        response.status_code = 200  # the answer to a wrong password
    return response


def test_a_key_with_two_roles_has_both(gateway: RunningGateway, small: Library) -> None:
    both = Principals(small.store.database).create("both", [Role.VIEWER, Role.CALLER])
    bearer = {"Authorization": f"Bearer {both.secret}"}
    question = {"question": "How long is leave?"}
    assert gateway.post("/gate", question, headers=bearer).status_code == 200
    page = httpx2.get(f"{gateway.url}/ui/try", headers={"X-API-Key": both.secret})
    assert page.status_code == 200


def test_a_key_without_a_role_is_a_caller(gateway: RunningGateway, small: Library) -> None:
    made = Principals(small.store.database).create("plain", [])
    assert made.principal.roles == {Role.CALLER}
    bearer = {"Authorization": f"Bearer {made.secret}"}
    question = {"question": "How long is leave?"}
    assert gateway.post("/gate", question, headers=bearer).status_code == 200


def test_the_refusal_says_what_to_do(gateway: RunningGateway, keys: Keys) -> None:
    bearer = {"Authorization": f"Bearer {keys.secrets[Role.VIEWER]}"}
    response = gateway.post("/check", {}, headers=bearer)
    error = response.json()["error"]
    assert (response.status_code, error["code"]) == (403, "no_right")
    assert "suffice keys create NAME --role caller" in error["message"]


@pytest.mark.parametrize(
    ("roles", "says"),
    [
        ({"staff": ("king",)}, "server.identity.roles.staff: Unknown role"),
        ({"staff": ()}, "server.identity.roles.staff names no role"),
        ({"staff": ("",)}, "server.identity.roles.staff: Unknown role"),
    ],
)
def test_settings_name_roles_that_exist(roles: Any, says: str) -> None:
    server = replace(ServerSettings(), identity=IdentitySettings(roles=roles))
    with pytest.raises(SettingsError, match=re.escape(says)) as caught:
        Identities.of(Settings(server=server), {})
    assert "caller, viewer, reviewer, librarian, admin" in caught.value.remedy


@pytest.fixture(scope="module")
def tools(small: Library) -> Tools:
    return Tools(Engine(library=small))


def test_every_tool_names_its_role(tools: Tools) -> None:
    server = open_server(tools, ToolCaller("mcp"))
    assert {one.name for one in anyio.run(server.list_tools)} == server.roles.keys()
    assert server.roles.keys() == ARGUMENTS.keys()


@pytest.mark.parametrize("role", Role)
def test_tools_and_resources_are_for_their_roles(tools: Tools, role: Role) -> None:
    server = open_server(tools, ToolCaller("mcp", roles=frozenset({role})))

    async def use() -> dict[str, str]:
        said: dict[str, str] = {}
        async with Client(server) as client:
            for name, arguments in ARGUMENTS.items():
                result = await client.call_tool(name, arguments)
                said[name] = str(result.content)
            for name, call in (
                ("list", client.list_resources),
                ("read", lambda: client.read_resource("suffice://documents/leave.md")),
            ):
                try:
                    said[name] = str(await call())
                except MCPError as problem:
                    said[name] = str(problem)
        return said

    said = anyio.run(use)
    refused = {name for name, text in said.items() if "needs a key with the role" in text}
    assert refused == (set() if role in (Role.CALLER, Role.ADMIN) else said.keys())


def test_a_tool_without_a_role_is_refused_to_everyone(tools: Tools) -> None:
    server = open_server(tools, ToolCaller("mcp", roles=frozenset(Role)))

    @server.tool()
    def forgotten() -> str:
        return "done"

    async def use() -> Any:
        async with Client(server) as client:
            return await client.call_tool("forgotten", {})

    result = anyio.run(use)
    assert result.is_error
    assert "Nobody may call this" in result.content[0].text


def test_the_key_decides_over_http(tools: Tools, keys: Keys) -> None:
    app = http_app(open_server(tools, ToolCaller("mcp")), tools, ServerSettings(), "0.0.0.0")
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "show_document", "arguments": {"document": "leave.md"}},
    }
    said = {}
    with served(app, ServerSettings()) as (url, _):
        for role in Role:
            headers = {
                "Authorization": f"Bearer {keys.secrets[role]}",
                "Accept": "application/json, text/event-stream",
            }
            said[role] = httpx2.post(f"{url}/mcp", json=call, headers=headers).text
    may = {role for role, text in said.items() if "30 days" in text}
    assert may == {Role.CALLER, Role.ADMIN}
    assert "suffice keys create NAME --role caller" in said[Role.LIBRARIAN]
