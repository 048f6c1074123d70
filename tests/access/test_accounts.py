"""Accounts and sessions, in both databases."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select

from suffice.access.accounts import Accounts
from suffice.access.keys import Principals, Role
from suffice.access.sign_in import Sessions
from suffice.errors import PrincipalError
from suffice.log.log import Log
from suffice.log.tables import PRINCIPALS, SESSIONS
from suffice.settings import SiteSettings
from suffice.sql.database import Database

PASSWORD = "correct horse battery"


class Clock:
    def __init__(self) -> None:
        self.moment = datetime(2026, 11, 17, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.moment

    def wait(self, **span: float) -> None:
        self.moment += timedelta(**span)


@pytest.fixture
def database(place: str) -> Iterator[Database]:
    opened = Database.open(place, create=True)
    yield opened
    opened.close()


def test_only_the_right_password_opens_an_account(database: Database) -> None:
    accounts = Accounts(database)
    accounts.add("ada", PASSWORD, ["reviewer"], ["hr"], by="root")
    found = accounts.check("ada", PASSWORD)
    assert found is not None
    assert found.has(Role.REVIEWER)
    assert found.has(Role.VIEWER)
    assert not found.has(Role.ADMIN)
    assert accounts.check("ada", PASSWORD.upper()) is None
    assert accounts.check("ada", "") is None
    assert accounts.check("eve", PASSWORD) is None
    assert accounts.check("ada\x00", PASSWORD) is None
    with database.reading() as connection:
        (hash,) = connection.scalars(select(PRINCIPALS.c.hash)).all()
    assert hash.startswith("$argon2id$")
    assert PASSWORD not in hash


def test_an_account_is_no_key_and_a_key_no_account(database: Database) -> None:
    accounts, keys = Accounts(database), Principals(database)
    accounts.add("ada", PASSWORD)
    made = keys.create("website")
    assert [one.name for one in keys.all()] == ["website"]
    assert [one.name for one in accounts.all()] == ["ada"]
    with pytest.raises(PrincipalError, match="no active key"):
        keys.revoke("ada")
    with pytest.raises(PrincipalError, match="no active account"):
        accounts.disable("website")
    for taken in ("ada", "website"):
        with pytest.raises(PrincipalError, match="already exists"):
            accounts.add(taken, PASSWORD)
    assert accounts.check("website", made.secret) is None


@pytest.mark.parametrize("weak", ["short", "", "ada ada ada ada", "aaaaaaaaaaaaaaaa", "x" * 1_001])
def test_a_weak_password_is_refused(database: Database, weak: str) -> None:
    with pytest.raises(PrincipalError) as refused:
        Accounts(database).add("ada ada ada ada", weak)
    assert refused.value.remedy


def test_changes_are_records_without_the_password(database: Database) -> None:
    accounts = Accounts(database)
    accounts.add("ada", PASSWORD, by="root")
    accounts.set_password("ada", PASSWORD + " staple", by="ada")
    accounts.disable("ada", by="root")
    assert accounts.check("ada", PASSWORD + " staple") is None
    log = Log(database)
    entries = [entry for entry in log.entries() if entry.kind == "account"]
    told = [(entry.fields()["act"], entry.caller) for entry in entries]
    assert told == [("added", "root"), ("password", "ada"), ("disabled", "root")]
    assert not any(PASSWORD in str(entry.fields()) for entry in entries)
    assert log.verify().whole
    log.close()


def test_a_session_ends_when_idle_and_in_any_case(database: Database) -> None:
    clock = Clock()
    ada = Accounts(database).add("ada", PASSWORD)
    site = SiteSettings(idle_minutes=60, session_hours=3)
    sessions = Sessions(database, site, clock)
    idle = sessions.start(ada, "account")
    clock.wait(minutes=59)
    assert sessions.find(idle)
    clock.wait(minutes=61)
    assert sessions.find(idle) is None
    used = sessions.start(ada, "account")
    for _ in range(3):
        clock.wait(minutes=50)
        assert sessions.find(used)
    clock.wait(minutes=40)
    assert sessions.find(used) is None


def test_only_the_hash_of_a_token_is_stored(database: Database) -> None:
    sessions = Sessions(database)
    ada = Accounts(database).add("ada", PASSWORD)
    token = sessions.start(ada, "account")
    with database.reading() as connection:
        rows = connection.execute(select(SESSIONS)).all()
    assert token not in str(rows)
    assert sessions.find(token[:-1]) is None
    assert sessions.find("ü") is None


def test_sessions_end_with_their_key_account_or_password(database: Database) -> None:
    accounts, keys, sessions = Accounts(database), Principals(database), Sessions(database)
    ada, bot = accounts.add("ada", PASSWORD), keys.create("bot", ["viewer"]).principal
    by_password, by_key = sessions.start(ada, "account"), sessions.start(bot, "key")
    assert sessions.find(by_password)
    assert sessions.find(by_key)
    accounts.set_password("ada", PASSWORD + "!")
    keys.revoke("bot")
    assert sessions.find(by_password) is None
    assert sessions.find(by_key) is None
    again = sessions.start(ada, "account")
    accounts.disable("ada")
    assert sessions.find(again) is None


def test_a_key_that_expires_ends_its_sessions(database: Database) -> None:
    clock = Clock()
    expires = clock() + timedelta(minutes=30)
    bot = Principals(database, clock).create("bot", ["viewer"], expires=expires).principal
    token = Sessions(database, clock=clock).start(bot, "key")
    clock.wait(minutes=29)
    assert Sessions(database, clock=clock).find(token)
    clock.wait(minutes=2)
    assert Sessions(database, clock=clock).find(token) is None
