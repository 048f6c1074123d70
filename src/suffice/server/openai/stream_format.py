"""How a stream is worded: in chunks of a chat completion, or in events of a response."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from suffice.server.errors import ApiError
from suffice.server.json_body import DONE, event
from suffice.server.openai.answering import Answered
from suffice.server.openai.chunks import CHUNK, chunk, chunks, frame
from suffice.server.openai.completion import Choice, completion, sufficiency_of
from suffice.server.openai.passthrough import beside
from suffice.server.openai.request import ChatRequest
from suffice.server.openai.upstream_drafts import usage_of

Raw = Mapping[str, Any]


class StreamFormat(Protocol):
    """Words one stream, from its first event to its last."""

    def heard(self, raw: Raw, going: Sequence[Raw]) -> Iterator[bytes]:
        """What goes on of an upstream's chunk: pieces of its choices."""
        ...

    def found(self, index: int, kind: str, said: Raw) -> Iterator[bytes]:
        """What was found of a claim, while the stream goes on."""
        ...

    def ended(self, index: int, words: str, choice: Choice) -> Iterator[bytes]:
        """A choice is decided: the last words of it, and what was decided."""
        ...

    def closed(self, spent: Raw) -> Iterator[bytes]:
        """Everything is said; what it cost."""
        ...

    def whole(self, answered: Answered) -> Iterator[bytes]:
        """All of an answer that was decided before a word of it left."""
        ...

    def fault(self, fault: ApiError) -> bytes:
        """What went wrong after the stream began."""
        ...


@dataclass(slots=True)
class ChatVoice:
    """Chunks of a chat completion. Findings go out in valid ones, with an empty delta."""

    asked: ChatRequest
    _base: dict[str, Any] = field(default_factory=dict)
    _said: dict[str, Any] | None = None
    _told: dict[str, Any] = field(default_factory=dict)

    def heard(self, raw: Raw, going: Sequence[Raw]) -> Iterator[bytes]:
        said = {key: raw[key] for key in raw if key not in _APART}
        if said != self._said:  # most chunks have all but their choices in common
            self._said, known = said, {key: said[key] for key in said if said[key] is not None}
            self._told = {**beside(known), "object": CHUNK}
        if not self._base:
            self._base = frame({"id": "", "created": 0, "model": self.asked.model, **self._told})
        yield event({**self._told, "choices": going})

    def found(self, index: int, kind: str, said: Raw) -> Iterator[bytes]:
        if self.asked.events:
            yield event(said, f"suffice.{kind}")
        else:
            yield event(chunk(self._base, index, {}, None, suffice={kind: said}))

    def ended(self, index: int, words: str, choice: Choice) -> Iterator[bytes]:
        if said := {**choice.others, **({"content": words} if words else {})}:
            yield event(chunk(self._base, index, said))
        ours = {"suffice": choice.suffice, "sufficiency": sufficiency_of(choice)}
        last = chunk(self._base, index, {}, choice.finish, **ours)
        last["choices"][0] |= choice.rest
        yield event(last)

    def closed(self, spent: Raw) -> Iterator[bytes]:
        if self.asked.usage:
            used = {**beside(spent), **usage_of({"usage": spent})}
            yield event({**self._base, "choices": [], "usage": used})
        yield DONE

    def whole(self, answered: Answered) -> Iterator[bytes]:
        made = completion(answered.raw, self.asked.model, answered.choices, answered.usage)
        for one in chunks(made, answered.choices, usage=self.asked.usage):
            yield event(one)
        yield DONE

    def fault(self, fault: ApiError) -> bytes:
        return event(fault.said)


_APART = ("choices", "usage")
