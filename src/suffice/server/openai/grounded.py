"""Answer from documents:

    question ─▶ evidence ─▶ gate ─▶ drafts ─▶ checks ─▶ verdict ─▶ record

The steps are those of the pipeline. Search and checks run in the inference threads, but no thread
waits for the upstream. Cancelling the task cancels the upstream call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Any, ParamSpec, TypeVar

from suffice.access.keys import Principal
from suffice.draft.reading import Brief
from suffice.draft.revision import Revised, Round, revising
from suffice.errors import ModelError, ModelUnreachable, SufficeError
from suffice.log.trace import Trace
from suffice.models.wire.endpoint import CallFailed, Kind
from suffice.pipeline import GatedQuestion, Pipeline
from suffice.server.errors import too_slow
from suffice.server.inference_pool import InferencePool
from suffice.server.openai.carried_evidence import text_of
from suffice.server.openai.completion import (
    LEFT_OUT,
    NOT_AN_ANSWER,
    NOTHING_STATED,
    TOOL_CALLS,
    UNCHECKED_TEXT,
    Answer,
    ReleasedChoice,
    decided,
    disclosure,
    passed_on,
)
from suffice.server.openai.reply import (
    DraftedChoice,
    added,
    beginning,
    beside_call,
    calls_tools,
    content_of,
    drafts_in,
    structured_of,
)
from suffice.server.openai.request import ChatRequest, forwarded, with_evidence
from suffice.server.openai.tool_calls import (
    Known,
    Stated,
    only_offered,
    stated_in,
    unchecked_note,
    unknown_note,
)
from suffice.server.openai.upstream import EMPTY, UpstreamFault
from suffice.server.route import AnswerOptions, Route
from suffice.types import Action, Draft, Passage, Support, Verdict
from suffice.verdict.assess import by_claim, overall_support
from suffice.verdict.decide import abandoned, bounded, too_long, unchecked
from suffice.verdict.wording import CustomerTexts

Raw = Mapping[str, Any]
P = ParamSpec("P")
T = TypeVar("T")
FAILED = "The upstream failed"
VERIFIED = "Sources verified"
NOT_VERIFIED = "Some claims could not be verified"


@dataclass(slots=True)
class Grounded:
    """An answer from documents. `open` comes first; it searches and runs the gate."""

    route: Route
    caller: Principal
    request: ChatRequest
    work: InferencePool
    as_drafted: bool = False
    """The draft must not be changed, for example because it was already streamed."""
    marks: bool = True
    """Whether the model is asked for citation marks, and the checks expect them."""
    dropped: int = 0
    """The number of calls to tools that were not offered."""
    pipeline: Pipeline = field(init=False)
    turn: GatedQuestion = field(init=False)
    _refusal: Verdict | None = None
    """The verdict of a closed gate, if the model may call tools despite it."""
    _spent: list[Raw] = field(default_factory=list)
    """The upstream replies so far, for their token usage."""
    _began: float | None = None
    """When the first draft was requested: all drafts of an answer share one clock."""

    def __post_init__(self) -> None:
        asks = self.route.settings.ask_for_citations and not self.request.structured
        self.marks = self.marks and asks

    @property
    def timings(self) -> Mapping[str, float]:
        return self.turn.timings.seconds

    @property
    def passages(self) -> Sequence[Passage]:
        return self.turn.read.passages

    @property
    def trace(self) -> Trace | None:
        """How the evidence was found."""
        return self.turn.trace

    # The gate

    async def open(self) -> Answer | None:
        """Search and run the gate for at most `gate_seconds`. An answer is returned if no draft is
        needed. It is recorded here, once: a thread that outlives its timeout records nothing."""
        seconds = self.route.settings.gate_seconds
        try:
            opened = await self.work.run_within(seconds, self._search_and_gate)
        except TimeoutError:
            raise too_slow("gate_seconds", seconds) from None
        self.pipeline, self.turn, self._refusal = opened
        if self._refusal is None or self._may_call_tools:
            return None
        closed = await self.work.record(self.pipeline.record_verdict, self.turn, self._refusal)
        return replace(self._refused(closed), trace=self.turn.trace)

    def _search_and_gate(self) -> tuple[Pipeline, GatedQuestion, Verdict | None]:
        request = self.request
        program = request.structured
        options = AnswerOptions(
            request.given,
            request.indexed,
            self.marks,
            self.as_drafted or program,
            for_program=program,
        )
        pipeline = self.route.pipeline(self.caller, options, request.tag, self._model)
        turn = pipeline.begin(request.question)
        return pipeline, turn, pipeline.refusal(turn)

    @property
    def _model(self) -> str:
        """The upstream's name for the requested model; empty without an upstream."""
        return self.route.model(self.request.body.get("model")) if self.route.upstream else ""

    @property
    def _may_call_tools(self) -> bool:
        """Whether to call the model despite a closed gate, because its tools may find evidence."""
        takes = self.route.settings.evidence != "index"
        return self.request.tools and takes and self.route.upstream is not None

    # Drafts

    async def body(self) -> dict[str, Any]:
        """The request to the upstream for a first draft."""
        return await self.work.run(self._body, self._brief)

    def drafting(self) -> AbstractContextManager[None]:
        """Measures the time in which the upstream writes."""
        return self.turn.timings.measure("draft")

    @property
    def _brief(self) -> Brief:
        return Brief(conflicts=self.turn.gated.decision.conflicts)

    def _body(self, brief: Brief, *, bare: bool = False) -> dict[str, Any]:
        """A request to the upstream. If `bare`, no evidence and no rules are added."""
        route = self.route
        body = forwarded(self.request.body, route.model(self.request.body.get("model")))
        if bare:
            return body
        room = route.own.draft.max_evidence_characters
        return with_evidence(body, self.turn.read, brief, route.rank, room, marks=self.marks)

    async def drafts(self) -> tuple[Raw | None, Sequence[DraftedChoice]]:
        """The upstream's reply (`None` if a built-in drafter was used) and its drafts."""
        self._began = monotonic()
        seconds = self.pipeline.draft_settings.total_seconds
        brief = replace(self._brief, seconds=seconds)
        return await self._drafts(brief, bare=self._refusal is not None)

    async def _drafts(
        self, brief: Brief, *, bare: bool = False
    ) -> tuple[Raw | None, Sequence[DraftedChoice]]:
        request, began = self.request, monotonic()
        with self.drafting():
            if self.route.upstream is None:
                draft = await self.work.run(self.pipeline.write_draft, self.turn, brief)
                self._spent.append(_usage_of_drafter(draft))
                drafted = DraftedChoice({}, draft, seconds=monotonic() - began)
                return None, [drafted] * request.n
            body = await self.work.run(self._body, brief, bare=bare)
            if brief.earlier is not None:
                body.pop("n", None)
            raw, dropped = only_offered(await self._ask(body, brief.seconds), request.offer)
        self.dropped += dropped
        self._spent.append(raw)
        drafts = await self.work.run(
            drafts_in,
            raw,
            self.passages,
            structured=request.structured,
            n=request.n,
            most=request.most,
        )
        if not drafts or any(
            drafted.draft is not None and not drafted.draft.text for drafted in drafts
        ):
            raise UpstreamFault(EMPTY)
        return raw, [replace(drafted, seconds=monotonic() - began) for drafted in drafts]

    async def _ask(self, body: Raw, seconds: float | None) -> dict[str, Any]:
        """The upstream's reply, within the time that is left for the drafts of this answer."""
        assert self.route.upstream is not None
        try:
            async with asyncio.timeout(seconds) as limit:
                return await self.route.upstream.ask(body)
        except TimeoutError:
            if not limit.expired():
                raise
            raise UpstreamFault(CallFailed(_LATE, kind=Kind.TIMEOUT)) from None

    async def replace_failed(self, fault: UpstreamFault) -> Answer:
        """Verified quotations instead of the answer of a failed upstream, or its error."""
        if fault.passed or self.request.structured or self.request.tools:
            raise fault.fault
        # Nothing was sent yet, so quotations are possible even if the text is streamed.
        pipeline = replace(self.pipeline, verdict_settings=self.route.base.verdict_settings)
        # The upstream's error message is unchecked text.
        failed = ModelUnreachable(f"{FAILED}: status {fault.status}.")
        try:
            verdict = await self.work.run(pipeline.quote_instead, self.turn, failed)
        except ModelError:
            raise fault.fault from None
        if not verdict.served:
            raise fault.fault
        return self._refused(await self.work.record(pipeline.record_verdict, self.turn, verdict))

    # Verdicts

    async def decide(self, drafted: DraftedChoice) -> ReleasedChoice:
        """Check one of the upstream's choices and return the choice to release."""
        if drafted.draft is None:
            return await self._decide_calls(drafted)
        if self._refusal is not None:
            return self._released(await self._record(self._refusal))
        verdict, choice = await self.judge(self.pipeline, drafted)
        return await self.work.run(self._released, verdict, choice)

    async def judge(self, pipeline: Pipeline, drafted: DraftedChoice) -> tuple[Verdict, Raw]:
        """The verdict on a draft, after any revisions, and the upstream choice it applies to. It is
        recorded here, once: threads that outlive their timeout or their caller record nothing."""
        turn = self.turn
        try:
            verdict, choice = await self._judge(pipeline, drafted)
        except asyncio.CancelledError:
            gone = abandoned(turn.read, turn.gated.decision, drafted.draft or Draft(""))
            await self.work.record(pipeline.record_verdict, turn, gone)
            raise
        return await self.work.record(pipeline.record_verdict, turn, verdict), choice

    async def _judge(self, pipeline: Pipeline, drafted: DraftedChoice) -> tuple[Verdict, Raw]:
        turn, gate = self.turn, self.turn.gated.decision
        revisions = revising(pipeline.draft_settings, self._brief, began=self._began)
        next(revisions)
        while True:
            draft = drafted.draft or Draft("")
            if drafted.long:
                return too_long(turn.read, gate, draft, self.request.most), drafted.choice
            try:
                began = monotonic()
                findings = await self.in_time(pipeline.check_draft, turn, draft)
                seconds = drafted.seconds + monotonic() - began
                following = await self._revise(
                    revisions, Round(draft, findings, seconds, draft.tokens)
                )
                if isinstance(following, DraftedChoice):
                    drafted = following
                    continue
                verdict = await self.in_time(self._conclude, pipeline, following.rounds, drafted)
            except TimeoutError:
                verdict = unchecked(turn.read, gate, draft, self.route.settings)
            return verdict, drafted.choice

    async def _revise(
        self, revisions: Generator[Brief, Round | SufficeError, Revised], last: Round
    ) -> DraftedChoice | Revised:
        """The next draft, or all rounds if there are no more drafts."""
        try:
            brief = revisions.send(last)
            try:
                _, drafts = await self._drafts(brief)
                if drafts[0].draft is None:  # the model calls a tool instead of revising
                    revisions.send(EMPTY)
            except UpstreamFault as fault:
                revisions.send(fault)
        except StopIteration as ended:
            revised: Revised = ended.value
            return revised
        return drafts[0]

    def _conclude(
        self, pipeline: Pipeline, rounds: Sequence[Round], drafted: DraftedChoice
    ) -> Verdict:
        verdict = bounded(pipeline.conclude(self.turn, rounds), self.route.settings)
        if self.request.structured and verdict.released and not calls_tools(drafted.choice):
            verdict = replace(verdict, released=structured_of(drafted.choice))
        return verdict

    async def in_time(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run checks for at most `check_seconds`, then cancel them and raise `TimeoutError`."""
        return await self.work.run_within(self.route.settings.check_seconds, call, *args, **kwargs)

    async def _record(self, verdict: Verdict) -> Verdict:
        return await self.work.record(self.pipeline.record_verdict, self.turn, verdict)

    # Tool calls

    async def _decide_calls(self, drafted: DraftedChoice) -> ReleasedChoice:
        """Handle a choice that calls tools. Statements in the arguments are checked like an answer;
        if they are withheld, no call is released."""
        checks = self.route.settings.tools == "check"
        text, notes = content_of(drafted.choice), list[str]()
        content = await self.work.run(beside_call, text, self.request.most, self.turn.read)
        if text and not content:
            notes.append(LEFT_OUT)
        stated = await self.work.run(self._stated, drafted.choice) if checks else Stated()
        if stated.unknown:
            notes.append(unknown_note(stated.unknown))
        if stated.unchecked:
            notes.append(unchecked_note(stated.unchecked))
        note = [" ".join(notes)] if notes else []
        unchecked_fields = list(stated.unchecked)
        if not stated.texts:
            reason = NOTHING_STATED if checks else NOT_AN_ANSWER
            reason = UNCHECKED_TEXT if stated.unchecked else reason
            gate = await self.work.record(self.pipeline.record_gate, self.turn)
            return passed_on(
                drafted.choice, content, reason, gate=gate, unchecked=unchecked_fields, notes=note
            )
        verdict = self._refusal
        if verdict is not None:
            verdict = await self._record(verdict)
        else:
            verdict = await self._judge_calls(drafted, stated)
        if self._refusal is None and verdict.served:
            choice = replace(passed_on(drafted.choice, content, notes=note), verdict=verdict)
        else:
            choice = self._released(verdict)
        return replace(choice, turn=TOOL_CALLS, checked=stated.fields, unchecked=unchecked_fields)

    def _stated(self, choice: Raw) -> Stated:
        messages = self.request.body.get("messages") or ()
        texts = [text_of(message.get("content")) for message in messages]
        texts += [passage.text for passage in self.passages]
        return stated_in(choice, self.request.offer, Known.of(self.request.question, texts))

    async def _judge_calls(self, drafted: DraftedChoice, stated: Stated) -> Verdict:
        """The verdict on what the arguments state, which carry no citation marks."""
        request, name = self.request, self.route.name
        options = AnswerOptions(
            request.given, request.indexed, marks=False, as_drafted=True, for_program=True
        )
        unmarked = self.route.pipeline(self.caller, options, request.tag, self._model)
        long = sum(map(len, stated.texts)) > request.most
        if long:
            draft = beginning("\n\n".join(stated.texts), request.most, name)
        else:
            draft = await self.work.run(stated.draft, self.turn.read, name)
        verdict, _ = await self.judge(unmarked, DraftedChoice(drafted.choice, draft, long))
        return verdict

    # What is released

    def _refused(self, verdict: Verdict) -> Answer:
        return Answer([self._released(verdict)] * self.request.n)

    def _released(self, verdict: Verdict, choice: Raw | None = None) -> ReleasedChoice:
        """The choice to release. It shows as much of a withheld draft as the caller may see."""
        return decided(
            verdict,
            choice,
            structured=self.request.structured,
            shown=disclosure(self.caller, self.route.settings),
            texts=self.route.texts,
        )

    def usage(self, reply: Raw) -> dict[str, Any]:
        """The usage of all drafts, or of the one in `reply` if it was streamed, and of an LLM that
        verified them. Most tokens of the latter are those of its prompts."""
        tokens = self.turn.verifying.cost.tokens
        verified = {"prompt_tokens": tokens, "completion_tokens": 0, "total_tokens": tokens}
        return added(*(self._spent or [reply]), {"usage": verified})

    def closing_text(self, choice: ReleasedChoice) -> str:
        """The text that ends a streamed answer."""
        assert choice.verdict is not None
        return f"\n\n{last_words(choice.verdict, self.route.texts)}"


_LATE = (
    "The upstream returned no answer: the drafts of this answer took too long "
    "(draft.total_seconds)."
)


def _usage_of_drafter(draft: Draft) -> Raw:
    """The token usage of a built-in drafter, in the upstream's format."""
    return {"usage": {"completion_tokens": draft.tokens, "total_tokens": draft.tokens}}


def last_words(verdict: Verdict, texts: CustomerTexts | None = None) -> str:
    """The closing sentence of a streamed answer."""
    if verdict.action is Action.SERVE:
        return f"{VERIFIED}."
    reason = texts.text(verdict) if texts else verdict.reason
    findings = by_claim(verdict.findings)
    doubted = any(
        overall_support(findings[claim]) is not Support.BACKED
        for claim in (verdict.draft.claims if verdict.draft else ())
    )
    if verdict.action is Action.CAVEAT and not doubted:
        return f"{VERIFIED}. {reason}"
    return f"{NOT_VERIFIED}. {reason}"
