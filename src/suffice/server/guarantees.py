"""The guarantees of the certificates that the settings of a gateway name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from suffice.learn.calibrate.certificate import Certificate
from suffice.learn.monitor.guarantee import Guarantee, Status
from suffice.learn.monitor.monitor import Monitor
from suffice.record.suspension import suspended
from suffice.settings import CollectionSettings


@dataclass(frozen=True, slots=True)
class Guarantees:
    """The certificates with their guarantees at one time, by file. `main` is the file of the
    settings as a whole; a collection or route may name another."""

    main: str = ""
    certificates: Mapping[str, Certificate] = field(default_factory=dict)
    states: Mapping[str, Guarantee] = field(default_factory=dict)

    @classmethod
    def of(cls, monitor: Monitor | None) -> Guarantees:
        """As the store has them now."""
        if monitor is None or not monitor.certificates:
            return cls()
        state, known = monitor.state, monitor.certificates
        found = {path: state.guarantee(one) for path, one in known.items()}
        return cls(monitor.settings.verdict.thresholds_file, known, found)

    def __getitem__(self, path: str) -> Guarantee:
        return self.states.get(path, Guarantee())

    @property
    def suspended(self) -> frozenset[str]:
        """The files whose guarantee is suspended."""
        return frozenset(path for path in self.states if self[path].status is Status.SUSPENDED)

    def in_force(self, own: CollectionSettings) -> CollectionSettings:
        """The settings of a route. While the guarantee of its certificate is suspended, for each
        certified threshold the stricter of certified and default applies."""
        path = own.verdict.thresholds_file
        applied = self.certificates[path].applied if path in self.suspended else None
        return own if applied is None else suspended(own, applied)
