"""The instructions a drafter receives in addition to the evidence."""

from __future__ import annotations

from dataclasses import dataclass

from suffice.types import Conflict, Draft, Finding


@dataclass(frozen=True, slots=True)
class Brief:
    """Conflicts to disclose and, for a revision, the earlier draft with its findings. `seconds` is
    the time left for the answer (`None`: only the drafter's own limit applies)."""

    conflicts: tuple[Conflict, ...] = ()
    earlier: Draft | None = None
    findings: tuple[Finding, ...] = ()
    seconds: float | None = None


PLAIN = Brief()
"""The brief for a first draft, from evidence without conflicts."""
