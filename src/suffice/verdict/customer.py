"""What a customer reads instead of an answer, or beside one: short, without figures and internals.

The full reason is for operators; it stays in the `suffice` object, the log and the site.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from suffice.errors import SettingsError
from suffice.settings.texts import CONTACT, Occasion, placeholders
from suffice.types import Action, Code, Verdict

_TEXTS = {
    Occasion.NOT_ANSWERED: (
        "I could not find an answer to this in our documents.",
        "Please try other words, or ask {contact}.",
        "Please try other words, or name the document you mean.",
    ),
    Occasion.NOT_VERIFIED: (
        "I could not confirm an answer to this in our documents, and I do not want to guess.",
        "Please try other words, or ask {contact}.",
        "Please try other words, or name the document you mean.",
    ),
    Occasion.REVIEW: (
        "I am not sure of the answer to this; a person has to look at it first.",
        "If you need it soon, please ask {contact}.",
        "Please try other words, or ask again later.",
    ),
    Occasion.UNAVAILABLE: (
        "I cannot answer this right now because of a technical problem.",
        "Please try again in a moment, or ask {contact}.",
        "Please try again in a moment.",
    ),
    Occasion.CONFLICT: (
        "Our documents do not agree on this, so here is what each of them says.",
        "Please ask {contact} which of them applies.",
        "Please check which of them applies to you.",
    ),
    Occasion.PARTIAL: (
        "Our documents may answer this only in part.",
        "For the rest, please ask {contact}.",
        "Please check the source before you rely on it.",
    ),
    Occasion.CAVEAT: (
        "Please check the source before you rely on this answer.",
        "If you are not sure, ask {contact}.",
        "",
    ),
    Occasion.SMALL_TALK: ("How can I help you?", "", ""),
}
"""For each occasion: what happened, then the next step with and without a contact."""


@dataclass(frozen=True, slots=True)
class CustomerTexts:
    """The texts of a route. `own` texts replace the built-in ones."""

    contact: str = ""
    own: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, text in self.own.items():
            if not self.contact and CONTACT in placeholders(text):
                raise SettingsError(
                    f"The text for '{name}' names a contact, but none is set.",
                    remedy="Set gate.contact, or remove {contact} from the text.",
                )

    def text(self, verdict: Verdict, occasion: Occasion | None = None) -> str:
        """The text for a verdict that does not release an answer as it stands."""
        occasion = occasion or occasion_of(verdict)
        said, asking, alone = _TEXTS[occasion]
        step = asking if self.contact else alone
        text = self.own.get(occasion.value, f"{said} {step}".strip())
        return text.format(contact=self.contact, record=verdict.record)


def occasion_of(verdict: Verdict) -> Occasion:
    """Why the verdict does not release an answer as it stands."""
    if verdict.action is Action.CAVEAT:
        return Occasion.PARTIAL if verdict.missing else Occasion.CAVEAT
    if verdict.action is Action.CONFLICT:
        return Occasion.CONFLICT
    if verdict.action is Action.REVIEW:
        return Occasion.REVIEW
    failed = any(finding.code is Code.FAILED for finding in verdict.findings)
    if failed or (verdict.gate.open and verdict.draft is None):
        return Occasion.UNAVAILABLE
    if verdict.draft is None or not verdict.draft.claims:
        return Occasion.NOT_ANSWERED
    return Occasion.NOT_VERIFIED
