"""The drafter that asks the user's LLM."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from suffice.draft.prompt import Rank, left_out, messages, shown
from suffice.draft.reading import PLAIN, Brief, read_draft
from suffice.errors import ModelUnreachable
from suffice.evidence.sanitize import flagged, sanitized
from suffice.models.chat import Message, read_delta
from suffice.models.llm.client import Llm, LlmUse, open_llm
from suffice.models.wire.endpoint import Endpoint
from suffice.settings import DraftSettings
from suffice.types import Draft, Evidence, Passage

DRAFTING = LlmUse("draft", "draft.llm", "draft.max_tokens")
_CUT = {
    "length": "The draft was cut off at the token limit (draft.max_tokens).",
    "content_filter": "The draft was cut off by the upstream's content filter.",
}
_CHARACTERS_A_TOKEN = 4
_EMPTY = (
    "Check that the model writes text, and raise draft.max_tokens if it reasons before it answers."
)


@dataclass(frozen=True, slots=True)
class LlmDrafter:
    """Requests a draft from the LLM, all at once or streamed."""

    llm: Llm
    settings: DraftSettings
    rank: Rank
    """Ranks statements if not all of the evidence fits into the prompt."""

    @classmethod
    def open(cls, settings: DraftSettings, rank: Rank) -> LlmDrafter:
        """Open the endpoint. Sends no request yet."""
        llm = open_llm(
            DRAFTING,
            url=settings.llm,
            model=settings.model,
            key_env=settings.key_env,
            timeout=settings.timeout,
            retries=settings.retries,
            max_tokens=settings.max_tokens,
        )
        return cls(llm, settings, rank)

    def write(self, evidence: Evidence, brief: Brief = PLAIN) -> Draft:
        prompt, reply = self._begun(evidence, brief)
        if evidence.passages:
            reply.add(self.llm.complete(prompt, brief.seconds))
        return reply.draft(self.llm.endpoint)

    def stream(self, evidence: Evidence, brief: Brief = PLAIN) -> Stream:
        """Stream the draft. Its pieces are unchecked text."""
        prompt, reply = self._begun(evidence, brief)
        chunks = self.llm.stream(prompt, brief.seconds) if evidence.passages else iter(())
        return Stream(self.llm.endpoint, chunks, reply)

    @property
    def name(self) -> str:
        return self.llm.model or self.llm.endpoint.name

    def _begun(self, evidence: Evidence, brief: Brief) -> tuple[Sequence[Message], _Reply]:
        parts = shown(sanitized(evidence), self.settings.max_evidence_characters, self.rank)
        notes = left_out(sanitized(evidence), parts)
        prompt = messages(evidence.question, parts, brief, flagged(evidence))
        size = sum(len(message.content) for message in prompt)
        return prompt, _Reply(self.name, evidence.passages, notes, size)


@dataclass(slots=True)
class Stream:
    """A streamed draft: iterate over its pieces once, then read `draft`. If the connection breaks,
    the stream ends and the draft is marked as cut; before the first word, it raises instead."""

    endpoint: Endpoint
    chunks: Iterator[Any]
    reply: _Reply

    def __iter__(self) -> Iterator[str]:
        try:
            for chunk in self.chunks:
                if text := self.reply.add(chunk):
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
    prompt_size: int
    """The number of characters in the prompt, to estimate tokens if usage is not reported."""
    text: str = ""
    finish: str = ""
    tokens: int = 0
    broken: str = ""
    """Why the reply was cut off, if it was."""

    def add(self, chunk: Any) -> str:
        """Add a chunk, or a whole completion, and return its text."""
        delta = read_delta(chunk)
        self.tokens = self.tokens if delta.tokens is None else delta.tokens
        self.finish = delta.finish or self.finish
        self.text += delta.text
        return delta.text

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
            tokens=self.tokens or (self.prompt_size + len(self.text)) // _CHARACTERS_A_TOKEN,
        )
        if self.passages and not draft.text:
            ended = f" (finish reason: {self.finish})" if self.finish else ""
            raise endpoint.problem(f"its reply contains no text{ended}", _EMPTY)
        return draft
