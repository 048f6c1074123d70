"""The format of a stream: chunks of a chat completion, or events of a response."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from suffice.server.errors import DONE, KEEP_ALIVE, ApiError, event
from suffice.server.openai.answering import Answered
from suffice.server.openai.completion import Choice, completion, framed, sufficiency_of
from suffice.server.openai.passthrough import beside
from suffice.server.openai.request import ChatRequest
from suffice.server.openai.upstream_drafts import usage_of

CHUNK = "chat.completion.chunk"


def frame(whole: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that all chunks of a completion share."""
    apart = ("object", "choices", "usage", "suffice", "sufficiency")
    return {**{k: v for k, v in whole.items() if k not in apart}, "object": CHUNK}


def chunk(
    base: Mapping[str, Any],
    index: int,
    delta: Mapping[str, Any],
    finish: str | None = None,
    **more: Any,
) -> dict[str, Any]:
    choice = {"index": index, "delta": dict(delta), "finish_reason": finish}
    return {**base, "choices": [choice], **more}


def chunks(
    whole: Mapping[str, Any], choices: Sequence[Choice], *, usage: bool
) -> Iterator[dict[str, Any]]:
    """The chunks of an answer: role, content, finish reason with verdict, and usage if
    requested."""
    base = frame(whole)
    for n, choice in enumerate(choices):
        yield chunk(base, n, {"role": "assistant", "content": ""})
        others = dict(choice.others)
        if choice.content:
            yield chunk(base, n, {"content": choice.content})
        if choice.refusal:
            yield chunk(base, n, {"refusal": choice.refusal})
        if isinstance(calls := choice.message.get("tool_calls"), list):
            made = (one for one in calls if isinstance(one, dict))
            others["tool_calls"] = [{**one, "index": i} for i, one in enumerate(made)]
        if call := choice.message.get("function_call"):
            others["function_call"] = call
        if others:
            yield chunk(base, n, others)
        ours = {"suffice": choice.suffice, "sufficiency": sufficiency_of(choice)}
        yield chunk(base, n, {}, choice.finish, **ours)
    if usage:
        yield {**base, "choices": [], "usage": whole["usage"]}


Raw = Mapping[str, Any]


class StreamFormat(Protocol):
    """Formats one stream, from its first event to its last."""

    def heard(self, raw: Raw, going: Sequence[Raw]) -> Iterator[bytes]:
        """Events for an upstream's chunk. `going` has the parts of its choices to forward."""
        ...

    def found(self, index: int, kind: str, said: Raw) -> Iterator[bytes]:
        """Events for a finding on a claim, sent while the stream continues."""
        ...

    def ended(self, index: int, words: str, choice: Choice) -> Iterator[bytes]:
        """Events for a decided choice: its last text, and the verdict."""
        ...

    def closed(self, spent: Raw) -> Iterator[bytes]:
        """Events for the end of the stream, with the usage."""
        ...

    def whole(self, answered: Answered) -> Iterator[bytes]:
        """All events of an answer that was decided before anything was sent."""
        ...

    def passed(self, raw: Raw) -> Iterator[bytes]:
        """Events for an upstream's chunk in shadow mode, unchanged."""
        ...

    def passed_end(self, spent: Raw) -> Iterator[bytes]:
        """Events for the end of a stream in shadow mode."""
        ...

    def fault(self, fault: ApiError) -> bytes:
        """The event for an error after the stream began."""
        ...

    def waiting(self) -> bytes:
        """Sent to keep the connection open while no event is ready."""
        ...


@dataclass(slots=True)
class ChatFormat:
    """Chunks of a chat completion. Findings are sent as valid chunks with an empty delta. `shape`
    translates each chunk for an API with a different chunk format."""

    asked: ChatRequest
    shape: Callable[[Raw], Raw] = dict
    _base: dict[str, Any] = field(default_factory=dict)
    _last_fields: dict[str, Any] | None = None
    _shared: dict[str, Any] = field(default_factory=dict)

    def heard(self, raw: Raw, going: Sequence[Raw]) -> Iterator[bytes]:
        fields = {key: raw[key] for key in raw if key not in _APART}
        if fields != self._last_fields:  # most chunks differ only in their choices
            self._last_fields = fields
            known = {key: fields[key] for key in fields if fields[key] is not None}
            self._shared = beside(known)
        if not self._base:
            self._base = {**self._shared, **framed(self.asked.model), "object": CHUNK}
        yield self._event({**self._shared, **self._base, "choices": going})

    def found(self, index: int, kind: str, said: Raw) -> Iterator[bytes]:
        if self.asked.events:
            yield event(said, f"suffice.{kind}")
        else:
            yield self._event(chunk(self._base, index, {}, None, suffice={kind: said}))

    def ended(self, index: int, words: str, choice: Choice) -> Iterator[bytes]:
        if delta := {**choice.others, **({"content": words} if words else {})}:
            yield self._event(chunk(self._base, index, delta))
        ours = {"suffice": choice.suffice, "sufficiency": sufficiency_of(choice)}
        last = chunk(self._base, index, {}, choice.finish, **ours)
        last["choices"][0] |= choice.rest
        yield self._event(last)

    def closed(self, spent: Raw) -> Iterator[bytes]:
        if self.asked.usage:
            used = {**beside(spent), **usage_of({"usage": spent})}
            yield self._event({**self._base, "choices": [], "usage": used})
        yield DONE

    def whole(self, answered: Answered) -> Iterator[bytes]:
        made = completion(answered.raw, self.asked.model, answered.choices, answered.usage)
        for one in chunks(made, answered.choices, usage=self.asked.usage):
            yield self._event(one)
        yield DONE

    def passed(self, raw: Raw) -> Iterator[bytes]:
        yield self._event(raw)

    def passed_end(self, spent: Raw) -> Iterator[bytes]:
        yield DONE

    def fault(self, fault: ApiError) -> bytes:
        return event(fault.body)

    def waiting(self) -> bytes:
        return KEEP_ALIVE

    def _event(self, made: Raw) -> bytes:
        return event(self.shape(made))


_APART = ("choices", "usage")
