"""Answers without documents: those of routes that search none, and small talk."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

from suffice.access.keys import Principal
from suffice.checker import NOT_GATED
from suffice.draft.reading import read_draft
from suffice.log.trace import Trace
from suffice.server.inference_pool import InferencePool
from suffice.server.openai.carried_evidence import text_of
from suffice.server.openai.completion import (
    SMALL_TALK,
    UNVERIFIED,
    Answer,
    ReleasedChoice,
    decided,
    disclosure,
    passed_on,
)
from suffice.server.openai.reply import (
    DraftedChoice,
    added,
    content_of,
    drafts_in,
    structured_of,
)
from suffice.server.openai.request import NO_TOOLS, ChatRequest, forwarded
from suffice.server.openai.tool_calls import only_offered
from suffice.server.openai.upstream import EMPTY, UpstreamFault
from suffice.server.route import Route
from suffice.settings.server import Occasion
from suffice.text.claims import StatementKind, claims
from suffice.text.words import content_words
from suffice.types import (
    Action,
    Attempt,
    Draft,
    Evidence,
    Level,
    Passage,
    Reason,
    ReasonCode,
    Rescue,
    Verdict,
)
from suffice.verdict.decide import too_long, withhold

Raw = Mapping[str, Any]
WITHOUT_DOCUMENTS = replace(
    NOT_GATED,
    level=Level.INSUFFICIENT,
    score=0.0,
    reasons=("no documents are searched for this turn",),
)
ANSWERED = "Small talk: answered without documents."
TRIMMED = f"{ANSWERED} Statements that no document supports were removed."
STATED = "Withheld: the reply to small talk makes a statement that no document supports."
_LONGEST = 200
_TOOLS = ("tools", "tool_choice", "functions", "function_call", "parallel_tool_calls")


@dataclass(slots=True)
class Ungrounded:
    """The upstream's answer, marked as unverified."""

    route: Route
    caller: Principal
    request: ChatRequest
    work: InferencePool
    dropped: int = 0
    """The number of calls to tools that were not offered."""
    timings: Mapping[str, float] = field(default_factory=dict)
    passages: Sequence[Passage] = ()
    trace: Trace | None = None
    """`None`: no evidence was searched."""

    async def open(self) -> Answer | None:
        """Nothing: there is no gate."""
        return None

    async def body(self) -> dict[str, Any]:
        """The request to the upstream."""
        return forwarded(self.request.body, self.route.model(self.request.body.get("model")))

    def drafting(self) -> AbstractContextManager[None]:
        return nullcontext()

    async def drafts(self) -> tuple[Raw | None, Sequence[DraftedChoice]]:
        """The upstream's reply and its drafts."""
        assert self.route.upstream is not None
        request = self.request
        reply = await self.route.upstream.ask(await self.body())
        raw, self.dropped = only_offered(reply, request.offer)
        drafts = await self.work.run(
            drafts_in, raw, (), structured=request.structured, n=request.n, most=request.most
        )
        if not drafts or any(
            drafted.draft is not None and not drafted.draft.text for drafted in drafts
        ):
            raise UpstreamFault(EMPTY)
        return raw, drafts

    async def replace_failed(self, fault: UpstreamFault) -> Answer:
        """Nothing replaces an answer without documents."""
        raise fault.fault

    async def decide(self, drafted: DraftedChoice) -> ReleasedChoice:
        request, draft = self.request, drafted.draft
        if draft is None:
            text = read_draft(content_of(drafted.choice), ()).text
            return passed_on(drafted.choice, text or None, notes=[UNVERIFIED] if text else [])
        evidence = Evidence(request.question)
        if drafted.long:
            verdict = too_long(evidence, WITHOUT_DOCUMENTS, draft, request.most)
        else:
            text = structured_of(drafted.choice) if request.structured else draft.text
            verdict = Verdict(
                request.question,
                Action.CAVEAT,
                UNVERIFIED,
                WITHOUT_DOCUMENTS,
                evidence,
                draft,
                text.strip(),
                reasons=(Reason(ReasonCode.TEXT, values=(UNVERIFIED,)),),
            )
        verdict = await self._record(verdict)
        texts = (
            None if verdict.served else self.route.texts
        )  # the note on a served answer is enough
        choice = decided(verdict, drafted.choice, structured=request.structured, texts=texts)
        return (
            replace(choice, content=verdict.released) if self._plain and verdict.served else choice
        )

    @property
    def _plain(self) -> bool:
        """Whether the note that the answer is unverified is not part of its text."""
        return self.route.settings.unverified_note == "suffice"

    async def _record(self, verdict: Verdict) -> Verdict:
        recorder = self.route.recording(self.caller, self.request.tag)
        if recorder is None:
            return verdict
        record = await self.work.record(recorder.verdict, verdict, Trace(verdict.evidence))
        return replace(verdict, record=record)

    def usage(self, reply: Raw) -> dict[str, Any]:
        return added(reply)

    def closing_text(self, choice: ReleasedChoice) -> str:
        """The text that ends a streamed answer."""
        if choice.verdict is None:
            return ""
        if not choice.verdict.served:
            return f"\n\n{choice.verdict.reason}"
        return "" if self._plain else f"\n\n{UNVERIFIED}"


@dataclass(slots=True)
class SmallTalk(Ungrounded):
    """The upstream's reply to small talk, without tools and without what it states."""

    def __post_init__(self) -> None:
        body = {name: self.request.body[name] for name in self.request.body if name not in _TOOLS}
        self.request = replace(self.request, body=body, tools=False, offer=NO_TOOLS)

    async def drafts(self) -> tuple[Raw | None, Sequence[DraftedChoice]]:
        raw, drafts = await Ungrounded.drafts(self)
        self.dropped = 0  # the request may offer tools, but not to small talk
        return raw, drafts

    async def decide(self, drafted: DraftedChoice) -> ReleasedChoice:
        verdict = await self.work.run(small_talk_verdict, self.request, drafted)
        verdict = await self._record(verdict)
        choice = decided(
            verdict, drafted.choice, shown=disclosure(self.caller, self.route.settings)
        )
        content, texts = choice.content, self.route.texts
        if verdict.served:
            content = verdict.released
        elif texts:
            content = texts.text(verdict, Occasion.SMALL_TALK)
        return replace(choice, content=content, turn=SMALL_TALK)


def is_small_talk_turn(route: Route, request: ChatRequest) -> bool:
    """Whether the upstream answers this request as small talk."""
    may = route.settings.small_talk and route.settings.grounding and route.upstream is not None
    return may and not request.structured and is_small_talk(request.body.get("messages") or ())


def is_small_talk(messages: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the last user turn contains nothing that documents could answer."""
    users = (message for message in messages if message.get("role") == "user")
    turns = [text_of(message.get("content")).strip() for message in users]
    if not turns or not turns[-1] or len(turns[-1]) > _LONGEST or not _latin(turns[-1]):
        return False
    if any(message.get("role") in ("tool", "function") for message in messages[-1:]):
        return False
    statements = claims(turns[-1])
    rest = [
        statement.words for statement in statements if statement.kind is not StatementKind.GREETING
    ]
    if not rest:
        return True
    # "Why?" after another turn asks about that turn.
    words = " ".join(rest)
    return len(turns) == 1 and not content_words(words) and not re.search(r"\d", words)


def _latin(text: str) -> bool:
    """Whether all letters of a text are Latin; a text in another script is never small talk."""
    letters = (char for char in text if char.isalpha())
    return all(unicodedata.name(char, "").startswith("LATIN") for char in letters)


def small_talk_verdict(request: ChatRequest, drafted: DraftedChoice) -> Verdict:
    """The verdict on a reply to small talk."""
    evidence, draft = Evidence(request.question), drafted.draft or Draft("")
    if drafted.long:
        return too_long(evidence, WITHOUT_DOCUMENTS, draft, request.most)
    rest = _without_statements(draft)
    if not rest:
        return withhold(evidence, WITHOUT_DOCUMENTS, STATED, draft)
    trimmed = read_draft(rest, (), drafter=draft.drafter)
    reason, rescue = (TRIMMED, Rescue.TRIMMED) if draft.claims else (ANSWERED, None)
    return Verdict(
        request.question,
        Action.CAVEAT,
        reason,
        WITHOUT_DOCUMENTS,
        evidence,
        trimmed,
        trimmed.text,
        rescue=rescue,
        attempts=(Attempt(draft),),
        reasons=(Reason(ReasonCode.TEXT, values=(reason,)),),
    )


def _without_statements(draft: Draft) -> str:
    """The text without its claims; empty if the rest could still contain a claim."""
    text = draft.text
    for claim in sorted(draft.claims, key=lambda claim: claim.start, reverse=True):
        text = f"{text[: claim.start]}{text[claim.end :]}"
    text = " ".join(text.split()) if draft.claims else text
    rest = claims(text)
    return text.strip() if rest and not any(statement.checkable for statement in rest) else ""
