"""The checks that need no model, as the settings have them, cheapest first."""

from __future__ import annotations

from datetime import date

from suffice.checks.check import Check, SwitchedOff
from suffice.checks.citations import Citations
from suffice.checks.literals import Literals
from suffice.checks.omission import Omission
from suffice.checks.sources import Documents
from suffice.checks.structure import Structure
from suffice.settings import ChecksSettings


def rule_checks(
    settings: ChecksSettings,
    documents: Documents | None = None,
    *,
    day: date | None = None,
    uncited: bool = False,
) -> tuple[Check, ...]:
    """One for each of structure, citations, literals and omission; what is switched off says so.

    `documents` answers for sources beyond what was retrieved, `day` is the one on which they have
    to be in force. `uncited`: the answer carries no marks, and none are asked of it.
    """
    wanted: tuple[tuple[bool, Check], ...] = (
        (settings.structure, Structure(settings.shortest, uncited)),
        (settings.citations and not uncited, Citations(documents, day)),
        (settings.literals, Literals()),
        (settings.omission, Omission()),
    )
    return tuple(check if on else SwitchedOff(check.name) for on, check in wanted)
