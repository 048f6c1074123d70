"""The last and most expensive check, off by default: an LLM answers five questions about a claim
and its evidence. A claim is BACKED only if all five answers are PASS; in doubt, it stays
UNCHECKED.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, NamedTuple, Protocol

from suffice.checks.claim_text import numbered, with_metadata
from suffice.deadline import watched
from suffice.errors import SufficeError
from suffice.models.chat import described, fence, fenced
from suffice.models.llm.client import Budget, LlmUse, open_llm
from suffice.models.llm.prompts import Prompt, build_prompt
from suffice.models.llm.replies import read_reply
from suffice.settings import DraftSettings, JudgeSettings
from suffice.text.instructions import instructs
from suffice.text.one_line import printable_line
from suffice.types import Claim, Code, Draft, Evidence, Finding, Hallucination, Passage, Support

PROMPT = "judge-1"
JUDGING = LlmUse("judgement", "judge.llm", "judge.max_tokens")


class Question(StrEnum):
    """The five questions, phrased so that PASS always favours the claim."""

    FOUND = "found"
    CONSISTENT = "consistent"
    TRACEABLE = "traceable"
    COMPLETE = "complete"
    EXACT = "exact"


class Mark(StrEnum):
    """The possible answers of a judge."""

    PASS = "PASS"
    FAIL = "FAIL"
    UNCERTAIN = "UNCERTAIN"


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one question, with a sentence that explains it."""

    sentence: str
    answer: Mark


@dataclass(frozen=True, slots=True)
class JudgeReply:
    """The reply to a case: its id, and one answer for each question."""

    case: str
    found: Answer
    consistent: Answer
    traceable: Answer
    complete: Answer
    exact: Answer


# Text that asks for a good grade. Deliberately broad, because a false alarm only costs a PASS.
_DICTATES = re.compile(
    r"\b(?:PASS|FAIL|UNCERTAIN)\b|[\"'](?:answer|case)[\"']\s*:|"
    r"(?i:\b(?:answer|reply|respond|output|return|mark|grade|rate|judge|say)\w*\b"
    r"[^.!?\n]{0,60}\bpass(?:ed)?\b|"
    r"\b(?:to|for|dear|attention,?)\s(?:the\s|all\s)?"
    r"(?:judges?|graders?|checkers?|verifiers?|evaluators?|llms?)\b)"
)


@dataclass(frozen=True, slots=True)
class Numbered:
    """A passage as shown to the judge, with its citation number, if any."""

    passage: Passage
    n: int | None = None

    @property
    def name(self) -> str:
        return "passage without a number" if self.n is None else f"passage {self.n}"


@dataclass(frozen=True, slots=True)
class Case:
    """A claim with its evidence. `cites` holds its citation numbers, and `around` the claim with
    its neighbouring sentences, if any."""

    claim: str
    cites: tuple[int, ...]
    around: str
    question: str
    passages: tuple[Numbered, ...]

    def beside(self, passages: Sequence[Numbered]) -> Case:
        """The same case with more passages."""
        return replace(self, passages=(*self.passages, *passages))

    @property
    def sources(self) -> tuple[Passage, ...]:
        """The passages the claim cites."""
        return tuple(shown.passage for shown in self.passages if shown.n in self.cites)

    @property
    def dangling(self) -> bool:
        """Whether a citation refers to a passage that is not shown."""
        return not set(self.cites) <= {shown.n for shown in self.passages}

    @property
    def size(self) -> int:
        """The number of characters shown to the judge."""
        return sum(map(len, self._texts()))

    @property
    def mark(self) -> str:
        """The id of the case, which the reply must repeat."""
        return fence(self._texts())

    @property
    def steered(self) -> str:
        """Which text tries to dictate the judgement; empty if none does."""
        texts = [
            ("the claim", self.claim),
            ("a neighbouring sentence", self.around),
            ("the question", self.question),
            *((shown.name, with_metadata(shown.passage)) for shown in self.passages),
        ]
        return next((name for name, text in texts if dictates(text)), "")

    @property
    def prompt(self) -> Prompt[JudgeReply]:
        mark = self.mark
        return build_prompt(PROMPT, self._blocks(mark), JudgeReply, case=mark)

    def _blocks(self, mark: str) -> Iterator[str]:
        for shown in self.passages:
            yield fenced(mark, shown.name, shown.passage.text, described(shown.passage))
        if self.question:
            yield fenced(mark, "question that was asked", self.question)
        if self.around:
            yield fenced(mark, "sentences around the claim", self.around)
        yield fenced(mark, "claim", self.claim)
        yield _cited(self.cites)

    def _texts(self) -> list[str]:
        passages = [shown.passage for shown in self.passages]
        texts = (text for passage in passages for text in (passage.text, described(passage)))
        return [*texts, self.question, self.around, self.claim]


def dictates(text: str) -> bool:
    """Whether a text gives instructions to the model or asks for a good grade."""
    plain = unicodedata.normalize("NFKC", text)
    return bool(_DICTATES.search(plain) or instructs(text))


def _cited(cites: Sequence[int]) -> str:
    if not cites:
        return "The claim cites no passage: check it against all of them."
    return f"The claim cites the passages {', '.join(map(str, cites))}."


_AROUND = 2_000


@dataclass(frozen=True, slots=True)
class CaseFile:
    """The cases of a draft. `room` is the maximum number of characters per case."""

    draft: Draft
    question: str
    room: int
    marked: Mapping[int, Passage]
    """Retrieved passages by citation number."""
    others: tuple[Numbered, ...]
    """All passages except those with instructions, which are shown only if a claim cites them."""

    @classmethod
    def of(cls, draft: Draft, evidence: Evidence, room: int) -> CaseFile:
        hand = {passage.id: passage for passage in evidence.passages}
        marks = numbered(draft, evidence).items()
        marked = {n: hand[passage.id] for n, passage in marks if passage.id in hand}
        numbers = {passage.id: n for n, passage in marked.items()}
        clean = (passage for passage in hand.values() if not dictates(with_metadata(passage)))
        others = tuple(Numbered(passage, numbers.get(passage.id)) for passage in clean)
        return cls(draft, evidence.question, room, marked, others)

    def case(self, place: int) -> Case:
        """A claim with all the passages it cites and as many others as fit. A claim without
        citations gets all passages."""
        claim = self.draft.claims[place]
        cited = [Numbered(self.marked[n], n) for n in claim.cites if n in self.marked]
        cited_ids = {shown.passage.id for shown in cited}
        others = [shown for shown in self.others if shown.passage.id not in cited_ids]
        case = Case(claim.text, claim.cites, self._around(place), self.question, tuple(cited))
        if not claim.cites:
            return case.beside(others)
        for other in others:
            larger = case.beside([other])
            case = larger if larger.size <= self.room else case
        return case

    def _around(self, place: int) -> str:
        """The draft from the previous claim to the next claim."""
        near = self.draft.claims[max(0, place - 1) : place + 2]
        claim = self.draft.claims[place]
        start, end = min(claim.start for claim in near), max(claim.end for claim in near)
        around = self.draft.text[start:end]
        fits = claim.text in around and len(around) <= len(claim.text) + _AROUND
        return around if fits and around != claim.text else ""


class AnswersPrompts(Protocol):
    """Replies to a prompt within a budget, or raises a `SufficeError`."""

    def reply(self, prompt: Prompt[Any], budget: Budget) -> str: ...


_LONGEST = 300
_TEMPLATE_WORDS = frozenset({"ONE", "SENTENCE", "OR", "PASS", "FAIL", "UNCERTAIN"})
Answers = Mapping[Question, Answer]
"""One answer for each of the five questions."""


def read_answers(reply: str, case: str) -> Answers:
    """The answers in a reply. If it is not exactly the requested object with the id of its case,
    all answers are UNCERTAIN."""
    try:
        answers = read_reply(reply, JudgeReply)
        if answers.case != case:
            raise ValueError("the id of another case")
        return {question: _explained(getattr(answers, question)) for question in Question}
    except ValueError as problem:
        return uncertain(f"the judge's reply is not the requested object: {problem}")


def uncertain(why: str) -> Answers:
    """UNCERTAIN for all questions, with the same reason."""
    return dict.fromkeys(Question, Answer(why, Mark.UNCERTAIN))


def _explained(answer: Answer) -> Answer:
    """The answer with its sentence on one line, which must say more than the template."""
    line = printable_line(answer.sentence, _LONGEST)
    if not {word.upper() for word in re.findall(r"\w+", line)} - _TEMPLATE_WORDS:
        raise ValueError("an answer without a sentence")
    return replace(answer, sentence=line)


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

    llm: AnswersPrompts
    timeout: float = 60.0
    room: int = 24_000
    claims: frozenset[Claim] | None = None
    name: str = "judge"

    def only(self, claims: Collection[Claim]) -> Judge:
        """A judge restricted to these claims."""
        limited = frozenset(claims) if self.claims is None else self.claims.intersection(claims)
        return replace(self, claims=limited)

    def judge(self, draft: Draft, evidence: Evidence) -> list[Finding]:
        budget = Budget(self.timeout, "judge.timeout")
        cases = CaseFile.of(draft, evidence, self.room)
        return [
            self._judge(place, claim, cases, budget)
            for place, claim in enumerate(watched(draft.claims))
        ]

    def _judge(self, place: int, claim: Claim, cases: CaseFile, budget: Budget) -> Finding:
        if self.claims is not None and claim not in self.claims:
            return self._open(claim, "already decided by other checks")
        case = cases.case(place)
        return self._finding(claim, self._answers(case, budget), case)

    def _answers(self, case: Case, budget: Budget) -> Answers:
        """The answers of the LLM; UNCERTAIN if it cannot be asked or its PASS is not
        trustworthy."""
        if not case.passages:
            return uncertain("there is no passage to compare with")
        if case.size > self.room:
            return uncertain(
                "the claim and its evidence are too long to judge (judge.max_characters)"
            )
        try:
            answers = read_answers(self.llm.reply(case.prompt, budget), case.mark)
        except SufficeError as problem:
            return uncertain(str(problem))
        if any(answer.answer is not Mark.PASS for answer in answers.values()):
            return answers
        if name := case.steered:
            return uncertain(f"{name} tries to dictate the judgement, so PASS is not accepted")
        if case.dangling:
            return uncertain("it cites a passage that was not retrieved, so PASS is not accepted")
        return answers

    def _finding(self, claim: Claim, answers: Answers, case: Case) -> Finding:
        sources = case.sources
        failed = [question for question in _FAILED if answers[question].answer is Mark.FAIL]
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
        doubted = [question for question in Question if answers[question].answer is not Mark.PASS]
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
    llm = open_llm(
        JUDGING,
        url=settings.llm,
        model=settings.model,
        key_env=settings.key_env,
        timeout=settings.timeout,
        retries=settings.retries,
        max_tokens=settings.max_tokens,
        drafter=None if settings.llm else draft,
    )
    return Judge(llm, settings.timeout, settings.max_characters)


def _sentences(answers: Answers, questions: Sequence[Question]) -> str:
    return " ".join(dict.fromkeys(answers[question].sentence for question in questions))
