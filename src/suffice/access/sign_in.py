"""Sign-ins to the site: sessions, and the waits after failed attempts.

Each sign-in, sign-out and refused attempt is recorded in the log in the same transaction.
"""

from __future__ import annotations

import hashlib
import ipaddress
import re
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from suffice.access.keys import (
    LONGEST_NAME,
    SELECTED,
    Principal,
    RecordedChanges,
    hashed,
    principal_of,
)
from suffice.log.chain import Clock, now, timestamp
from suffice.log.record import Record
from suffice.log.tables import PRINCIPALS, SESSIONS, SIGN_IN_FAILURES
from suffice.settings import RecordSettings, SiteSettings
from suffice.sql import sa
from suffice.sql.database import Database
from suffice.sql.statements import upsert

ALLOWED = 5
ADDRESS_FACTOR = 4
"""An address may fail so many times as often as an account at an address."""
_FIRST, _LONGEST, _LONGEST_ACCOUNT = 2.0, 900.0, 30.0
_FORGOTTEN = 3_600.0
_IPV6_PREFIX = 64
_PORT = re.compile(r"\[(?P<v6>[^\]]+)\](:\d+)?|(?P<v4>\d+\.\d+\.\d+\.\d+):\d+")


@dataclass(frozen=True, slots=True)
class SignInAttempt:
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

    def wait(self, attempt: SignInAttempt) -> float:
        """Seconds until the attempt may be made."""
        table, now, longest = SIGN_IN_FAILURES, self._clock(), attempt.longest()
        with self._database.reading() as connection:
            chosen = sa.select(table).where(table.c.subject.in_(list(longest)))
            rows = connection.execute(chosen).all()
        address = _address(attempt.network)

        def left(subject: str, failures: int, last: float) -> float:
            allowed = self._allowed * (ADDRESS_FACTOR if subject == address else 1)
            return _left(failures - allowed, now - last, longest[subject])

        return max((left(row.subject, row.failures, row.last) for row in rows), default=0.0)

    def failed(self, attempt: SignInAttempt) -> None:
        """Count a failure."""
        table, now = SIGN_IN_FAILURES, self._clock()
        with self._database.writing() as connection:
            connection.execute(sa.delete(table).where(table.c.last <= now - _FORGOTTEN))
            for subject in sorted(attempt.longest()):
                new = upsert(connection, table).values(subject=subject, failures=1, last=now)
                more = {"failures": table.c.failures + 1, "last": now}
                connection.execute(new.on_conflict_do_update(index_elements=["subject"], set_=more))

    def succeeded(self, attempt: SignInAttempt) -> None:
        """Forget the failures of this account, except those at other addresses: whoever guesses
        there must not gain by a sign-in of the account's owner."""
        table = SIGN_IN_FAILURES
        if attempt.known:
            with self._database.writing() as connection:
                here = table.c.subject == _pair(attempt.name, attempt.network)
                _forget(connection, attempt.name, here)


def forget(connection: sa.Connection, name: str) -> None:
    """Forget all failures of an account, which has a new password."""
    everywhere = SIGN_IN_FAILURES.c.subject.startswith(_pair(name, ""))
    _forget(connection, name, everywhere)


def _forget(connection: sa.Connection, name: str, pairs: sa.ColumnElement[bool]) -> None:
    """Forget the failures of an account, and take those of `pairs` from the counts of the
    addresses. Failures for other accounts stay there: otherwise somebody who has an account could
    guess for others without end."""
    table = SIGN_IN_FAILURES
    connection.execute(sa.delete(table).where(table.c.subject == _account(name)))
    chosen = sa.select(table).where(pairs).order_by(table.c.subject)
    for row in connection.execute(chosen).all():
        address = table.c.subject == _address(row.subject.removeprefix(_pair(name, "")))
        fewer = {"failures": table.c.failures - row.failures}
        connection.execute(sa.update(table).where(address).values(fewer))
        connection.execute(sa.delete(table).where(address, table.c.failures <= 0))
    connection.execute(sa.delete(table).where(pairs))


def network_of(address: str) -> str:
    """The addresses that count as one: for IPv6 a /64, which one customer usually has. Without a
    port, which some proxies add. Anything else is its own."""
    if match := _PORT.fullmatch(address):
        address = match["v6"] or match["v4"]
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    if parsed.ipv4_mapped:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.IPv6Network((int(parsed), _IPV6_PREFIX), strict=False))


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


KIND = "sign_in"
"""The kind of records about signing in and out, and about failed attempts."""
_SEEN = timedelta(minutes=1)
"""How far `seen` may lag behind, so that not every request writes to the store."""
_LONGEST_TOKEN = 100


@dataclass(frozen=True, slots=True)
class Session:
    """An active session, with the current state of its key or account."""

    principal: Principal
    kind: str
    """`key` or `account`."""


class Sessions(RecordedChanges):
    """The sessions of a store. Thread-safe."""

    def __init__(
        self,
        database: Database,
        site: SiteSettings | None = None,
        clock: Clock = now,
        settings: RecordSettings | None = None,
    ) -> None:
        super().__init__(database, clock, settings)
        site = site or SiteSettings()
        self._idle = timedelta(minutes=site.idle_minutes)
        self._longest = timedelta(hours=site.session_hours)

    def start(self, principal: Principal, way: str, address: str = "") -> str:
        """Start a session and return its token, which is kept only in the cookie."""
        token, moment = secrets.token_urlsafe(32), self._clock()
        started = timestamp(moment)
        with self._database.writing() as connection:
            self._forget_old(connection, moment)
            values = {
                "hash": hashed(token),
                "principal": principal.id,
                "created": started,
                "seen": started,
                "expires": timestamp(moment + self._longest),
            }
            connection.execute(SESSIONS.insert().values(values))
            self._record(connection, "signed_in", principal.name, way, address)
        return token

    def find(self, token: str) -> Session | None:
        """The session of a token; `None` if it is unknown or has ended."""
        if not token or len(token) > _LONGEST_TOKEN or not token.isascii():
            return None
        moment, hash = self._clock(), hashed(token)
        columns = (SESSIONS.c.seen, SESSIONS.c.expires.label("session_expires"))
        query = SELECTED.add_columns(*columns).join(
            SESSIONS, SESSIONS.c.principal == PRINCIPALS.c.id
        )
        query = query.where(SESSIONS.c.hash == hash, PRINCIPALS.c.revoked.is_(None))
        with self._database.reading() as connection:
            row = connection.execute(query).first()
        if row is None:
            return None
        principal = principal_of(row)
        current = timestamp(moment)
        idle = row.seen <= timestamp(moment - self._idle)
        if idle or row.session_expires <= current or principal.expired(current):
            return None
        if row.seen <= timestamp(moment - _SEEN):
            with self._database.writing() as connection:
                connection.execute(
                    sa.update(SESSIONS).where(SESSIONS.c.hash == hash).values(seen=current)
                )
        return Session(principal, row.kind)

    def end(self, token: str, name: str, address: str = "") -> None:
        """Sign out."""
        if not token.isascii():
            return
        with self._database.writing() as connection:
            gone = sa.delete(SESSIONS).where(SESSIONS.c.hash == hashed(token))
            if connection.execute(gone).rowcount:
                self._record(connection, "signed_out", name, "", address)

    def refused(self, name: str, way: str, address: str, why: str) -> None:
        """Record a failed attempt. `name` is empty unless it is that of an existing account,
        because anything else that was typed may be a password."""
        with self._database.writing() as connection:
            self._record(connection, "refused", name, way, address, why)

    def _forget_old(self, connection: sa.Connection, moment: datetime) -> None:
        ended = sa.or_(
            SESSIONS.c.expires <= timestamp(moment),
            SESSIONS.c.seen <= timestamp(moment - self._idle),
        )
        connection.execute(sa.delete(SESSIONS).where(ended))

    def _record(
        self, connection: sa.Connection, act: str, name: str, way: str, address: str, why: str = ""
    ) -> None:
        fields = {"act": act, "name": name, "way": way, "address": address, "reason": why}
        content = {field: value for field, value in fields.items() if value}
        self._seal(connection, Record(KIND, content, caller=name, tag=name))


def end_sessions(connection: sa.Connection, principal: str) -> None:
    """End all sessions of a key or account."""
    connection.execute(sa.delete(SESSIONS).where(SESSIONS.c.principal == principal))
