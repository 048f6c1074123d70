"""`suffice keys` and `suffice teams`: API keys with their rights and limits, and shared budgets."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, TypeVar

import click
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from suffice.access.keys import ALL, LIMITS, Principal, Principals, Role, Team, Teams
from suffice.cli import as_json as to_json
from suffice.cli.options import Options, of_store
from suffice.cli.recording import user
from suffice.cli.show import plain
from suffice.errors import SettingsError
from suffice.log.chain import now, timestamp
from suffice.settings import Settings

F = TypeVar("F", bound=Callable[..., Any])
_SPAN = re.compile(r"([0-9]{1,5})([dh])", re.ASCII)
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)

BY = click.option("--by", default=user, help="Your name in the log (default: your user name).")


@click.group()
def keys() -> None:
    """Create, list and revoke API keys."""


def _limit(context: click.Context, option: click.Parameter, values: Any) -> dict[str, float]:
    """Parse limits such as "concurrent=4" into a mapping."""
    found = {}
    for value in values:
        name, _, number = value.partition("=")
        try:
            found[name] = int(number) if number.isdecimal() else float(number)
        except ValueError:
            message = f"'{value}' does not have the form NAME=NUMBER."
            raise click.BadParameter(message, context, option) from None
    return found


def limits_option(about: str) -> Callable[[F], F]:
    """Create the option `--limit NAME=NUMBER`."""
    return click.option(
        "--limit", "limits", multiple=True, callback=_limit, metavar="NAME=NUMBER", help=about
    )


def _expiry(context: click.Context, option: click.Parameter, value: Any) -> datetime | None:
    if value is None:
        return None
    if found := _SPAN.fullmatch(value):
        unit = "days" if found[2] == "d" else "hours"
        return now() + timedelta(**{unit: int(found[1])})
    try:
        if _DAY.fullmatch(value):  # valid through this day
            return datetime.combine(date.fromisoformat(value), time.max, UTC)
        moment = datetime.fromisoformat(value)
    except ValueError:
        message = f"'{value}' is not a date, a time or a duration. Examples: 2027-01-31, 90d, 12h."
        raise click.BadParameter(message, context, option) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


@keys.command()
@click.argument("name")
@click.option(
    "--role",
    "roles",
    multiple=True,
    type=click.Choice([role.value for role in Role]),
    default=[Role.CALLER.value],
    show_default=True,
    help="Role of the key (repeatable).",
)
@click.option("--label", "labels", multiple=True, help="Access label the key holds (repeatable).")
@click.option(
    "--collection",
    "collections",
    multiple=True,
    default=[ALL],
    help="Collection the key may search (repeatable; default: all).",
)
@click.option(
    "--route",
    "routes",
    multiple=True,
    default=[ALL],
    help="Gateway route the key may call (repeatable; default: all).",
)
@limits_option(f"Quota (repeatable): {', '.join(LIMITS)}.")
@click.option("--team", default="", help="Team whose budget the key shares.")
@click.option(
    "--expires",
    callback=_expiry,
    metavar="WHEN",
    help="Expiry: the last day (2027-01-31, UTC), a time (2027-01-31T12:00Z) or a duration (90d).",
)
@BY
@of_store
def create(
    options: Options,
    name: str,
    roles: tuple[str, ...],
    labels: tuple[str, ...],
    collections: tuple[str, ...],
    routes: tuple[str, ...],
    limits: dict[str, float],
    team: str,
    expires: datetime | None,
    by: str,
) -> int:
    """Create an API key for NAME and print it. It cannot be shown again."""
    principals = Principals(options.database(create=True), settings=options.settings.record)
    _check_routes(options.settings, routes, collections)
    rights = (roles, labels, collections, routes, limits)
    made = principals.create(name, *rights, by, team=team, expires=expires)
    if options.as_json:
        to_json.show({**_json(made.principal), "key": made.secret})
        return 0
    click.echo(made.secret)
    note = f"This is the key of {name}. Save it now: it cannot be shown again."
    Console(stderr=True).print(plain(note, "dim"))
    return 0


@keys.command(name="list")
@click.option("--revoked", is_flag=True, help="Include revoked keys.")
@of_store
def list_(options: Options, revoked: bool) -> int:
    """List the keys with their rights and limits."""
    found = Principals(options.database()).all(ended=revoked)
    to_json.show([_json(principal) for principal in found]) if options.as_json else _show(found)
    return 0


@keys.command()
@click.argument("name")
@BY
@of_store
def revoke(options: Options, name: str, by: str) -> int:
    """Revoke the key with this NAME or id, effective from the next request."""
    principals = Principals(options.database(), settings=options.settings.record)
    ended = principals.revoke(name, by)
    done = f"Revoked {ended.name} ({ended.id})."
    to_json.show(_json(ended)) if options.as_json else click.echo(done)
    return 0


def _check_routes(settings: Settings, routes: Iterable[str], collections: Collection[str]) -> None:
    """Reject a key for a route whose collection it may not use: every call would fail."""
    for name in routes:
        route = settings.server.routes.get(name)
        if route and not {ALL, route.collection}.intersection(collections):
            raise SettingsError(
                f"The route '{name}' searches the collection '{route.collection}', which this key "
                "may not use.",
                remedy=f"Add --collection {route.collection}, or choose another --route.",
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
        "expires": value.expires or None,
        "team": value.team or None,
    }


def _show(principals: list[Principal]) -> None:
    console = Console()
    if not principals:
        console.print(Text("There are no keys. Run: suffice keys create NAME", style="dim"))
        return
    for item in principals:
        head = Text.assemble(plain(item.name, "bold"), "  ", (item.id, "dim"), "  ", _state(item))
        console.print(head, soft_wrap=True)
        console.print(Padding(plain(" · ".join(_rights(item))), (0, 0, 1, 2)))


def _state(principal: Principal) -> tuple[str, str]:
    if principal.revoked:
        return f"revoked {principal.revoked[:10]}", "red"
    if principal.expired(timestamp(now())):
        return f"expired {principal.expires[:16]}Z", "red"
    return ("active", "green")


def _rights(principal: Principal) -> list[str]:
    """Roles, creation date, labels, restrictions and limits; unrestricted rights are omitted."""
    parts = [", ".join(sorted(principal.roles)) or "no role", f"created {principal.created[:10]}"]
    parts.append(f"labels: {', '.join(sorted(principal.labels)) or 'public only'}")
    if principal.expires:
        parts.append(f"expires {principal.expires[:16]}Z")
    if principal.team:
        parts.append(f"team: {principal.team}")
    for what, names in (("collections", principal.collections), ("routes", principal.routes)):
        if ALL not in names:
            parts.append(f"{what}: {', '.join(sorted(names)) or 'none'}")
    return parts + [f"{name}: {value:,.10g}" for name, value in sorted(principal.limits.items())]


@click.group()
def teams() -> None:
    """Set, list and remove teams of keys that share a budget."""


@teams.command(name="set")
@click.argument("name")
@limits_option(f"Budget shared by all keys of the team (repeatable): {', '.join(LIMITS)}.")
@BY
@of_store
def set_(options: Options, name: str, limits: dict[str, float], by: str) -> int:
    """Create the team NAME, or replace its budget, effective from the next request."""
    teams = Teams(options.database(create=True), settings=options.settings.record)
    team = teams.set(name, limits, by)
    to_json.show(_team_json(team)) if options.as_json else click.echo(_line(team))
    return 0


@teams.command(name="list")
@of_store
def list_teams(options: Options) -> int:
    """List the teams with their budgets and the number of their keys."""
    found = Teams(options.database()).all()
    if options.as_json:
        to_json.show([{**_team_json(team), "keys": team.keys} for team in found])
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
def remove(options: Options, name: str, by: str) -> int:
    """Remove the team NAME. Its keys must be revoked first."""
    Teams(options.database(), settings=options.settings.record).remove(name, by)
    to_json.show({"removed": name}) if options.as_json else click.echo(f"Removed the team {name}.")
    return 0


def _team_json(team: Team) -> dict[str, Any]:
    return {"name": team.name, "limits": dict(team.limits)}


def _line(team: Team) -> str:
    limits = [f"{name}: {value:,.10g}" for name, value in sorted(team.limits.items())]
    return f"{team.name}: {', '.join(limits) or 'no limits'}"
