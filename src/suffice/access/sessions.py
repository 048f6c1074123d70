"""Sessions of people who signed in to the site. Only the hash of a session's token is stored.

A session ends after a time without requests, after a maximum time, when the person signs out, and
as soon as its key or account is revoked or disabled or expires.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

from suffice.access.keys import Principal, hashed, principal_of
from suffice.access.recorded_changes import RecordedChanges
from suffice.log.moment import Clock, now, timestamp
from suffice.log.record import Record
from suffice.log.tables import PRINCIPALS, SESSIONS, TEAMS
from suffice.settings import RecordSettings, SiteSettings
from suffice.sql.database import Database
from suffice.sql.toolkit import Connection, delete, or_, select, update

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
        asked = select(*columns).select_from(joined).where(SESSIONS.c.hash == hash)
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
                    update(SESSIONS).where(SESSIONS.c.hash == hash).values(seen=current)
                )
        return Session(principal, row.kind)

    def end(self, token: str, name: str, address: str = "") -> None:
        """Sign out."""
        if not token.isascii():
            return
        with self._database.writing() as connection:
            gone = delete(SESSIONS).where(SESSIONS.c.hash == hashed(token))
            if connection.execute(gone).rowcount:
                self._record(connection, "signed_out", name, "", address)

    def refused(self, name: str, way: str, address: str, why: str) -> None:
        """Record a failed attempt. `name` is empty unless it is that of an existing account,
        because anything else that was typed may be a password."""
        with self._database.writing() as connection:
            self._record(connection, "refused", name, way, address, why)

    def _forget_old(self, connection: Connection, moment: datetime) -> None:
        ended = or_(
            SESSIONS.c.expires <= timestamp(moment),
            SESSIONS.c.seen <= timestamp(moment - self._idle),
        )
        connection.execute(delete(SESSIONS).where(ended))

    def _record(
        self, connection: Connection, act: str, name: str, way: str, address: str, why: str = ""
    ) -> None:
        fields = {"act": act, "name": name, "way": way, "address": address, "reason": why}
        kept = {field: value for field, value in fields.items() if value}
        self._seal(connection, Record(KIND, kept, caller=name, tag=name))


def end_sessions(connection: Connection, principal: str) -> None:
    """End all sessions of a key or account."""
    connection.execute(delete(SESSIONS).where(SESSIONS.c.principal == principal))
