"""The settings that a collection of documents can override."""

from __future__ import annotations

from dataclasses import dataclass, field

from suffice.settings.answer import ChecksSettings, DraftSettings, JudgeSettings, VerdictSettings
from suffice.settings.checked import Checked
from suffice.settings.evidence import FilterSettings, PassageSettings, SearchSettings
from suffice.settings.gate import GateSettings
from suffice.settings.limits import setting

SUBJECT = (
    "What the documents are about, in one to three words, such as the name of the product. Search "
    "and gate read it before a question that does not name it."
)


@dataclass(frozen=True, slots=True)
class CollectionSettings(Checked):
    """How the documents of one collection are split, searched, gated, drafted from and checked."""

    passages: PassageSettings = field(default_factory=PassageSettings)
    search: SearchSettings = field(default_factory=SearchSettings)
    gate: GateSettings = field(default_factory=GateSettings)
    draft: DraftSettings = field(default_factory=DraftSettings)
    filter: FilterSettings = field(default_factory=FilterSettings)
    checks: ChecksSettings = field(default_factory=ChecksSettings)
    verdict: VerdictSettings = field(default_factory=VerdictSettings)
    subject: str = setting("", SUBJECT)
    judge: JudgeSettings = field(default_factory=JudgeSettings)

    @property
    def written(self) -> bool:
        """Whether an LLM writes the drafts."""
        return self.draft.llm != "extractive"

    @property
    def opens(self) -> float:
        """The probability from which the learned gate opens for this drafter."""
        return self.gate.learned.opens(llm=self.written)
