"""`POST /v1/chat/completions`: OpenAI's API with verified answers; and the legacy
`POST /v1/completions`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from starlette.responses import Response

from suffice.models.chat import text_in
from suffice.server.errors import DONE, KEEP_ALIVE, ApiError, bad, event
from suffice.server.openai.answering import AnswerEndpoint
from suffice.server.openai.completion import (
    Answer,
    ReleasedChoice,
    completion,
    framed,
    sufficiency_of,
)
from suffice.server.openai.passthrough import beside
from suffice.server.openai.reply import choices_in, usage_of
from suffice.server.openai.request import ChatRequest, read_request
from suffice.server.request import RequestContext
from suffice.settings import LimitSettings, RouteSettings

Raw = Mapping[str, Any]
CHUNK = "chat.completion.chunk"
_APART = ("choices", "usage")
_UNSUPPORTED = ("suffix", "echo", "logprobs")


@dataclass(slots=True)
class ChatFormat:
    """A chat completion or its chunks. Findings are sent as valid chunks with an empty delta.
    `shape` translates a completion or chunk for an API with another format."""

    request: ChatRequest
    shape: Callable[[Raw], Raw] = dict
    keep_alive: bytes = KEEP_ALIVE
    _base: dict[str, Any] = field(default_factory=dict)
    _last_fields: dict[str, Any] | None = None
    _shared: dict[str, Any] = field(default_factory=dict)

    def whole(self, answer: Answer) -> Raw:
        return self.shape(completion(answer, self.request.model))

    def whole_events(self, answer: Answer) -> Iterator[bytes]:
        """The chunks of an answer: for each choice its role, content, and finish reason with the
        verdict; and the usage if requested."""
        whole = completion(answer, self.request.model)
        apart = ("object", "choices", "usage", "suffice", "sufficiency")
        base = {**{k: v for k, v in whole.items() if k not in apart}, "object": CHUNK}
        for n, choice in enumerate(answer.choices):
            for delta in _deltas(choice):
                yield self._event(chunk_of(base, n, delta))
            yield self._event(chunk_of(base, n, {}, choice.finish, **_verdict(choice)))
        if self.request.usage:
            yield self._event({**base, "choices": [], "usage": whole["usage"]})
        yield DONE

    def on_chunk(self, chunk: Raw, parts: Sequence[Raw]) -> Iterator[bytes]:
        fields = {key: chunk[key] for key in chunk if key not in _APART}
        if fields != self._last_fields:  # most chunks differ only in their choices
            self._last_fields = fields
            set_fields = {key: fields[key] for key in fields if fields[key] is not None}
            self._shared = beside(set_fields)
        if not self._base:
            self._base = {**self._shared, **framed(self.request.model), "object": CHUNK}
        yield self._event({**self._shared, **self._base, "choices": parts})

    def on_finding(self, index: int, kind: str, finding: Raw) -> Iterator[bytes]:
        if self.request.events:
            yield event(finding, f"suffice.{kind}")
        else:
            yield self._event(chunk_of(self._base, index, {}, None, suffice={kind: finding}))

    def on_choice_end(self, index: int, text: str, choice: ReleasedChoice) -> Iterator[bytes]:
        if delta := {**choice.others, **({"content": text} if text else {})}:
            yield self._event(chunk_of(self._base, index, delta))
        last = chunk_of(self._base, index, {}, choice.finish, **_verdict(choice))
        last["choices"][0] |= choice.rest
        yield self._event(last)

    def on_stream_end(self, usage: Raw) -> Iterator[bytes]:
        if self.request.usage:
            used = {**beside(usage), **usage_of({"usage": usage})}
            yield self._event({**self._base, "choices": [], "usage": used})
        yield DONE

    def on_error(self, fault: ApiError) -> bytes:
        return event(fault.body)

    def passthrough(self, reply: Raw) -> Raw:
        return self.shape(reply)

    def passthrough_chunk(self, chunk: Raw) -> Iterator[bytes]:
        yield self._event(chunk)

    def passthrough_end(self, usage: Raw) -> Iterator[bytes]:
        yield DONE

    def _event(self, chunk: Raw) -> bytes:
        return event(self.shape(chunk))


def chunk_of(
    base: Raw, index: int, delta: Raw, finish: str | None = None, **more: Any
) -> dict[str, Any]:
    choice = {"index": index, "delta": dict(delta), "finish_reason": finish}
    return {**base, "choices": [choice], **more}


def _deltas(choice: ReleasedChoice) -> Iterator[Raw]:
    """The parts of a decided choice."""
    yield {"role": "assistant", "content": ""}
    if choice.content:
        yield {"content": choice.content}
    if choice.refusal:
        yield {"refusal": choice.refusal}
    others = dict(choice.others)
    if isinstance(calls := choice.message.get("tool_calls"), list):
        listed = (call for call in calls if isinstance(call, dict))
        others["tool_calls"] = [{**call, "index": n} for n, call in enumerate(listed)]
    if call := choice.message.get("function_call"):
        others["function_call"] = call
    if others:
        yield others


def _verdict(choice: ReleasedChoice) -> dict[str, Any]:
    return {"suffice": choice.suffice, "sufficiency": sufficiency_of(choice)}


def as_chat(body: Raw) -> dict[str, Any]:
    """Translate a legacy request body: the prompt becomes a user message."""
    prompt = body.get("prompt")
    if isinstance(prompt, list) and len(prompt) == 1:
        prompt = prompt[0]
    if not isinstance(prompt, str):
        raise bad("'prompt' must be a string or a list of one string.", "prompt")
    for name in _UNSUPPORTED:
        if body.get(name):
            raise bad(f"'{name}' is not supported.", name)
    if body.get("best_of") not in (None, 1, body.get("n")):
        raise bad("'best_of' must be 1 or equal to 'n'.", "best_of")
    apart = ("prompt", "best_of", *_UNSUPPORTED)
    chat = {name: value for name, value in body.items() if name not in apart}
    return {**chat, "messages": [{"role": "user", "content": prompt}]}


def as_text(whole: Raw) -> dict[str, Any]:
    """A chat completion, or a chunk of one, in the legacy format."""
    choices = [_as_text_choice(choice) for choice in choices_in(whole)]
    id_ = str(whole.get("id") or "").replace("chatcmpl-", "cmpl-")
    return {**whole, "id": id_, "object": "text_completion", "choices": choices}


def _as_text_choice(choice: Raw) -> dict[str, Any]:
    message = choice.get("delta") or choice.get("message")
    ours = {"suffice": choice["suffice"]} if "suffice" in choice else {}
    return {
        "index": choice.get("index") or 0,
        "text": text_in(message) if isinstance(message, dict) else "",
        "logprobs": None,
        "finish_reason": choice.get("finish_reason"),
        **ours,
    }


def _read_legacy(body: Raw, route: RouteSettings, limits: LimitSettings) -> ChatRequest:
    return read_request(as_chat(body), route, limits)


_CHAT = AnswerEndpoint(read_request, lambda body, request: ChatFormat(request))
_LEGACY = AnswerEndpoint(_read_legacy, lambda body, request: ChatFormat(request, as_text))


async def chat(context: RequestContext) -> Response:
    return await _CHAT.respond(context)


async def completions(context: RequestContext) -> Response:
    return await _LEGACY.respond(context)
