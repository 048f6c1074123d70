"""Keys: a key authenticates only its own principal, and no other text does."""

from __future__ import annotations

import string
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, inspect, select

from suffice.access.keys import ALL, LIMITS, Principal, Principals, Role, Team, Teams
from suffice.errors import PrincipalError, StoreError
from suffice.log.log import Log
from suffice.log.stored import RecordFilter
from suffice.log.tables import HEAD, PRINCIPALS, RECORDS
from suffice.settings import RecordSettings
from suffice.sql.database import Database

NAMES = st.sets(st.text(string.ascii_letters + "-_/ é", min_size=1, max_size=12), max_size=4)
LIMIT = st.dictionaries(st.sampled_from(LIMITS), st.integers(0, 10**9) | st.floats(0, 1e9))
NOT_EACH = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


@pytest.fixture
def database(place: str) -> Iterator[Database]:
    opened = Database.open(place, create=True)
    yield opened
    opened.close()


@pytest.fixture
def principals(database: Database) -> Principals:
    return Principals(database)


def test_the_table_is_that_of_the_migrations(database: Database) -> None:
    with database.reading() as connection:
        there = [one["name"] for one in inspect(connection).get_columns("principals")]
    assert there == [column.name for column in PRINCIPALS.columns]


def test_a_key_opens_for_whom_it_was_made(principals: Principals) -> None:
    made = principals.create("website", labels=["staff"], limits={"concurrent": 4})
    other = principals.create("intranet")
    assert principals.lookup(made.secret) == made.principal
    assert principals.lookup(other.secret) == other.principal
    assert principals.all() == [other.principal, made.principal]
    assert made.principal.labels == {"staff"}
    assert made.principal.limits == {"concurrent": 4}
    assert made.secret not in repr(made)


def test_no_secret_is_kept(principals: Principals, database: Database, tmp_path: Path) -> None:
    made = principals.create("website")
    random = made.secret.rpartition(f"{made.principal.id}-")[2]
    assert len(random) == 43  # 256 bits
    with database.reading() as connection:
        row = connection.execute(select(PRINCIPALS)).one()
    assert all(random not in str(value) for value in row)
    for file in tmp_path.glob("s.db*"):
        assert random.encode() not in file.read_bytes()


def test_a_revoked_key_opens_nothing_and_its_name_is_free_again(principals: Principals) -> None:
    first = principals.create("website")
    assert principals.revoke("website").revoked
    assert principals.lookup(first.secret) is None
    assert principals.all() == []
    second = principals.create("website")
    assert principals.lookup(second.secret) == second.principal
    assert [one.id for one in principals.all(ended=True)] == [
        first.principal.id,
        second.principal.id,
    ]
    assert principals.revoke(second.principal.id).name == "website"
    with pytest.raises(PrincipalError, match="keys list"):
        principals.revoke("website")
    with pytest.raises(PrincipalError, match="no active key"):
        principals.revoke("\0\ud800")


def test_of_two_at_once_one_gets_the_name(principals: Principals) -> None:
    def attempt(_: int) -> str:
        try:
            return principals.create("website").secret
        except PrincipalError:
            return ""

    with ThreadPoolExecutor(8) as pool:
        made = [secret for secret in pool.map(attempt, range(8)) if secret]
    assert len(made) == 1
    assert principals.lookup(made[0]) is not None
    with pytest.raises(PrincipalError, match="already"):
        principals.create("website")


@NOT_EACH
@given(text=st.text(max_size=90), place_in=st.integers(0, 70), letter=st.sampled_from("aZ0-_é\0 "))
@example("sk-suffice-", 3, "\ud800")
def test_no_other_text_opens(principals: Principals, text: str, place_in: int, letter: str) -> None:
    if not principals.all():
        principals.create("website")
    made = principals.create(f"other {len(principals.all(ended=True))}")
    principals.revoke(made.principal.id)  # a key is shown once: a fresh one is at hand for the test
    assert principals.lookup(text) is None
    fresh = principals.create("fresh")
    key = fresh.secret
    place_in = min(place_in, len(key) - 1)
    changed = key[:place_in] + letter + key[place_in + 1 :]
    if changed != key:
        assert principals.lookup(changed) is None
    swapped = f"sk-suffice-{made.principal.id}-{key.split('-', 3)[3]}"
    assert principals.lookup(swapped) is None
    for near in (key + "\n", key + "A", key[:-1], key.upper(), f" {key}", f"Bearer {key}"):
        assert principals.lookup(near) is None
    assert principals.lookup(key) == fresh.principal
    principals.revoke("fresh")


@NOT_EACH
@given(st.sets(st.sampled_from(Role)), NAMES, NAMES, NAMES, LIMIT)
def test_what_is_given_is_what_it_has(
    principals: Principals,
    roles: set[Role],
    labels: set[str],
    collections: set[str],
    routes: set[str],
    limits: dict[str, float],
) -> None:
    made = principals.create("one", roles, labels, collections, routes, limits)
    found = principals.lookup(made.secret)
    principals.revoke("one")
    assert found == Principal(
        made.principal.id,
        "one",
        frozenset(roles) or frozenset({Role.CALLER}),  # a key without a role is a caller
        frozenset(labels),
        frozenset(collections),
        frozenset(routes),
        limits,
        made.principal.created,
    )
    assert all(found.may_use(name) for name in collections)
    assert all(found.may_call(name) for name in routes)
    assert not found.may_use("something else")
    for role in (Role.REVIEWER, Role.LIBRARIAN):
        assert found.has(role) == bool({role, Role.ADMIN} & roles)


def test_all_is_every_one_and_nothing_is_none() -> None:
    assert Principal("1", "all").may_use("anything")
    assert Principal("1", "all").may_call("/v1/anything")
    none = Principal("1", "none", collections=frozenset(), routes=frozenset())
    assert not none.may_use("default")
    assert not none.may_call(ALL + "x")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"name": ""}, "not a valid name"),
        ({"name": "a\nb"}, "not a valid name"),
        ({"name": "--json"}, "not a valid name"),
        ({"name": "0123456789abcdef"}, "not a valid name"),
        ({"name": "x" * 101}, "not a valid name"),
        ({"name": "a\0"}, "not a valid name"),
        ({"roles": ["king"]}, "caller, viewer, reviewer, librarian, admin"),
        ({"labels": [""]}, "not a valid label"),
        ({"routes": ["\ud800"]}, "not a valid route"),
        ({"limits": {"speed": 1}}, "requests_per_minute"),
        ({"limits": {"concurrent": -1}}, "0 or more"),
        ({"limits": {"concurrent": float("nan")}}, "0 or more"),
        ({"limits": {"concurrent": True}}, "0 or more"),
    ],
)
def test_what_makes_no_sense_is_refused(
    tmp_path: Path, arguments: dict[str, object], said: str
) -> None:
    database = Database.open(tmp_path / "s.db", create=True)
    with pytest.raises(PrincipalError, match=said):
        Principals(database).create(**{"name": "website", **arguments})  # type: ignore[arg-type]
    assert Principals(database).all(ended=True) == []
    database.close()


def test_what_is_given_and_taken_is_in_the_log(database: Database) -> None:
    principals = Principals(database)
    made = principals.create("website", ["reviewer"], ["staff"], limits={"concurrent": 4}, by="Ada")
    with pytest.raises(PrincipalError):
        principals.create("website", by="Eve")
    principals.revoke("website", by="Bob")
    log = Log(database)
    ended, created = log.page()
    assert [(one.kind, one.caller, one.tag) for one in (created, ended)] == [
        ("key", "Ada", "website"),
        ("key", "Bob", "website"),
    ]
    assert created.fields() == {
        "act": "created",
        "principal": made.principal.id,
        "name": "website",
        "roles": ["reviewer"],
        "labels": ["staff"],
        "collections": [ALL],
        "routes": [ALL],
        "limits": {"concurrent": 4},
    }
    assert ended.fields() == {**created.fields(), "act": "revoked"}
    assert made.secret.removeprefix(f"sk-suffice-{made.principal.id}-") not in created.payload
    assert log.verify().whole
    with database.writing() as connection:
        connection.execute(delete(RECORDS).where(RECORDS.c.sequence == 1))
    assert not log.verify().whole


def test_no_key_is_made_that_cannot_be_recorded(database: Database) -> None:
    with database.writing() as connection:
        connection.execute(delete(HEAD))
    with pytest.raises(StoreError):
        Principals(database).create("website")
    assert Principals(database).all() == []
    Principals(database, settings=RecordSettings(enabled="never")).create("website")
    assert len(Principals(database).all()) == 1


def test_a_key_expires_and_says_when(database: Database) -> None:
    times = [datetime(2026, 11, 16, 12, tzinfo=UTC)]
    principals = Principals(database, lambda: times[0])
    end = times[0] + timedelta(days=30)
    made = principals.create("guest", expires=end)
    found = principals.lookup(made.secret)
    assert found is not None
    assert found.expires == "2026-12-16T12:00:00.000000Z"
    times[0] = end - timedelta(microseconds=1)
    assert not principals.expired(found)
    times[0] = end
    assert principals.expired(found)
    assert principals.lookup(made.secret) == found
    assert principals.all() == [found]  # still listed, until it is revoked
    with pytest.raises(PrincipalError, match="in the past"):
        principals.create("too late", expires=end)


def test_a_team_has_limits_that_its_keys_carry(database: Database) -> None:
    principals, teams = Principals(database), Teams(database)
    with pytest.raises(PrincipalError, match="suffice teams set hr"):
        principals.create("one", team="hr")
    for wrong in ("anyone", "-x", "a" * 101):
        with pytest.raises(PrincipalError, match="not a valid name for a team"):
            teams.set(wrong, {})
    teams.set("hr", {"tokens_per_month": 5})
    made = principals.create("one", team="hr")
    teams.set("hr", {"tokens_per_month": 7, "concurrent": 2}, by="Ada")
    found = principals.lookup(made.secret)
    assert found is not None
    assert (found.team, found.team_limits) == ("hr", {"tokens_per_month": 7, "concurrent": 2})
    assert teams.all() == [Team("hr", {"tokens_per_month": 7, "concurrent": 2}, 1)]
    assert principals.all() == [found]
    with pytest.raises(PrincipalError, match="still has keys: one"):
        teams.remove("hr")
    principals.revoke("one")
    teams.remove("hr", by="Ada")
    assert teams.all() == []
    with pytest.raises(PrincipalError, match="no team 'hr'"):
        teams.remove("hr")
    log = Log(database)
    acts = [(entry.fields()["act"], entry.caller) for entry in log.page(RecordFilter("team"))]
    assert acts == [("removed", "Ada"), ("set", "Ada"), ("set", "")]
    log.close()
