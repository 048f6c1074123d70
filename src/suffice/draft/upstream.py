"""The drafter that uses an OpenAI-compatible endpoint."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from suffice.draft.prompt import Rank, left_out, messages, shown
from suffice.draft.reading import PLAIN, Brief, read_draft
from suffice.errors import ModelUnreachable
from suffice.evidence.sanitize import flagged, sanitized
from suffice.models.chat import Message, chat_body, chat_endpoint, piece
from suffice.models.wire.client import ask, events
from suffice.models.wire.endpoint import Endpoint
from suffice.settings import DraftSettings
from suffice.types import Draft, Evidence, Passage

_CUT = {
    "length": "The draft was cut off at the token limit (draft.max_tokens).",
    "content_filter": "The draft was cut off by the upstream's content filter.",
}
_CHARACTERS_A_TOKEN = 4
_EMPTY = (
    "Check that the model writes text, and raise draft.max_tokens if it reasons before it answers."
)


@dataclass(frozen=True, slots=True)
class Upstream:
    """Requests a draft from the endpoint, all at once or streamed."""

    endpoint: Endpoint
    model: str
    settings: DraftSettings
    rank: Rank
    """Ranks statements if not all of the evidence fits into the prompt."""

    @classmethod
    def open(cls, settings: DraftSettings, rank: Rank) -> Upstream:
        """Open the endpoint. Sends no request yet."""
        endpoint = chat_endpoint(
            settings.llm, settings.key_env, "draft", settings.timeout, settings.retries
        )
        return cls(endpoint, settings.model, settings, rank)

    def write(self, evidence: Evidence, brief: Brief = PLAIN) -> Draft:
        prompt, reply = self._begun(evidence, brief)
        if evidence.passages:
            reply.hear(ask(self.endpoint, self._body(prompt), brief.seconds))
        return reply.draft(self.endpoint)

    def stream(self, evidence: Evidence, brief: Brief = PLAIN) -> Stream:
        """Stream the draft. Its pieces are unchecked text."""
        prompt, reply = self._begun(evidence, brief)
        body = self._body(prompt) | {"stream": True, "stream_options": {"include_usage": True}}
        came = events(self.endpoint, body, brief.seconds) if evidence.passages else iter(())
        return Stream(self.endpoint, came, reply)

    @property
    def name(self) -> str:
        return self.model or self.endpoint.name

    def _begun(self, evidence: Evidence, brief: Brief) -> tuple[Sequence[Message], _Reply]:
        parts = shown(sanitized(evidence), self.settings.max_evidence_characters, self.rank)
        notes = left_out(sanitized(evidence), parts)
        prompt = messages(evidence.question, parts, brief, flagged(evidence))
        asked = sum(len(message.content) for message in prompt)
        return prompt, _Reply(self.name, evidence.passages, notes, asked)

    def _body(self, prompt: Sequence[Message]) -> dict[str, Any]:
        return chat_body(self.model, prompt, self.settings.max_tokens)


@dataclass(slots=True)
class Stream:
    """A streamed draft: iterate over its pieces once, then read `draft`. If the connection breaks,
    the stream ends and the draft is marked as cut; before the first word, it raises instead."""

    endpoint: Endpoint
    events: Iterator[Any]
    reply: _Reply

    def __iter__(self) -> Iterator[str]:
        try:
            for event in self.events:
                if text := self.reply.hear(event):
                    yield text
        except ModelUnreachable as problem:
            if not self.reply.text.strip():
                raise
            self.reply.broke(problem)

    @property
    def draft(self) -> Draft:
        """The whole draft; reads the rest of the stream first."""
        for _ in self:
            pass
        return self.reply.draft(self.endpoint)


@dataclass(slots=True)
class _Reply:
    """The part of a reply received so far."""

    drafter: str
    passages: Sequence[Passage]
    notes: tuple[str, ...]
    asked: int
    """The number of characters in the prompt, to estimate tokens if usage is not reported."""
    text: str = ""
    finish: str = ""
    tokens: int = 0
    broken: str = ""
    """Why the reply was cut off, if it was."""

    def hear(self, event: Any) -> str:
        """Add an event and return its text."""
        part = piece(event)
        self.tokens = self.tokens if part.tokens is None else part.tokens
        self.finish = part.finish or self.finish
        self.text += part.text
        return part.text

    def broke(self, problem: ModelUnreachable) -> None:
        # With a finish reason the text is complete, even if the connection broke afterwards.
        if not self.finish:
            self.broken = f"The draft was cut off: {problem.message}"

    def draft(self, endpoint: Endpoint) -> Draft:
        """The parsed draft. Without evidence no request is sent, and the draft is empty."""
        why = self.broken or _CUT.get(self.finish, "")
        draft = read_draft(
            self.text,
            self.passages,
            drafter=self.drafter,
            cut=bool(why),
            notes=(*filter(None, [why]), *self.notes),
            tokens=self.tokens or (self.asked + len(self.text)) // _CHARACTERS_A_TOKEN,
        )
        if self.passages and not draft.text:
            ended = f" (finish reason: {self.finish})" if self.finish else ""
            raise endpoint.problem(f"its reply contains no text{ended}", _EMPTY)
        return draft
