"""Opens the rule-based checks selected by the settings, cheapest first."""

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
    """The structure, citation, literal and omission checks. `SwitchedOff` replaces disabled checks.

    `documents` looks up sources that were not retrieved. `day` is the date on which versions must
    be in force. `uncited` means that the answer has no citations and needs none.
    """
    wanted: tuple[tuple[bool, Check], ...] = (
        (settings.structure, Structure(settings.min_words, uncited)),
        (settings.citations and not uncited, Citations(documents, day)),
        (settings.literals, Literals()),
        (settings.omission, Omission()),
    )
    return tuple(check if on else SwitchedOff(check.name) for on, check in wanted)
