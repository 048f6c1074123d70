"""What a drafter is told beside the evidence."""

from __future__ import annotations

from dataclasses import dataclass

from suffice.types import Conflict, Draft, Finding


@dataclass(frozen=True, slots=True)
class Brief:
    """Conflicts to state openly; and, for a revision, the earlier draft with what was found wrong
    with it. `seconds` is what is left of the time for the answer (`None`: no limit but its own)."""

    conflicts: tuple[Conflict, ...] = ()
    earlier: Draft | None = None
    findings: tuple[Finding, ...] = ()
    seconds: float | None = None


PLAIN = Brief()
"""The first draft, from evidence without conflicts."""
