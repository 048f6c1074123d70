"""`suffice accounts`: accounts for the review site, with a name and a password."""

from __future__ import annotations

import sys
from typing import Any

import click

from suffice.access.accounts import LONGEST, Accounts
from suffice.access.keys import ALL, Principal, Role
from suffice.cli import as_json as to_json
from suffice.cli.keys import BY
from suffice.cli.options import of_store, open_database
from suffice.errors import PrincipalError
from suffice.settings import read_settings

SITE_ROLES = (Role.VIEWER, Role.REVIEWER, Role.ADMIN)


@click.group()
def accounts() -> None:
    """Add, list and disable accounts of the review site.

    The command prompts for passwords, or reads them from the first line of standard input.
    """


@accounts.command()
@click.argument("name")
@click.option(
    "--role",
    "roles",
    multiple=True,
    type=click.Choice([role.value for role in SITE_ROLES]),
    default=[Role.VIEWER.value],
    show_default=True,
    help="Role of the account (repeatable).",
)
@click.option(
    "--label", "labels", multiple=True, help="Access label the person holds (repeatable)."
)
@click.option(
    "--collection",
    "collections",
    multiple=True,
    default=[ALL],
    help="Collection the person may use (repeatable; default: all).",
)
@BY
@of_store
def add(
    name: str,
    roles: tuple[str, ...],
    labels: tuple[str, ...],
    collections: tuple[str, ...],
    by: str,
    config: str | None,
    store: str | None,
    as_json: bool,
) -> int:
    """Add an account for NAME."""
    made = _accounts(config, store, create=True).add(
        name, _password(), roles, labels, collections, by
    )
    _said(made, as_json, f"Added the account {made.name} ({', '.join(sorted(made.roles))}).")
    return 0


@accounts.command(name="list")
@click.option("--disabled", is_flag=True, help="Include disabled accounts.")
@of_store
def list_(disabled: bool, config: str | None, store: str | None, as_json: bool) -> int:
    """List the accounts with their roles and labels."""
    found = _accounts(config, store).all(ended=disabled)
    if as_json:
        to_json.show([_json(one) for one in found])
        return 0
    for one in found:
        labels = ", ".join(sorted(one.labels)) or "public only"
        state = f"disabled {one.revoked[:10]}" if one.revoked else "active"
        click.echo(f"{one.name}: {', '.join(sorted(one.roles))} · labels: {labels} · {state}")
    if not found:
        click.echo("There are no accounts. Run: suffice accounts add NAME --role reviewer")
    return 0


@accounts.command()
@click.argument("name")
@BY
@of_store
def disable(name: str, by: str, config: str | None, store: str | None, as_json: bool) -> int:
    """Disable the account NAME and end its sessions."""
    ended = _accounts(config, store).disable(name, by)
    _said(ended, as_json, f"Disabled the account {ended.name}.")
    return 0


@accounts.command()
@click.argument("name")
@BY
@of_store
def password(name: str, by: str, config: str | None, store: str | None, as_json: bool) -> int:
    """Set a new password for the account NAME and end its sessions."""
    changed = _accounts(config, store).set_password(name, _password(), by)
    _said(changed, as_json, f"Set a new password for {changed.name}.")
    return 0


def _accounts(config: str | None, store: str | None, *, create: bool = False) -> Accounts:
    settings = read_settings(config)
    return Accounts(open_database(settings, store, create=create), settings=settings.record)


def _password() -> str:
    """Prompt for the password twice, or read it from standard input. Arguments would be visible in
    process lists and in the shell history."""
    if sys.stdin.isatty():
        typed: str = click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
        return typed
    line = sys.stdin.readline(LONGEST + 2).rstrip("\r\n")
    if not line:
        raise PrincipalError(
            "There is no password on standard input.",
            remedy="Run the command in a terminal, or pipe the password into it.",
        )
    return line


def _said(account: Principal, as_json: bool, words: str) -> None:
    to_json.show(_json(account)) if as_json else click.echo(words)


def _json(account: Principal) -> dict[str, Any]:
    return {
        "id": account.id,
        "name": account.name,
        "roles": sorted(account.roles),
        "labels": sorted(account.labels),
        "collections": sorted(account.collections),
        "created": account.created,
        "disabled": account.revoked or None,
    }
