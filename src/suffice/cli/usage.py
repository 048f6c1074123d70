"""`suffice usage` and `suffice webhooks`: who used how much, and which deliveries failed."""

from __future__ import annotations

import re
from dataclasses import asdict
from datetime import date, timedelta

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from suffice.access.quotas import DIMENSIONS, Totals, usage_report
from suffice.cli import as_json as to_json
from suffice.cli.options import Options, of_store
from suffice.cli.show import plain
from suffice.errors import SettingsError
from suffice.log.chain import now
from suffice.webhooks import DEAD, WAITING, Outbox

_DAYS = re.compile(r"([0-9]{1,5})d", re.ASCII)
_NUMBERS = ("requests", "errors", "tokens in", "tokens out", "cost")
_VERDICTS = ("serve", "caveat", "conflict", "withhold", "review")


def _day(context: click.Context, option: click.Parameter, value: str | None) -> str:
    if not value:
        return ""
    if found := _DAYS.fullmatch(value):
        return (now().date() - timedelta(days=int(found[1]))).isoformat()
    try:
        return date.fromisoformat(value).isoformat()
    except ValueError:
        message = f"'{value}' is not a date or a number of days. Examples: 2026-11-01, 30d."
        raise click.BadParameter(message, context, option) from None


@click.command()
@click.option(
    "--by",
    type=click.Choice(list(DIMENSIONS)),
    default="key",
    show_default=True,
    help="What to group by.",
)
@click.option(
    "--since",
    callback=_day,
    default="30d",
    show_default=True,
    metavar="DAY",
    help="First day (2026-11-01, in UTC), or a number of days ago (30d).",
)
@click.option("--until", callback=_day, metavar="DAY", help="Stop before this day.")
@of_store
def usage(options: Options, by: str, since: str, until: str) -> int:
    """Report requests, tokens, cost and verdicts by key, team, end user or model.

    The gateway updates the report about once a second.
    """
    rows = usage_report(options.database(), by, since, until)
    total = sum((used for _, used in rows), Totals())
    if options.as_json:
        listed = [{by: name or None, **asdict(used)} for name, used in rows]
        to_json.show(
            {"by": by, "since": since, "until": until or None, "rows": listed}
            | {"total": asdict(total)}
        )
        return 0
    console = Console()
    if not rows:
        console.print(Text(f"No requests since {since}.", style="dim"))
        return 0
    table = Table(box=None, header_style="bold")
    table.add_column(by, overflow="fold")
    for title in _NUMBERS:
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("verdicts", overflow="fold")
    for name, used in rows:
        table.add_row(plain(name) if name else Text("none", style="dim"), *_cells(used))
    if len(rows) > 1:
        table.add_row(Text("total", style="bold"), *_cells(total))
    console.print(table)
    return 0


def _cells(used: Totals) -> list[str]:
    counts = (used.requests, used.errors, used.tokens_in, used.tokens_out)
    verdicts = [(getattr(used, name), name.upper()) for name in _VERDICTS]
    named = ", ".join(f"{count:,} {name}" for count, name in verdicts if count)
    return [*(f"{count:,}" for count in counts), f"{used.cost:,.2f}", named]


@click.group()
def webhooks() -> None:
    """List and retry webhook deliveries."""


@webhooks.command(name="list")
@click.option("--state", type=click.Choice([WAITING, DEAD]), help="Only deliveries in this state.")
@click.option("--limit", default=100, show_default=True, help="Maximum number of deliveries.")
@of_store
def list_(options: Options, state: str | None, limit: int) -> int:
    """List deliveries that are waiting for an attempt, or dead after the last attempt."""
    found = Outbox(options.database()).list(state or "", limit)
    if options.as_json:
        to_json.show([asdict(one) for one in found])
        return 0
    if not found:
        click.echo("No deliveries are waiting or dead.")
        return 0
    table = Table(box=None)
    for name in ("id", "state", "webhook", "event", "attempts", "problem"):
        table.add_column(name, overflow="fold")
    for one in found:
        table.add_row(
            one.id, one.state, one.webhook, one.event, str(one.attempts), one.problem or "-"
        )
    Console().print(table)
    return 0


@webhooks.command()
@click.argument("ids", nargs=-1)
@click.option("--all", "every", is_flag=True, help="Retry all dead deliveries.")
@of_store
def retry(options: Options, ids: tuple[str, ...], every: bool) -> int:
    """Retry the dead deliveries with these IDS. The gateway sends them."""
    if bool(ids) == every:
        raise SettingsError(
            "Give either delivery ids or --all.", remedy="Run: suffice webhooks list --state dead"
        )
    done = Outbox(options.database()).retry(ids)
    if options.as_json:
        to_json.show({"retried": done})
    else:
        click.echo(f"Queued {done} deliveries; a running gateway will send them.")
    return 0
