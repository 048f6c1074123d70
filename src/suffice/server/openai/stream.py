"""Stream an answer in the mode of its route: `buffer` holds the text until the verdict, `signal`
streams it at once and reports findings as they are made.
"""

from __future__ import annotations

import asyncio
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Coroutine,
    Iterable,
    Iterator,
    Mapping,
)
from contextlib import AbstractContextManager, aclosing, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

from starlette.responses import Response

from suffice import serialize as as_json
from suffice.errors import SufficeError
from suffice.pipeline import Pipeline, Turn
from suffice.server.errors import ApiError, fault_of
from suffice.server.openai.answering import Answered, Answering, verification
from suffice.server.openai.completion import UNVERIFIED, Choice, Disclosure, decided, noted
from suffice.server.openai.modes import is_small_talk_turn, judged, marked, shadow_headers
from suffice.server.openai.passthrough import finish_of
from suffice.server.openai.request import ChatRequest, forwarded
from suffice.server.openai.stream_format import StreamFormat
from suffice.server.openai.streamed_choice import StreamedChoice
from suffice.server.openai.tool_calls import DROPPED
from suffice.server.openai.upstream import EMPTY, UpstreamClient, UpstreamFault
from suffice.server.openai.upstream_drafts import Written, added, estimated, usage_of
from suffice.server.request import RequestContext
from suffice.server.route import Route
from suffice.server.sending import Events, offload, while_there
from suffice.types import Action, Draft, Finding, Support, Verdict
from suffice.verdict.assess import by_claim, overall_support
from suffice.verdict.wording import CustomerTexts

Raw = Mapping[str, Any]


class Ending(Protocol):
    """What the gateway adds to a stream."""

    async def heard(self, streamed_choice: StreamedChoice, flow: Flow) -> None:
        """Called when a part of a choice was forwarded."""
        ...

    async def ended(self, streamed_choice: StreamedChoice, flow: Flow) -> tuple[str, Choice]:
        """Called at the end of a choice; returns the text to append and the decided choice."""
        ...


@dataclass
class Flow:
    """A stream of at most `n` choices. Iterate over `events`; closing the iterator early cancels
    the upstream call. If `untouched`, chunks are forwarded unchanged and nothing is added."""

    upstream: UpstreamClient
    body: Raw
    ending: Ending
    stream_format: StreamFormat
    n: int = 1
    most: int = 100_000
    """Maximum length of a choice, in characters. The stream ends there unless it is `untouched`."""
    untouched: bool = False
    offered: frozenset[str] | None = None
    """The tools that may be called; `None` allows any."""
    reading: Callable[[], AbstractContextManager[None]] = nullcontext
    """Context manager that is active while the upstream writes, to measure the time."""
    frame: dict[str, Any] = field(default_factory=dict)
    """Fields that all chunks of the upstream share, such as id and model."""
    streamed_choices: dict[int, StreamedChoice] = field(default_factory=dict)
    spent: dict[str, Any] = field(default_factory=dict)
    _started: set[asyncio.Task[None]] = field(default_factory=set)
    _out: asyncio.Queue[bytes | Exception | None] = field(default_factory=asyncio.Queue)

    @property
    def model(self) -> str:
        return str(self.frame.get("model") or "")

    def say(self, events: Iterable[bytes]) -> None:
        for one in events:
            self._out.put_nowait(one)

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run a background task. It is cancelled when the stream ends."""
        task = asyncio.create_task(work)
        self._started.add(task)
        task.add_done_callback(self._started.discard)
        return task

    async def events(self) -> AsyncGenerator[bytes, None]:
        """Yield the events to send, and raise failures."""
        self.start(self._run())
        try:
            while (entry := await self._out.get()) is not None:
                if isinstance(entry, Exception):
                    raise entry
                yield entry
        finally:
            for task in list(self._started):
                task.cancel()
                with suppress(asyncio.CancelledError, Exception):
                    await task

    async def _run(self) -> None:
        try:
            with self.reading():
                await self._pump()
            await self._end()
            self._out.put_nowait(None)
        except Exception as problem:  # raised again in `events`
            self._out.put_nowait(problem)

    async def _pump(self) -> None:
        try:
            async with aclosing(self.upstream.events(self.body)) as chunks:
                async for raw in chunks:
                    await self._heard(raw)
                    if not self.untouched and any(
                        one.long for one in self.streamed_choices.values()
                    ):
                        break
        except UpstreamFault:
            # If a stream fails after its first text, judge the text received so far.
            if not any(one.text or one.finish for one in self.streamed_choices.values()):
                raise
        if not self.streamed_choices:
            raise UpstreamFault(EMPTY)

    async def _heard(self, raw: Raw) -> None:
        if not self.frame:
            self.frame = {key: raw[key] for key in raw if key not in ("choices", "usage")}
        if isinstance(raw.get("usage"), dict):
            self.spent = dict(raw["usage"])
        choices = raw.get("choices")
        going = []
        for choice in choices if isinstance(choices, list) else ():
            streamed_choice = self._streamed_choice(choice)
            if streamed_choice is None:
                continue
            if kept := await offload(streamed_choice.size(choice), streamed_choice.hear, choice):
                going.append(kept)
        if self.untouched:
            self.say(self.stream_format.passed(raw))
        elif going:
            self.say(self.stream_format.heard(raw, going))
            for streamed_choice in list(self.streamed_choices.values()):
                await self.ending.heard(streamed_choice, self)

    def _streamed_choice(self, choice: Any) -> StreamedChoice | None:
        """The choice that a chunk belongs to; `None` if its index exceeds the requested `n`."""
        if not isinstance(choice, dict):
            return None
        index = choice.get("index")
        index = index if isinstance(index, int) else 0
        if not 0 <= index < self.n:
            return None
        new = StreamedChoice(index, self.offered, self.most)
        return self.streamed_choices.setdefault(index, new)

    async def _end(self) -> None:
        for streamed_choice in sorted(self.streamed_choices.values(), key=lambda one: one.index):
            if (kept := streamed_choice.flush()) and not self.untouched:
                self.say(self.stream_format.heard(self.frame, [kept]))
            words, choice = await self.ending.ended(streamed_choice, self)
            if not self.untouched:
                events = self.stream_format.ended(streamed_choice.index, words, choice)
                self.say(await offload(len(streamed_choice.text), list, events))
        end = self.stream_format.passed_end if self.untouched else self.stream_format.closed
        self.say(end(self.spent))


VERIFIED = "Sources verified"
NOT_VERIFIED = "Some claims could not be verified"
_AGAINST = (Support.CONTRADICTED, Support.UNBACKED)


@dataclass
class LiveChecks:
    """The findings and the verdict that are added to a stream in signal mode."""

    answering: Answering
    pipeline: Pipeline
    turn: Turn
    verdicts: list[Verdict] = field(default_factory=list)
    _checking: asyncio.Task[None] | None = None
    _waiting: dict[int, StreamedChoice] = field(default_factory=dict)
    _reported: dict[tuple[int, int, int], Support] = field(default_factory=dict)
    """The support reported for each claim, by choice and span."""

    async def heard(self, streamed_choice: StreamedChoice, flow: Flow) -> None:
        if not streamed_choice.grown:
            return
        self._waiting[streamed_choice.index] = streamed_choice
        if self._checking is None or self._checking.done():
            self._checking = flow.start(self._check_waiting(flow))

    async def _check_waiting(self, flow: Flow) -> None:
        """Check complete sentences, one choice at a time. Sentences that become complete during a
        check are checked together. The verdict reports failures."""
        while self._waiting:
            streamed_choice = self._waiting.pop(next(iter(self._waiting)))
            try:
                checked = await self.answering.in_time(self._checked, streamed_choice)
            except (SufficeError, TimeoutError):
                return
            if checked is not None:
                await self._report(flow, streamed_choice, *checked)

    def _checked(self, streamed_choice: StreamedChoice) -> tuple[Draft, tuple[Finding, ...]] | None:
        draft = streamed_choice.finished(self.turn.read.passages)
        return None if draft is None else (draft, self.pipeline.check_draft(self.turn, draft))

    async def _report(
        self, flow: Flow, streamed_choice: StreamedChoice, draft: Draft, found: tuple[Finding, ...]
    ) -> None:
        """Send new findings and retractions."""
        size = len(draft.claims) * len(found)
        flow.say(await offload(size, list, self._reports(flow, streamed_choice, draft, found)))

    def _reports(
        self, flow: Flow, streamed_choice: StreamedChoice, draft: Draft, found: tuple[Finding, ...]
    ) -> Iterator[bytes]:
        numbers = {p.id: n for n, p in enumerate(self.turn.read.passages, 1)}
        findings = by_claim(found)
        for claim in draft.claims:
            own = findings[claim]
            support, place = overall_support(own), (streamed_choice.index, claim.start, claim.end)
            if self._reported.get(place) is support:
                continue
            self._reported[place] = support
            report: dict[str, Any] = {
                "text": claim.text,
                "span": [claim.start, claim.end],
                "choice": streamed_choice.index,
                "support": support.value,
                "findings": [as_json.finding(finding, numbers) for finding in own],
            }
            kind = "retraction" if support in _AGAINST else "claim"
            yield from flow.stream_format.found(streamed_choice.index, kind, report)

    async def ended(self, streamed_choice: StreamedChoice, flow: Flow) -> tuple[str, Choice]:
        if self._checking is not None:
            if streamed_choice.long:
                self._checking.cancel()
            await asyncio.wait({self._checking})
        draft = await self.answering.work.run(
            streamed_choice.drafted,
            self.turn.read.passages,
            flow.model,
            tokens=usage_of({"usage": flow.spent})["total_tokens"],
        )
        if not draft.text:  # requests for tools or structured output are buffered
            raise UpstreamFault(EMPTY)
        written = Written(streamed_choice.choice, draft, streamed_choice.long)
        verdict, _ = await self.answering.judged(self.pipeline, self.turn, written)
        self.verdicts.append(verdict)
        await self._report(flow, streamed_choice, draft, verdict.findings)
        words = f"\n\n{last_words(verdict, self.answering.route.texts)}"
        return words, _ending(decided(verdict, written.choice), streamed_choice)


def last_words(verdict: Verdict, texts: CustomerTexts | None = None) -> str:
    """The closing sentence of a stream in signal mode."""
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


def _ending(choice: Choice, streamed_choice: StreamedChoice) -> Choice:
    """The choice with the upstream's own finish reason, because its text was streamed."""
    finish = finish_of(streamed_choice.finish or "length")
    choice = replace(choice, finish=finish, shown=Disclosure.ALL)
    return noted(choice, DROPPED) if streamed_choice.dropped else choice


Answers = Callable[[RequestContext, Route, ChatRequest], Coroutine[Any, Any, Answered]]
Sent = AsyncGenerator[bytes, None]
_USAGE = {"include_usage": True}


async def streamed(
    context: RequestContext,
    route: Route,
    asked: ChatRequest,
    answer: Answers,
    stream_format: StreamFormat,
) -> Response:
    """A streamed response. A failure before its first event sets the HTTP status."""
    settings = route.settings
    # JSON can be rendered only as a whole.
    whole = asked.structured and not settings.shadow
    if route.url and (settings.shadow or not settings.grounding) and not whole:
        ending = (
            Shadowed(context, route, asked) if settings.shadow else Marked(context, route, asked)
        )
        body = forwarded(asked.body, route.model(asked.body.get("model")))
        response = await opened(
            context, _flowing(context, route, asked, ending, body, stream_format), stream_format
        )
        response.headers.update(shadow_headers() if settings.shadow else {})
        return response
    # Whether a text is an answer or accompanies a tool call is only known at its end.
    buffered = asked.tools or whole or is_small_talk_turn(route, asked)
    if route.url and settings.streaming == "signal" and not buffered:
        return await _signalled(context, route, asked, stream_format)
    return await opened(
        context, _decided(answer(context, route, asked), stream_format), stream_format
    )


async def _signalled(
    context: RequestContext, route: Route, asked: ChatRequest, stream_format: StreamFormat
) -> Response:
    answering = Answering(route, context.caller, asked, context.gateway.work, as_drafted=True)
    pipeline, turn, closed = await while_there(context.request, answering.begun())
    context.stats.timings = answering.timings
    if closed is not None:
        context.stats.verdicts.append(closed)
        return await opened(
            context, _decided(_known(answering.refused(closed)), stream_format), stream_format
        )
    body = await context.gateway.work.run(answering.request_body, turn)
    signal = LiveChecks(answering, pipeline, turn, context.stats.verdicts)
    flowing = _flowing(context, route, asked, signal, body, stream_format)

    async def instead(problem: UpstreamFault) -> Answered:
        answered = await answering.instead(pipeline, turn, problem)
        context.stats.verdicts += [one.verdict for one in answered.choices[:1] if one.verdict]
        return answered

    return await opened(context, _or_instead(flowing, instead, stream_format), stream_format)


async def _flowing(
    context: RequestContext,
    route: Route,
    asked: ChatRequest,
    ending: Ending,
    body: dict[str, Any],
    stream_format: StreamFormat,
) -> Sent:
    assert route.upstream is not None
    options, shadow = asked.body.get("stream_options") or {}, isinstance(ending, Shadowed)
    body = {**body, "stream": True}
    if not shadow or options:
        body["stream_options"] = options if shadow else {**options, **_USAGE}
    offered = None if shadow else asked.offer.names
    flow = Flow(route.upstream, body, ending, stream_format, asked.n, asked.most, shadow, offered)
    if isinstance(ending, LiveChecks):
        flow.reading = partial(ending.turn.timings.measure, "draft")
    events = flow.events()
    try:
        async for one in events:
            yield one
    finally:
        await events.aclose()
        used = usage_of({"usage": flow.spent})
        if flow.streamed_choices and not used["total_tokens"]:
            length = sum(len(one.held) + len(one.text) for one in flow.streamed_choices.values())
            used = await offload(context.stats.received, estimated, body, length)
        if isinstance(ending, LiveChecks):
            used = added({"usage": used}, verification(ending.turn))
        context.spent(used, route.settings.price_in, route.settings.price_out)


async def _or_instead(
    flowing: Sent,
    instead: Callable[[UpstreamFault], Awaitable[Answered]],
    stream_format: StreamFormat,
) -> Sent:
    """The stream, or a replacement if the upstream fails before its first event."""
    begun = False
    try:
        async for one in flowing:
            begun = True
            yield one
    except UpstreamFault as problem:
        if begun:
            raise
        for one in stream_format.whole(await instead(problem)):
            yield one
    finally:
        await flowing.aclose()


async def _decided(answer: Coroutine[Any, Any, Answered], stream_format: StreamFormat) -> Sent:
    """Send the whole answer after the verdict."""
    answered = await answer
    for one in await offload(answered.size, list, stream_format.whole(answered)):
        yield one


async def _known(answered: Answered) -> Answered:
    return answered


async def opened(context: RequestContext, events: Sent, stream_format: StreamFormat) -> Response:
    """Start a stream whose first event may take long. A failure before the first keep-alive comment
    sets the HTTP status; a later one is reported as an event in the stream."""
    keep_alive = context.gateway.state.settings.server.keep_alive_seconds
    first: asyncio.Future[bytes] = asyncio.ensure_future(anext(events))
    try:
        await while_there(context.request, _wait(first, keep_alive))
        if first.done():
            first.result()
    except StopAsyncIteration:
        raise UpstreamFault(EMPTY).fault from None
    except UpstreamFault as problem:
        raise problem.fault from None
    except BaseException:
        await _stopped(first, events)
        raise
    return Events(_sent(first, events, stream_format), keep_alive, waiting=stream_format.waiting())


async def _wait(task: asyncio.Future[bytes], seconds: float) -> None:
    await asyncio.wait({task}, timeout=seconds)


async def _stopped(first: asyncio.Future[bytes], events: Sent) -> None:
    first.cancel()
    with suppress(asyncio.CancelledError, Exception):
        await first
    await events.aclose()


async def _sent(first: asyncio.Future[bytes], events: Sent, stream_format: StreamFormat) -> Sent:
    try:
        yield await first
        async for one in events:
            yield one
    except UpstreamFault as problem:
        yield stream_format.fault(problem.fault)
    except ApiError as fault:
        yield stream_format.fault(fault)
    except SufficeError as problem:
        yield stream_format.fault(fault_of(problem))
    finally:
        await _stopped(first, events)


@dataclass(frozen=True, slots=True)
class Marked:
    """Ends a stream of chat without documents with a note that it is unverified."""

    context: RequestContext
    route: Route
    asked: ChatRequest

    async def heard(self, streamed_choice: StreamedChoice, flow: Flow) -> None:
        """Do nothing: no text is checked."""

    async def ended(self, streamed_choice: StreamedChoice, flow: Flow) -> tuple[str, Choice]:
        one = await offload(
            len(streamed_choice.text),
            streamed_choice.written,
            (),
            flow.model,
        )
        if one.draft is not None and not one.draft.text:
            raise UpstreamFault(EMPTY)
        context = self.context
        choice = await marked(self.route, context.caller, self.asked, one, context.gateway.work)
        if choice.verdict is None:
            return "", choice
        context.stats.verdicts.append(choice.verdict)
        if one.long:
            return f"\n\n{choice.verdict.reason}", replace(choice, finish="length")
        plain = self.route.settings.unverified_note == "suffice"
        return "" if plain else f"\n\n{UNVERIFIED}", choice


@dataclass(frozen=True, slots=True)
class Shadowed:
    """Adds nothing to a stream in shadow mode; the verdict is only recorded."""

    context: RequestContext
    route: Route
    asked: ChatRequest

    async def heard(self, streamed_choice: StreamedChoice, flow: Flow) -> None:
        """Do nothing: no finding is reported."""

    async def ended(self, streamed_choice: StreamedChoice, flow: Flow) -> tuple[str, Choice]:
        context = self.context
        answering = Answering(
            self.route,
            context.caller,
            self.asked,
            context.gateway.work,
            as_drafted=True,
            marks=False,
        )
        context.stats.verdicts += await judged(answering, {"choices": [streamed_choice.choice]})
        return "", Choice(None, None, streamed_choice.finish or "stop")
