"""`POST /v1/council/vote`: submit a question, with or without an answer, to the council."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from starlette.responses import Response

from suffice.answers import checked_answer
from suffice.draft.reading import read_draft
from suffice.errors import SufficeError
from suffice.evidence.sanitize import sanitized
from suffice.models.catalog import open_verifier
from suffice.models.verifier import Verifier
from suffice.pipeline import Pipeline
from suffice.server.council.advice import (
    NOT_ASKED,
    Advice,
    Ballot,
    Member,
    Motion,
    Vote,
    advise,
    as_json,
)
from suffice.server.council.model_judge import ModelJudge
from suffice.server.errors import bad
from suffice.server.gateway import Gateway
from suffice.server.openai.request import read_given
from suffice.server.request import RequestContext, as_response
from suffice.server.route import Route, Way
from suffice.server.sending import while_there
from suffice.settings import CouncilSettings, LimitSettings
from suffice.text.asked import checked_question
from suffice.types import Evidence, GateDecision, Retrieved


@dataclass(frozen=True, slots=True)
class Put:
    """A request to the council. If it has no answer, the vote is on quotations from the
    documents."""

    question: str
    answer: str = ""
    given: tuple[Retrieved, ...] = ()
    indexed: bool = True


def read_put(body: dict[str, Any], route: Route, limits: LimitSettings) -> Put:
    question, answer, evidence = (body.get(name) for name in ("question", "answer", "evidence"))
    if not isinstance(question, str):
        raise bad("'question' must be a string.", "question")
    if not isinstance(answer, str | None):
        raise bad("'answer' must be a string.", "answer")
    if not isinstance(evidence, list | None):
        raise bad("'evidence' must be a list of passages.", "evidence")
    if evidence is not None and route.settings.evidence == "index":
        raise bad("This route takes its evidence from the index.", "evidence")
    carried = read_given(evidence or [], limits)
    indexed = evidence is None and route.settings.evidence != "request"
    return Put(checked_question(question), checked_answer(answer or ""), carried, indexed)


class Council:
    """The council of an app. The built-in verifiers are opened once, on first use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._opened: tuple[list[Member], list[str]] | None = None

    async def vote(self, context: RequestContext) -> Response:
        body = await context.object()
        gateway, named = (
            context.gateway,
            context.request.path_params.get("route") or body.get("route"),
        )
        if not isinstance(named, str | None):
            raise bad("'route' must be a string.", "route")
        route = gateway.route(named or "", None, context.caller)
        context.stats.route = route.name
        settings = gateway.state.settings.server
        put = read_put(body, route, settings.limits)
        pipeline = route.pipeline(context.caller, Way(put.given, put.indexed, bool(put.answer)))
        judging = self._advice(gateway, pipeline, put, settings.council)
        motion, advice, record = await while_there(context.request, judging)
        context.stats.gates.append(advice.gate)
        return as_response(as_json(motion, advice, record))

    async def _advice(
        self, gateway: Gateway, pipeline: Pipeline, put: Put, settings: CouncilSettings
    ) -> tuple[Motion, Advice, str]:
        evidence, gate, answer, record = await gateway.work.run(_moved, pipeline, put)
        motion = Motion(put.question, answer, evidence.passages)
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
                own, settings = gateway.parts.verifier, gateway.state.settings.verifier
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


def _moved(pipeline: Pipeline, put: Put) -> tuple[Evidence, GateDecision, str, str]:
    """The evidence without planted instructions, the gate decision, the answer to vote on, and the
    record id."""
    if put.answer:
        evidence, gate = pipeline.retrieve_and_gate(put.question)
        # The judges read what the reply returns.
        return sanitized(evidence), gate, read_draft(put.answer, ()).text, gate.record
    quotes = pipeline.quotes or pipeline.drafter
    verdict = replace(
        pipeline, drafter=quotes, draft_settings=replace(pipeline.draft_settings, revisions=0)
    ).answer(put.question)
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
