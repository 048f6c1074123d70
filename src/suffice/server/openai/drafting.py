"""The first half of answering a request: search, gate and drafts.

No thread waits for the upstream. Cancelling the task cancels the upstream call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from suffice.access.keys import Principal
from suffice.draft.brief import PLAIN, Brief
from suffice.pipeline import Pipeline, Turn
from suffice.server.errors import too_slow
from suffice.server.inference_pool import InferencePool
from suffice.server.openai.prompt import forwarded, with_evidence
from suffice.server.openai.request import ChatRequest
from suffice.server.openai.tool_calls import only_offered
from suffice.server.openai.upstream import EMPTY, UpstreamFault
from suffice.server.openai.upstream_drafts import Written
from suffice.server.openai.upstream_drafts import written as drafts_of
from suffice.server.route import Route, Way
from suffice.types import Draft, Verdict

Raw = Mapping[str, Any]


@dataclass(slots=True)
class Drafting:
    """A request of a caller on a route."""

    route: Route
    caller: Principal
    asked: ChatRequest
    work: InferencePool
    as_drafted: bool = False
    """The draft must not be changed, for example because it was already streamed."""
    marks: bool = True
    """Whether the model is asked for citation marks, and the checks expect them."""
    timings: Mapping[str, float] = field(default_factory=dict)
    dropped: int = 0
    """The number of calls to tools that were not offered."""
    spent: list[Raw] = field(default_factory=list)
    """The upstream replies so far, for their token usage."""

    def __post_init__(self) -> None:
        self.marks = (
            self.marks and self.route.settings.ask_for_citations and not self.asked.structured
        )

    async def begun(self) -> tuple[Pipeline, Turn, Verdict | None]:
        """Search and run the gate for at most `gate_seconds`. The verdict is set if no draft is
        needed. It is recorded here, once: a thread that outlives its timeout records nothing."""
        seconds = self.route.settings.gate_seconds
        try:
            pipeline, turn, closed = await self.work.run_within(seconds, self._begin)
        except TimeoutError:
            raise too_slow("gate_seconds", seconds) from None
        if closed is not None:
            closed = await self.work.record(pipeline.record_verdict, turn, closed)
        return pipeline, turn, closed

    def _begin(self) -> tuple[Pipeline, Turn, Verdict | None]:
        asked = self.asked
        program = asked.structured
        way = Way(
            asked.given, asked.indexed, self.marks, self.as_drafted or program, for_program=program
        )
        pipeline = self.route.pipeline(self.caller, way, asked.tag, self.model)
        if (rewriter := pipeline.rewriter) and not rewriter.model:
            pipeline = replace(pipeline, rewriter=replace(rewriter, model=self.model))
        turn = pipeline.begin(asked.question)
        self.timings = turn.timings.seconds
        closed = pipeline.refusal(turn)
        if closed is None or self._may_call:
            return pipeline, turn, None
        return pipeline, turn, closed

    @property
    def model(self) -> str:
        """The upstream's name for the requested model; empty without an upstream."""
        return self.route.model(self.asked.body.get("model")) if self.route.url else ""

    @property
    def _may_call(self) -> bool:
        """Whether to call the model despite a closed gate, because its tools may find evidence."""
        takes = self.route.settings.evidence != "index"
        return self.asked.tools and takes and self.route.url

    def request_body(self, turn: Turn) -> dict[str, Any]:
        """The first request to the upstream."""
        return self.body(turn, replace(PLAIN, conflicts=turn.gated.decision.conflicts))

    def body(self, turn: Turn, brief: Brief, *, bare: bool = False) -> dict[str, Any]:
        """A request to the upstream. If `bare`, no evidence and no rules are added."""
        route = self.route
        body = forwarded(self.asked.body, route.model(self.asked.body.get("model")))
        if bare:
            return body
        return with_evidence(
            body,
            turn.read,
            brief,
            route.rank,
            route.own.draft.max_evidence_characters,
            marks=self.marks,
        )

    async def written(
        self, pipeline: Pipeline, turn: Turn, brief: Brief, *, bare: bool = False
    ) -> tuple[Raw | None, Sequence[Written]]:
        """The upstream's reply (`None` if a built-in drafter was used) and its drafts."""
        brief = replace(brief, conflicts=turn.gated.decision.conflicts)
        with turn.timings.measure("draft"):
            if self.route.upstream is None:
                draft = await self.work.run(pipeline.write_draft, turn, brief)
                self.spent.append(_used(draft))
                return None, [Written({}, draft)] * self.asked.n
            body = await self.work.run(self.body, turn, brief, bare=bare)
            if brief.earlier is not None:
                body.pop("n", None)
            raw, dropped = only_offered(await self.route.upstream.ask(body), self.asked.offer)
        self.dropped += dropped
        self.spent.append(raw)
        structured, n = self.asked.structured, self.asked.n
        drafts = await self.work.run(
            drafts_of, raw, turn.read.passages, structured=structured, n=n, most=self.asked.most
        )
        if not drafts or any(one.draft is not None and not one.draft.text for one in drafts):
            raise UpstreamFault(EMPTY)
        return raw, drafts


def _used(draft: Draft) -> Raw:
    """The token usage of a built-in drafter, in the upstream's format."""
    return {"usage": {"completion_tokens": draft.tokens, "total_tokens": draft.tokens}}
