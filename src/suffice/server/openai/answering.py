"""The state machine of an answer:

    open ─▶ drafts ─▶ decide, for each draft ─▶ released choices

Its basis (documents, none, or small talk) says what happens in each step, and its delivery how the
answer reaches the caller. Formats only render it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from suffice.server.errors import bad
from suffice.server.openai.answer_format import AnswerFormat
from suffice.server.openai.completion import Answer, noted
from suffice.server.openai.grounded import Grounded
from suffice.server.openai.reply import choices_in, content_of, estimated
from suffice.server.openai.request import ChatRequest
from suffice.server.openai.stream import StreamedAnswer
from suffice.server.openai.tool_calls import DROPPED
from suffice.server.openai.ungrounded import SmallTalk, Ungrounded, is_small_talk_turn
from suffice.server.openai.upstream import UpstreamFault
from suffice.server.request import RequestContext
from suffice.server.route import Route
from suffice.server.sending import Emit, offload

_TEXT_ONLY = (
    "This route writes plain text only. For 'response_format', use a route with an upstream."
)


class Delivery(StrEnum):
    """How an answer reaches the caller."""

    BUFFER = "buffer"
    """Whole, after its verdict."""
    SIGNAL = "signal"
    """As the upstream writes it, with findings as they are made and the verdict at its end."""
    SHADOW = "shadow"
    """As the upstream writes it, unchanged; the verdict is only recorded."""


def delivery_of(route: Route, request: ChatRequest) -> Delivery:
    """The delivery of an answer. Only what has a verdict by then can be structured, and whether a
    text is an answer or accompanies a tool call is only known at its end."""
    settings = route.settings
    if settings.shadow:
        return Delivery.SHADOW
    if not request.stream or route.upstream is None or request.structured:
        return Delivery.BUFFER
    if not settings.grounding:
        return Delivery.SIGNAL
    held = request.tools or is_small_talk_turn(route, request)
    return Delivery.SIGNAL if settings.streaming == "signal" and not held else Delivery.BUFFER


@dataclass(slots=True)
class Answering:
    """A request that is being answered."""

    context: RequestContext
    route: Route
    request: ChatRequest
    basis: Grounded | Ungrounded

    @classmethod
    def of(
        cls,
        context: RequestContext,
        route: Route,
        request: ChatRequest,
        delivery: Delivery = Delivery.BUFFER,
    ) -> Answering:
        if request.structured and route.upstream is None:
            raise bad(_TEXT_ONLY, "response_format")
        caller, work = context.caller, context.gateway.work
        basis: Grounded | Ungrounded
        if is_small_talk_turn(route, request):
            basis = SmallTalk(route, caller, request, work)
        elif not route.settings.grounding:
            basis = Ungrounded(route, caller, request, work)
        else:
            as_drafted = delivery is Delivery.SIGNAL
            basis = Grounded(route, caller, request, work, as_drafted=as_drafted)
        return cls(context, route, request, basis)

    async def whole(self) -> Answer:
        """The complete answer, with its verdicts; from the cache if it is enabled and has it."""
        work, cache = self.context.gateway.work, self.context.gateway.cache
        limits = self.context.gateway.state.settings.server.cache
        if not limits.enabled or self.request.tools or not isinstance(self.basis, Grounded):
            return await self._counted(await self._decided())
        key, answer = await work.run(cache.find, self.route, self.context.caller, self.request)
        self.context.stats.cache = "hit" if answer else "miss"
        if answer is None:
            answer = await self._decided()
            cache.keep(key, answer, limits)
        return await self._counted(answer)

    async def stream(self, answer_format: AnswerFormat, emit: Emit) -> None:
        """Emit the answer as the upstream writes it."""
        closed = await self.basis.open()
        self.context.stats.timings = self.basis.timings
        if closed is not None:
            await self._emit_whole(closed, answer_format, emit)
            return
        streamed = StreamedAnswer(
            self.context, self.route, self.request, self.basis, answer_format, emit
        )
        try:
            await streamed.run()
        except UpstreamFault as fault:
            if streamed.begun:
                raise
            await self._emit_whole(await self.basis.replace_failed(fault), answer_format, emit)

    async def stream_whole(self, answer_format: AnswerFormat, emit: Emit) -> None:
        """Emit the answer after its verdict."""
        answer = await self.whole()
        await emit(await offload(answer.size, list, answer_format.whole_events(answer)))

    async def _decided(self) -> Answer:
        basis = self.basis
        answer = await basis.open()
        if answer is None:
            answer = await self._drafted()
        self.context.stats.timings = basis.timings
        return answer

    async def _drafted(self) -> Answer:
        basis = self.basis
        try:
            raw, drafts = await basis.drafts()
        except UpstreamFault as fault:
            return await basis.replace_failed(fault)
        choices = [await basis.decide(drafted) for drafted in drafts]
        if basis.dropped:
            choices = [noted(choice, DROPPED) for choice in choices]
        return Answer(choices, raw, basis.usage(raw or {}), basis.trace)

    async def _emit_whole(self, answer: Answer, answer_format: AnswerFormat, emit: Emit) -> None:
        self.context.stats.verdicts += answer.verdicts
        await emit(await offload(answer.size, list, answer_format.whole_events(answer)))

    async def _counted(self, answer: Answer) -> Answer:
        """Add an answer to the statistics, and its usage to the caller's limits."""
        context, settings = self.context, self.route.settings
        context.stats.verdicts += answer.verdicts
        context.stats.gates += [choice.gate for choice in answer.choices if choice.gate]
        usage = answer.usage
        if answer.raw is not None and not usage.get("total_tokens"):
            length = sum(len(content_of(choice)) for choice in choices_in(answer.raw))
            usage = await offload(context.stats.received, estimated, self.request.body, length)
        context.spent(usage, settings.price_in, settings.price_out)
        return answer
