"""Principals: holders of API keys, with their roles, access labels and limits.

A key has the form `sk-suffice-ID-SECRET` and is shown once, when it is created. The store keeps its
id, for lookup, and a hash of the whole key. The secret is 256 random bits, so a plain hash is safe.
Creating or revoking a key is recorded in the log in the same transaction.

>>> made = Principals(database).create("website", labels=["staff"])
>>> principals.lookup(made.secret).name
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
from datetime import datetime
from enum import StrEnum
from typing import Any

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
    found = frozenset(names)
    for name in found:
        if not name or not is_storable(name):
            raise PrincipalError(
                f"{name!r} is not a valid {what} name.", remedy="Pass a valid name, or omit it."
            )
    return found


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
_KEYS = PRINCIPALS.c.kind == KEY


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
class EndUser:
    """A person on whose behalf a key is used, and the person's groups."""

    name: str
    groups: frozenset[str] = frozenset()


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
class Made:
    """A new principal and its key, which cannot be shown again."""

    principal: Principal
    secret: str = field(repr=False)


class Principals(RecordedChanges):
    """The principals of a store. Thread-safe."""

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
    ) -> Made:
        """Create a principal and its key. Names of active principals are unique. `by` is the
        actor named in the log, `expires` the expiry time of the key."""
        made = Principal(
            secrets.token_hex(8),
            checked_name(name),
            checked_roles(roles) or frozenset({Role.CALLER}),
            checked_set("label", labels),
            checked_set("collection", collections),
            checked_set("route", routes),
            checked_limits(limits or {}),
            timestamp(self._clock()),
            expires=checked_expiry(expires, self._clock()),
            team=team,
        )
        secret = f"sk-suffice-{made.id}-{secrets.token_urlsafe(32)}"
        with self._database.writing() as connection:
            if team:
                existing(connection, team)
            new = upsert(connection, PRINCIPALS).values(columns_of(made, hashed(secret)))
            once = new.on_conflict_do_nothing().returning(PRINCIPALS.c.id)  # concurrent creates
            if connection.execute(once).first() is None:
                raise PrincipalError(
                    f"An active key or account named '{name}' already exists.",
                    remedy=f"Choose another name, or first run: suffice keys revoke {name}",
                )
            self._record(connection, "created", made, by)
        return Made(made, secret)

    def revoke(self, name: str, by: str = "") -> Principal:
        """Revoke a key by name or id, effective from the next request. Its records are kept."""
        named = sa.or_(PRINCIPALS.c.id == name, PRINCIPALS.c.name == name)
        chosen = sa.select(PRINCIPALS).where(named, _KEYS, PRINCIPALS.c.revoked.is_(None))
        with self._database.writing() as connection:
            row = connection.execute(chosen).first() if is_storable(name) else None
            if row is None:
                raise PrincipalError(
                    f"There is no active key '{name}'.",
                    remedy="To list keys, run: suffice keys list",
                )
            ended = sa.update(PRINCIPALS).where(PRINCIPALS.c.id == row.id).returning(PRINCIPALS)
            values = {"revoked": timestamp(self._clock())}
            found = principal_of(connection.execute(ended.values(values)).one(), {})
            self._record(connection, "revoked", found, by)
        return found

    def _record(self, connection: sa.Connection, act: str, principal: Principal, by: str) -> None:
        content = {"act": act, **described(principal)}
        self._seal(connection, Record(KEY, content, caller=by, tag=principal.name))

    def all(self, *, revoked: bool = False) -> list[Principal]:
        """The principals by name, including expired ones; `revoked` adds the revoked ones."""
        asked = sa.select(PRINCIPALS).where(_KEYS).order_by(PRINCIPALS.c.name, PRINCIPALS.c.created)
        if not revoked:
            asked = asked.where(PRINCIPALS.c.revoked.is_(None))
        with self._database.reading() as connection:
            limits = {row.name: row.limits for row in connection.execute(sa.select(TEAMS))}
            return [principal_of(row, limits) for row in connection.execute(asked)]

    def lookup(self, secret: str) -> Principal | None:
        """The principal of a key, even if it has expired; `None` if it is unknown or revoked."""
        key = _KEY.match(secret)
        if key is None:
            return None
        with self._database.reading() as connection:
            joined = PRINCIPALS.outerjoin(TEAMS, PRINCIPALS.c.team == TEAMS.c.name)
            columns = (PRINCIPALS, TEAMS.c.limits.label("team_limits"))
            asked = sa.select(*columns).select_from(joined).where(PRINCIPALS.c.id == key[1], _KEYS)
            row = connection.execute(asked).first()
        # Same work for known and unknown keys, and a constant-time comparison.
        same = hmac.compare_digest(row.hash if row else _NOBODY, hashed(secret))
        if not row or not same or row.revoked is not None:
            return None
        return principal_of(row, {row.team: row.team_limits})

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


def columns_of(value: Principal, hash: str, kind: str = KEY) -> dict[str, Any]:
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


def principal_of(row: sa.Row[Any], team_limits: Mapping[str, str | None]) -> Principal:
    """The principal of a row; `team_limits` maps teams to their limits as JSON."""
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
        json.loads(team_limits.get(row.team) or "{}"),
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
    found = is_storable(team) and connection.execute(sa.select(TEAMS).where(TEAMS.c.name == team))
    if not found or found.first() is None:
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
        asked = sa.select(TEAMS, keys.label("keys")).order_by(TEAMS.c.name)
        with self._database.reading() as connection:
            return [
                Team(row.name, json.loads(row.limits), row._mapping["keys"])
                for row in connection.execute(asked)
            ]

    def _record(self, connection: sa.Connection, act: str, team: Team, by: str) -> None:
        fields = {"act": act, "name": team.name, "limits": dict(team.limits)}
        self._seal(connection, Record(TEAM, fields, caller=by, tag=team.name))
