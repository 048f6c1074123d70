"""Forward a draft while the upstream writes it, and add what the checks find."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any

from suffice import schema
from suffice.errors import SufficeError
from suffice.server.openai.completion import AnswerFormat, Disclosure, noted
from suffice.server.openai.grounded import Grounded
from suffice.server.openai.passthrough import finish_of
from suffice.server.openai.reply import DraftedChoice, estimated, usage_of
from suffice.server.openai.request import ChatRequest
from suffice.server.openai.streamed_reply import StreamedChoice, StreamedReply
from suffice.server.openai.tool_calls import DROPPED
from suffice.server.openai.ungrounded import Ungrounded
from suffice.server.openai.upstream import EMPTY, UpstreamFault
from suffice.server.request import RequestContext
from suffice.server.route import Route
from suffice.server.sending import Emit, offload, task_group
from suffice.types import Draft, Finding, Support
from suffice.verdict.assess import by_claim, overall_support

_AGAINST = (Support.CONTRADICTED, Support.UNBACKED)


@dataclass(slots=True)
class StreamedAnswer:
    """An answer that is forwarded as the upstream writes it. It ends with the verdict."""

    context: RequestContext
    route: Route
    request: ChatRequest
    basis: Grounded | Ungrounded
    answer_format: AnswerFormat
    emit: Emit
    begun: bool = False
    """Whether anything was sent."""
    reply: StreamedReply = field(init=False)

    def __post_init__(self) -> None:
        request = self.request
        self.reply = StreamedReply(request.n, request.most, request.offer.names)

    async def run(self) -> None:
        options = self.request.body.get("stream_options") or {}
        body = await self.basis.body()
        body |= {"stream": True, "stream_options": {**options, "include_usage": True}}
        try:
            async with task_group() as group:
                checks = None
                if isinstance(self.basis, Grounded):
                    checks = LiveChecks(self.basis, self.answer_format, self._send, group)
                with self.basis.drafting():
                    await self._forward(body, checks)
                for _, choice in sorted(self.reply.choices.items()):
                    await self._end(choice, checks)
                await self._send(self.answer_format.on_stream_end(self.reply.usage))
        finally:
            await self._count_usage(body)

    async def _forward(self, body: Mapping[str, Any], checks: LiveChecks | None) -> None:
        assert self.route.upstream is not None
        reply = self.reply
        try:
            async with aclosing(self.route.upstream.events(body)) as chunks:
                async for chunk in chunks:
                    if parts := await reply.add(chunk):
                        await self._send(self.answer_format.on_chunk(chunk, parts))
                        if checks is not None:
                            checks.look_at(reply.choices.values())
                    if reply.long:
                        break
        except UpstreamFault:
            # If a stream fails after its first text, judge the text received so far.
            if not reply.begun:
                raise
        if not reply.choices:
            raise UpstreamFault(EMPTY)

    async def _end(self, streamed: StreamedChoice, checks: LiveChecks | None) -> None:
        """Decide on a choice and send its last text and its verdict."""
        reply, basis, index = self.reply, self.basis, streamed.index
        if rest := streamed.flush():
            await self._send(self.answer_format.on_chunk(reply.frame, [rest]))
        if checks is not None:
            await checks.settle(streamed)
        drafted: DraftedChoice = await basis.work.run(
            streamed.drafted,
            basis.passages,
            reply.model,
            tokens=usage_of({"usage": reply.usage})["total_tokens"],
        )
        if drafted.draft is not None and not drafted.draft.text:
            raise UpstreamFault(EMPTY)
        choice = await basis.decide(drafted)
        if choice.verdict is not None and drafted.draft is not None:
            self.context.stats.verdicts.append(choice.verdict)
            if checks is not None:
                await checks.report(index, drafted.draft, choice.verdict.findings)
            # Its text was streamed already.
            finish = finish_of(streamed.finish or "length")
            choice = replace(choice, finish=finish, shown=Disclosure.ALL)
        if streamed.dropped:
            choice = noted(choice, DROPPED)
        text = basis.closing_text(choice)
        events = self.answer_format.on_choice_end(index, text, choice)
        await self._send(await offload(len(streamed.text), list, events))

    async def _send(self, events: Iterable[bytes]) -> None:
        sent = list(events)
        self.begun = self.begun or bool(sent)
        await self.emit(sent)

    async def _count_usage(self, body: Mapping[str, Any]) -> None:
        settings, reply = self.route.settings, self.reply
        used = usage_of({"usage": reply.usage})
        if reply.choices and not used["total_tokens"]:
            used = await offload(self.context.stats.received, estimated, body, reply.length)
        usage = self.basis.usage({"usage": used})
        self.context.spent(usage, settings.price_in, settings.price_out)


@dataclass(slots=True)
class LiveChecks:
    """Checks the sentences of an answer as they become complete, and reports what is found."""

    basis: Grounded
    answer_format: AnswerFormat
    send: Emit
    group: asyncio.TaskGroup
    _checking: asyncio.Task[None] | None = None
    _waiting: dict[int, StreamedChoice] = field(default_factory=dict)
    _reported: dict[tuple[int, int, int], Support] = field(default_factory=dict)
    """The support reported for each claim, by choice and span."""

    def look_at(self, choices: Iterable[StreamedChoice]) -> None:
        """Check the new sentences of these choices while the stream continues."""
        self._waiting |= {choice.index: choice for choice in choices if choice.grown}
        if self._waiting and (self._checking is None or self._checking.done()):
            self._checking = self.group.create_task(self._check_waiting())

    async def settle(self, choice: StreamedChoice) -> None:
        """Wait for the checks under way; cancel them if the text exceeds the limit."""
        if self._checking is not None:
            if choice.long:
                self._checking.cancel()
            await asyncio.wait({self._checking})

    async def _check_waiting(self) -> None:
        """Check complete sentences, one choice at a time. Sentences that become complete during a
        check are checked together. The verdict reports failures."""
        while self._waiting:
            choice = self._waiting.pop(next(iter(self._waiting)))
            try:
                checked = await self.basis.in_time(self._check, choice)
            except (SufficeError, TimeoutError):
                return
            if checked is not None:
                await self.report(choice.index, *checked)

    def _check(self, choice: StreamedChoice) -> tuple[Draft, tuple[Finding, ...]] | None:
        draft = choice.finished(self.basis.passages)
        if draft is None:
            return None
        return draft, self.basis.pipeline.check_draft(self.basis.turn, draft)

    async def report(self, index: int, draft: Draft, findings: Sequence[Finding]) -> None:
        """Send new findings and retractions."""
        size = len(draft.claims) * len(findings)
        await self.send(await offload(size, list, self._reports(index, draft, findings)))

    def _reports(self, index: int, draft: Draft, findings: Sequence[Finding]) -> Iterator[bytes]:
        numbers = {passage.id: n for n, passage in enumerate(self.basis.passages, 1)}
        of_claim = by_claim(findings)
        for claim in draft.claims:
            support, span = overall_support(of_claim[claim]), (index, claim.start, claim.end)
            if self._reported.get(span) is support:
                continue
            self._reported[span] = support
            report: dict[str, Any] = {
                "text": claim.text,
                "span": [claim.start, claim.end],
                "choice": index,
                "support": support.value,
                "findings": [
                    schema.tree(schema.Finding.of(finding, numbers)) for finding in of_claim[claim]
                ],
            }
            kind = "retraction" if support in _AGAINST else "claim"
            yield from self.answer_format.on_finding(index, kind, report)
