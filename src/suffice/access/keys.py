"""Principals: holders of API keys, with their roles, access labels and limits.

A key has the form `sk-suffice-ID-SECRET` and is shown once, when it is created. The store keeps its
id, for lookup, and a hash of the whole key. The secret is 256 random bits, so a plain hash is safe.
Creating or revoking a key is recorded in the log in the same transaction.

>>> made = Principals(database).create("website", labels=["staff"])
>>> principals.authenticate(made.secret).name
'website'
"""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, Row, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite

from suffice.errors import PrincipalError
from suffice.log.moment import Clock, now, written
from suffice.log.prepare import Prepare
from suffice.log.record import Record
from suffice.log.seal import seal
from suffice.log.tables import PRINCIPALS
from suffice.settings import RecordSettings
from suffice.sql.database import Database
from suffice.sql.storable import is_storable

ALL = "*"
"""Stands for all collections or routes, including future ones."""
LIMITS = (
    "requests_per_minute",
    "concurrent",
    "tokens_per_minute",
    "tokens_per_day",
    "cost_per_day",
)
"""The limits a principal can have. Other names are rejected, because nothing would enforce them."""
KIND = "key"
"""The kind of records about keys created or revoked."""
_LISTS = ("roles", "labels", "collections", "routes")
_KEY = re.compile(r"sk-suffice-([0-9a-f]{16})-[A-Za-z0-9_-]{43}\Z", re.ASCII)
_NAME = re.compile(r"\S(?:.{0,98}\S)?\Z")
_NOBODY = "sha256:" + "0" * 64


ANYONE_NAME = "anyone"
"""The caller name of requests without a key; it cannot be given to a principal."""


class Role(StrEnum):
    """The roles a principal can have."""

    CALLER = "caller"
    """May ask, gate and check, and give feedback on its own answers."""
    REVIEWER = "reviewer"
    """May see the review queue and decide on it."""
    LIBRARIAN = "librarian"
    """May add, retire and re-index documents of the collections and labels it may use."""
    ADMIN = "admin"
    """Has all rights, including the management of keys."""


@dataclass(frozen=True, slots=True)
class Principal:
    """The holder of a key. It may read public documents and those with one of its `labels`, and use
    its `collections` and `routes`: `*` means all, an empty set means none. `limits` maps names of
    `LIMITS` to numbers."""

    id: str
    name: str
    roles: frozenset[Role] = frozenset({Role.CALLER})
    labels: frozenset[str] = frozenset()
    collections: frozenset[str] = frozenset({ALL})
    routes: frozenset[str] = frozenset({ALL})
    limits: Mapping[str, float] = field(default_factory=dict)
    created: str = ""
    revoked: str = ""
    """Time of revocation; empty while the key is active."""

    def has(self, role: Role) -> bool:
        return role in self.roles or Role.ADMIN in self.roles

    def may_use(self, collection: str) -> bool:
        return bool(self.collections & {ALL, collection})

    def may_call(self, route: str) -> bool:
        return bool(self.routes & {ALL, route})


@dataclass(frozen=True, slots=True)
class Made:
    """A new principal and its key, which cannot be shown again."""

    principal: Principal
    secret: str = field(repr=False)


class Principals:
    """The principals of a store. Safe to share between threads."""

    def __init__(
        self, database: Database, clock: Clock = now, settings: RecordSettings | None = None
    ) -> None:
        settings = settings or RecordSettings()
        self._database = database
        self._clock = clock
        self._prepare = None if settings.enabled == "never" else Prepare.of(settings)

    def create(
        self,
        name: str,
        roles: Iterable[str] = (Role.CALLER,),
        labels: Iterable[str] = (),
        collections: Iterable[str] = (ALL,),
        routes: Iterable[str] = (ALL,),
        limits: Mapping[str, float] | None = None,
        by: str = "",
    ) -> Made:
        """Create a principal and its key. Only one active principal can have a name. `by` is the
        actor named in the log."""
        made = Principal(
            secrets.token_hex(8),
            _checked_name(name),
            _checked_roles(roles),
            _checked_set("label", labels),
            _checked_set("collection", collections),
            _checked_set("route", routes),
            _checked_limits(limits or {}),
            written(self._clock()),
        )
        secret = f"sk-suffice-{made.id}-{secrets.token_urlsafe(32)}"
        with self._database.writing() as connection:
            special = postgresql if self._database.dialect == "postgresql" else sqlite
            new = special.insert(PRINCIPALS).values(_columns(made, hashed(secret)))
            once = new.on_conflict_do_nothing().returning(PRINCIPALS.c.id)  # concurrent creates
            if connection.execute(once).first() is None:
                raise PrincipalError(
                    f"An active key named '{name}' already exists.",
                    remedy=f"Choose another name, or first run: suffice keys revoke {name}",
                )
            self._record(connection, "created", made, by)
        return Made(made, secret)

    def revoke(self, name: str, by: str = "") -> Principal:
        """Revoke a key by name or id, effective from the next request. Its records are kept."""
        named = or_(PRINCIPALS.c.id == name, PRINCIPALS.c.name == name)
        chosen = select(PRINCIPALS).where(named, PRINCIPALS.c.revoked.is_(None))
        with self._database.writing() as connection:
            row = connection.execute(chosen).first() if is_storable(name) else None
            if row is None:
                raise PrincipalError(
                    f"There is no active key '{name}'.",
                    remedy="To list keys, run: suffice keys list",
                )
            ended = update(PRINCIPALS).where(PRINCIPALS.c.id == row.id).returning(PRINCIPALS)
            values = {"revoked": written(self._clock())}
            found = _principal(connection.execute(ended.values(values)).one())
            self._record(connection, "revoked", found, by)
        return found

    def _record(self, connection: Connection, act: str, principal: Principal, by: str) -> None:
        """Record the change in the same transaction, so that the log covers every change."""
        if self._prepare is None:
            return
        lists = {name: sorted(getattr(principal, name)) for name in _LISTS}
        fields = {"act": act, "principal": principal.id, "name": principal.name, **lists}
        content = {**fields, "limits": dict(principal.limits)}
        record = Record(KIND, content, caller=by, tag=principal.name)
        seal(connection, [self._prepare(record)], self._clock())

    def all(self, *, revoked: bool = False) -> list[Principal]:
        """The active principals by name; `revoked` includes revoked ones."""
        asked = select(PRINCIPALS).order_by(PRINCIPALS.c.name, PRINCIPALS.c.created)
        if not revoked:
            asked = asked.where(PRINCIPALS.c.revoked.is_(None))
        with self._database.reading() as connection:
            return [_principal(row) for row in connection.execute(asked)]

    def authenticate(self, secret: str) -> Principal | None:
        """The principal of a key; `None` if the key is unknown or revoked."""
        key = _KEY.match(secret)
        if key is None:
            return None
        with self._database.reading() as connection:
            asked = select(PRINCIPALS).where(PRINCIPALS.c.id == key[1])
            row = connection.execute(asked).first()
        # Same work for known and unknown keys, and a constant-time comparison.
        same = hmac.compare_digest(row.hash if row else _NOBODY, hashed(secret))
        return _principal(row) if row and same and row.revoked is None else None


def hashed(secret: str) -> str:
    return f"sha256:{hashlib.sha256(secret.encode('ascii')).hexdigest()}"


def _columns(value: Principal, hash: str) -> dict[str, Any]:
    return {
        "id": value.id,
        "kind": "key",
        "name": value.name,
        "hash": hash,
        **{name: json.dumps(sorted(getattr(value, name))) for name in _LISTS},
        "limits": json.dumps(dict(value.limits), sort_keys=True),
        "created": value.created,
        "revoked": None,
    }


def _principal(row: Row[Any]) -> Principal:
    return Principal(
        row.id,
        row.name,
        frozenset(Role(role) for role in json.loads(row.roles)),
        frozenset(json.loads(row.labels)),
        frozenset(json.loads(row.collections)),
        frozenset(json.loads(row.routes)),
        json.loads(row.limits),
        row.created,
        row.revoked or "",
    )


def _checked_name(name: str) -> str:
    option, id = name.startswith("-"), re.fullmatch("[0-9a-f]{16}", name)
    taken = name.strip().lower() == ANYONE_NAME
    if _NAME.match(name) and name.isprintable() and not (option or id or taken):
        return name
    raise PrincipalError(
        f"{name!r} is not a valid name for a key.",
        remedy=f"Use 1 to 100 printable characters. The name must not start with '-', be "
        f"'{ANYONE_NAME}', or look like a key id.",
    )


def _checked_roles(roles: Iterable[str]) -> frozenset[Role]:
    try:
        return frozenset(Role(role) for role in roles)
    except ValueError as problem:
        allowed = ", ".join(role.value for role in Role)
        raise PrincipalError(
            f"Unknown role: {problem}.", remedy=f"Allowed roles: {allowed}."
        ) from None


def _checked_set(what: str, names: Iterable[str]) -> frozenset[str]:
    found = frozenset(names)
    for name in found:
        if not name or not is_storable(name):
            raise PrincipalError(
                f"{name!r} is not a valid {what} name.", remedy="Pass a valid name, or omit it."
            )
    return found


def _checked_limits(limits: Mapping[str, float]) -> dict[str, float]:
    for name, value in limits.items():
        if name not in LIMITS:
            raise PrincipalError(
                f"Unknown limit '{name}'.", remedy=f"Allowed limits: {', '.join(LIMITS)}."
            )
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not math.isfinite(value) or value < 0:
            raise PrincipalError(
                f"The limit {name} has the invalid value {value!r}.",
                remedy="Pass a number of 0 or more.",
            )
    return dict(limits)
