"""Local accounts of the site: principals who sign in with a name and a password (argon2id).

Each change is recorded in the log in the same transaction. Disabling an account or changing its
password ends its sessions at once.
"""

from __future__ import annotations

import hashlib
import ipaddress
import re
import secrets
import time
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from suffice.access.keys import (
    ACCOUNT,
    ALL,
    LONGEST_NAME,
    Principal,
    RecordedChanges,
    Role,
    checked_name,
    checked_roles,
    checked_set,
    columns_of,
    described,
    hashed,
    principal_of,
)
from suffice.errors import ExtraMissing, PrincipalError
from suffice.log.chain import Clock, now, timestamp
from suffice.log.record import Record
from suffice.log.tables import PRINCIPALS, SESSIONS, SIGN_IN_FAILURES, TEAMS
from suffice.settings import RecordSettings, SiteSettings
from suffice.sql import sa
from suffice.sql.database import Database
from suffice.sql.statements import upsert
from suffice.text.storable import is_storable

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
            chosen = sa.select(table).where(table.c.subject.in_(list(longest)))
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
            connection.execute(sa.delete(table).where(table.c.last <= now - _FORGOTTEN))
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
        joined = SESSIONS.join(PRINCIPALS, SESSIONS.c.principal == PRINCIPALS.c.id)
        joined = joined.outerjoin(TEAMS, PRINCIPALS.c.team == TEAMS.c.name)
        columns = (
            PRINCIPALS,
            SESSIONS.c.seen,
            SESSIONS.c.expires.label("session_expires"),
            TEAMS.c.limits.label("team_limits"),
        )
        asked = sa.select(*columns).select_from(joined).where(SESSIONS.c.hash == hash)
        with self._database.reading() as connection:
            row = connection.execute(asked.where(PRINCIPALS.c.revoked.is_(None))).first()
        if row is None:
            return None
        principal = principal_of(row, {row.team: row.team_limits})
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
        kept = {field: value for field, value in fields.items() if value}
        self._seal(connection, Record(KIND, kept, caller=name, tag=name))


def end_sessions(connection: sa.Connection, principal: str) -> None:
    """End all sessions of a key or account."""
    connection.execute(sa.delete(SESSIONS).where(SESSIONS.c.principal == principal))


try:
    from argon2 import PasswordHasher
    from argon2.exceptions import Argon2Error, InvalidHashError
except ImportError as problem:
    raise ExtraMissing("Accounts with passwords", "server") from problem

SHORTEST, LONGEST = 10, 1_000
"""The minimum and maximum number of characters in a password."""
_ACCOUNTS = PRINCIPALS.c.kind == ACCOUNT
_HASHER = PasswordHasher()
# Checked for unknown names, so that a reply takes as long as for known ones.
_NOBODY = "$argon2id$v=19$m=65536,t=3,p=4$c2FsdHNhbHRzYWx0c2FsdA$" + "A" * 43


class Accounts(RecordedChanges):
    """The accounts of a store. Thread-safe."""

    def add(
        self,
        name: str,
        password: str,
        roles: Iterable[str] = (Role.VIEWER,),
        labels: Iterable[str] = (),
        collections: Iterable[str] = (ALL,),
        by: str = "",
        *,
        routes: Iterable[str] = (ALL,),
    ) -> Principal:
        """Create an account. Names of active keys and accounts are unique."""
        made = Principal(
            secrets.token_hex(8),
            checked_name(name, "account"),
            checked_roles(roles),
            checked_set("label", labels),
            checked_set("collection", collections),
            checked_set("route", routes),
            created=timestamp(self._clock()),
        )
        hash = _HASHER.hash(checked_password(password, name))
        with self._database.writing() as connection:
            new = upsert(connection, PRINCIPALS).values(columns_of(made, hash, ACCOUNT))
            once = new.on_conflict_do_nothing().returning(PRINCIPALS.c.id)
            if connection.execute(once).first() is None:
                raise PrincipalError(
                    f"An active key or account named '{name}' already exists.",
                    remedy="Choose another name, or disable the account first.",
                )
            self._record(connection, "added", made, by)
        return made

    def check(self, name: str, password: str) -> Principal | None:
        """The account, if the password is right. An unknown name takes the same time."""
        row = self._row(name)
        hash = row.hash if row else _NOBODY
        try:
            _HASHER.verify(hash, _normal(password)[: LONGEST + 1])
        except (Argon2Error, InvalidHashError):
            return None
        return principal_of(row, {}) if row else None

    def exists(self, name: str) -> bool:
        return self._row(name) is not None

    def set_password(self, name: str, password: str, by: str = "") -> Principal:
        """Set a new password, end the account's sessions and forget its failed attempts."""
        hash = _HASHER.hash(checked_password(password, name))
        return self._changed(name, {"hash": hash}, "password", by)

    def disable(self, name: str, by: str = "") -> Principal:
        """End an account and its sessions. Its records are kept; its name can be used again."""
        return self._changed(name, {"revoked": timestamp(self._clock())}, "disabled", by)

    def all(self, *, disabled: bool = False) -> list[Principal]:
        """The accounts by name; `disabled` adds the disabled ones."""
        asked = sa.select(PRINCIPALS).where(_ACCOUNTS)
        if not disabled:
            asked = asked.where(PRINCIPALS.c.revoked.is_(None))
        with self._database.reading() as connection:
            rows = connection.execute(asked.order_by(PRINCIPALS.c.name, PRINCIPALS.c.created))
            return [principal_of(row, {}) for row in rows]

    def _row(self, name: str) -> sa.Row[Any] | None:
        if len(name) > LONGEST_NAME or not is_storable(name):
            return None
        active = sa.select(PRINCIPALS).where(_ACCOUNTS, PRINCIPALS.c.revoked.is_(None))
        with self._database.reading() as connection:
            return connection.execute(active.where(PRINCIPALS.c.name == name)).first()

    def _changed(self, name: str, values: dict[str, Any], act: str, by: str) -> Principal:
        row = self._row(name)
        if row is None:
            raise PrincipalError(
                f"There is no active account '{name}'.",
                remedy="To list accounts, run: suffice accounts list",
            )
        with self._database.writing() as connection:
            chosen = sa.update(PRINCIPALS).where(
                PRINCIPALS.c.id == row.id, PRINCIPALS.c.revoked.is_(None)
            )
            connection.execute(chosen.values(values))
            end_sessions(connection, row.id)
            forget(connection, name)
            account = principal_of(row, {})
            self._record(connection, act, account, by)
        return account

    def _record(self, connection: sa.Connection, act: str, account: Principal, by: str) -> None:
        content = {"act": act, **described(account)}
        self._seal(connection, Record(ACCOUNT, content, caller=by, tag=account.name))


def checked_password(password: str, name: str = "") -> str:
    """The password in the form that is hashed. Raises if it is too easy to guess."""
    normal = _normal(password)
    if not SHORTEST <= len(normal) <= LONGEST:
        raise PrincipalError(
            f"The password has {len(normal):,} characters.",
            remedy=f"Use {SHORTEST} to {LONGEST:,} characters; several words are fine.",
        )
    if normal.casefold() == name.casefold() or len(set(normal)) < 4:
        raise PrincipalError(
            "The password is too easy to guess.", remedy="Use several words, not the name."
        )
    return normal


def _normal(password: str) -> str:
    # The same password typed on another keyboard may be composed of other code points.
    return unicodedata.normalize("NFC", password).encode("utf-8", "replace").decode()
