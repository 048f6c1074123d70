"""Local accounts of the site: principals who sign in with a name and a password (argon2id).

Each change is recorded in the log in the same transaction. Disabling an account or changing its
password ends its sessions at once.
"""

from __future__ import annotations

import secrets
import unicodedata
from collections.abc import Iterable
from typing import Any

from suffice.access.attempts import forget
from suffice.access.keys import (
    ACCOUNT,
    ALL,
    Principal,
    Role,
    checked_roles,
    columns_of,
    described,
    principal_of,
)
from suffice.access.recorded_changes import RecordedChanges
from suffice.access.rights import LONGEST_NAME, checked_name, checked_set
from suffice.access.sessions import end_sessions
from suffice.errors import ExtraMissing, PrincipalError
from suffice.log.moment import timestamp
from suffice.log.record import Record
from suffice.log.tables import PRINCIPALS
from suffice.sql.storable import is_storable
from suffice.sql.toolkit import Connection, Row, select, update
from suffice.sql.upsert import upsert

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
        asked = select(PRINCIPALS).where(_ACCOUNTS)
        if not disabled:
            asked = asked.where(PRINCIPALS.c.revoked.is_(None))
        with self._database.reading() as connection:
            rows = connection.execute(asked.order_by(PRINCIPALS.c.name, PRINCIPALS.c.created))
            return [principal_of(row, {}) for row in rows]

    def _row(self, name: str) -> Row[Any] | None:
        if len(name) > LONGEST_NAME or not is_storable(name):
            return None
        active = select(PRINCIPALS).where(_ACCOUNTS, PRINCIPALS.c.revoked.is_(None))
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
            chosen = update(PRINCIPALS).where(
                PRINCIPALS.c.id == row.id, PRINCIPALS.c.revoked.is_(None)
            )
            connection.execute(chosen.values(values))
            end_sessions(connection, row.id)
            forget(connection, name)
            account = principal_of(row, {})
            self._record(connection, act, account, by)
        return account

    def _record(self, connection: Connection, act: str, account: Principal, by: str) -> None:
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
