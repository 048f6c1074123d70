"""`suffice accounts`: the password comes from a prompt or standard input, never from arguments."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from suffice.access.accounts import Accounts
from suffice.cli import cli
from suffice.errors import PrincipalError
from suffice.sql.database import Database

PASSWORD = "correct horse battery"


def run(*arguments: str, typed: str = "") -> str:
    done = CliRunner().invoke(cli, ["accounts", *arguments], input=typed, standalone_mode=False)
    if done.exception is not None:
        raise done.exception
    return done.stdout


def test_an_account_is_added_listed_changed_and_disabled(tmp_path: Path) -> None:
    store = str(tmp_path / "s.db")
    rights = ("--role", "reviewer", "--label", "hr")
    run("add", "ada", *rights, "--store", store, typed=f"{PASSWORD}\n")
    database = Database.open(store)
    accounts = Accounts(database)
    found = accounts.check("ada", PASSWORD)
    assert found is not None
    assert found.labels == frozenset({"hr"})
    (listed,) = json.loads(run("list", "--json", "--store", store))
    assert (listed["name"], listed["roles"]) == ("ada", ["reviewer"])
    run("password", "ada", "--store", store, typed=f"{PASSWORD} staple\n")
    assert accounts.check("ada", PASSWORD) is None
    assert accounts.check("ada", f"{PASSWORD} staple")
    run("disable", "ada", "--store", store)
    assert "no accounts" in run("list", "--store", store)
    assert "disabled 2" in run("list", "--disabled", "--store", store)
    database.close()


def test_without_a_password_nothing_is_added(tmp_path: Path) -> None:
    with pytest.raises(PrincipalError, match="standard input"):
        run("add", "ada", "--store", str(tmp_path / "s.db"))
