"""Shadow mode: the upstream's answer is returned unchanged; the verdict on it is only recorded.

The answer is unchecked as a whole. So the fields around it (`id`, `model`, `system_fingerprint` and
others), which can carry text too, pass as they are: removing them would protect nobody. Error texts
of the upstream do not pass, as in every mode.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from suffice.errors import SufficeError
from suffice.server.errors import ApiError
from suffice.server.openai.completion import AnswerFormat
from suffice.server.openai.grounded import Grounded
from suffice.server.openai.reply import drafts_in, estimated, usage_of
from suffice.server.openai.request import ChatRequest, forwarded
from suffice.server.openai.streamed_reply import StreamedReply
from suffice.server.openai.upstream import CHAT, EMPTY, UpstreamFault
from suffice.server.request import RequestContext
from suffice.server.route import Route
from suffice.server.sending import Emit, offload
from suffice.server.telemetry.logs import description_of
from suffice.types import Verdict

log = logging.getLogger("suffice.server")
Raw = Mapping[str, Any]


@dataclass(slots=True)
class ShadowCall:
    """A call for a chat completion, and its streamed reply. Other APIs have calls of their own."""

    original: Raw
    """The body as the client sent it."""
    request: ChatRequest
    model: str
    """The upstream's name for the model."""
    reply: StreamedReply = field(init=False)
    path: str = CHAT

    def __post_init__(self) -> None:
        self.reply = StreamedReply(self.request.n, self.request.most)

    @property
    def body(self) -> Raw:
        """The request to the upstream."""
        request = self.request
        body = forwarded(request.body, self.model)
        if not request.stream:
            return body
        options = request.body.get("stream_options")
        return {**body, "stream": True, **({"stream_options": options} if options else {})}

    def completion_of(self, reply: Raw) -> Raw:
        """A whole reply as a chat completion, which can be checked."""
        return reply

    async def add(self, chunk: Raw) -> None:
        """Add a chunk of a streamed reply. Raise `UpstreamFault` if it reports an error."""
        await self.reply.add(chunk)

    @property
    def begun(self) -> bool:
        """Whether a reply that breaks off here has anything to judge."""
        return self.reply.begun

    @property
    def reported(self) -> Raw:
        """The usage that the streamed reply reports."""
        return self.reply.usage

    def usage(self) -> Raw:
        """The usage of the streamed reply, estimated if none is reported."""
        used = usage_of({"usage": self.reply.usage})
        if self.reply.choices and not used["total_tokens"]:
            return estimated(self.body, self.reply.length)
        return used

    def finish(self) -> Raw | None:
        """The streamed reply as a chat completion; `None` if there is none."""
        choices = [choice for _, choice in sorted(self.reply.choices.items())]
        for choice in choices:
            choice.flush()
        return {"choices": [choice.choice for choice in choices]} if choices else None


@dataclass(slots=True)
class Shadow:
    """A request whose answer is passed through."""

    context: RequestContext
    route: Route
    request: ChatRequest
    call: ShadowCall

    async def whole(self) -> tuple[Raw, list[Verdict]]:
        """The upstream's reply, and the verdicts recorded on it."""
        assert self.route.upstream is not None
        try:
            reply = await self.route.upstream.ask(self.call.body, self.call.path)
        except UpstreamFault as problem:
            raise problem.fault from None
        completion = self.call.completion_of(reply)
        self._count(usage_of(completion))
        return reply, await self._judge(completion)

    async def stream(self, answer_format: AnswerFormat, emit: Emit) -> None:
        """Emit the upstream's reply as it arrives."""
        assert self.route.upstream is not None
        call = self.call
        try:
            async with aclosing(self.route.upstream.events(call.body, call.path)) as chunks:
                async for chunk in chunks:
                    await call.add(chunk)
                    await emit(answer_format.passthrough_chunk(chunk))
        except UpstreamFault:
            # If a stream fails after its first text, judge the text received so far.
            if not call.begun:
                raise
        finally:
            self._count(await offload(self.context.stats.received, call.usage))
        completion = call.finish()
        if completion is None:
            raise UpstreamFault(EMPTY)
        await self._judge(completion)
        await emit(answer_format.passthrough_end(call.reported))

    def _count(self, usage: Raw) -> None:
        settings = self.route.settings
        self.context.spent(usage, settings.price_in, settings.price_out)

    async def _judge(self, completion: Raw) -> list[Verdict]:
        """Record the verdicts on a reply. A failure is logged and does not affect the reply."""
        if not self.request.judged:
            return []
        verdicts: Sequence[Verdict] = ()
        try:
            verdicts = await self._verdicts(completion)
        except SufficeError as problem:
            log.warning("Shadow mode: could not reach a verdict: %s", description_of(problem))
        except ApiError as problem:  # the gate took too long
            log.warning("Shadow mode: could not reach a verdict: %s", problem.message)
        self.context.stats.verdicts += verdicts
        return list(verdicts)

    async def _verdicts(self, completion: Raw) -> list[Verdict]:
        request, work = self.request, self.context.gateway.work
        basis = Grounded(
            self.route, self.context.caller, request, work, as_drafted=True, marks=False
        )
        closed = await basis.open()
        if closed is not None:
            return closed.verdicts[:1]
        drafts = await work.run(
            drafts_in,
            completion,
            basis.passages,
            structured=request.structured,
            most=request.most,
        )
        judged = [drafted for drafted in drafts if drafted.draft is not None]
        return [(await basis.judge(basis.pipeline, drafted))[0] for drafted in judged]


def shadow_headers(verdicts: Sequence[Verdict] = ()) -> dict[str, str]:
    """Headers of a response in shadow mode: that it is unchecked, and its record and verdict, which
    a stream does not have yet when it begins."""
    headers = {"x-suffice-shadow": "true"}
    if verdicts:
        headers["x-suffice-record"] = verdicts[0].record
        headers["x-suffice-verdict"] = verdicts[0].action.value
    return headers
