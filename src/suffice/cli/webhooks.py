"""`suffice webhooks`: waiting and dead webhook deliveries."""

from __future__ import annotations

from dataclasses import asdict

import click
from rich.console import Console
from rich.table import Table

from suffice.cli import as_json as to_json
from suffice.cli.of_store import of_store, open_database
from suffice.errors import SettingsError
from suffice.settings import read_settings
from suffice.webhooks.outbox import DEAD, WAITING, Outbox


@click.group()
def webhooks() -> None:
    """List and retry webhook deliveries."""


@webhooks.command(name="list")
@click.option("--state", type=click.Choice([WAITING, DEAD]), help="Only deliveries in this state.")
@click.option("--limit", default=100, show_default=True, help="Maximum number of deliveries.")
@of_store
def list_(
    state: str | None, limit: int, config: str | None, store: str | None, as_json: bool
) -> int:
    """List deliveries that are waiting for an attempt, or dead after the last attempt."""
    found = Outbox(open_database(read_settings(config), store)).list(state or "", limit)
    if as_json:
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
def retry(
    ids: tuple[str, ...], every: bool, config: str | None, store: str | None, as_json: bool
) -> int:
    """Retry the dead deliveries with these IDS. The gateway sends them."""
    if bool(ids) == every:
        raise SettingsError(
            "Give either delivery ids or --all.", remedy="Run: suffice webhooks list --state dead"
        )
    done = Outbox(open_database(read_settings(config), store)).retry(ids)
    if as_json:
        to_json.show({"retried": done})
    else:
        click.echo(f"Queued {done} deliveries; a running gateway will send them.")
    return 0
