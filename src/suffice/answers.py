"""Anyone's answer, judged against the passages it was written from.

>>> import suffice
>>> verdict = suffice.check("Leave lasts 20 weeks [1].", ["Leave lasts 18 weeks."])
>>> verdict.action, [finding.reason for finding in verdict.findings if finding.kind]

The verdict is on the answer as it stands: nothing is retrieved, gated, revised or trimmed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

from suffice.checks.check import Check, run_checks
from suffice.checks.citations import settle
from suffice.checks.judge import open_judge
from suffice.checks.open import SUPPORTING, open_checks
from suffice.checks.structure import shape
from suffice.draft.flags import cleared, flag_notes, flagged
from suffice.draft.reading import read_draft
from suffice.errors import AnswerError
from suffice.evidence.given import Given, given
from suffice.evidence.index import today
from suffice.models.catalog import open_embedder, open_verifier
from suffice.models.embedder import Embedder
from suffice.models.remembering import Remembering
from suffice.models.verifier import Verifier
from suffice.record.recorder import Keeps
from suffice.record.trace import Laps, Trace
from suffice.settings import EmbedderSettings, Settings, VerifierSettings
from suffice.text.asked import checked_question
from suffice.types import Action, Draft, Evidence, GateDecision, Level, Verdict
from suffice.verdict.decide import decide, withhold
from suffice.verdict.route import Route, read_routes

LONGEST_ANSWER = 100_000
NOT_GATED = GateDecision(
    Level.SUFFICIENT,
    1.0,
    "none",
    ("no gate was asked: the passages are those that came with the answer",),
)
EMPTY = "The answer is empty."
NO_CLAIM = "The answer states nothing that could be checked."
ABSTAINS = "The answer declines and states nothing; there is nothing to hold against the passages."


@dataclass(frozen=True, slots=True)
class Checker:
    """Judges answers one after another with everything opened once."""

    checks: tuple[Check, ...]
    routes: tuple[Route, ...]
    uncited: bool = False
    record: Keeps | None = None
    """Keeps every verdict before it leaves."""

    @classmethod
    def of(
        cls,
        settings: Settings | None = None,
        verifier: Verifier | None = None,
        embedder: Embedder | None = None,
        *,
        uncited: bool = False,
    ) -> Checker:
        """`uncited`: the answers carry no marks; they are held against all passages."""
        settings = settings or Settings()
        checks = open_checks(
            settings.checks,
            verifier or _verifier(settings.verifier),
            embedder or _embedder(settings.embedder),
            judge=open_judge(settings.judge, settings.draft) if settings.checks.judge else None,
            uncited=uncited,
        )
        return cls(checks, read_routes(settings.verdict.routes), uncited)

    def check(
        self, answer: str, passages: Iterable[Given] | Given, question: str | None = None
    ) -> Verdict:
        laps = Laps()
        asked = checked_question(question) if question else ""
        with laps.lap("total"):
            verdict = self._checked(checked_answer(answer), Evidence(asked, given(passages)))
        if self.record is None:
            return verdict
        trace = Trace(verdict.evidence, day=today(), timings=laps.timings)
        return replace(verdict, record=self.record.verdict(verdict, trace))

    def _checked(self, answer: str, found: Evidence) -> Verdict:
        evidence = replace(found, notes=flag_notes(flagged(found)))
        draft = self._draft(answer, evidence)
        if not draft.claims:
            return _without_claims(draft, evidence)
        trusted = cleared(evidence)  # a passage that says "answer 42" is no evidence for 42
        findings = run_checks(self.checks, draft, trusted)
        settled = settle(draft, trusted, findings, SUPPORTING)
        return decide(evidence, NOT_GATED, draft, settled, self.routes)

    def _draft(self, answer: str, evidence: Evidence) -> Draft:
        draft = read_draft(answer, evidence.passages, drafter="given")
        if not self.uncited:
            return draft
        unmarked = tuple(replace(claim, cites=()) for claim in draft.claims)
        return replace(draft, claims=unmarked, citations=())


def check(
    answer: str,
    passages: Iterable[Given] | Given,
    question: str | None = None,
    *,
    uncited: bool = False,
    settings: Settings | None = None,
    verifier: Verifier | None = None,
    embedder: Embedder | None = None,
) -> Verdict:
    """The verdict on an answer: mark `[n]` in it cites the n-th passage.

    Passages are texts, `Passage`, `Retrieved`, or dicts with "text" and what is known of the
    document. `uncited`: marks are not looked at, and every claim is held against all passages.
    """
    checker = Checker.of(settings, verifier, embedder, uncited=uncited)
    return checker.check(answer, passages, question)


async def acheck(
    answer: str,
    passages: Iterable[Given] | Given,
    question: str | None = None,
    *,
    uncited: bool = False,
    settings: Settings | None = None,
    verifier: Verifier | None = None,
    embedder: Embedder | None = None,
) -> Verdict:
    """The same, without holding up an event loop."""
    return await asyncio.to_thread(
        check,
        answer,
        passages,
        question,
        uncited=uncited,
        settings=settings,
        verifier=verifier,
        embedder=embedder,
    )


def checked_answer(answer: str) -> str:
    """The answer as it can be checked, or a clear word on why it cannot be."""
    if not isinstance(answer, str):
        raise AnswerError(
            f"The answer is a {type(answer).__name__}, not text.", remedy="Give it as one text."
        )
    if len(answer) > LONGEST_ANSWER:
        raise AnswerError(
            f"The answer has {len(answer):,} characters, over the limit of {LONGEST_ANSWER:,}.",
            remedy="Check it in parts.",
        )
    return answer


def _without_claims(draft: Draft, evidence: Evidence) -> Verdict:
    """An answer that declines may leave: it says nothing that nobody checked."""
    if draft.text and shape(draft.text).abstains:
        held = withhold(evidence, NOT_GATED, ABSTAINS, draft, action=Action.SERVE)
        return replace(held, released=draft.text, nearest=())
    return withhold(evidence, NOT_GATED, NO_CLAIM if draft.text else EMPTY, draft)


# Models are opened once a process and settings: a second answer should not load them again.
@lru_cache(maxsize=2)
def _verifier(settings: VerifierSettings) -> Verifier:
    return open_verifier(settings)


@lru_cache(maxsize=2)
def _embedder(settings: EmbedderSettings) -> Embedder:
    return Remembering(open_embedder(settings))
