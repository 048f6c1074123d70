"""`suffice teams`: groups of keys that share a budget."""

from __future__ import annotations

from typing import Any

import click

from suffice.access.rights import LIMITS
from suffice.access.teams import Team, Teams
from suffice.cli import as_json as to_json
from suffice.cli.keys import BY, limits_option
from suffice.cli.of_store import of_store, open_database
from suffice.settings import read_settings


@click.group()
def teams() -> None:
    """Set, list and remove teams of keys that share a budget."""


@teams.command(name="set")
@click.argument("name")
@limits_option(f"Budget shared by all keys of the team (repeatable): {', '.join(LIMITS)}.")
@BY
@of_store
def set_(
    name: str,
    limits: dict[str, float],
    by: str,
    config: str | None,
    store: str | None,
    as_json: bool,
) -> int:
    """Create the team NAME, or replace its budget, effective from the next request."""
    settings = read_settings(config)
    database = open_database(settings, store, create=True)
    team = Teams(database, settings=settings.record).set(name, limits, by)
    to_json.show(_json(team)) if as_json else click.echo(_line(team))
    return 0


@teams.command(name="list")
@of_store
def list_(config: str | None, store: str | None, as_json: bool) -> int:
    """List the teams with their budgets and the number of their keys."""
    found = Teams(open_database(read_settings(config), store)).all()
    if as_json:
        to_json.show([{**_json(team), "keys": team.keys} for team in found])
        return 0
    for team in found:
        click.echo(f"{_line(team)} · {team.keys} key{'' if team.keys == 1 else 's'}")
    if not found:
        click.echo("There are no teams. Run: suffice teams set NAME --limit tokens_per_month=…")
    return 0


@teams.command()
@click.argument("name")
@BY
@of_store
def remove(name: str, by: str, config: str | None, store: str | None, as_json: bool) -> int:
    """Remove the team NAME. Its keys must be revoked first."""
    settings = read_settings(config)
    Teams(open_database(settings, store), settings=settings.record).remove(name, by)
    to_json.show({"removed": name}) if as_json else click.echo(f"Removed the team {name}.")
    return 0


def _json(team: Team) -> dict[str, Any]:
    return {"name": team.name, "limits": dict(team.limits)}


def _line(team: Team) -> str:
    limits = [f"{name}: {value:,.10g}" for name, value in sorted(team.limits.items())]
    return f"{team.name}: {', '.join(limits) or 'no limits'}"
