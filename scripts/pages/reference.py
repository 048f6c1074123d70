"""The command line, the settings, the schemas and the embedder, from the code."""

from __future__ import annotations

import json
import typing
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal

import click

from scripts.pages.tables import head, line, result
from suffice.access.keys import Role
from suffice.cli import cli
from suffice.evidence.library import Library
from suffice.models.card import read_card
from suffice.models.catalog import EMBEDDERS, weights
from suffice.server.app import create_app
from suffice.server.auth import Endpoint, endpoints
from suffice.server.mcp.server import RESOURCES, open_server
from suffice.server.mcp.tools import Caller, Tools
from suffice.server.openapi import Schema
from suffice.server.openapi import schemas as components
from suffice.settings import CollectionSettings, RouteSettings, Settings, UpstreamSettings
from suffice.settings.checked import ABOUT, AtMost
from suffice.settings.record import WebhookSettings
from suffice.validation import allowed, optional, required


def commands() -> Iterator[str]:
    context = click.Context(cli, info_name="suffice", **cli.context_settings)
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None
        yield from _help(command, click.Context(command, info_name=name, parent=context))


def _help(command: click.Command, context: click.Context) -> Iterator[str]:
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from _help(inner, click.Context(inner, info_name=name, parent=context))
        return
    context.max_content_width = 90
    yield f"### `{context.command_path}`\n\n```text\n{command.get_help(context)}\n```\n"


def roles() -> Iterator[str]:
    """Which role may use which endpoint, page and tool."""
    yield from head("endpoint, page or tool", *(role.value for role in Role))
    with TemporaryDirectory() as folder:
        library = Library.open(Path(folder, "empty.db"), create=True)
        app = create_app(Settings(), library)
        library.store.close()
    for one in endpoints(app.routes):
        if not one.path.startswith("/{route}"):
            yield _role_line(f"`{one.method} {one.path}`", one)
    server = open_server(typing.cast(Tools, None), Caller())
    for name, role in server.roles.items():
        yield _role_line(f"MCP tool `{name}`", Endpoint("", name, (role,)))
    yield _role_line("MCP resources", Endpoint("", "", (RESOURCES,)))


def _role_line(name: str, endpoint: Endpoint) -> str:
    may = "yes" if endpoint.roles else "no key needed"
    return line(name, *(may if endpoint.allows(role) else "" for role in Role))


def keys() -> Iterator[str]:
    yield from head("key", "default", "allowed", "meaning")
    yield from _keys(Settings(), "")


def _keys(value: Any, where: str) -> Iterator[str]:
    hints = typing.get_type_hints(type(value), include_extras=True)
    for field in fields(value):
        key, entry = f"{where}{field.name}", getattr(value, field.name)
        about = field.metadata.get(ABOUT, "")
        if is_dataclass(entry):
            yield from _keys(entry, f"{key}.")
        elif field.name == "collections":
            own = ", ".join(f"`{one.name}`" for one in fields(CollectionSettings))
            yield line(f"`{key}.NAME`", "", own, about)
        elif field.name == "routes" and isinstance(entry, Mapping):
            yield from _keys(RouteSettings(), f"{key}.NAME.")
        elif field.name == "webhooks":
            yield from _keys(WebhookSettings(), f"{key}.NAME.")
        elif field.name == "upstreams":
            yield from _keys(UpstreamSettings(), f"{key}.NAME.")
        elif field.name == "own":
            own = ", ".join(f"`{one.name}`" for one in fields(CollectionSettings))
            yield line(f"`{where}…`", "", own, about)
        else:
            yield line(f"`{key}`", f"`{entry!r}`", _allowed(hints[field.name]), about)


def _allowed(hint: Any) -> str:
    if optional(hint):
        return f"{_allowed(required(hint))}, or empty"
    if typing.get_origin(hint) is Annotated:
        orders = [str(limit) for limit in typing.get_args(hint) if isinstance(limit, AtMost)]
        return ", ".join([allowed(hint), *orders])
    if typing.get_origin(hint) is Literal:
        return ", ".join(f"`{value}`" for value in typing.get_args(hint))
    if hint == Mapping[str, tuple[str, ...]]:
        return "names to lists of names"
    if hint == Mapping[str, str]:
        return "a mapping of names to names"
    return allowed(hint)


def schemas() -> Iterator[str]:
    """The JSON objects of the HTTP API, field by field."""
    for name, schema in sorted(components().items()):
        yield f"### {name}"
        yield ""
        if about := " ".join(schema.get("description", "").split()):
            yield about
            yield ""
        rows = list(_fields(schema, ""))
        if not rows:
            yield _type_of(schema)
        else:
            yield from head("field", "type", "required")
            yield from (line(f"`{field}`", kind, must) for field, kind, must in rows)
        yield ""


def _fields(schema: Schema, above: str) -> Iterator[tuple[str, str, str]]:
    for name, value in schema.get("properties", {}).items():
        must = "yes" if name in schema.get("required", ()) else "no"
        yield above + name, _type_of(value), must
        inner = value.get("items") or value
        yield from _fields(inner, f"{above}{name}.")
    for other in schema.get("anyOf", ()):
        if "properties" not in schema:
            yield from _fields(other, above)


def _type_of(schema: Schema) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return f"[{name}](#{name.lower()})"
    if "enum" in schema or "const" in schema:
        values = schema.get("enum", [schema.get("const")])
        return ", ".join(f"`{json.dumps(value)}`" for value in values)
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_type_of(one) for one in schema["anyOf"]))
    kind = schema.get("type", "any value")
    if kind == "array":
        if pair := schema.get("prefixItems"):
            return f"array of {len(pair)} x {_type_of(pair[0])}"
        return f"array of {_type_of(schema.get('items', {}))}"
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


def embedder() -> Iterator[str]:
    card = read_card(weights(EMBEDDERS[0])).raw
    for name, row in card["measured"]["cosine_to_fp32"].items():
        figures = f"mean {row['mean']}, least {row['min']}"
        yield f"- cosine to fp32 on {name} ({row['texts']} texts): {figures}"
    yield ""
    results = result("embedder")
    yield "| variant | MB | time, 128 tokens | cosine to fp32, mean / min | batch difference |"
    yield "|---|---|---|---|---|"
    for row in results["variants"]:
        time, difference = row["time_to_fp32_fused"]["1x128"], row["invariance_max_diff"]
        yield (
            f"| {row['variant']} | {row['bytes'] / 1e6:.1f} | {time:.2f} "
            f"| {row['cosine_mean']:.4f} / {row['cosine_min']:.4f} | {difference:.1g} |"
        )
