"""Prints everything that users can see of Suffice, sorted, one thing a line: commands with their
options, endpoints, settings, public names, metrics, events, MCP tools, JSON fields, extras, exit
codes and errors. Two versions are compared by `diff` of what this prints for each.

Run: .venv/bin/python scripts/inventory.py [--root CHECKOUT]
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import dataclasses
import gc
import importlib
import json
import os
import pkgutil
import re
import subprocess
import sys
import tempfile
import tomllib
import typing
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

QUESTION = "How many days per week may I work remotely?"
DOCUMENT = "# Remote work\n\nEmployees may work remotely up to three days per week.\n"
ANSWER = "You may work remotely up to three days per week [1]. You need a yellow bicycle."


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--root", type=Path, default=Path(__file__).parent.parent)
    root = options.parse_args().root.resolve()
    for folder in ("src", "bge/src", "strong/src"):
        sys.path.insert(0, str(root / folder))
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"XDG_CACHE_HOME": folder, "HOME": folder}
        os.chdir(folder)
        lines = {line for part in PARTS for line in part(root)}
    print(*sorted(lines), sep="\n")


def commands(root: Path) -> Iterator[str]:
    """Commands with arguments and options, groups included."""
    import click

    from suffice.cli import cli

    def walk(command: click.Command, path: str) -> Iterator[str]:
        yield f"command {path}"
        for param in command.params:
            shape = [type(param).__name__.lower(), " ".join((*param.opts, *param.secondary_opts))]
            shape.append("flag" if getattr(param, "is_flag", False) else _type(param.type))
            shape += ["required"] if param.required else []
            shape += ["multiple"] if param.multiple or param.nargs != 1 else []
            default = param.default
            if isinstance(default, str | int | float | list | tuple):
                shape.append(f"default={default!r}")
            yield f"command {path} {' | '.join(shape)}"
        if isinstance(command, click.Group):
            context = click.Context(command)
            for name in command.list_commands(context):
                inner = command.get_command(context, name)
                assert inner is not None
                yield from walk(inner, f"{path} {name}")

    yield from walk(cli, "suffice")


def _type(kind: Any) -> str:
    choices = getattr(kind, "choices", None)
    return f"{kind.name}{list(choices)}" if choices else str(kind.name)


def endpoints(root: Path) -> Iterator[str]:
    """Routes of the gateway, its metrics, and the fields of the objects in its OpenAPI document."""
    from suffice.evidence.library import Library
    from suffice.server.app import create_app
    from suffice.settings import Settings

    library = Library.open(Path("empty.db"), create=True)
    app = create_app(Settings(), library)

    def walk(routes: Iterable[Any], above: str) -> Iterator[str]:
        for route in routes:
            if hasattr(route, "methods"):
                for method in route.methods or {"GET"}:
                    yield f"endpoint {method} {above}{route.path}"
            else:
                yield from walk(getattr(route, "routes", None) or (), above + route.path)

    yield from walk(app.routes, "")
    document = asyncio.run(_get(app, "/openapi.json"))
    for name, schema in document["components"]["schemas"].items():
        for path in _schema_fields(schema):
            yield f"schema {name}{path}"
    for path, methods in document["paths"].items():
        for method in methods:
            yield f"openapi {method.upper()} {path}"
    yield from _metrics()


async def _get(app: Callable[..., Any], path: str) -> Any:
    """The JSON that an ASGI app answers."""
    body = b""

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        nonlocal body
        body += message.get("body", b"")

    await app(
        {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "GET",
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "root_path": "",
            "query_string": b"",
            "headers": [(b"host", b"127.0.0.1")],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 80),
        },
        receive,
        send,
    )
    return json.loads(body)


def _metrics() -> Iterator[str]:
    from prometheus_client import CollectorRegistry

    for registry in [one for one in gc.get_objects() if isinstance(one, CollectorRegistry)]:
        for collector in list(registry._collector_to_names):
            if hasattr(collector, "_labelnames"):
                labels = ", ".join(collector._labelnames)
                yield f"metric {collector._type} {collector._name} ({labels})"
            for metric in getattr(collector, "collect", list)():
                if metric.name.startswith("suffice_"):
                    yield f"metric {metric.type} {metric.name}"


def _schema_fields(schema: Any, above: str = "") -> Iterator[str]:
    if not isinstance(schema, dict):
        return
    required = schema.get("required", ())
    for name, inner in schema.get("properties", {}).items():
        kind = inner.get("type", inner.get("$ref", "")) if isinstance(inner, dict) else ""
        kind = "|".join(kind) if isinstance(kind, list) else kind.rsplit("/", 1)[-1]
        yield f"{above}.{name}{' required' if name in required else ''} {kind}".rstrip()
        yield from _schema_fields(inner, f"{above}.{name}")
    if "items" in schema:
        yield from _schema_fields(schema["items"], f"{above}[]")
    for choice in ("anyOf", "oneOf", "allOf"):
        for inner in schema.get(choice, ()):
            yield from _schema_fields(inner, above)


def settings(root: Path) -> Iterator[str]:
    """Settings keys with their defaults."""
    from suffice.settings import Settings

    def walk(value: Any, above: str) -> Iterator[str]:
        hints = typing.get_type_hints(type(value))
        for name in _field_names(type(value)):
            entry, key = getattr(value, name), f"{above}{name}"
            if _field_names(type(entry)):
                yield from walk(entry, f"{key}.")
                continue
            yield f"setting {key} = {entry!r}"
            for nested in _settings_classes(hints[name]):
                if name not in ("own", "collections"):
                    yield from walk(nested(), f"{key}.NAME.")

    yield from walk(Settings(), "")


def _field_names(kind: type) -> list[str]:
    if hasattr(kind, "__struct_fields__"):
        return list(kind.__struct_fields__)
    if dataclasses.is_dataclass(kind):
        return [field.name for field in dataclasses.fields(kind)]
    return []


def _settings_classes(hint: Any) -> Iterator[type]:
    if isinstance(hint, type) and _field_names(hint):
        yield hint
    for inner in typing.get_args(hint):
        yield from _settings_classes(inner)


def public_names(root: Path) -> Iterator[str]:
    """What `suffice` exports, and what the adapters and the test helpers define."""
    import suffice

    yield from (f"name suffice.{name}" for name in suffice.__all__)
    package = root / "src" / "suffice"
    testing = package / "testing"
    files = sorted(testing.glob("*.py")) if testing.is_dir() else [package / "testing.py"]
    for folder in ("compat", "integrations"):
        files += sorted((package / folder).glob("*.py"))
    for file in files:
        room = "testing" if "testing" in str(file.relative_to(package)) else file.parent.name
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            yield from _definitions(node, f"name suffice.{room}: ")


def _definitions(node: ast.stmt, above: str) -> Iterator[str]:
    if not isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
        return
    if node.name.startswith("_") and node.name != "__init__":
        return
    if isinstance(node, ast.ClassDef):
        yield above + node.name
        for inner in node.body:
            yield from _definitions(inner, f"{above}{node.name}.")
            field = inner.target if isinstance(inner, ast.AnnAssign) else None
            if isinstance(field, ast.Name) and not field.id.startswith("_"):
                yield f"{above}{node.name}.{field.id}"
    else:
        yield f"{above}{node.name}({ast.unparse(node.args)})"


def events(root: Path) -> Iterator[str]:
    for module in _modules():
        kinds = getattr(module, "EVENTS", None)
        if isinstance(kinds, tuple) and "verdict" in str(kinds):
            yield from (f"event {kind}" for kind in kinds)


def mcp_tools(root: Path) -> Iterator[str]:
    """The tools of `suffice mcp`, as a client is told."""
    from mcp.types import LATEST_PROTOCOL_VERSION

    client = {"name": "inventory", "version": "1"}
    opening = {"protocolVersion": LATEST_PROTOCOL_VERSION, "capabilities": {}, "clientInfo": client}
    messages = (
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": opening},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": 3, "method": "resources/templates/list"},
    )
    command = [sys.executable, "-m", "suffice", "mcp", "--store", str(_store())]
    path = os.pathsep.join(str(root / folder) for folder in ("src", "bge/src", "strong/src"))
    server = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert server.stdin is not None
    assert server.stdout is not None
    try:
        for message in messages:
            server.stdin.write(json.dumps(message) + "\n")
        server.stdin.flush()
        for line in server.stdout:
            reply = json.loads(line)
            result = reply.get("result", {})
            for tool in result.get("tools", ()):
                yield f"mcp tool {tool['name']}"
                for side in ("inputSchema", "outputSchema"):
                    schema = tool.get(side, {})
                    definitions = schema.get("$defs", {})
                    for place in _schema_fields(schema):
                        yield f"mcp {side} {tool['name']}{place}"
                    for name, inner in definitions.items():
                        for place in _schema_fields(inner):
                            yield f"mcp {side} {tool['name']} {name}{place}"
            for template in result.get("resourceTemplates", ()):
                yield f"mcp resource {template['uriTemplate']}"
            if reply.get("id") == 3:
                break
    finally:
        server.kill()
        server.wait()


def _store() -> Path:
    """A store with one document, one verdict and one gate decision."""
    store = Path("inventory.db").resolve()
    if not store.exists():
        Path("documents").mkdir()
        Path("documents/remote-work.md").write_text(DOCUMENT, encoding="utf-8")
        _run("index", "documents", "--store", str(store))
    return store


def _run(*arguments: str) -> str:
    from click.testing import CliRunner

    from suffice.cli import cli

    result = CliRunner().invoke(cli, arguments)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.stdout


def json_fields(root: Path) -> Iterator[str]:
    """The fields of what commands print as JSON and of the records they write."""
    at = ("--store", str(_store()))
    Path("answer.txt").write_text(ANSWER, encoding="utf-8")
    Path("evidence.txt").write_text(DOCUMENT, encoding="utf-8")
    commands = {
        "ask": ("ask", QUESTION, *at, "--record", "--json"),
        "gate": ("gate", QUESTION, *at, "--record", "--json"),
        "search": ("search", QUESTION, *at, "--json"),
        "check": ("check", "--answer", "answer.txt", "--evidence", "evidence.txt", "--json"),
        "documents": ("documents", "list", *at, "--json"),
        "audit verify": ("audit", "verify", *at, "--json"),
    }
    for name, arguments in commands.items():
        printed = json.loads(_run(*arguments))
        yield from (f"json {name} {path}" for path in set(_paths(printed)))
    for line in _run("audit", "export", *at).splitlines():
        record = json.loads(line)
        kind = record.get("kind") or record.get("record", {}).get("kind", "?")
        yield from (f"record {kind} {path}" for path in set(_paths(record)))


def _paths(value: Any, above: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield f"{above}.{name}"
            yield from _paths(inner, f"{above}.{name}")
    elif isinstance(value, list):
        for inner in value:
            yield from _paths(inner, f"{above}[]")
    elif isinstance(value, str) and value[:1] in "{[":  # a payload is JSON in JSON
        try:
            yield from _paths(json.loads(value), f"{above}:")
        except json.JSONDecodeError:
            return


def extras(root: Path) -> Iterator[str]:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    yield from (f"extra {name}" for name in project["optional-dependencies"])
    yield from (f"script {name} = {where}" for name, where in project["scripts"].items())


def exit_codes(root: Path) -> Iterator[str]:
    page = (root / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    yield from (f"exit code {row}" for row in re.findall(r"^\| (\d+ \| .*?) \|$", page, re.M))


def errors(root: Path) -> Iterator[str]:
    from suffice.errors import SufficeError

    list(_modules())

    def walk(error: type) -> Iterator[str]:
        for inner in error.__subclasses__():
            if inner.__module__.startswith("suffice") and not inner.__name__.startswith("_"):
                yield f"error {inner.__name__}({error.__name__})"
            yield from walk(inner)

    yield from walk(SufficeError)


def _modules() -> Iterator[Any]:
    """Every module of the product that imports here."""
    import suffice

    for found in pkgutil.walk_packages(suffice.__path__, "suffice.", onerror=lambda name: None):
        if found.name.endswith("__main__"):
            continue
        try:
            yield importlib.import_module(found.name)
        except Exception:  # an extra that is not installed
            continue


PARTS = (
    commands,
    endpoints,
    settings,
    public_names,
    events,
    mcp_tools,
    json_fields,
    extras,
    exit_codes,
    errors,
)

if __name__ == "__main__":
    main()
