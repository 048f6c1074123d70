"""Teams: keys that share a budget. Changes are recorded in the log in the same transaction."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from suffice.access.keys import existing
from suffice.access.recorded_changes import RecordedChanges
from suffice.access.rights import checked_limits, checked_name
from suffice.errors import PrincipalError
from suffice.log.moment import timestamp
from suffice.log.record import Record
from suffice.log.tables import PRINCIPALS, TEAMS
from suffice.sql.toolkit import Connection, delete, func, select
from suffice.sql.upsert import upsert

KIND = "team"
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
            keys = connection.scalars(select(PRINCIPALS.c.name).where(*left)).all()
            if keys:
                raise PrincipalError(
                    f"The team '{name}' still has keys: {', '.join(sorted(keys))}.",
                    remedy=f"First run: suffice keys revoke {min(keys)}",
                )
            connection.execute(delete(TEAMS).where(TEAMS.c.name == name))
            self._record(connection, "removed", Team(name), by)

    def all(self) -> list[Team]:
        """The teams by name."""
        active = (PRINCIPALS.c.team == TEAMS.c.name) & PRINCIPALS.c.revoked.is_(None)
        keys = select(func.count()).select_from(PRINCIPALS).where(active).scalar_subquery()
        asked = select(TEAMS, keys.label("keys")).order_by(TEAMS.c.name)
        with self._database.reading() as connection:
            return [
                Team(row.name, json.loads(row.limits), row._mapping["keys"])
                for row in connection.execute(asked)
            ]

    def _record(self, connection: Connection, act: str, team: Team, by: str) -> None:
        fields = {"act": act, "name": team.name, "limits": dict(team.limits)}
        self._seal(connection, Record(KIND, fields, caller=by, tag=team.name))
