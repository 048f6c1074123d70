"""Answer a request:

    question ─▶ evidence ─▶ gate ─▶ upstream ─▶ checks ─▶ verdict ─▶ record

The steps are those of the pipeline. Search and checks run in the inference threads, but no thread
waits for the upstream. Cancelling the task cancels the upstream call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ParamSpec, TypeVar

from suffice.access.keys import Principal
from suffice.draft.reading import PLAIN, Brief
from suffice.draft.revision import Revised, Round, revising
from suffice.errors import ModelError, ModelUnreachable, SufficeError
from suffice.log.trace import Trace
from suffice.pipeline import Pipeline, Turn
from suffice.server.errors import too_slow
from suffice.server.inference_pool import InferencePool
from suffice.server.openai.carried_evidence import text_of
from suffice.server.openai.completion import (
    LEFT_OUT,
    NOT_AN_ANSWER,
    NOTHING_STATED,
    UNCHECKED_TEXT,
    Choice,
    decided,
    disclosure,
    noted,
    passed_on,
)
from suffice.server.openai.request import ChatRequest, forwarded, with_evidence
from suffice.server.openai.tool_calls import (
    DROPPED,
    Known,
    Stated,
    only_offered,
    stated_in,
    unchecked_note,
    unknown_note,
)
from suffice.server.openai.upstream import EMPTY, UpstreamFault
from suffice.server.openai.upstream_drafts import (
    Written,
    added,
    beginning,
    beside_call,
    calls_tools,
    content_of,
    structured_of,
)
from suffice.server.openai.upstream_drafts import written as drafts_of
from suffice.server.route import Route, Way
from suffice.types import Draft, Verdict
from suffice.verdict.decide import abandoned, bounded, too_long, unchecked

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


P = ParamSpec("P")
T = TypeVar("T")
FAILED = "The upstream failed"
_A_FINDING = 200


@dataclass(frozen=True, slots=True)
class Answered:
    """The released choices, and the upstream's raw reply (`None` if it was not called)."""

    choices: Sequence[Choice]
    raw: Raw | None = None
    usage: Mapping[str, Any] = field(default_factory=lambda: added({}))
    trace: Trace | None = None
    """How the evidence was found; `None` if the answer must not be cached."""

    @property
    def size(self) -> int:
        """The approximate size of the response, in characters."""
        verdicts = [one.verdict for one in self.choices if one.verdict is not None]
        findings = sum(len(one.findings) for one in verdicts)
        return sum(len(one.content or "") for one in self.choices) + _A_FINDING * findings


def verification(turn: Turn) -> Raw:
    """The tokens of the LLM that verified the drafts, in the format of an upstream's reply. Most of
    them are those of its prompts."""
    tokens = turn.verifying.cost.tokens
    return {"usage": {"prompt_tokens": tokens, "completion_tokens": 0, "total_tokens": tokens}}


@dataclass(slots=True)
class Answering(Drafting):
    """Checks the drafts of one request and decides what is released."""

    async def whole(self) -> Answered:
        """The complete answer, with its verdicts."""
        pipeline, turn, closed = await self.begun()
        if closed is not None:
            return replace(self.refused(closed), trace=turn.trace)
        refusal = pipeline.refusal(turn)
        try:
            raw, drafts = await self.written(pipeline, turn, PLAIN, bare=refusal is not None)
        except UpstreamFault as problem:
            return await self.instead(pipeline, turn, problem)
        choices = [await self._settled(pipeline, turn, one, refusal) for one in drafts]
        choices = [noted(one, DROPPED) for one in choices] if self.dropped else choices
        usage = added(*self.spent, verification(turn)) if self.spent else added({})
        return Answered(choices, raw, usage, turn.trace)

    async def _settled(
        self, pipeline: Pipeline, turn: Turn, one: Written, refusal: Verdict | None
    ) -> Choice:
        """Check one of the upstream's choices and return the choice to release."""
        if one.draft is None:
            return await self._called(pipeline, turn, one, refusal)
        if refusal is not None:
            return self.released_choice(
                await self.work.record(pipeline.record_verdict, turn, refusal)
            )
        verdict, choice = await self.judged(pipeline, turn, one)
        return await self.work.run(self.released_choice, verdict, choice)

    async def _called(
        self, pipeline: Pipeline, turn: Turn, one: Written, refusal: Verdict | None
    ) -> Choice:
        """Handle a choice that calls tools. Statements in the arguments are checked like an answer;
        if they are withheld, no call is released."""
        text = content_of(one.choice)
        most = self.asked.most
        kept = await self.work.run(beside_call, text, most, turn.read)
        note = "" if kept or not text else LEFT_OUT
        stated = Stated()
        if self.route.settings.tools == "check":
            stated = await self.work.run(self._stated, one, turn)
        if stated.unknown:
            note = " ".join(filter(None, (note, unknown_note(stated.unknown))))
        unchecked = {"unchecked": list(stated.unchecked)} if stated.unchecked else {}
        if stated.unchecked:
            note = " ".join(filter(None, (note, unchecked_note(stated.unchecked))))
        if not stated.texts:
            gate = await self.work.record(pipeline.record_gate, turn)
            why = NOTHING_STATED if self.route.settings.tools == "check" else NOT_AN_ANSWER
            why = UNCHECKED_TEXT if stated.unchecked else why
            choice = passed_on(one.choice, kept, note, gate, why)
            return replace(choice, shaped={**choice.shaped, **unchecked})
        checked = {"turn": "tool_calls", "checked": list(stated.fields), **unchecked}
        if refusal is not None:
            return self.released_choice(
                await self.work.record(pipeline.record_verdict, turn, refusal), shaped=checked
            )
        given, indexed = self.asked.given, self.asked.indexed
        way = Way(given, indexed, marks=False, as_drafted=True, for_program=True)
        unmarked = self.route.pipeline(self.caller, way, self.asked.tag, self.model)
        long = sum(map(len, stated.texts)) > most
        if long:
            draft = beginning("\n\n".join(stated.texts), most, self.route.name)
        else:
            draft = await self.work.run(stated.draft, turn.read, self.route.name)
        verdict, _ = await self.judged(unmarked, turn, Written(one.choice, draft, long))
        if not verdict.served:
            return self.released_choice(verdict, shaped=checked)
        calls = passed_on(one.choice, kept)
        choice = replace(calls, verdict=verdict, shaped=checked)
        return noted(choice, note) if note else choice

    def _stated(self, one: Written, turn: Turn) -> Stated:
        messages = self.asked.body.get("messages") or ()
        said = [text_of(message.get("content")) for message in messages]
        passages = [passage.text for passage in turn.read.passages]
        known = Known.of(self.asked.question, [*said, *passages])
        return stated_in(one.choice, self.asked.offer, known)

    async def judged(self, pipeline: Pipeline, turn: Turn, one: Written) -> tuple[Verdict, Raw]:
        """The verdict on a draft, after any revisions, and the upstream choice it applies to. It is
        recorded here, once: threads that outlive their timeout or their caller record nothing."""
        try:
            verdict, choice = await self._decided(pipeline, turn, one)
        except asyncio.CancelledError:
            gone = abandoned(turn.read, turn.gated.decision, one.draft or Draft(""))
            await self.work.record(pipeline.record_verdict, turn, gone)
            raise
        return await self.work.record(pipeline.record_verdict, turn, verdict), choice

    async def _decided(self, pipeline: Pipeline, turn: Turn, one: Written) -> tuple[Verdict, Raw]:
        steps = revising(pipeline.draft_settings)
        next(steps)
        while True:
            draft = one.draft or Draft("")
            if one.long:
                gate = turn.gated.decision
                return too_long(turn.read, gate, draft, self.asked.most), one.choice
            try:
                findings = await self.in_time(pipeline.check_draft, turn, draft)
                seconds = turn.timings.seconds.get("draft", 0.0)
                came = Round(draft, findings, seconds, draft.tokens)
                again = await self._revised(pipeline, turn, steps, came)
                if isinstance(again, Written):
                    one = again
                    continue
                verdict = await self.in_time(self._concluded, pipeline, turn, again.rounds, one)
            except TimeoutError:
                verdict = unchecked(turn.read, turn.gated.decision, draft, self.route.settings)
            return verdict, one.choice

    async def _revised(
        self,
        pipeline: Pipeline,
        turn: Turn,
        steps: Generator[Brief, Round | SufficeError, Revised],
        came: Round,
    ) -> Written | Revised:
        """The next draft, or all rounds if there are no more drafts."""
        try:
            brief = steps.send(came)
            try:
                _, again = await self.written(pipeline, turn, brief)
                if again[0].draft is None:  # the model calls a tool instead of revising
                    steps.send(EMPTY)
            except UpstreamFault as problem:
                steps.send(problem)
        except StopIteration as done:
            revised: Revised = done.value
            return revised
        return again[0]

    async def in_time(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run checks for at most `check_seconds`, then cancel them and raise `TimeoutError`."""
        return await self.work.run_within(self.route.settings.check_seconds, call, *args, **kwargs)

    def _concluded(
        self, pipeline: Pipeline, turn: Turn, rounds: Sequence[Round], one: Written
    ) -> Verdict:
        verdict = bounded(pipeline.conclude(turn, rounds), self.route.settings)
        if self.asked.structured and verdict.released and not calls_tools(one.choice):
            verdict = replace(verdict, released=structured_of(one.choice))
        return verdict

    async def instead(self, pipeline: Pipeline, turn: Turn, problem: UpstreamFault) -> Answered:
        """Replace the answer of a failed upstream with verified quotations, or raise its error."""
        if problem.passed or self.asked.structured or self.asked.tools:
            raise problem.fault
        # Nothing was sent yet, so quotations are possible even in signal mode.
        pipeline = replace(pipeline, verdict_settings=self.route.base.verdict_settings)
        # The upstream's error message is unchecked text.
        failed = ModelUnreachable(f"{FAILED}: status {problem.status}.")
        try:
            verdict = await self.work.run(pipeline.quote_instead, turn, failed)
        except ModelError:
            raise problem.fault from None
        if not verdict.served:
            raise problem.fault
        return self.refused(await self.work.record(pipeline.record_verdict, turn, verdict))

    def refused(self, verdict: Verdict) -> Answered:
        return Answered([self.released_choice(verdict)] * self.asked.n)

    def released_choice(
        self, verdict: Verdict, choice: Raw | None = None, shaped: Raw | None = None
    ) -> Choice:
        """The choice to release. It shows as much of a withheld draft as the caller may see."""
        shown = disclosure(self.caller, self.route.settings)
        structured, texts = self.asked.structured, self.route.texts
        made = decided(verdict, choice, structured=structured, shown=shown, texts=texts)
        return replace(made, shaped=shaped) if shaped else made
