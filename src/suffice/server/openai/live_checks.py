"""Signal mode: stream tokens, and check each complete sentence while the next one arrives.

Findings are sent in valid chunks with an empty delta and a `suffice` field. A claim that fails its
checks is retracted at once, by its span. The verdict covers the whole text and uses the same steps
as buffer mode.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from suffice import serialize as as_json
from suffice.errors import SufficeError
from suffice.pipeline import Pipeline, Turn
from suffice.server.offload import offload
from suffice.server.openai.answering import Answering
from suffice.server.openai.completion import Choice, decided, noted
from suffice.server.openai.disclosure import Disclosure
from suffice.server.openai.flow import Flow
from suffice.server.openai.passthrough import finish_of
from suffice.server.openai.streamed_choice import StreamedChoice
from suffice.server.openai.tool_calls import DROPPED
from suffice.server.openai.upstream import EMPTY, UpstreamFault
from suffice.server.openai.upstream_drafts import Written, usage_of
from suffice.types import Action, Draft, Finding, Support, Verdict
from suffice.verdict.assess import by_claim, stands
from suffice.verdict.customer import CustomerTexts

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
            support, place = stands(own), (streamed_choice.index, claim.start, claim.end)
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
        stands(findings[claim]) is not Support.BACKED
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
