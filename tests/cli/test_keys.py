"""`suffice keys`: a key is shown once and stops working when it is revoked."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from sqlalchemy import update

from suffice.access.keys import Principals
from suffice.cli import cli
from suffice.errors import PrincipalError, SettingsError
from suffice.log.tables import PRINCIPALS
from suffice.sql.database import Database


def run(*arguments: str) -> str:
    done = CliRunner().invoke(cli, ["keys", *arguments], standalone_mode=False)
    if done.exception is not None:
        raise done.exception
    assert done.return_value == 0
    return done.stdout


def test_a_key_is_made_used_and_revoked(tmp_path: Path) -> None:
    store = str(tmp_path / "s.db")
    rights = ("--label", "staff", "--route", "/v1/gate", "--limit", "concurrent=4")
    key = run("create", "website", *rights, "--store", store).strip()
    database = Database.open(store)
    principals = Principals(database)
    found = principals.lookup(key)
    assert found is not None
    assert found.name == "website"
    assert found.labels == frozenset({"staff"})
    assert found.routes == frozenset({"/v1/gate"})
    (listed,) = json.loads(run("list", "--json", "--store", store))
    assert listed["limits"] == {"concurrent": 4}
    shown = run("list", "--store", store)
    assert "labels: staff" in shown
    assert key not in shown
    run("revoke", "website", "--store", store)
    assert principals.lookup(key) is None
    assert "no keys" in run("list", "--store", store)
    assert "revoked 2" in run("list", "--revoked", "--store", store)
    with pytest.raises(PrincipalError, match="keys list"):
        run("revoke", "website", "--store", store)
    database.close()
    audit = CliRunner().invoke(cli, ["audit", "show", "--store", store]).output
    assert "created webs" in audit
    assert "revoked webs" in audit
    assert CliRunner().invoke(cli, ["audit", "verify", "--store", store]).exit_code == 0


def test_a_key_that_would_only_be_refused_is_not_made(tmp_path: Path) -> None:
    store = str(tmp_path / "s.db")
    rights = ("--route", "default", "--collection", "hr")
    with pytest.raises(SettingsError, match="searches the collection 'default'") as refused:
        run("create", "website", *rights, "--store", store)
    assert "--collection default" in refused.value.remedy
    assert run("create", "website", *rights, "--collection", "default", "--store", store)


def test_json_holds_the_key_once(tmp_path: Path) -> None:
    store = str(tmp_path / "s.db")
    made = json.loads(run("create", "website", "--json", "--store", store))
    assert made["key"].startswith("sk-suffice-")
    (listed,) = json.loads(run("list", "--json", "--store", store))
    assert "key" not in listed


def test_expiry_and_team_are_shown(tmp_path: Path) -> None:
    store = str(tmp_path / "s.db")

    def teams(*arguments: str) -> str:
        options = ["teams", *arguments, "--store", store]
        return (
            CliRunner().invoke(cli, options, standalone_mode=False, catch_exceptions=False).output
        )

    assert "tokens_per_month: 5,000,000" in teams("set", "hr", "--limit", "tokens_per_month=5e6")
    run("create", "guest", "--expires", "2999-01-31", "--team", "hr", "--store", store)
    run("create", "hour", "--expires", "1h", "--store", store)
    run("create", "exact", "--expires", "2999-01-31T12:30+01:00", "--store", store)
    listed = {one["name"]: one for one in json.loads(run("list", "--json", "--store", store))}
    assert listed["guest"]["expires"] == "2999-01-31T23:59:59.999999Z"
    assert listed["exact"]["expires"].startswith("2999-01-31T11:30")
    assert listed["hour"]["expires"] > listed["hour"]["created"]
    assert listed["guest"]["team"] == "hr"
    shown = run("list", "--store", store)
    assert "expires 2999-01-31T23:59Z" in shown
    assert "1 key" in teams("list")
    database = Database.open(store)
    with database.writing() as connection:
        past = {"expires": "2020-01-01T00:00:00.000000Z"}
        connection.execute(update(PRINCIPALS).where(PRINCIPALS.c.name == "hour").values(past))
    database.close()
    assert "expired 2020-01-01T00:00Z" in run("list", "--store", store)
    with pytest.raises(click.BadParameter, match="2027-01-31, 90d, 12h"):
        run("create", "other", "--expires", "soon", "--store", store)
