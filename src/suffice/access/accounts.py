"""Local accounts of the site: principals who sign in with a name and a password (argon2id).

Each change is recorded in the log in the same transaction. Disabling an account or changing its
password ends its sessions at once.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from suffice.access.keys import ACCOUNT, ALL, Principal, PrincipalStore, Role, principal_of
from suffice.access.sign_in import end_sessions, forget
from suffice.errors import ExtraMissing, PrincipalError
from suffice.sql import sa

try:
    from argon2 import PasswordHasher
    from argon2.exceptions import Argon2Error, InvalidHashError
except ImportError as problem:
    raise ExtraMissing("Accounts with passwords", "server") from problem

SHORTEST, LONGEST = 10, 1_000
"""The minimum and maximum number of characters in a password."""
_HASHER = PasswordHasher()
# Checked for unknown names, so that a reply takes as long as for known ones.
_NOBODY = "$argon2id$v=19$m=65536,t=3,p=4$c2FsdHNhbHRzYWx0c2FsdA$" + "A" * 43


class Accounts(PrincipalStore):
    """The accounts of a store. Thread-safe."""

    kind = ACCOUNT

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
        account = self._new(name, roles, labels, collections, routes)
        hash = _HASHER.hash(checked_password(password, name))
        with self._database.writing() as connection:
            remedy = "Choose another name, or disable the account first."
            self._insert(connection, account, hash, remedy)
            self._record(connection, "added", account, by)
        return account

    def check(self, name: str, password: str) -> Principal | None:
        """The account, if the password is right. An unknown name takes the same time."""
        with self._database.reading() as connection:
            row = self._active(connection, name)
        hash = row.hash if row else _NOBODY
        try:
            _HASHER.verify(hash, _normal(password)[: LONGEST + 1])
        except (Argon2Error, InvalidHashError):
            return None
        return principal_of(row) if row else None

    def exists(self, name: str) -> bool:
        with self._database.reading() as connection:
            return self._active(connection, name) is not None

    def set_password(self, name: str, password: str, by: str = "") -> Principal:
        """Set a new password, end the account's sessions and forget its failed attempts."""
        hash = _HASHER.hash(checked_password(password, name))
        return self._change(name, {"hash": hash}, "password", by)

    def disable(self, name: str, by: str = "") -> Principal:
        """End an account and its sessions. Its records are kept; its name can be used again."""
        return self._end(name, "disabled", by)

    def _after_change(self, connection: sa.Connection, principal: Principal) -> None:
        end_sessions(connection, principal.id)
        forget(connection, principal.name)


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
