"""`suffice config`: are the settings right, and what holds?"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import click
import yaml

from suffice.cli import as_json as to_json
from suffice.settings import read_settings
from suffice.verdict.route import read_routes

_USER = re.compile(r"(?<=://)[^/?#@]*@")
_QUERY = re.compile(r"(?<=\?)[^#\s]+")
_MASK = "…"


@click.group()
def config() -> None:
    """Check the settings, and show which hold."""


@config.command()
@click.option("--config", type=click.Path(), help="Settings file (default: suffice.yaml).")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def check(config: str | None, as_json: bool) -> int:
    """Say whether the settings can be used, or what is wrong with them."""
    settings = read_settings(config)
    for name in ("", *settings.collections):
        read_routes(settings.collection(name).verdict.routes)
    for route in settings.server.routes.values():
        if route.own:
            read_routes(route.own.verdict.routes)
    routes = list(settings.server.routes)
    if as_json:
        to_json.show({"valid": True, "routes": routes, "collections": list(settings.collections)})
    else:
        click.echo(f"The settings are right. Routes: {', '.join(routes)}.")
    return 0


@config.command()
@click.option("--config", type=click.Path(), help="Settings file (default: suffice.yaml).")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show(config: str | None, as_json: bool) -> int:
    """Show every setting as it holds; what may be secret is masked."""
    tree = shown(read_settings(config))
    if as_json:
        to_json.show(tree)
    else:
        click.echo(yaml.safe_dump(tree, sort_keys=False, allow_unicode=True), nl=False)
    return 0


def shown(value: Any) -> Any:
    """Settings as a tree. Keys stand in variables, and only their names here; what URLs may hide is
    masked: users with passwords, queries, the path of a webhook."""
    if is_dataclass(value):
        tree = {one.name: shown(getattr(value, one.name)) for one in fields(value)}
        if tree.get("webhook"):
            tree["webhook"] = "/".join(str(tree["webhook"]).split("/")[:3]) + f"/{_MASK}"
        if tree.get("own", "") is None:
            del tree["own"]
        return tree
    if isinstance(value, Mapping):
        return {key: shown(entry) for key, entry in value.items()}
    if isinstance(value, tuple):
        return [shown(entry) for entry in value]
    return _QUERY.sub(_MASK, _USER.sub(f"{_MASK}@", value)) if isinstance(value, str) else value
