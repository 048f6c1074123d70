"""The last and most expensive check, off by default: an LLM answers five questions about a claim
and its evidence. A claim is BACKED only if all five answers are PASS; in doubt, it stays
UNCHECKED."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import NamedTuple

from suffice.checks.judge.case import CaseFile
from suffice.checks.judge.llm import Llm, open_llm
from suffice.checks.judge.prompt import Case, Question
from suffice.checks.judge.replies import Answers, Mark, read_answers, uncertain
from suffice.deadline import watched
from suffice.errors import SufficeError
from suffice.settings import DraftSettings, JudgeSettings
from suffice.types import Claim, Code, Draft, Evidence, Finding, Hallucination, Support


class _Against(NamedTuple):
    support: Support
    code: Code | None
    kind: Hallucination


# The finding for each FAIL. If there are several, the first in this order decides.
_FAILED = {
    Question.EXACT: _Against(Support.CONTRADICTED, Code.CHANGED, Hallucination.FAITHFULNESS),
    Question.CONSISTENT: _Against(Support.CONTRADICTED, None, Hallucination.FAITHFULNESS),
    Question.FOUND: _Against(Support.UNBACKED, Code.ABSENT, Hallucination.FACTUALITY),
    Question.TRACEABLE: _Against(Support.UNBACKED, Code.MISATTRIBUTED, Hallucination.ATTRIBUTION),
    Question.COMPLETE: _Against(Support.UNBACKED, Code.OMITTED, Hallucination.OMISSION),
}


@dataclass(frozen=True, slots=True)
class Judge:
    """Judges one claim per request. `claims` limits which claims are judged (`None` for all)."""

    llm: Llm
    timeout: float = 60.0
    room: int = 24_000
    claims: frozenset[Claim] | None = None
    name: str = "judge"

    def only(self, claims: Collection[Claim]) -> Judge:
        """A judge restricted to these claims."""
        asked = frozenset(claims) if self.claims is None else self.claims.intersection(claims)
        return replace(self, claims=asked)

    def judge(self, draft: Draft, evidence: Evidence) -> list[Finding]:
        deadline = monotonic() + self.timeout
        cases = CaseFile.of(draft, evidence, self.room)
        return [
            self._judge(place, claim, cases, deadline)
            for place, claim in enumerate(watched(draft.claims))
        ]

    def _judge(self, place: int, claim: Claim, cases: CaseFile, deadline: float) -> Finding:
        if self.claims is not None and claim not in self.claims:
            return self._open(claim, "already decided by other checks")
        case = cases.case(place)
        return self._finding(claim, self._answers(case, deadline - monotonic()), case)

    def _answers(self, case: Case, seconds: float) -> Answers:
        """The answers of the LLM; UNCERTAIN if it cannot be asked or its PASS is not
        trustworthy."""
        if not case.passages:
            return uncertain("there is no passage to compare with")
        if case.size > self.room:
            return uncertain(
                "the claim and its evidence are too long to judge (judge.max_characters)"
            )
        if seconds <= 0:
            return uncertain("the judge ran out of time before this claim (judge.timeout)")
        try:
            answers = read_answers(self.llm.reply(case, seconds), case.mark)
        except SufficeError as problem:
            return uncertain(str(problem))
        if any(answer.mark is not Mark.PASS for answer in answers.values()):
            return answers
        if name := case.steered:
            return uncertain(f"{name} tries to dictate the judgement, so PASS is not accepted")
        if case.dangling:
            return uncertain("it cites a passage that was not retrieved, so PASS is not accepted")
        return answers

    def _finding(self, claim: Claim, answers: Answers, case: Case) -> Finding:
        sources = case.sources
        failed = [question for question in _FAILED if answers[question].mark is Mark.FAIL]
        if failed:
            against = _FAILED[failed[0]]
            return Finding(
                claim,
                self.name,
                against.support,
                passage_id=sources[0].id if len(sources) == 1 else None,
                reason=_sentences(answers, failed),
                code=against.code,
                kind=against.kind,
            )
        doubted = [question for question in Question if answers[question].mark is not Mark.PASS]
        if doubted:
            return self._open(claim, _sentences(answers, doubted))
        # Every cited passage supports the claim, so the finding names the first.
        place = sources[0].id if sources else None
        reason = _sentences(answers, [Question.FOUND])
        return Finding(claim, self.name, Support.BACKED, passage_id=place, reason=reason)

    def _open(self, claim: Claim, reason: str) -> Finding:
        return Finding(claim, self.name, Support.UNCHECKED, reason=reason)


def open_judge(settings: JudgeSettings, draft: DraftSettings) -> Judge:
    """Open the judge described by the settings, without sending a request."""
    return Judge(open_llm(settings, draft), settings.timeout, settings.max_characters)


def _sentences(answers: Answers, questions: Sequence[Question]) -> str:
    return " ".join(dict.fromkeys(answers[question].sentence for question in questions))
