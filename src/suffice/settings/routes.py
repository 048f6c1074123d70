"""Reads the routes of the gateway, each based on the settings of its collection."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any

from suffice.settings.checked import bad_value
from suffice.settings.collection import CollectionSettings
from suffice.settings.reader import build
from suffice.settings.server import RouteSettings, ServerSettings

DEFAULT = "default"
_OURS, _URL = ("", "extractive"), ("http://", "https://")
_GROUPS = frozenset(group.name for group in fields(CollectionSettings))


def without_routes(tree: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
    """Split off the routes, which are read after the collections, from the rest of the tree."""
    server = tree.get("server")
    if not isinstance(server, dict) or "routes" not in server:
        return dict(tree), None
    rest = {key: value for key, value in server.items() if key != "routes"}
    return {**tree, "server": rest}, server["routes"]


def read_routes(
    server: ServerSettings,
    collection: Callable[[str], CollectionSettings],
    raw: Any,
    origin: str,
) -> ServerSettings:
    """Read the routes of a file and add the default route. A route may set any group that a
    collection may set (`gate`, `checks`, …), and overrides only the keys it names."""
    if not isinstance(raw, dict | None):
        raise bad_value(origin, "server.routes", raw, "a mapping of names to settings")
    named = {str(name): tree for name, tree in (raw or {}).items()}
    found = {name: _route(collection, tree, origin, name) for name, tree in named.items()}
    routes = {DEFAULT: RouteSettings(), **found} if found else server.routes
    for judge in server.council.judges:
        if judge not in routes:
            raise bad_value(origin, "server.council.judges", judge, f"routes: {', '.join(routes)}")
    return replace(server, routes=routes)


def _route(
    collection: Callable[[str], CollectionSettings], tree: Any, origin: str, name: str
) -> RouteSettings:
    where = f"server.routes.{name}"
    if not isinstance(tree, dict):
        raise bad_value(origin, where, tree, "a mapping of keys to values")
    if not name.replace("-", "").replace("_", "").isalnum() or name == "v1":
        raise bad_value(
            origin, "server.routes", name, "names made of letters, digits, - and _, except v1"
        )
    named = {key: value for key, value in tree.items() if key not in _GROUPS and key != "own"}
    route = build(RouteSettings, named, origin, where)
    if route.upstream not in _OURS and not route.upstream.startswith(_URL):
        raise bad_value(origin, f"{where}.upstream", route.upstream, "extractive or a base URL")
    groups = {key: value for key, value in tree.items() if key in _GROUPS}
    if not groups:
        return route
    own = build(CollectionSettings, groups, origin, where, base=collection(route.collection))
    return replace(route, own=own)
