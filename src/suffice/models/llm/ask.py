"""Calls the LLM within the budget of a request, and adds up the cost of all calls."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from threading import Lock
from time import monotonic
from typing import Any

from suffice.errors import ModelError
from suffice.models.chat import STOPPED, Message, chat_body, fence, fenced, piece
from suffice.models.llm.replies import SUFFICIENCY_SCHEMA, SUPPORT_SCHEMA
from suffice.models.wire.client import ask
from suffice.models.wire.endpoint import Endpoint
from suffice.settings import LlmSettings

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


_CHARS_PER_TOKEN = 3
"""A low number of characters per token, so that estimates rarely fall below the actual count."""
_JSON = {"response_format": {"type": "json_object"}}
_SHORT = "Raise verifier.llm.max_tokens for a reasoning model."


@dataclass(slots=True)
class Budget:
    """What is left for a request: calls, tokens, and seconds since its start."""

    settings: LlmSettings
    calls: int = 0
    tokens: int = 0
    started: float = field(default_factory=monotonic)

    @property
    def seconds_left(self) -> float:
        return self.settings.total_seconds - (monotonic() - self.started)

    def spent(self, prompt: int) -> str:
        """Why a call with this many tokens is not possible any more; empty if it is."""
        limits = self.settings
        if self.calls >= limits.total_calls:
            return (
                f"its budget of {limits.total_calls:,} calls is used up (verifier.llm.total_calls)"
            )
        if self.seconds_left <= 0:
            return (
                f"its budget of {limits.total_seconds:g} seconds is used up "
                "(verifier.llm.total_seconds)"
            )
        if self.tokens + prompt + limits.max_tokens > limits.total_tokens:
            return (
                f"a call of about {prompt:,} tokens and its reply would exceed its budget of "
                f"{limits.total_tokens:,} tokens (verifier.llm.total_tokens)"
            )
        return ""


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost so far. Judgements from the cache are free."""

    calls: int = 0
    tokens: int = 0
    seconds: float = 0.0
    cached: int = 0


class Meter:
    """Adds up costs; thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._cost = Cost()

    @property
    def cost(self) -> Cost:
        return self._cost

    def add(self, more: Cost) -> None:
        with self._lock:
            held = self._cost
            self._cost = Cost(
                held.calls + more.calls,
                held.tokens + more.tokens,
                held.seconds + more.seconds,
                held.cached + more.cached,
            )


_metered: ContextVar[Meter | None] = ContextVar("metered", default=None)


@contextmanager
def metered(meter: Meter) -> Iterator[None]:
    """Also add the cost of all calls in this block to `meter`, for example that of one answer."""
    token = _metered.set(meter)
    try:
        yield
    finally:
        _metered.reset(token)


@dataclass(frozen=True, slots=True)
class Llm:
    """A model at an OpenAI-compatible endpoint."""

    endpoint: Endpoint
    model: str
    meter: Meter = field(default_factory=Meter, compare=False)

    @property
    def name(self) -> str:
        return self.model or "llm"

    def reply(self, prompt: Prompt, budget: Budget) -> str:
        """The raw reply. Raise `ModelError` if the budget is used up, or if the call fails or is
        cut off."""
        size = _estimate(prompt.text)
        if why := budget.spent(size):
            raise ModelError(f"{why[0].upper()}{why[1:]}.", remedy="Raise that setting.")
        body = chat_body(self.model, prompt.messages, budget.settings.max_tokens)
        endpoint = replace(self.endpoint, lesser=_JSON)
        start, used = monotonic(), size
        try:
            wanted = {"response_format": prompt.format}
            got = piece(ask(endpoint, body | wanted, budget.seconds_left))
            used = max(got.tokens, 0) if got.tokens is not None else size + _estimate(got.text)
        finally:
            budget.calls += 1
            budget.tokens += used
            cost = Cost(1, used, monotonic() - start)
            for meter in filter(None, (self.meter, _metered.get())):
                meter.add(cost)
        if got.finish in STOPPED:
            raise self.endpoint.problem(f"its reply was cut off ({got.finish})", _SHORT)
        return got.text


def _estimate(text: str) -> int:
    return -(-len(text) // _CHARS_PER_TOKEN)
