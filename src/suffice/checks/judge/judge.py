"""The last and dearest check, off by default: an LLM is asked five questions about a claim beside
its evidence. In doubt it says nothing: BACKED takes five times PASS, and nothing else does."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import NamedTuple

from suffice.checks.judge.case import CaseFile
from suffice.checks.judge.llm import Llm, open_llm
from suffice.checks.judge.prompt import Case, Question
from suffice.checks.judge.replies import Answers, Mark, read_answers, uncertain
from suffice.errors import SufficeError
from suffice.settings import DraftSettings, JudgeSettings
from suffice.types import Claim, Code, Draft, Evidence, Finding, Hallucination, Support


class _Against(NamedTuple):
    support: Support
    code: Code | None
    kind: Hallucination


# What a FAIL means; of several the first in this order speaks for the claim.
_FAILED = {
    Question.EXACT: _Against(Support.CONTRADICTED, Code.CHANGED, Hallucination.FAITHFULNESS),
    Question.CONSISTENT: _Against(Support.CONTRADICTED, None, Hallucination.FAITHFULNESS),
    Question.FOUND: _Against(Support.UNBACKED, Code.ABSENT, Hallucination.FACTUALITY),
    Question.TRACEABLE: _Against(Support.UNBACKED, Code.MISATTRIBUTED, Hallucination.ATTRIBUTION),
    Question.COMPLETE: _Against(Support.UNBACKED, Code.OMITTED, Hallucination.OMISSION),
}


@dataclass(frozen=True, slots=True)
class Judge:
    """Asks about one claim at a time. `claims`: the only ones it looks at (`None`: all)."""

    llm: Llm
    timeout: float = 60.0
    room: int = 24_000
    claims: frozenset[Claim] | None = None
    name: str = "judge"

    def only(self, claims: Collection[Claim]) -> Judge:
        """A judge of these claims alone; the others it leaves as they are."""
        asked = frozenset(claims) if self.claims is None else self.claims.intersection(claims)
        return replace(self, claims=asked)

    def judge(self, draft: Draft, evidence: Evidence) -> list[Finding]:
        deadline = monotonic() + self.timeout
        desk = CaseFile.of(draft, evidence, self.room)
        return [
            self._judge(place, claim, desk, deadline) for place, claim in enumerate(draft.claims)
        ]

    def _judge(self, place: int, claim: Claim, desk: CaseFile, deadline: float) -> Finding:
        if self.claims is not None and claim not in self.claims:
            return self._open(claim, "closed by other checks")
        case = desk.case(place)
        return self._finding(claim, self._answers(case, deadline - monotonic()), case)

    def _answers(self, case: Case, seconds: float) -> Answers:
        """What is answered; UNCERTAIN where nothing can be asked, or no PASS be taken."""
        if not case.passages:
            return uncertain("there is no passage to hold it against")
        if case.size > self.room:
            return uncertain("it is too long, with its evidence, to be judged (judge.room)")
        if seconds <= 0:
            return uncertain("the judge's time was over before its turn (judge.timeout)")
        try:
            answers = read_answers(self.llm.reply(case, seconds), case.mark)
        except SufficeError as problem:
            return uncertain(str(problem))
        if any(answer.mark is not Mark.PASS for answer in answers.values()):
            return answers
        if name := case.steered:
            return uncertain(f"{name} tries to dictate the judgement, so no PASS is taken")
        if case.dangling:
            return uncertain("it names a passage that is not at hand, so no PASS is taken")
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
        # Each of the passages it cites was found to say so.
        place = sources[0].id if sources else None
        reason = _sentences(answers, [Question.FOUND])
        return Finding(claim, self.name, Support.BACKED, passage_id=place, reason=reason)

    def _open(self, claim: Claim, reason: str) -> Finding:
        return Finding(claim, self.name, Support.UNCHECKED, reason=reason)


def open_judge(settings: JudgeSettings, draft: DraftSettings) -> Judge:
    """The judge the settings name; asks nothing yet."""
    return Judge(open_llm(settings, draft), settings.timeout, settings.room)


def _sentences(answers: Answers, questions: Sequence[Question]) -> str:
    return " ".join(dict.fromkeys(answers[question].sentence for question in questions))
