"""The settings in force outside the gateway, where a stored suspension applies too."""

from __future__ import annotations

from suffice.learn.monitor.guarantee import (
    Status,
    in_force,
    is_monitored,
    read_certificate,
    suspended,
)
from suffice.learn.monitor.state import StateStore
from suffice.settings import CollectionSettings, Settings
from suffice.sql.database import Database


def settings_in_force(
    own: CollectionSettings, settings: Settings, database: Database
) -> CollectionSettings:
    """The settings of a collection of this store, with stricter thresholds while the guarantee of
    their certificate is suspended."""
    if not settings.monitor.enabled or not is_monitored(own, settings):
        return own
    state, _ = StateStore(database).read()
    if not state.suspended:
        return own
    certificate = read_certificate(settings)
    found = state.seen_by(certificate)
    if found.status is not Status.SUSPENDED:
        return own
    return suspended(own, in_force(certificate, found))
