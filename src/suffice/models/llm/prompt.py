"""Builds the prompts. The evidence comes first, so that providers can cache it between questions.

The prompt texts are versioned files in models/prompts. Their versions are part of the verifier's id
and of every cache key. Passages, question and claims are data: each is fenced by a mark that is
derived from the content and occurs in none of the texts.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from suffice.models.chat import Message
from suffice.models.llm.replies import SUFFICIENCY_SCHEMA, SUPPORT_SCHEMA
from suffice.text.fenced import fence, fenced

SUPPORT = "support-2"
SUFFICIENCY = "sufficiency-1"
_SCHEMAS = {SUPPORT: SUPPORT_SCHEMA, SUFFICIENCY: SUFFICIENCY_SCHEMA}
_PARTS = "\n=====\n"


@dataclass(frozen=True, slots=True)
class ClaimToJudge:
    """A claim, and the passages (counted from 1) it is judged by; all if empty."""

    claim: str
    passages: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Prompt:
    """The complete prompt of a call. The same content gives the same text. Without claims, it asks
    whether the passages are enough."""

    passages: tuple[str, ...]
    question: str
    claims: tuple[ClaimToJudge, ...] = ()
    _messages: tuple[Message, Message] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        system, closing = _file(self.version)
        user = "\n\n".join((*self._blocks(), closing))
        object.__setattr__(self, "_messages", (Message("system", system), Message("user", user)))

    @property
    def version(self) -> str:
        return SUPPORT if self.claims else SUFFICIENCY

    @property
    def messages(self) -> tuple[Message, Message]:
        return self._messages

    @property
    def text(self) -> str:
        return "\n".join(message.content for message in self._messages)

    @property
    def format(self) -> Mapping[str, Any]:
        """The reply schema for `response_format`. It depends on the version alone."""
        name, schema = self.version.replace("-", "_"), _SCHEMAS[self.version]
        held = {"name": name, "strict": True, "schema": schema}
        return {"type": "json_schema", "json_schema": held}

    def _blocks(self) -> Iterator[str]:
        passages = [visible(text) for text in self.passages]
        rest = [visible(self.question), *(visible(one.claim) for one in self.claims)]
        last = fence([*passages, *rest])
        # The mark depends only on the passages, so that prompts for other claims start with the
        # same text.
        first = fence(passages)
        first = last if any(first in text for text in rest) else first
        for n, text in enumerate(passages, 1):
            yield fenced(first, f"passage {n}", text)
        if self.question:
            yield fenced(last, "question", rest[0])
        if self.claims:
            yield fenced(last, "claims", "\n".join(_lines(self.claims, rest[1:])))


def _lines(claims: Sequence[ClaimToJudge], texts: Sequence[str]) -> Iterator[str]:
    """One line per claim, quoted as JSON so that a claim cannot forge another line."""
    for n, (one, text) in enumerate(zip(claims, texts, strict=True), 1):
        only = ", ".join(map(str, one.passages))
        limit = f" (judge by passages {only} only)" if only else ""
        yield f"claim {n}{limit}: {json.dumps(' '.join(text.split()), ensure_ascii=False)}"


def visible(text: str) -> str:
    """The text without invisible characters, which can hide instructions."""
    return "".join(char for char in text if unicodedata.category(char) != "Cf")


@cache
def _file(version: str) -> tuple[str, str]:
    """The system message and the final text of a prompt."""
    path = resources.files("suffice.models") / "prompts" / f"{version}.txt"
    system, _, closing = path.read_text("utf-8").partition(_PARTS)
    return system.strip(), closing.strip()
