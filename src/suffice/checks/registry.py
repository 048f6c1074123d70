"""Opens all checks selected by the settings, cheapest first."""

from __future__ import annotations

from datetime import date

from suffice.checks.check import Check, SwitchedOff
from suffice.checks.citations import Citations
from suffice.checks.entailment import Entailment, Grounding, WholeAnswer
from suffice.checks.literals import Literals
from suffice.checks.omission import Omission
from suffice.checks.sources import Documents
from suffice.checks.structure import Addresses, Structure
from suffice.checks.verbatim import Verbatim
from suffice.models.embedder import Embedder
from suffice.models.verifier import Verifier
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


SUPPORTING = ("verbatim", "entailment")
"""The checks that can find support for a claim in a passage."""


def open_checks(
    settings: ChecksSettings,
    verifier: Verifier,
    embedder: Embedder,
    documents: Documents | None = None,
    judge: Check | None = None,
    *,
    day: date | None = None,
    uncited: bool = False,
) -> tuple[Check, ...]:
    """The rule-based checks, then checks that use a model, then the LLM `judge`, if any.
    `SwitchedOff` replaces disabled checks. `rule_checks` explains the parameters."""
    wanted: tuple[tuple[bool, Check], ...] = (
        (settings.verbatim, Verbatim(uncited)),
        (settings.grounding, Grounding(embedder, settings.grounding_thresholds)),
        (settings.addresses, Addresses(verifier, embedder)),
        (settings.whole, WholeAnswer(verifier)),
        (settings.entailment, Entailment(verifier, settings.entailment_thresholds)),
    )
    rules = rule_checks(settings, documents, day=day, uncited=uncited)
    models = (check if on else SwitchedOff(check.name) for on, check in wanted)
    return (*rules, *models, judge or SwitchedOff("judge"))
