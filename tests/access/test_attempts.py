"""Failed attempts: guessing gets slow, and nobody can lock out somebody else. In both databases."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from sqlalchemy import select

from suffice.access.accounts import Accounts
from suffice.access.sign_in import Attempts, SignInAttempt, network_of
from suffice.log.tables import SIGN_IN_FAILURES
from suffice.sql.database import Database

PASSWORD = "correct horse battery"
HERE, THERE = "192.0.2.1", "198.51.100.7"


class Seconds:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def database(place: str) -> Iterator[Database]:
    opened = Database.open(place, create=True)
    yield opened
    opened.close()


@pytest.fixture
def seconds() -> Seconds:
    return Seconds()


@pytest.fixture
def attempts(database: Database, seconds: Seconds) -> Attempts:
    return Attempts(database, 3, seconds)


def fail(attempts: Attempts, attempt: SignInAttempt, times: int) -> None:
    for _ in range(times):
        attempts.failed(attempt)


def test_each_further_failure_waits_twice_as_long(attempts: Attempts, seconds: Seconds) -> None:
    ada, waits = SignInAttempt(HERE, "ada"), []
    for _ in range(6):
        waits.append(attempts.wait(ada))
        attempts.failed(ada)
    assert waits == [0, 0, 0, 2, 4, 8]
    fail(attempts, ada, 6)
    assert attempts.wait(ada) == 900
    assert attempts.wait(SignInAttempt(THERE, "eve")) == 0
    seconds.now = 800
    assert attempts.wait(ada) == 100
    seconds.now += 3_601
    attempts.failed(SignInAttempt(THERE, "eve"))
    assert attempts.wait(ada) == 0


def test_failures_elsewhere_do_not_lock_a_person_out(attempts: Attempts, seconds: Seconds) -> None:
    """One attempt whenever the wait is over: at home, the wait stays short."""
    guess, ada = SignInAttempt(THERE, "ada"), SignInAttempt(HERE, "ada")
    for _ in range(30):
        attempts.failed(guess)
        assert attempts.wait(ada) <= 30
        seconds.now += attempts.wait(guess)
    attempts.failed(guess)
    assert attempts.wait(guess) == 900
    seconds.now += 30
    assert attempts.wait(ada) == 0


def test_many_addresses_guess_slowly_too(attempts: Attempts) -> None:
    for n in range(30):
        attempts.failed(SignInAttempt(f"198.51.100.{n}", "ada"))
    assert attempts.wait(SignInAttempt(HERE, "ada")) == 30
    assert attempts.wait(SignInAttempt(HERE, "eve")) == 0


def test_an_address_that_tries_many_accounts_waits(attempts: Attempts) -> None:
    for n in range(20):
        attempts.failed(SignInAttempt(HERE, f"name {n}"))
    assert attempts.wait(SignInAttempt(HERE, "another")) == 512
    assert attempts.wait(SignInAttempt(HERE)) == 512  # with a key


def test_a_success_clears_the_failures_of_its_account_here(attempts: Attempts) -> None:
    ada = SignInAttempt(HERE, "ada")
    fail(attempts, ada, 11)
    fail(attempts, SignInAttempt(THERE, "ada"), 11)
    attempts.succeeded(ada)
    fail(attempts, ada, 2)
    assert attempts.wait(ada) == 0
    fail(attempts, SignInAttempt(HERE, "bob"), 2)
    fail(attempts, SignInAttempt(HERE, "cleo"), 2)
    assert attempts.wait(SignInAttempt(HERE, "another")) == 0  # 6 failures count here, not 17
    assert attempts.wait(SignInAttempt(THERE, "ada")) > 30  # who guesses there gains nothing


def test_a_success_does_not_clear_failures_for_other_accounts(attempts: Attempts) -> None:
    """Otherwise somebody who has an account could guess for others without end."""
    for n in range(20):
        attempts.failed(SignInAttempt(HERE, f"name {n}"))
        attempts.succeeded(SignInAttempt(HERE, "eve"))
    assert attempts.wait(SignInAttempt(HERE, "eve")) == 512


def test_a_new_password_clears_all_failures_of_the_account(
    database: Database, attempts: Attempts
) -> None:
    accounts = Accounts(database)
    accounts.add("ada", PASSWORD)
    for address in (HERE, THERE):
        fail(attempts, SignInAttempt(address, "ada"), 20)
    attempts.failed(SignInAttempt(HERE, "bob"))
    accounts.set_password("ada", PASSWORD + " staple")
    for address in (HERE, THERE):
        assert attempts.wait(SignInAttempt(address, "ada")) == 0
    with database.reading() as connection:
        left = connection.execute(select(SIGN_IN_FAILURES)).all()
    assert sorted(row.subject.split()[0] for row in left) == ["account", "address", "pair"]
    assert {row.failures for row in left} == {1}


@pytest.mark.parametrize("length", [101, 2_000, 60_000])
def test_a_name_that_no_account_can_have_counts_for_the_address(
    database: Database, attempts: Attempts, length: int
) -> None:
    drawn = random.Random(length)  # a text that PostgreSQL cannot compress
    long = "".join(chr(drawn.randrange(0x4E00, 0x9FFF)) for _ in range(length))
    fail(attempts, SignInAttempt(HERE, long), 12)
    assert attempts.wait(SignInAttempt(HERE, "ada")) == 2
    assert Accounts(database).check(long, PASSWORD) is None
    with database.reading() as connection:
        assert connection.scalars(select(SIGN_IN_FAILURES.c.subject)).all() == [f"address {HERE}"]


@pytest.mark.parametrize("name", ["my secret passphrase", "zero\x00byte", "ü" * 100, "half\ud800"])
def test_what_was_typed_as_a_name_is_counted_but_not_stored(
    database: Database, attempts: Attempts, name: str
) -> None:
    fail(attempts, SignInAttempt(HERE, name), 4)
    assert attempts.wait(SignInAttempt(HERE, name)) == 4
    with database.reading() as connection:
        stored = connection.scalars(select(SIGN_IN_FAILURES.c.subject)).all()
    assert len(stored) == 3
    assert not any(name in subject for subject in stored)


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("192.0.2.1:4711", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:DB8:1:2::9", "2001:db8:1:2::/64"),
        ("[2001:db8:1:2::9]:4711", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::9", "2001:db8:1:3::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("fe80::1%", "fe80::1%"),
        ("[]", "[]"),
        ("unknown", "unknown"),
        ("", ""),
    ],
)
def test_the_addresses_that_count_as_one(address: str, network: str) -> None:
    assert network_of(address) == network


def test_an_ipv6_network_counts_as_one_address(attempts: Attempts) -> None:
    for n in range(12):
        attempts.failed(SignInAttempt(f"2001:db8:1:2::{n}", f"name {n}"))
    assert attempts.wait(SignInAttempt("2001:db8:1:2:ffff::1", "ada")) == 2
    assert attempts.wait(SignInAttempt("2001:db8:1:3::1", "ada")) == 0


def test_failures_from_the_future_lock_nobody_out(attempts: Attempts, seconds: Seconds) -> None:
    """They were counted by a clock that had jumped forward."""
    ada = SignInAttempt(HERE, "ada")
    seconds.now = 1e9
    fail(attempts, ada, 8)
    assert attempts.wait(ada) > 0
    seconds.now = 1e6
    assert attempts.wait(ada) == 0
    fail(attempts, ada, 1)
    assert attempts.wait(ada) > 0
