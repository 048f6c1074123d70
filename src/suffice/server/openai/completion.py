"""Build the response: a chat completion in OpenAI's format with a `suffice` object."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Protocol

from msgspec import UNSET

from suffice import schema
from suffice.access.keys import Principal, Role
from suffice.evidence.search import keywords_note
from suffice.log.record import new_id
from suffice.log.trace import Trace
from suffice.server import api
from suffice.server.errors import ApiError
from suffice.server.openai.passthrough import beside, finish_of, logprobs_of
from suffice.server.openai.reply import added
from suffice.settings import RouteSettings
from suffice.types import Action, GateDecision, Verdict
from suffice.verdict.assess import ClaimStatus, claim_statuses
from suffice.verdict.wording import CustomerTexts, releases_draft, render_text, without_withheld

_LONGEST = 200


class Disclosure(StrEnum):
    """How much of a draft the caller gets."""

    RELEASED = "released"
    """Only released text."""
    EXCERPT = "excerpt"
    """Withheld claims too, truncated."""
    ALL = "all"
    """All text, because the caller wrote it or it was already streamed."""


def disclosure(caller: Principal, route: RouteSettings) -> Disclosure:
    """What this caller may see of a withheld draft."""
    may = caller.has(Role.REVIEWER) or route.show_withheld
    return Disclosure.EXCERPT if may else Disclosure.RELEASED


def disclosed(verdict: Verdict, shown: Disclosure) -> Verdict:
    """Remove quotations of a withheld draft from the reason and notes of a verdict, unless they may
    be shown, and error messages of servers. The record is not changed."""
    if problem := verdict.evidence.without_vectors:
        private, public = keywords_note(problem), keywords_note()
        notes = tuple(public if note == private else note for note in verdict.notes)
        verdict = replace(verdict, notes=notes)
    return without_withheld(verdict) if shown is Disclosure.RELEASED else verdict


def claims_of(verdict: Verdict, shown: Disclosure = Disclosure.ALL) -> tuple[api.Claim, ...]:
    """Every claim with its span in the draft, its findings and its source."""
    numbers = {passage.id: n for n, passage in enumerate(verdict.evidence.passages, 1)}
    shown = Disclosure.ALL if releases_draft(verdict) else shown
    return tuple(_claim(status, numbers, shown) for status in claim_statuses(verdict))


def _claim(status: ClaimStatus, numbers: Mapping[str, int], shown: Disclosure) -> api.Claim:
    secret = shown is Disclosure.RELEASED
    return api.Claim(
        text=None if secret else _cut(status.claim.text, shown),
        span=(status.claim.start, status.claim.end),
        support=status.support,
        reason=None if secret else status.reason,
        findings=tuple(
            schema.Finding.of(finding, numbers, secret=secret) for finding in status.findings
        ),
        evidence=_evidence(status),
    )


def _evidence(status: ClaimStatus) -> api.ClaimSource | None:
    if status.passage is None:
        return None
    n, source = status.passage
    quote = source.text[status.span[0] : status.span[1]] if status.span else None
    return api.ClaimSource(n=n, **schema.origin(source), quote=quote)


def _cut(text: str, shown: Disclosure) -> str:
    long = shown is Disclosure.EXCERPT and len(text) > _LONGEST
    return f"{text[:_LONGEST].rstrip()}…" if long else text


UNVERIFIED = "Unverified: no documents were consulted for this answer."
NOT_AN_ANSWER = "A tool call is not an answer; it was not checked."
NOTHING_STATED = "A tool call that states nothing is not an answer; there was nothing to check."
UNCHECKED_TEXT = "A tool call is not an answer. Text in its arguments is UNCHECKED; see the notes."
LEFT_OUT = "Text next to the tool call was removed because it was not checked."
CALLS = ("tool_calls", "function_call")
"""The fields of a message that call tools."""
TOOL_CALLS, SMALL_TALK = "tool_calls", "small_talk"
"""Turns that are no plain answer."""
_A_FINDING = 200
_SAID = ("role", "content", "refusal", *CALLS)
_CHOICE = ("index", "message", "delta", "finish_reason", "logprobs")


@dataclass(frozen=True, slots=True)
class ReleasedChoice:
    """A released choice: its content and its verdict (`None` for a tool call that states nothing).
    `message` has the other fields of the upstream's message."""

    content: str | None
    verdict: Verdict | None
    finish: str = "stop"
    refusal: str | None = None
    message: Mapping[str, Any] = field(default_factory=dict)
    rest: Mapping[str, Any] = field(default_factory=dict)
    """Other fields of the upstream's choice: logprobs and unknown fields."""
    gate: GateDecision | None = None
    """The gate decision if there is no verdict."""
    shown: Disclosure = Disclosure.RELEASED
    turn: str = ""
    """What the turn is if it is no plain answer: small talk or tool calls."""
    checked: Sequence[Mapping[str, Any]] | None = None
    """The checked fields of each tool call; `None` if no tool is called."""
    unchecked: Sequence[str] = ()
    """The fields of tool calls whose text was not checked."""
    reason: str = ""
    """Why there is no verdict."""
    notes: Sequence[str] = ()
    """Notes of the gateway, after those of the verdict."""

    @property
    def suffice(self) -> dict[str, Any]:
        """The `suffice` object: the verdict, or why there is none."""
        ours = suffice_of(self.verdict, self.shown) if self.verdict else self._without_verdict()
        ours["notes"] = [*ours["notes"], *self.notes]
        if self.turn:
            ours["turn"] = self.turn
        if self.checked is not None:
            ours["checked"] = list(self.checked)
        if self.unchecked:
            ours["unchecked"] = list(self.unchecked)
        return ours

    def _without_verdict(self) -> dict[str, Any]:
        fields: dict[str, Any] = schema.tree(
            api.Suffice(
                record=(self.gate.record or None) if self.gate else None,
                gate=api.Gate.of(self.gate) if self.gate else UNSET,
                verdict=None,
                turn=self.turn,
                reason=self.reason,
                checked=(),
                claims=(),
                share_read=0.0,
                sources=(),
                notes=(),
            )
        )
        return fields

    @property
    def others(self) -> dict[str, Any]:
        """The upstream's message fields other than text and tool calls."""
        return {key: value for key, value in self.message.items() if key not in _SAID}


def decided(
    verdict: Verdict,
    choice: Mapping[str, Any] | None = None,
    *,
    structured: bool = False,
    shown: Disclosure = Disclosure.RELEASED,
    texts: CustomerTexts | None = None,
) -> ReleasedChoice:
    """Apply a verdict to an upstream's choice, if there is one. Structured output is not changed; a
    refusal of it goes into the `refusal` field. `texts` are those of the route's customers."""
    choice = choice or {}
    text = render_text(disclosed(verdict, shown), texts)
    message = _object(choice.get("message"))
    written, finish = message.get("content"), finish_of(choice.get("finish_reason"))
    releases = verdict.served and verdict.action is not Action.CONFLICT
    same = releases and isinstance(written, str) and verdict.released == written.strip()
    # The other fields describe the upstream's text, so they are released only with it.
    others = beside(message, *_SAID) if same else {}
    rest = _rest(choice, str(written)) if same else {}
    if structured and releases:
        return ReleasedChoice(verdict.released, verdict, finish, None, others, rest, shown=shown)
    if structured:
        return ReleasedChoice(None, verdict, "stop", text, shown=shown)
    return ReleasedChoice(
        text, verdict, finish if releases else "stop", None, others, rest, shown=shown
    )


def passed_on(
    choice: Mapping[str, Any],
    content: str | None,
    reason: str = NOT_AN_ANSWER,
    *,
    gate: GateDecision | None = None,
    unchecked: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> ReleasedChoice:
    """Pass on a choice that calls tools, marked as not an answer."""
    message = _object(choice.get("message"))
    calls = {key: message[key] for key in CALLS if message.get(key)}
    return ReleasedChoice(
        content,
        None,
        finish_of(choice.get("finish_reason"), calls),
        None,
        {**beside(message, *_SAID), **calls},
        gate=gate,
        turn=TOOL_CALLS,
        checked=(),
        unchecked=unchecked,
        reason=reason,
        notes=notes,
    )


def noted(choice: ReleasedChoice, note: str) -> ReleasedChoice:
    """Add a note to the `suffice` object of a choice."""
    return replace(choice, notes=(*choice.notes, note))


def calls_of(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The tool calls of a chat message, including a legacy `function_call`."""
    calls, legacy = message.get("tool_calls"), message.get("function_call")
    listed = [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    return [*listed, {"function": legacy}] if isinstance(legacy, dict) else [*listed]


@dataclass(frozen=True, slots=True)
class Answer:
    """The released choices, and the upstream's raw reply (`None` if it was not called)."""

    choices: Sequence[ReleasedChoice]
    raw: Mapping[str, Any] | None = None
    usage: Mapping[str, Any] = field(default_factory=lambda: added({}))
    trace: Trace | None = None
    """How the evidence was found; `None` if the answer must not be cached."""

    @property
    def verdicts(self) -> list[Verdict]:
        return [choice.verdict for choice in self.choices if choice.verdict is not None]

    @property
    def size(self) -> int:
        """The approximate size of the response, in characters."""
        findings = sum(len(verdict.findings) for verdict in self.verdicts)
        return sum(len(choice.content or "") for choice in self.choices) + _A_FINDING * findings


Raw = Mapping[str, Any]


class AnswerFormat(Protocol):
    """How an API renders one answer: as a whole, or as the events of a stream, from its first to
    its last. A format decides nothing."""

    @property
    def keep_alive(self) -> bytes:
        """Sent to keep the connection open while no event is ready."""

    def whole(self, answer: Answer) -> Raw:
        """The response."""

    def whole_events(self, answer: Answer) -> Iterator[bytes]:
        """All events of an answer that was decided before anything was sent."""

    def on_chunk(self, chunk: Raw, parts: Sequence[Raw]) -> Iterator[bytes]:
        """Events for an upstream's chunk. `parts` has the parts of its choices to forward."""

    def on_finding(self, index: int, kind: str, finding: Raw) -> Iterator[bytes]:
        """Events for a finding on a claim, sent while the stream continues."""

    def on_choice_end(self, index: int, text: str, choice: ReleasedChoice) -> Iterator[bytes]:
        """Events for a decided choice: its last text, and the verdict."""

    def on_stream_end(self, usage: Raw) -> Iterator[bytes]:
        """Events for the end of the stream, with the usage."""

    def on_error(self, fault: ApiError) -> bytes:
        """The event for an error after the stream began."""

    # Shadow mode

    def passthrough(self, reply: Raw) -> Raw:
        """An upstream's whole reply, unchanged."""

    def passthrough_chunk(self, chunk: Raw) -> Iterator[bytes]:
        """Events for an upstream's chunk, unchanged."""

    def passthrough_end(self, usage: Raw) -> Iterator[bytes]:
        """Events for the end of the stream."""


def completion(answer: Answer, model: str) -> dict[str, Any]:
    """The complete response. The gateway sets id, time and model name; the upstream's other fields
    pass through unless they contain text."""
    fields = {key: value for key, value in (answer.raw or {}).items() if value is not None}
    choices, first = answer.choices, answer.choices[0]
    return {
        **beside(fields, "choices", "usage"),
        **framed(model),
        "object": "chat.completion",
        "choices": [
            {
                **choice.rest,
                "index": n,
                "message": {
                    **choice.message,
                    "role": "assistant",
                    "content": choice.content,
                    "refusal": choice.refusal,
                },
                "finish_reason": choice.finish,
                **({"suffice": choice.suffice} if len(choices) > 1 else {}),
            }
            for n, choice in enumerate(choices)
        ],
        "usage": beside(answer.usage),
        "suffice": first.suffice,
        "sufficiency": sufficiency_of(first),
    }


def framed(model: str) -> dict[str, Any]:
    """The fields that identify a reply. The upstream's own fields could contain any text."""
    return {"id": f"chatcmpl-{new_id()}", "created": int(time.time()), "model": model}


def suffice_of(verdict: Verdict, shown: Disclosure = Disclosure.RELEASED) -> dict[str, Any]:
    """The `suffice` object: the decision and its reasons."""
    verdict = disclosed(verdict, shown)
    shaped: dict[str, Any] = schema.tree(
        api.Suffice(
            record=verdict.record or None,
            question=verdict.question,
            gate=api.Gate.of(verdict.gate),
            verdict=verdict.action,
            reason=verdict.reason,
            highlight=schema.highlights(verdict),
            claims=claims_of(verdict, shown),
            share_read=round(verdict.share_read, 4),
            confidence=schema.rounded(verdict.confidence),
            faithfulness=schema.rounded(verdict.faithfulness),
            sources=tuple(map(schema.Citation.of, verdict.citations)),
            missing=verdict.missing,
            nearest=tuple(map(schema.Nearest.of, verdict.nearest)),
            rescue=verdict.rescue,
            cached=bool(verdict.repeats),
            repeats=verdict.repeats or None,
            review_url=review_url(verdict),
            notes=verdict.notes,
        )
    )
    return shaped


def review_url(verdict: Verdict) -> str | None:
    """Where a caller asks for the decision on an answer that was left to a person."""
    held = verdict.action is Action.REVIEW and verdict.record
    return f"/v1/reviews/{verdict.record}" if held else None


def sufficiency_of(choice: ReleasedChoice) -> dict[str, Any] | None:
    """The `sufficiency` object, in its published format."""
    gate = choice.verdict.gate if choice.verdict else choice.gate
    if gate is None:
        return None
    return {
        "score": round(gate.score, 4),
        "level": gate.level.value.lower(),
        "factors": list(gate.factors),
        "missing": list(gate.missing),
    }


def headers_of(choices: Sequence[ReleasedChoice]) -> dict[str, str]:
    """The main results as response headers."""
    verdict = choices[0].verdict
    if verdict is None:
        return {"x-suffice-verdict": "none"}
    headers = {
        "x-suffice-verdict": verdict.action.value,
        "x-suffice-gate-level": verdict.gate.level.value,
        "x-suffice-gate-score": f"{verdict.gate.score:.4f}",
        "x-suffice-share-read": f"{verdict.share_read:.4f}",
    }
    return {**headers, **({"x-suffice-record": verdict.record} if verdict.record else {})}


def _rest(choice: Mapping[str, Any], text: str) -> dict[str, Any]:
    rest = beside(choice, *_CHOICE)
    if (logprobs := logprobs_of(choice.get("logprobs"), text)) is not None:
        rest["logprobs"] = logprobs
    return rest


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
