"""`suffice keys`: who may ask, what each may use and read."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import click
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from suffice.access.keys import ALL, LIMITS, Principal, Principals, Role
from suffice.cli import as_json as to_json
from suffice.cli.of_store import of_store, open_database
from suffice.cli.recording import user
from suffice.cli.show import plain
from suffice.errors import SettingsError
from suffice.settings import Settings, read_settings

_BY = click.option("--by", default=user, help="Who does it, for the log (default: your user name).")


@click.group()
def keys() -> None:
    """Make, list and revoke the keys of those who may ask."""


def _limit(context: click.Context, option: click.Parameter, values: Any) -> dict[str, float]:
    """ "concurrent=4" as a pair."""
    found = {}
    for value in values:
        name, _, number = value.partition("=")
        try:
            found[name] = int(number) if number.isdecimal() else float(number)
        except ValueError:
            raise click.BadParameter(f"'{value}' is not NAME=NUMBER.", context, option) from None
    return found


@keys.command()
@click.argument("name")
@click.option(
    "--role",
    "roles",
    multiple=True,
    type=click.Choice([role.value for role in Role]),
    default=[Role.CALLER.value],
    show_default=True,
    help="What it may do at all.",
)
@click.option("--label", "labels", multiple=True, help="Access label of documents it may read.")
@click.option(
    "--collection", "collections", multiple=True, default=[ALL], help="It may use (default: all)."
)
@click.option("--route", "routes", multiple=True, default=[ALL], help="It may call (default: all).")
@click.option(
    "--limit",
    "limits",
    multiple=True,
    callback=_limit,
    metavar="NAME=NUMBER",
    help=f"What it is held to: {', '.join(LIMITS)}.",
)
@_BY
@of_store
def create(
    name: str,
    roles: tuple[str, ...],
    labels: tuple[str, ...],
    collections: tuple[str, ...],
    routes: tuple[str, ...],
    limits: dict[str, float],
    by: str,
    config: str | None,
    store: str | None,
    as_json: bool,
) -> int:
    """Make a key for NAME. It is shown now, and never again."""
    settings = read_settings(config)
    database = open_database(settings, store, create=True)
    principals = Principals(database, settings=settings.record)
    _check_routes(settings, routes, collections)
    made = principals.create(name, roles, labels, collections, routes, limits, by)
    if as_json:
        to_json.show({**_json(made.principal), "key": made.secret})
        return 0
    click.echo(made.secret)
    note = f"The key of {name}: keep it now, it cannot be shown again."
    Console(stderr=True).print(plain(note, "dim"))
    return 0


@keys.command(name="list")
@click.option("--revoked", is_flag=True, help="Those that were revoked too.")
@of_store
def list_(revoked: bool, config: str | None, store: str | None, as_json: bool) -> int:
    """Who may ask, and what."""
    found = Principals(open_database(read_settings(config), store)).all(revoked=revoked)
    to_json.show([_json(one) for one in found]) if as_json else _show(found)
    return 0


@keys.command()
@click.argument("name")
@_BY
@of_store
def revoke(name: str, by: str, config: str | None, store: str | None, as_json: bool) -> int:
    """End the key of NAME (or of an id), from the next request on."""
    settings = read_settings(config)
    database = open_database(settings, store)
    ended = Principals(database, settings=settings.record).revoke(name, by)
    to_json.show(_json(ended)) if as_json else click.echo(f"Revoked {ended.name} ({ended.id}).")
    return 0


def _check_routes(settings: Settings, routes: Iterable[str], collections: Collection[str]) -> None:
    """A key for a route whose collection it may not use would only ever be refused."""
    for name in routes:
        route = settings.server.routes.get(name)
        if route and not {ALL, route.collection}.intersection(collections):
            raise SettingsError(
                f"The route '{name}' searches the collection '{route.collection}', which this key "
                "may not use.",
                remedy=f"Add --collection {route.collection}, or name another --route.",
            )


def _json(value: Principal) -> dict[str, Any]:
    return {
        "id": value.id,
        "name": value.name,
        "roles": sorted(value.roles),
        "labels": sorted(value.labels),
        "collections": sorted(value.collections),
        "routes": sorted(value.routes),
        "limits": dict(value.limits),
        "created": value.created,
        "revoked": value.revoked or None,
    }


def _show(principals: list[Principal]) -> None:
    console = Console()
    if not principals:
        console.print(Text("There is no key. Make one: suffice keys create NAME", style="dim"))
        return
    for one in principals:
        state = (f"revoked {one.revoked[:10]}", "red") if one.revoked else ("in use", "green")
        head = Text.assemble(plain(one.name, "bold"), "  ", (one.id, "dim"), "  ", state)
        console.print(head, soft_wrap=True)
        console.print(Padding(plain(" · ".join(_rights(one))), (0, 0, 1, 2)))


def _rights(one: Principal) -> list[str]:
    """What deserves to be told: all that is not simply allowed."""
    said = [", ".join(sorted(one.roles)) or "no role", f"since {one.created[:10]}"]
    said.append(f"labels: {', '.join(sorted(one.labels)) or 'public only'}")
    for what, names in (("collections", one.collections), ("routes", one.routes)):
        if ALL not in names:
            said.append(f"{what}: {', '.join(sorted(names)) or 'none'}")
    return said + [f"{name}: {value:g}" for name, value in sorted(one.limits.items())]
