"""`suffice accounts`: accounts for the review site, with a name and a password."""

from __future__ import annotations

import sys
from typing import Any

import click

from suffice.access.accounts import LONGEST, Accounts
from suffice.access.keys import ALL, Principal, Role
from suffice.cli import as_json as to_json
from suffice.cli.keys import BY
from suffice.cli.options import Options, of_store
from suffice.errors import PrincipalError

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
    options: Options,
    name: str,
    roles: tuple[str, ...],
    labels: tuple[str, ...],
    collections: tuple[str, ...],
    by: str,
) -> int:
    """Add an account for NAME."""
    accounts = _accounts(options, create=True)
    added = accounts.add(name, _password(), roles, labels, collections, by)
    _report(added, options, f"Added the account {added.name} ({', '.join(sorted(added.roles))}).")
    return 0


@accounts.command(name="list")
@click.option("--disabled", is_flag=True, help="Include disabled accounts.")
@of_store
def list_(options: Options, disabled: bool) -> int:
    """List the accounts with their roles and labels."""
    found = _accounts(options).all(ended=disabled)
    if options.as_json:
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
def disable(options: Options, name: str, by: str) -> int:
    """Disable the account NAME and end its sessions."""
    ended = _accounts(options).disable(name, by)
    _report(ended, options, f"Disabled the account {ended.name}.")
    return 0


@accounts.command()
@click.argument("name")
@BY
@of_store
def password(options: Options, name: str, by: str) -> int:
    """Set a new password for the account NAME and end its sessions."""
    changed = _accounts(options).set_password(name, _password(), by)
    _report(changed, options, f"Set a new password for {changed.name}.")
    return 0


def _accounts(options: Options, *, create: bool = False) -> Accounts:
    return Accounts(options.database(create=create), settings=options.settings.record)


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


def _report(account: Principal, options: Options, message: str) -> None:
    to_json.show(_json(account)) if options.as_json else click.echo(message)


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
