"""The council: several judges vote on whether the evidence supports an answer.

The gate decides first: if it finds the context insufficient, no majority can overrule it. A judge
that fails or cannot decide abstains.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from starlette.responses import Response

from suffice import schema
from suffice.checker import checked_answer
from suffice.checks.claim_text import alone, with_metadata
from suffice.checks.judge import dictates
from suffice.draft.reading import read_draft
from suffice.errors import SufficeError
from suffice.evidence.sanitize import sanitized
from suffice.models.catalog import open_verifier
from suffice.models.chat import chat_body, described, fence, fenced, read_delta
from suffice.models.llm.prompts import Prompt, build_prompt
from suffice.models.llm.replies import read_reply
from suffice.models.verifier import Pair, SupportScore, Verifier
from suffice.pipeline import Pipeline
from suffice.server import api
from suffice.server.errors import bad
from suffice.server.gateway import Gateway
from suffice.server.openai.request import read_given
from suffice.server.openai.upstream import UpstreamClient, UpstreamFault
from suffice.server.request import RequestContext, as_response
from suffice.server.route import AnswerOptions, Route
from suffice.server.sending import cancel_on_disconnect
from suffice.settings import CouncilSettings, LimitSettings
from suffice.text.one_line import printable_line
from suffice.text.question import checked_question
from suffice.types import Evidence, GateDecision, Level, Passage, Retrieved

INSUFFICIENT = "REVIEW REQUIRED: Insufficient context"
DISAGREE = "REVIEW REQUIRED: Sources disagree"
NO_ANSWER = "REVIEW REQUIRED: No answer to vote on"
NO_MAJORITY = "REVIEW REQUIRED: No majority"
TOO_FEW = "REVIEW REQUIRED: Too few votes"
NOT_ASKED = "Not asked: the context is insufficient."


class Vote(StrEnum):
    APPROVE = "APPROVE"
    REJECT = "REJECT"
    ABSTAIN = "ABSTAIN"


@dataclass(frozen=True, slots=True)
class Ballot:
    """One judge's vote and its reason; `confidence` is set if the judge gives a number."""

    judge: str
    vote: Vote
    reason: str
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class Motion:
    """An answer to vote on, with its question and passages. [n] in it cites the n-th passage."""

    question: str
    answer: str
    passages: tuple[Passage, ...]


@dataclass(frozen=True, slots=True)
class Advice:
    """The council's result: recommendation, votes and concerns."""

    recommendation: str
    ballots: tuple[Ballot, ...]
    concerns: tuple[str, ...]
    gate: GateDecision

    @property
    def tally(self) -> dict[str, int]:
        return {vote.value.lower(): _count(self.ballots, vote) for vote in Vote}


def advise(gate: GateDecision, ballots: Sequence[Ballot], *, answered: bool = True) -> Advice:
    """Combine the gate's decision with the votes. APPROVE or REJECT needs more than half of all
    judges; an abstention counts for neither."""
    concerns = [_lack(gate)] if not gate.open and gate.level is not Level.CONFLICT else []
    concerns += [conflict.reason for conflict in gate.conflicts if conflict.reason]
    concerns += [f"{one.judge}: {one.reason}" for one in ballots if one.vote is not Vote.APPROVE]
    return Advice(_recommended(gate, ballots, answered), tuple(ballots), tuple(concerns), gate)


def _recommended(gate: GateDecision, ballots: Sequence[Ballot], answered: bool) -> str:
    if gate.level is Level.CONFLICT:
        return DISAGREE
    if not gate.open:
        return INSUFFICIENT
    if not answered:
        return NO_ANSWER
    judges = len(ballots)
    if 2 * _count(ballots, Vote.ABSTAIN) >= judges:
        return TOO_FEW
    for vote in (Vote.APPROVE, Vote.REJECT):
        if 2 * _count(ballots, vote) > judges:
            return vote.value
    return NO_MAJORITY


def _count(ballots: Sequence[Ballot], vote: Vote) -> int:
    return sum(one.vote is vote for one in ballots)


def _lack(gate: GateDecision) -> str:
    """Describe insufficient context: the score and what is missing."""
    missing = "; ".join(gate.missing) or "; ".join(gate.reasons)
    detail = f": missing {missing}" if gate.missing else f": {missing}" if missing else ""
    return f"Insufficient context (score {gate.score:.2f}, {gate.level.value}){detail}"


@dataclass(frozen=True, slots=True)
class Member:
    """A built-in verifier as a judge."""

    verifier: Verifier

    @property
    def name(self) -> str:
        return f"{self.verifier.tier or 'own'} verifier ({self.verifier.id})"

    def vote(self, motion: Motion) -> Ballot:
        """Approve if the passages are sufficient and support every claim."""
        try:
            return self._voted(motion)
        except SufficeError as problem:
            return Ballot(self.name, Vote.ABSTAIN, f"The verifier failed: {problem.message}")

    def _voted(self, motion: Motion) -> Ballot:
        texts = tuple(passage.text for passage in motion.passages)
        thresholds = self.verifier.thresholds
        claims = alone(read_draft(motion.answer, motion.passages, drafter="motion"))
        if not texts or not claims:
            why = "The answer contains no claim" if texts else "There are no passages"
            return self._ballot(Vote.ABSTAIN, f"{why} to judge.")
        (enough,) = self.verifier.sufficiency([Pair(motion.question, texts)])
        pairs = [Pair(one, texts, motion.question, motion.answer) for one in claims]
        scores = self.verifier.support(pairs)
        for pair, score in zip(pairs, scores, strict=True):
            if score.unchecked:
                why = f"Could not judge “{pair.text}”: {score.unchecked}"
                return self._ballot(Vote.ABSTAIN, why)
        weakest = min(range(len(scores)), key=lambda n: scores[n].supported)
        worst, low = pairs[weakest].text, scores[weakest].supported
        if not all(map(thresholds.supported, scores)):
            return self._ballot(Vote.REJECT, f"“{worst}” is {_against(scores[weakest])}.", 1 - low)
        if enough.unchecked or not thresholds.enough(enough):
            why = enough.unchecked or f"the passages look insufficient (score {enough.enough:.2f})"
            return self._ballot(Vote.ABSTAIN, f"Every claim is supported, but {why}.", low)
        sure = min(low, enough.enough)
        return self._ballot(Vote.APPROVE, "Every claim is supported by the passages.", sure)

    def _ballot(self, vote: Vote, reason: str, confidence: float | None = None) -> Ballot:
        return Ballot(self.name, vote, reason, confidence)


def _against(score: SupportScore) -> str:
    if score.contradicted > score.not_mentioned:
        return f"contradicted by the passages (supported {score.supported:.2f})"
    return f"not supported by the passages (supported {score.supported:.2f})"


def as_json(motion: Motion, advice: Advice, record: str) -> api.CouncilAdvice:
    gate = advice.gate
    return api.CouncilAdvice(
        question=motion.question,
        answer=motion.answer or None,
        recommendation=advice.recommendation,
        votes=tuple(
            api.CouncilVote(one.judge, one.vote.value, one.reason, schema.rounded(one.confidence))
            for one in advice.ballots
        ),
        tally=api.Tally(**advice.tally),
        concerns=advice.concerns,
        context_sufficiency=api.ContextSufficiency(round(gate.score, 4), gate.level, gate.missing),
        record=record or None,
    )


PROMPT = "vote-1"
_TOKENS = 1024
_LONGEST = 500


@dataclass(frozen=True, slots=True)
class VoteReply:
    """A model's vote, with the id of what it votes on."""

    case: str
    vote: Vote
    reason: str


@dataclass(frozen=True, slots=True)
class ModelJudge:
    """An OpenAI-compatible endpoint."""

    name: str
    upstream: UpstreamClient
    model: str = ""

    async def vote(self, motion: Motion) -> Ballot:
        body = chat_body(self.model, vote_prompt(motion).messages, _TOKENS)
        try:
            reply = read_delta(await self.upstream.ask(body)).text
        except UpstreamFault as problem:
            return Ballot(self.name, Vote.ABSTAIN, f"The judge failed: {problem.message}")
        return read_ballot(self.name, reply, motion)


def mark_of(motion: Motion) -> str:
    texts = [with_metadata(passage) for passage in motion.passages]
    return fence([*texts, motion.question, motion.answer])


def vote_prompt(motion: Motion) -> Prompt[VoteReply]:
    mark = mark_of(motion)
    blocks = [
        fenced(mark, f"passage {n}", passage.text, described(passage))
        for n, passage in enumerate(motion.passages, 1)
    ]
    blocks += [fenced(mark, "question", motion.question), fenced(mark, "answer", motion.answer)]
    return build_prompt(PROMPT, blocks, VoteReply, case=mark)


def read_ballot(name: str, reply: str, motion: Motion) -> Ballot:
    """Parse the vote in a reply; a reply in any other format is an abstention."""
    try:
        cast = read_reply(reply, VoteReply)
    except ValueError:
        cast = None
    if cast is None or cast.case != mark_of(motion):
        return Ballot(name, Vote.ABSTAIN, "The reply is not a valid vote.")
    reason = printable_line(cast.reason, _LONGEST)
    if not reason:
        return Ballot(name, Vote.ABSTAIN, "The reply gives no reason for its vote.")
    passages = map(with_metadata, motion.passages)
    if cast.vote is Vote.APPROVE and any(
        map(dictates, (*passages, motion.question, motion.answer))
    ):
        return Ballot(
            name, Vote.ABSTAIN, "Approval discarded: one of the texts tries to dictate the vote."
        )
    return Ballot(name, cast.vote, reason)


@dataclass(frozen=True, slots=True)
class CouncilQuestion:
    """A question to the council, as its request puts it. Without an answer, the vote is on
    quotations from the documents."""

    question: str
    answer: str = ""
    given: tuple[Retrieved, ...] = ()
    indexed: bool = True


def council_question(
    request: api.CouncilRequest, route: Route, limits: LimitSettings
) -> CouncilQuestion:
    evidence = request.evidence
    if evidence is not None and route.settings.evidence == "index":
        raise bad("This route takes its evidence from the index.", "evidence")
    given = read_given(evidence or [], limits)
    indexed = evidence is None and route.settings.evidence != "request"
    question, answer = checked_question(request.question), checked_answer(request.answer or "")
    return CouncilQuestion(question, answer, given, indexed)


class Council:
    """The council of an app. The built-in verifiers are opened once, on first use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._opened: tuple[list[Member], list[str]] | None = None

    async def vote(self, context: RequestContext) -> Response:
        request, gateway = await context.read(api.CouncilRequest), context.gateway
        named = context.request.path_params.get("route") or request.route or ""
        route = gateway.route(named, None, context.caller)
        context.stats.route = route.name
        settings = gateway.state.settings.server
        question = council_question(request, route, settings.limits)
        pipeline = route.pipeline(
            context.caller, AnswerOptions(question.given, question.indexed, bool(question.answer))
        )
        judging = self._advice(gateway, pipeline, question, settings.council)
        motion, advice, record = await cancel_on_disconnect(context.request.receive, judging)
        context.stats.gates.append(advice.gate)
        return as_response(as_json(motion, advice, record))

    async def _advice(
        self,
        gateway: Gateway,
        pipeline: Pipeline,
        question: CouncilQuestion,
        settings: CouncilSettings,
    ) -> tuple[Motion, Advice, str]:
        evidence, gate, answer, record = await gateway.work.run(_moved, pipeline, question)
        motion = Motion(question.question, answer, evidence.passages)
        judges, absent = _judges(gateway, settings), list[str]()
        if judges:
            ballots = await _asked(judges, motion, settings, ask=gate.open and bool(answer))
        else:
            members, absent = await gateway.work.run(self._members, gateway)
            votes = (gateway.work.run(one.vote, motion) for one in members)
            ballots = list(await asyncio.gather(*votes))
        advice = advise(gate, ballots, answered=bool(answer))
        return motion, replace(advice, concerns=(*advice.concerns, *absent)), record

    def _members(self, gateway: Gateway) -> tuple[list[Member], list[str]]:
        """The fast and the strong verifier, and an error for each that could not be opened."""
        with self._lock:
            if self._opened is None:
                own, settings = gateway.engine.verifier, gateway.state.settings.verifier
                found: list[Verifier] = [own]
                absent = []
                for tier in ("fast", "strong"):
                    if tier == own.tier:
                        continue
                    try:
                        found.append(open_verifier(settings, tier))
                    except SufficeError as problem:
                        absent.append(f"The {tier} verifier is unavailable: {problem}")
                self._opened = [Member(one) for one in found], absent
            return self._opened


def _moved(
    pipeline: Pipeline, question: CouncilQuestion
) -> tuple[Evidence, GateDecision, str, str]:
    """The evidence without planted instructions, the gate decision, the answer to vote on, and the
    record id."""
    if question.answer:
        evidence, gate = pipeline.retrieve_and_gate(question.question)
        # The judges read what the reply returns.
        return sanitized(evidence), gate, read_draft(question.answer, ()).text, gate.record
    quotes = pipeline.quotes or pipeline.drafter
    verdict = replace(
        pipeline, drafter=quotes, draft_settings=replace(pipeline.draft_settings, revisions=0)
    ).answer(question.question)
    answer = verdict.released if verdict.served else ""
    return sanitized(verdict.evidence), verdict.gate, answer, verdict.record


def _judges(gateway: Gateway, settings: CouncilSettings) -> list[ModelJudge]:
    """The upstreams of the configured routes. Routes without an upstream are skipped."""
    found = []
    for name in settings.judges:
        route = gateway.state.routes.get(name)
        if route is not None and route.upstream is not None:
            mapped = next(iter(route.settings.models.values()), "")
            found.append(ModelJudge(name, route.upstream, route.settings.model or mapped))
    return found


async def _asked(
    judges: Sequence[ModelJudge], motion: Motion, settings: CouncilSettings, *, ask: bool
) -> list[Ballot]:
    """Ask all judges concurrently. If the context is insufficient, no model is called."""
    if not ask:
        return [Ballot(one.name, Vote.ABSTAIN, NOT_ASKED) for one in judges]

    async def vote(judge: ModelJudge) -> Ballot:
        try:
            async with asyncio.timeout(settings.judge_seconds):
                return await judge.vote(motion)
        except TimeoutError:
            return Ballot(
                judge.name, Vote.ABSTAIN, f"The judge timed out after {settings.judge_seconds:g} s."
            )

    return list(await asyncio.gather(*map(vote, judges)))
