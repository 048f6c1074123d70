"""Failed attempts to give a password or a key: after a few, each further one has to wait longer.

Counts are kept in the store, so that all processes share them:
- for an account and an address together, strictly: this stops guessing;
- for an address, because somebody may guess for many accounts;
- for an account from all addresses together, with short waits: somebody elsewhere must not be able
  to lock a person out.

A count is reset after a success or a new password, or after `_FORGOTTEN` seconds without a failure.
"""

from __future__ import annotations

import hashlib
import ipaddress
import re
import time
from collections.abc import Callable
from dataclasses import dataclass

from suffice.access.rights import LONGEST_NAME
from suffice.log.tables import SIGN_IN_FAILURES
from suffice.sql.database import Database
from suffice.sql.toolkit import ColumnElement, Connection, delete, select, update
from suffice.sql.upsert import upsert

ALLOWED = 5
ADDRESS_FACTOR = 4
"""An address may fail so many times as often as an account at an address."""
_FIRST, _LONGEST, _LONGEST_ACCOUNT = 2.0, 900.0, 30.0
_FORGOTTEN = 3_600.0
_IPV6_PREFIX = 64
_PORT = re.compile(r"\[(?P<v6>[^\]]+)\](:\d+)?|(?P<v4>\d+\.\d+\.\d+\.\d+):\d+")


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt from an address, for an account or, without a name, with a key. A name that is too
    long for an account counts for the address only."""

    address: str
    name: str = ""

    @property
    def network(self) -> str:
        return network_of(self.address)

    @property
    def known(self) -> bool:
        """Whether an account may have this name."""
        return 0 < len(self.name) <= LONGEST_NAME

    def longest(self) -> dict[str, float]:
        """What the attempt is counted for, with the longest wait of each."""
        subjects = {_address(self.network): _LONGEST}
        if self.known:
            subjects[_account(self.name)] = _LONGEST_ACCOUNT
            subjects[_pair(self.name, self.network)] = _LONGEST
        return subjects


class Attempts:
    """The failed attempts of a store; `allowed` is the number of failures of an account without a
    wait. Thread-safe."""

    def __init__(
        self,
        database: Database,
        allowed: int = ALLOWED,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._database = database
        self._allowed = allowed
        self._clock = clock

    def wait(self, attempt: Attempt) -> float:
        """Seconds until the attempt may be made."""
        table, now, longest = SIGN_IN_FAILURES, self._clock(), attempt.longest()
        with self._database.reading() as connection:
            chosen = select(table).where(table.c.subject.in_(list(longest)))
            rows = connection.execute(chosen).all()
        address = _address(attempt.network)

        def left(subject: str, failures: int, last: float) -> float:
            allowed = self._allowed * (ADDRESS_FACTOR if subject == address else 1)
            return _left(failures - allowed, now - last, longest[subject])

        return max((left(row.subject, row.failures, row.last) for row in rows), default=0.0)

    def failed(self, attempt: Attempt) -> None:
        """Count a failure."""
        table, now = SIGN_IN_FAILURES, self._clock()
        with self._database.writing() as connection:
            connection.execute(delete(table).where(table.c.last <= now - _FORGOTTEN))
            for subject in sorted(attempt.longest()):
                new = upsert(connection, table).values(subject=subject, failures=1, last=now)
                more = {"failures": table.c.failures + 1, "last": now}
                connection.execute(new.on_conflict_do_update(index_elements=["subject"], set_=more))

    def succeeded(self, attempt: Attempt) -> None:
        """Forget the failures of this account, except those at other addresses: whoever guesses
        there must not gain by a sign-in of the account's owner."""
        table = SIGN_IN_FAILURES
        if attempt.known:
            with self._database.writing() as connection:
                here = table.c.subject == _pair(attempt.name, attempt.network)
                _forget(connection, attempt.name, here)


def forget(connection: Connection, name: str) -> None:
    """Forget all failures of an account, which has a new password."""
    everywhere = SIGN_IN_FAILURES.c.subject.startswith(_pair(name, ""))
    _forget(connection, name, everywhere)


def _forget(connection: Connection, name: str, pairs: ColumnElement[bool]) -> None:
    """Forget the failures of an account, and take those of `pairs` from the counts of the
    addresses. Failures for other accounts stay there: otherwise somebody who has an account could
    guess for others without end."""
    table = SIGN_IN_FAILURES
    connection.execute(delete(table).where(table.c.subject == _account(name)))
    chosen = select(table).where(pairs).order_by(table.c.subject)
    for row in connection.execute(chosen).all():
        address = table.c.subject == _address(row.subject.removeprefix(_pair(name, "")))
        fewer = {"failures": table.c.failures - row.failures}
        connection.execute(update(table).where(address).values(fewer))
        connection.execute(delete(table).where(address, table.c.failures <= 0))
    connection.execute(delete(table).where(pairs))


def network_of(address: str) -> str:
    """The addresses that count as one: for IPv6 a /64, which one customer usually has. Without a
    port, which some proxies add. Anything else is its own."""
    if found := _PORT.fullmatch(address):
        address = found["v6"] or found["v4"]
    try:
        known = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(known, ipaddress.IPv4Address):
        return str(known)
    if known.ipv4_mapped:
        return str(known.ipv4_mapped)
    return str(ipaddress.IPv6Network((int(known), _IPV6_PREFIX), strict=False))


def _address(network: str) -> str:
    return f"address {network}"


def _account(name: str) -> str:
    return f"account {_digest(name)}"


def _pair(name: str, network: str) -> str:
    return f"pair {_digest(name)} {network}"


def _digest(name: str) -> str:
    """What was typed as a name may be a password: it is not stored."""
    return hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()


def _left(excess: int, since: float, longest: float) -> float:
    """The seconds left to wait after `excess` failures beyond those allowed."""
    if excess < 0 or not -longest <= since <= _FORGOTTEN:  # by a clock that had jumped forward
        return 0.0
    return max(min(_FIRST * 2.0 ** min(excess, 30), longest) - since, 0.0)
