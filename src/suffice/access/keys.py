"""Principals: holders of API keys, with their roles, labels, limits and teams.

A key has the form `sk-suffice-ID-SECRET` and is shown once, when it is created. The store keeps its
id, for lookup, and a hash of the whole key. The secret is 256 random bits, so a plain hash is safe.
Creating or revoking a key is recorded in the log in the same transaction.

>>> key = Principals(database).create("website", labels=["staff"])
>>> principals.lookup(key.secret).name
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
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar

from suffice.errors import PrincipalError
from suffice.log.chain import Clock, now, timestamp
from suffice.log.record import Record
from suffice.log.tables import PRINCIPALS, TEAMS
from suffice.log.writer import Prepare, seal
from suffice.settings import RecordSettings
from suffice.sql import sa
from suffice.sql.database import Database
from suffice.sql.statements import upsert
from suffice.text.storable import is_storable


class RecordedChanges:
    """Base class for a part of the store whose changes are recorded. Thread-safe."""

    def __init__(
        self, database: Database, clock: Clock = now, settings: RecordSettings | None = None
    ) -> None:
        settings = settings or RecordSettings()
        self._database = database
        self._clock = clock
        self._prepare = None if settings.enabled == "never" else Prepare.of(settings)

    def _seal(self, connection: sa.Connection, record: Record) -> None:
        """Record a change in the transaction that makes it, so that the log covers every change."""
        if self._prepare is not None:
            seal(connection, [self._prepare(record)], self._clock())


LIMITS = (
    "requests_per_minute",
    "requests_per_day",
    "requests_per_month",
    "concurrent",
    "tokens_per_minute",
    "tokens_per_day",
    "tokens_per_month",
    "cost_per_day",
    "cost_per_month",
)
"""The limits a principal can have. Other names are rejected, because nothing would enforce them."""
ANYONE_NAME = "anyone"
"""The caller name of requests without a key; it cannot be given to a principal."""
LOCAL_NAME = "local"
"""The user name on the site of a gateway that requires no keys; no principal can have it."""
LONGEST_NAME = 100
_NAME = re.compile(rf"\S(?:.{{0,{LONGEST_NAME - 2}}}\S)?\Z")


def checked_name(name: str, what: str = "key") -> str:
    option, id = name.startswith("-"), re.fullmatch("[0-9a-f]{16}", name)
    taken = name.strip().lower() in (ANYONE_NAME, LOCAL_NAME)
    if _NAME.match(name) and name.isprintable() and not (option or id or taken):
        return name
    raise PrincipalError(
        f"{name!r} is not a valid name for a {what}.",
        remedy=f"Use 1 to {LONGEST_NAME} printable characters. The name must not start with '-', "
        f"be '{ANYONE_NAME}' or '{LOCAL_NAME}', or look like a key id.",
    )


def checked_set(what: str, names: Iterable[str]) -> frozenset[str]:
    checked = frozenset(names)
    for name in checked:
        if not name or not is_storable(name):
            raise PrincipalError(
                f"{name!r} is not a valid {what} name.", remedy="Pass a valid name, or omit it."
            )
    return checked


def checked_expiry(expires: datetime | None, now: datetime) -> str:
    if expires is None:
        return ""
    if expires <= now:
        raise PrincipalError(
            f"The key would expire at {timestamp(expires)}, which is in the past.",
            remedy="Choose a later time.",
        )
    return timestamp(expires)


def checked_limits(limits: Mapping[str, float]) -> dict[str, float]:
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


ALL = "*"
"""Means all collections or routes, including future ones."""
KEY = "key"
"""The kind of records about keys created or revoked."""
ACCOUNT = "account"
"""The kind of principals that sign in to the site with a password, and of records about them."""
_LISTS = ("roles", "labels", "collections", "routes")
_KEY = re.compile(r"sk-suffice-([0-9a-f]{16})-[A-Za-z0-9_-]{43}\Z", re.ASCII)
_NOBODY = "sha256:" + "0" * 64
SELECTED = sa.select(PRINCIPALS, TEAMS.c.limits.label("team_limits")).select_from(
    PRINCIPALS.outerjoin(TEAMS, PRINCIPALS.c.team == TEAMS.c.name)
)
"""The principals with the limits of their teams, in the form that `principal_of` reads."""


class Role(StrEnum):
    """The roles a principal can have."""

    CALLER = "caller"
    """May ask, gate and check, and give feedback on its own answers. A key that is created without
    a role has this one."""
    VIEWER = "viewer"
    """May see the pages of the site, but not withheld drafts."""
    REVIEWER = "reviewer"
    """May see the review queue and decide on it; includes the rights of a viewer."""
    LIBRARIAN = "librarian"
    """May add, retire and re-index documents of the collections and labels it may use."""
    ADMIN = "admin"
    """Has all rights, including the management of keys."""


_INCLUDED_IN = {Role.VIEWER: (Role.REVIEWER,)}
"""The roles that include each role; `admin` includes all."""


@dataclass(frozen=True, slots=True)
class Principal:
    """The holder of a key. It may read public documents and those with one of its `labels`, and use
    its `collections` and `routes`: `*` means all, an empty set means none. `limits` maps names of
    `LIMITS` to numbers; `team_limits` are the limits shared by the keys of its team. `user` is the
    person on whose behalf the key is used, if the request named one."""

    id: str
    name: str
    roles: frozenset[Role] = frozenset({Role.CALLER})
    labels: frozenset[str] = frozenset()
    collections: frozenset[str] = frozenset({ALL})
    routes: frozenset[str] = frozenset({ALL})
    limits: Mapping[str, float] = field(default_factory=dict)
    created: str = ""
    revoked: str = ""
    """Time of revocation; empty while the key is not revoked."""
    expires: str = ""
    """Expiry time of the key; empty if it does not expire."""
    team: str = ""
    team_limits: Mapping[str, float] = field(default_factory=dict)
    user: str = ""

    def expired(self, moment: str) -> bool:
        """Whether the key has expired at `moment`, a timestamp in the log's format."""
        return bool(self.expires) and self.expires <= moment

    def has(self, role: Role) -> bool:
        return bool(self.roles & {role, Role.ADMIN, *_INCLUDED_IN.get(role, ())})

    def may_use(self, collection: str) -> bool:
        return bool(self.collections & {ALL, collection})

    def may_call(self, route: str) -> bool:
        return bool(self.routes & {ALL, route})


@dataclass(frozen=True, slots=True)
class CreatedKey:
    """A new principal and its key, which cannot be shown again."""

    principal: Principal
    secret: str = field(repr=False)


class PrincipalStore(RecordedChanges):
    """The principals of one kind in a store: keys or accounts. Thread-safe."""

    kind: ClassVar[str]

    def all(self, *, ended: bool = False) -> list[Principal]:
        """The principals by name, including expired ones; `ended` adds the revoked ones."""
        query = SELECTED.where(PRINCIPALS.c.kind == self.kind)
        if not ended:
            query = query.where(PRINCIPALS.c.revoked.is_(None))
        with self._database.reading() as connection:
            rows = connection.execute(query.order_by(PRINCIPALS.c.name, PRINCIPALS.c.created))
            return [principal_of(row) for row in rows]

    def _new(
        self,
        name: str,
        roles: Iterable[str],
        labels: Iterable[str],
        collections: Iterable[str],
        routes: Iterable[str],
    ) -> Principal:
        return Principal(
            secrets.token_hex(8),
            checked_name(name, self.kind),
            checked_roles(roles),
            checked_set("label", labels),
            checked_set("collection", collections),
            checked_set("route", routes),
            created=timestamp(self._clock()),
        )

    def _insert(
        self, connection: sa.Connection, principal: Principal, hash: str, remedy: str
    ) -> None:
        """Store a new principal; raise if its name is taken."""
        row = upsert(connection, PRINCIPALS).values(columns_of(principal, hash, self.kind))
        once = row.on_conflict_do_nothing().returning(PRINCIPALS.c.id)  # concurrent creates
        if connection.execute(once).first() is None:
            raise PrincipalError(
                f"An active key or account named '{principal.name}' already exists.", remedy=remedy
            )

    def _active(self, connection: sa.Connection, name: str) -> sa.Row[Any] | None:
        """The row of an active principal with this name or, for a key, this id."""
        if len(name) > LONGEST_NAME or not is_storable(name):
            return None
        table = PRINCIPALS.c
        named = table.name == name
        if self.kind == KEY:
            named = sa.or_(table.id == name, named)
        active = SELECTED.where(named, table.kind == self.kind, table.revoked.is_(None))
        return connection.execute(active).first()

    def _change(self, name: str, values: dict[str, Any], act: str, by: str) -> Principal:
        """Change an active principal and record it; return it as it was before."""
        with self._database.writing() as connection:
            row = self._active(connection, name)
            still = PRINCIPALS.c.id == (row.id if row else ""), PRINCIPALS.c.revoked.is_(None)
            changed = connection.execute(sa.update(PRINCIPALS).where(*still).values(values))
            if row is None or not changed.rowcount:
                raise PrincipalError(
                    f"There is no active {self.kind} '{name}'.",
                    remedy=f"To list {self.kind}s, run: suffice {self.kind}s list",
                )
            principal = principal_of(row)
            self._after_change(connection, principal)
            self._record(connection, act, principal, by)
        return principal

    def _end(self, name: str, act: str, by: str) -> Principal:
        revoked = timestamp(self._clock())
        return replace(self._change(name, {"revoked": revoked}, act, by), revoked=revoked)

    def _after_change(self, connection: sa.Connection, principal: Principal) -> None:
        """What else a change does, in its transaction."""

    def _record(self, connection: sa.Connection, act: str, principal: Principal, by: str) -> None:
        content = {"act": act, **described(principal)}
        self._seal(connection, Record(self.kind, content, caller=by, tag=principal.name))


class Principals(PrincipalStore):
    """The keys of a store. Thread-safe."""

    kind = KEY

    def create(
        self,
        name: str,
        roles: Iterable[str] = (Role.CALLER,),
        labels: Iterable[str] = (),
        collections: Iterable[str] = (ALL,),
        routes: Iterable[str] = (ALL,),
        limits: Mapping[str, float] | None = None,
        by: str = "",
        *,
        team: str = "",
        expires: datetime | None = None,
    ) -> CreatedKey:
        """Create a principal and its key. Names of active principals are unique. `by` is the
        actor named in the log, `expires` the expiry time of the key."""
        principal = replace(
            self._new(name, tuple(roles) or (Role.CALLER,), labels, collections, routes),
            limits=checked_limits(limits or {}),
            expires=checked_expiry(expires, self._clock()),
            team=team,
        )
        secret = f"sk-suffice-{principal.id}-{secrets.token_urlsafe(32)}"
        with self._database.writing() as connection:
            if team:
                existing(connection, team)
            remedy = f"Choose another name, or first run: suffice keys revoke {name}"
            self._insert(connection, principal, hashed(secret), remedy)
            self._record(connection, "created", principal, by)
        return CreatedKey(principal, secret)

    def revoke(self, name: str, by: str = "") -> Principal:
        """Revoke a key by name or id, effective from the next request. Its records are kept."""
        return self._end(name, "revoked", by)

    def lookup(self, secret: str) -> Principal | None:
        """The principal of a key, even if it has expired; `None` if it is unknown or revoked."""
        key = _KEY.match(secret)
        if key is None:
            return None
        query = SELECTED.where(PRINCIPALS.c.id == key[1], PRINCIPALS.c.kind == KEY)
        with self._database.reading() as connection:
            row = connection.execute(query).first()
        # Same work for known and unknown keys, and a constant-time comparison.
        same = hmac.compare_digest(row.hash if row else _NOBODY, hashed(secret))
        return principal_of(row) if row and same and row.revoked is None else None

    def expired(self, principal: Principal) -> bool:
        return principal.expired(timestamp(self._clock()))


def hashed(secret: str) -> str:
    return f"sha256:{hashlib.sha256(secret.encode('ascii')).hexdigest()}"


def described(principal: Principal) -> dict[str, Any]:
    """The principal and its rights, in the form stored in a record."""
    lists = {name: sorted(getattr(principal, name)) for name in _LISTS}
    content: dict[str, Any] = {"principal": principal.id, "name": principal.name, **lists}
    content["limits"] = dict(principal.limits)
    if principal.expires:
        content["expires"] = principal.expires
    if principal.team:
        content["team"] = principal.team
    return content


def columns_of(value: Principal, hash: str, kind: str) -> dict[str, Any]:
    """The row of a principal."""
    return {
        "id": value.id,
        "kind": kind,
        "name": value.name,
        "hash": hash,
        **{name: json.dumps(sorted(getattr(value, name))) for name in _LISTS},
        "limits": json.dumps(dict(value.limits), sort_keys=True),
        "created": value.created,
        "revoked": None,
        "expires": value.expires or None,
        "team": value.team or None,
    }


def principal_of(row: sa.Row[Any]) -> Principal:
    """The principal of a row of `SELECTED`."""
    roles = frozenset(Role(role) for role in json.loads(row.roles))
    if row.kind == KEY:
        roles = roles or frozenset({Role.CALLER})  # keys of earlier versions could have no role
    return Principal(
        row.id,
        row.name,
        roles,
        frozenset(json.loads(row.labels)),
        frozenset(json.loads(row.collections)),
        frozenset(json.loads(row.routes)),
        json.loads(row.limits),
        row.created,
        row.revoked or "",
        row.expires or "",
        row.team or "",
        json.loads(row.team_limits or "{}"),
    )


def checked_roles(roles: Iterable[str]) -> frozenset[Role]:
    """The roles with these names. Raises if a name is unknown."""
    try:
        return frozenset(Role(role) for role in roles)
    except ValueError as problem:
        allowed = ", ".join(role.value for role in Role)
        raise PrincipalError(
            f"Unknown role: {problem}.", remedy=f"Allowed roles: {allowed}."
        ) from None


def existing(connection: sa.Connection, team: str) -> None:
    """Raise if the team does not exist. A key with a mistyped team would have no limits."""
    rows = is_storable(team) and connection.execute(sa.select(TEAMS).where(TEAMS.c.name == team))
    if not rows or rows.first() is None:
        raise PrincipalError(
            f"There is no team '{team}'.", remedy=f"First run: suffice teams set {team}"
        )


TEAM = "team"
"""The kind of records about changed or removed teams."""


@dataclass(frozen=True, slots=True)
class Team:
    """A team, the limits its keys share, and its number of keys."""

    name: str
    limits: Mapping[str, float] = field(default_factory=dict)
    keys: int = 0


class Teams(RecordedChanges):
    """The teams of a store. Thread-safe."""

    def set(self, name: str, limits: Mapping[str, float], by: str = "") -> Team:
        """Create a team, or replace its limits, effective from the next request of its keys."""
        team = Team(checked_name(name, "team"), checked_limits(limits))
        written_limits = json.dumps(dict(team.limits), sort_keys=True)
        values = {"name": name, "limits": written_limits, "created": timestamp(self._clock())}
        with self._database.writing() as connection:
            new = upsert(connection, TEAMS).values(values)
            connection.execute(
                new.on_conflict_do_update(
                    index_elements=["name"], set_={"limits": new.excluded.limits}
                )
            )
            self._record(connection, "set", team, by)
        return team

    def remove(self, name: str, by: str = "") -> None:
        """Remove a team; raise if it still has keys."""
        with self._database.writing() as connection:
            existing(connection, name)
            left = PRINCIPALS.c.team == name, PRINCIPALS.c.revoked.is_(None)
            keys = connection.scalars(sa.select(PRINCIPALS.c.name).where(*left)).all()
            if keys:
                raise PrincipalError(
                    f"The team '{name}' still has keys: {', '.join(sorted(keys))}.",
                    remedy=f"First run: suffice keys revoke {min(keys)}",
                )
            connection.execute(sa.delete(TEAMS).where(TEAMS.c.name == name))
            self._record(connection, "removed", Team(name), by)

    def all(self) -> list[Team]:
        """The teams by name."""
        active = (PRINCIPALS.c.team == TEAMS.c.name) & PRINCIPALS.c.revoked.is_(None)
        keys = sa.select(sa.func.count()).select_from(PRINCIPALS).where(active).scalar_subquery()
        query = sa.select(TEAMS, keys.label("keys")).order_by(TEAMS.c.name)
        with self._database.reading() as connection:
            return [
                Team(row.name, json.loads(row.limits), row._mapping["keys"])
                for row in connection.execute(query)
            ]

    def _record(self, connection: sa.Connection, act: str, team: Team, by: str) -> None:
        fields = {"act": act, "name": team.name, "limits": dict(team.limits)}
        self._seal(connection, Record(TEAM, fields, caller=by, tag=team.name))
