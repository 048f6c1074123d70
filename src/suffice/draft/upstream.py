"""The drafter behind any OpenAI-compatible endpoint."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from suffice.draft.brief import PLAIN, Brief
from suffice.draft.flags import flag_notes, flagged
from suffice.draft.prompt import messages
from suffice.draft.reading import read_draft
from suffice.draft.shown import Rank, left_out, shown
from suffice.errors import ModelUnreachable
from suffice.models.chat import Message, chat_body, chat_endpoint, piece
from suffice.models.wire import Endpoint
from suffice.settings import DraftSettings
from suffice.types import Draft, Evidence, Passage

_CUT = {
    "length": "The draft broke off at its limit of tokens (draft.tokens).",
    "content_filter": "The draft was broken off by a content filter on the other side.",
}
_CHARACTERS_A_TOKEN = 4
_EMPTY = "Check that the model writes text, and raise draft.tokens if it thinks first."


@dataclass(frozen=True, slots=True)
class Upstream:
    """Asks the endpoint for a draft, as a whole or piece by piece."""

    endpoint: Endpoint
    model: str
    settings: DraftSettings
    rank: Rank
    """Which statements come first where there is no room for all evidence."""

    @classmethod
    def open(cls, settings: DraftSettings, rank: Rank) -> Upstream:
        """Asks nothing yet."""
        endpoint = chat_endpoint(
            settings.llm, settings.key_env, "draft", settings.timeout, settings.retries
        )
        return cls(endpoint, settings.model, settings, rank)

    def write(self, evidence: Evidence, brief: Brief = PLAIN) -> Draft:
        prompt, reply = self._begun(evidence, brief)
        if evidence.passages:
            reply.hear(self.endpoint.ask(self._body(prompt), brief.seconds))
        return reply.draft(self.endpoint)

    def stream(self, evidence: Evidence, brief: Brief = PLAIN) -> Stream:
        """The draft as it is written. What is shown of it before it is checked is unchecked."""
        prompt, reply = self._begun(evidence, brief)
        body = self._body(prompt) | {"stream": True, "stream_options": {"include_usage": True}}
        events = self.endpoint.events(body, brief.seconds) if evidence.passages else iter(())
        return Stream(self.endpoint, events, reply)

    @property
    def name(self) -> str:
        return self.model or self.endpoint.name

    def _begun(self, evidence: Evidence, brief: Brief) -> tuple[Sequence[Message], _Reply]:
        parts, flags = shown(evidence, self.settings.room, self.rank), flagged(evidence)
        notes = (*left_out(evidence, parts), *flag_notes(flags))
        prompt = messages(evidence.question, parts, brief, flags)
        asked = sum(len(message.content) for message in prompt)
        return prompt, _Reply(self.name, evidence.passages, notes, asked)

    def _body(self, prompt: Sequence[Message]) -> dict[str, Any]:
        return chat_body(self.model, prompt, self.settings.tokens)


@dataclass(slots=True)
class Stream:
    """Pieces of a draft, once; then `draft`. A stream that breaks off ends, and its draft is cut;
    one that breaks off before its first word is an error."""

    endpoint: Endpoint
    events: Iterator[Any]
    reply: _Reply

    def __iter__(self) -> Iterator[str]:
        try:
            for event in self.events:
                if said := self.reply.hear(event):
                    yield said
        except ModelUnreachable as problem:
            if not self.reply.text.strip():
                raise
            self.reply.broke(problem)

    @property
    def draft(self) -> Draft:
        """The whole draft; what was not read yet is read now."""
        for _ in self:
            pass
        return self.reply.draft(self.endpoint)


@dataclass(slots=True)
class _Reply:
    """What has been heard of a reply."""

    drafter: str
    passages: Sequence[Passage]
    notes: tuple[str, ...]
    asked: int
    """The characters of the prompt, to estimate its tokens where they are not told."""
    text: str = ""
    finish: str = ""
    tokens: int = 0
    broken: str = ""
    """Why it broke off, where it did."""

    def hear(self, event: Any) -> str:
        """What this event adds to the text."""
        heard = piece(event)
        self.tokens = self.tokens if heard.tokens is None else heard.tokens
        self.finish = heard.finish or self.finish
        self.text += heard.text
        return heard.text

    def broke(self, problem: ModelUnreachable) -> None:
        # A text that ended with a reason of its own is whole, whatever came of the line after it.
        if not self.finish:
            self.broken = f"The draft broke off: {problem.message}"

    def draft(self, endpoint: Endpoint) -> Draft:
        """The draft this is; from no evidence none is asked for, and none is written."""
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
            ended = f" (it ended by {self.finish})" if self.finish else ""
            raise endpoint.problem(f"its reply holds no text{ended}", _EMPTY)
        return draft
