"""The suspension of a guarantee: whether certified thresholds hold, and what applies while not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from suffice.log.decision import value_of
from suffice.log.follower import read_cursor
from suffice.settings import CollectionSettings, Settings
from suffice.sql.database import Database
from suffice.verdict.thresholds import SERVE_ONLY, Thresholds, read_thresholds
from suffice.verdict.thresholds import in_force as thresholds_of

MONITOR = "monitor"
"""The cursor of the monitor; its state is JSON, empty at first."""


class Status(StrEnum):
    NONE = "none"
    """No certificate is configured, so nothing is guaranteed."""
    ACTIVE = "active"
    SUSPENDED = "suspended"


@dataclass(frozen=True, slots=True)
class Guarantee:
    """The state of the guarantee, since when and why. `certificate` is the id of its file."""

    status: Status = Status.NONE
    since: str = ""
    why: str = "No certificate is configured (verdict.thresholds_file)."
    certificate: str = ""


def suspended_in(tree: Mapping[str, Any]) -> tuple[Guarantee, ...]:
    """The suspended guarantees in a stored state of the monitor."""
    listed = tree.get("suspended")
    if listed is not None:
        return value_of(tuple[Guarantee, ...], listed)
    # States of older versions have one guarantee and no list.
    found = value_of(Guarantee, tree["guarantee"])
    return (found,) if found.status is Status.SUSPENDED else ()


def strict_thresholds(certified: Thresholds) -> Thresholds:
    """The thresholds while the guarantee is suspended: for each, the stricter of certified and
    default."""
    return certified.stricter(default_thresholds(certified))


def default_thresholds(certified: Thresholds | None) -> Thresholds:
    """The default thresholds, for answers of the actions that the certificate covers."""
    return thresholds_of(CollectionSettings(), certified.served if certified else SERVE_ONLY)


def suspended(own: CollectionSettings, certified: Thresholds) -> CollectionSettings:
    """The settings while the guarantee of their certificate is suspended. They no longer name the
    certificate, so records do not either."""
    found = strict_thresholds(certified).apply(own)
    return replace(found, verdict=replace(found.verdict, thresholds_file="", certificate=""))


def suspended_certificates(
    own: CollectionSettings, settings: Settings, database: Database
) -> frozenset[str]:
    """The ids of the certificates whose guarantee is suspended in this store; none if `own` names
    no certificate, or if nothing is monitored."""
    if not settings.monitor.enabled or not own.verdict.thresholds_file:
        return frozenset()
    with database.reading() as connection:
        state = read_cursor(connection, MONITOR).state
    tree = json.loads(state) if state else {"suspended": []}
    return frozenset(guarantee.certificate for guarantee in suspended_in(tree))


def settings_in_force(own: CollectionSettings, held: frozenset[str]) -> CollectionSettings:
    """The settings with stricter thresholds if their certificate is among those that are suspended;
    otherwise `own` itself."""
    if not held or not own.verdict.thresholds_file:
        return own
    id, certified = read_thresholds(own.verdict.thresholds_file)
    return suspended(own, certified) if id in held else own
