"""The seam of drafting: anything that writes an answer from evidence."""

from __future__ import annotations

from typing import Protocol

from suffice.types import Draft, Evidence


class Drafter(Protocol):
    """Writes from the evidence, or declines with an empty draft."""

    def write(self, evidence: Evidence) -> Draft: ...
