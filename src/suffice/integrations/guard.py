"""What all adapters share: check an answer, gate retrieved passages, read a framework's documents.

An adapter moves text between a framework and this module; the decisions are those of
`suffice.check` and `suffice.gate`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeVar

from suffice.answers import open_checker
from suffice.checker import Checker
from suffice.errors import AnswerWithheld, EvidenceInsufficient, SettingsError
from suffice.evidence.inputs import Given
from suffice.gate.gate import Gate
from suffice.schema import rounded
from suffice.settings import Settings
from suffice.text.question import LONGEST_QUESTION
from suffice.types import GateDecision, Verdict
from suffice.verdict.wording import releases_draft, render_text, without_withheld

T = TypeVar("T")
OnBlock = Literal["replace", "raise"]
"""What a guard does with a withheld answer: put the refusal in its place, or raise
`AnswerWithheld`."""
OnInsufficient = Literal["empty", "raise"]
"""What a gated retriever does with too little evidence: return no documents, or raise
`EvidenceInsufficient`."""
_SOURCE = ("document", "source", "file_name", "file_path")
_KNOWN = ("title", "version", "effective", "expires", "page", "heading")


@dataclass(frozen=True, slots=True)
class Checked:
    """A checked answer: `text` is the only text to show, `changed` says if it differs from the
    answer."""

    verdict: Verdict
    text: str
    changed: bool

    @property
    def summary(self) -> dict[str, Any]:
        """The verdict for the metadata of a response. It quotes no withheld statement."""
        return summary(self.verdict)


class Guard:
    """Checks answers against their evidence. The models are loaded with the first answer.

    `uncited` (the default) compares every claim with all passages; `False` also checks that the
    answer cites its passages as `[n]`. `on_verdict` receives every verdict, for example to log it.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        uncited: bool = True,
        on_block: OnBlock = "replace",
        on_verdict: Callable[[Verdict], object] | None = None,
        checker: Checker | None = None,
    ) -> None:
        self.on_block = one_of(on_block, "on_block", ("replace", "raise"))
        self._settings, self._uncited, self._on_verdict = settings, uncited, on_verdict
        self._given = checker

    @cached_property
    def checker(self) -> Checker:
        return self._given or open_checker(self._settings, uncited=self._uncited)

    def check(self, answer: str, passages: Iterable[Given] | Given, question: str = "") -> Checked:
        """The answer as it may leave. Raises `AnswerWithheld` if it may not and the guard is set to
        raise. If a check fails, its error is raised: no answer leaves unchecked."""
        verdict = self.checker.check(answer, passages, _question(question))
        if self._on_verdict is not None:
            self._on_verdict(verdict)
        told = without_withheld(verdict)
        if not verdict.served and self.on_block == "raise":
            raise AnswerWithheld(verdict, told.reason)
        same = releases_draft(verdict) and render_text(verdict) == answer.strip()
        return Checked(verdict, answer if same else render_text(told), not same)

    async def acheck(
        self, answer: str, passages: Iterable[Given] | Given, question: str = ""
    ) -> Checked:
        """`check` without blocking the event loop."""
        return await asyncio.to_thread(self.check, answer, passages, question)


class EvidenceGate:
    """Gates retrieved documents. The models are loaded with the first question."""

    def __init__(
        self, gate: Gate | None = None, *, on_insufficient: OnInsufficient = "empty"
    ) -> None:
        self._given = gate
        self.on_insufficient = one_of(on_insufficient, "on_insufficient", ("empty", "raise"))

    @cached_property
    def gate(self) -> Gate:
        return self._given or Gate()

    def select(
        self, question: str, found: Sequence[T], read: Callable[[T], Mapping[str, Any]]
    ) -> tuple[list[T], GateDecision]:
        """The documents to answer from, without those that the gate left out (expired ones, those
        that instruct the model), and the decision. `read` turns a document into a passage. A closed
        gate gives no documents, or raises `EvidenceInsufficient`."""
        passages = [{**read(one), "id": f"found-{n}"} for n, one in enumerate(found)]
        decision = self.gate.decide(question, passages)
        if not decision.open and self.on_insufficient == "raise":
            raise EvidenceInsufficient(decision)
        excluded = {one.passage.id for one in decision.excluded if not one.partly}
        kept = [one for n, one in enumerate(found) if f"found-{n}" not in excluded]
        return (kept if decision.open else []), decision


def passage_of(text: str, metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    """A passage from a framework's document. Of the metadata, title, version, dates, page, heading
    and the name of the source count."""
    given = metadata or {}
    known = {key: given[key] for key in _KNOWN if given.get(key) is not None}
    source = next((given[key] for key in _SOURCE if given.get(key)), None)
    return {"text": text, **known, **({"document": str(source)} if source else {})}


def summary(verdict: Verdict) -> dict[str, Any]:
    """A verdict in a few plain values. It quotes no withheld statement."""
    return {
        "verdict": verdict.action.value,
        "reason": without_withheld(verdict).reason,
        "confidence": rounded(verdict.confidence),
        "faithfulness": rounded(verdict.faithfulness),
        "share_read": round(verdict.share_read, 4),
    }


def _question(asked: str) -> str | None:
    """The question, unless it is a whole prompt, which the checks do not need."""
    return asked if asked.strip() and len(asked) <= LONGEST_QUESTION else None


def one_of(value: T, name: str, allowed: tuple[T, ...]) -> T:
    """The value of an option. Raises `SettingsError` if it is not one of those allowed."""
    if value not in allowed:
        names = " or ".join(f"'{one}'" for one in allowed)
        raise SettingsError(f"{name} is '{value}'.", remedy=f"Use {names}.")
    return value
