"""Principals: who may ask, and what each may use and read.

A key is shown once, when it is made: `sk-suffice-ID-SECRET`. Kept are its id, by which it is found,
and the hash of the whole. The secret is 256 random bits, so a plain hash cannot be guessed from.
Who made or revoked a key, and for what, is sealed into the log in the same transaction.

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
"""In place of the names of collections or routes: every one, also those that come later."""
LIMITS = (
    "requests_per_minute",
    "concurrent",
    "tokens_per_minute",
    "tokens_per_day",
    "cost_per_day",
)
"""What a principal can be held to. A name that nobody applies would only seem to protect."""
KIND = "key"
"""The kind of the records of keys that were made or revoked."""
_LISTS = ("roles", "labels", "collections", "routes")
_KEY = re.compile(r"sk-suffice-([0-9a-f]{16})-[A-Za-z0-9_-]{43}\Z", re.ASCII)
_NAME = re.compile(r"\S(?:.{0,98}\S)?\Z")
_NOBODY = "sha256:" + "0" * 64


ANYONE_NAME = "anyone"
"""Under which those are filed who come without a key: nobody else has it."""


class Role(StrEnum):
    """What a principal may do at all."""

    CALLER = "caller"
    """Ask, gate, check, and say what it thinks of its own answers."""
    REVIEWER = "reviewer"
    """See the review queue and decide on it."""
    ADMIN = "admin"
    """All of that, and look after keys."""


@dataclass(frozen=True, slots=True)
class Principal:
    """One who may ask. `labels` are those of documents it may read; public ones anyone may.
    `collections` and `routes` are those it may use: all of them where one is `*`, and where none
    is named, none. `limits` has some of `LIMITS`."""

    id: str
    name: str
    roles: frozenset[Role] = frozenset({Role.CALLER})
    labels: frozenset[str] = frozenset()
    collections: frozenset[str] = frozenset({ALL})
    routes: frozenset[str] = frozenset({ALL})
    limits: Mapping[str, float] = field(default_factory=dict)
    created: str = ""
    revoked: str = ""
    """When; empty: it is in use."""

    def has(self, role: Role) -> bool:
        return role in self.roles or Role.ADMIN in self.roles

    def may_use(self, collection: str) -> bool:
        return bool(self.collections & {ALL, collection})

    def may_call(self, route: str) -> bool:
        return bool(self.routes & {ALL, route})


@dataclass(frozen=True, slots=True)
class Made:
    """A new principal, and its key, which nobody can be shown again."""

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
        """A new one, and its key. A name is that of one principal in use at a time. `by` is who
        makes it, for the log."""
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
            once = new.on_conflict_do_nothing().returning(PRINCIPALS.c.id)  # of two at once, one
            if connection.execute(once).first() is None:
                raise PrincipalError(
                    f"There is a principal '{name}' already.",
                    remedy=f"Choose another name, or first run: suffice keys revoke {name}",
                )
            self._record(connection, "created", made, by)
        return Made(made, secret)

    def revoke(self, name: str, by: str = "") -> Principal:
        """Ends one, by its name or id, from the next request on. What it did stays on record."""
        named = or_(PRINCIPALS.c.id == name, PRINCIPALS.c.name == name)
        chosen = select(PRINCIPALS).where(named, PRINCIPALS.c.revoked.is_(None))
        with self._database.writing() as connection:
            row = connection.execute(chosen).first() if is_storable(name) else None
            if row is None:
                raise PrincipalError(
                    f"There is no principal '{name}' in use.", remedy="Run: suffice keys list"
                )
            ended = update(PRINCIPALS).where(PRINCIPALS.c.id == row.id).returning(PRINCIPALS)
            values = {"revoked": written(self._clock())}
            found = _principal(connection.execute(ended.values(values)).one())
            self._record(connection, "revoked", found, by)
        return found

    def _record(self, connection: Connection, act: str, one: Principal, by: str) -> None:
        """With the key or not at all: no right is given or taken that the log does not know of."""
        if self._prepare is None:
            return
        lists = {name: sorted(getattr(one, name)) for name in _LISTS}
        fields = {"act": act, "principal": one.id, "name": one.name, **lists}
        record = Record(KIND, {**fields, "limits": dict(one.limits)}, caller=by, tag=one.name)
        seal(connection, [self._prepare(record)], self._clock())

    def all(self, *, revoked: bool = False) -> list[Principal]:
        """Those in use, by name; with `revoked`, the others too."""
        asked = select(PRINCIPALS).order_by(PRINCIPALS.c.name, PRINCIPALS.c.created)
        if not revoked:
            asked = asked.where(PRINCIPALS.c.revoked.is_(None))
        with self._database.reading() as connection:
            return [_principal(row) for row in connection.execute(asked)]

    def authenticate(self, secret: str) -> Principal | None:
        """Whose key this is; `None` where it is nobody's, or no longer anybody's."""
        key = _KEY.match(secret)
        if key is None:
            return None
        with self._database.reading() as connection:
            asked = select(PRINCIPALS).where(PRINCIPALS.c.id == key[1])
            row = connection.execute(asked).first()
        # Always the same work, and a comparison that takes as long wherever the two differ.
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
        f"{name!r} is no name for a principal.", remedy="Use 1 to 100 letters that can be printed."
    )


def _checked_roles(roles: Iterable[str]) -> frozenset[Role]:
    try:
        return frozenset(Role(role) for role in roles)
    except ValueError as problem:
        allowed = ", ".join(role.value for role in Role)
        raise PrincipalError(
            f"There is no such role: {problem}.", remedy=f"Use {allowed}."
        ) from None


def _checked_set(what: str, names: Iterable[str]) -> frozenset[str]:
    found = frozenset(names)
    for name in found:
        if not name or not is_storable(name):
            raise PrincipalError(f"{name!r} names no {what}.", remedy="Name one, or leave it out.")
    return found


def _checked_limits(limits: Mapping[str, float]) -> dict[str, float]:
    for name, value in limits.items():
        if name not in LIMITS:
            raise PrincipalError(f"There is no limit '{name}'.", remedy=f"Use {', '.join(LIMITS)}.")
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not math.isfinite(value) or value < 0:
            raise PrincipalError(
                f"The limit {name} is {value!r}.", remedy="Give a number, 0 or more."
            )
    return dict(limits)
