"""The client of the user's LLM: opens its endpoint and asks it within a budget."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from threading import Lock
from time import monotonic
from typing import Any

from suffice.errors import ModelError, SettingsError
from suffice.models.chat import STOPPED, Message, chat_body, chat_endpoint, read_delta
from suffice.models.llm.prompts import Prompt
from suffice.models.wire.client import ask, events
from suffice.models.wire.endpoint import Endpoint
from suffice.settings import DraftSettings

_CHARS_PER_TOKEN = 3
"""A low number of characters per token, so that estimates rarely fall below the actual count."""
_JSON = {"response_format": {"type": "json_object"}}


@dataclass(slots=True)
class Budget:
    """What the calls of one request may use: seconds since its start and, if limited, calls and
    tokens. The names are those of the settings that limit them."""

    seconds: float
    seconds_setting: str
    total_calls: int | None = None
    total_tokens: int | None = None
    calls: int = 0
    tokens: int = 0
    started: float = field(default_factory=monotonic)

    @property
    def seconds_left(self) -> float:
        return self.seconds - (monotonic() - self.started)

    def spent(self, prompt: int, reply: int) -> str:
        """Why a call with this many tokens is not possible any more; empty if it is."""
        if self.total_calls is not None and self.calls >= self.total_calls:
            return f"its budget of {self.total_calls:,} calls is used up (verifier.llm.total_calls)"
        if self.seconds_left <= 0:
            return f"its budget of {self.seconds:g} seconds is used up ({self.seconds_setting})"
        if self.total_tokens is not None and self.tokens + prompt + reply > self.total_tokens:
            return (
                f"a call of about {prompt:,} tokens and its reply would exceed its budget of "
                f"{self.total_tokens:,} tokens (verifier.llm.total_tokens)"
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
            total = self._cost
            self._cost = Cost(
                total.calls + more.calls,
                total.tokens + more.tokens,
                total.seconds + more.seconds,
                total.cached + more.cached,
            )


_metered: ContextVar[Meter | None] = ContextVar("metered", default=None)


@contextmanager
def metered(meter: Meter) -> Iterator[None]:
    """Also add the cost of the verifier's calls in this block to `meter`, for example that of one
    answer."""
    token = _metered.set(meter)
    try:
        yield
    finally:
        _metered.reset(token)


@dataclass(frozen=True, slots=True)
class Llm:
    """A model at an OpenAI-compatible endpoint. Only an LLM with a `meter` adds to the cost of an
    answer."""

    endpoint: Endpoint
    model: str = ""
    max_tokens: int = 1024
    tokens_setting: str = "draft.max_tokens"
    meter: Meter | None = field(default=None, compare=False)

    @property
    def name(self) -> str:
        return self.model or "llm"

    def reply(self, prompt: Prompt[Any], budget: Budget) -> str:
        """The text of the reply. Raises `ModelError` if the budget is used up, or if the call
        fails or is cut off."""
        size = _estimate(prompt.text)
        if why := budget.spent(size, self.max_tokens):
            raise ModelError(f"{why[0].upper()}{why[1:]}.", remedy="Raise that setting.")
        body = self._body(prompt.messages) | {"response_format": prompt.response_format}
        start, used = monotonic(), size
        try:
            endpoint = replace(self.endpoint, lesser=_JSON)
            reply = read_delta(ask(endpoint, body, budget.seconds_left))
            used = size + _estimate(reply.text) if reply.tokens is None else max(reply.tokens, 0)
        finally:
            budget.calls += 1
            budget.tokens += used
            self._charge(Cost(1, used, monotonic() - start))
        if reply.finish in STOPPED:
            raise self.endpoint.problem(
                f"its reply was cut off ({reply.finish})",
                f"Raise {self.tokens_setting} for a reasoning model.",
            )
        return reply.text

    def complete(self, messages: Sequence[Message], seconds: float | None) -> dict[str, Any]:
        """The whole completion, as the endpoint returns it."""
        return ask(self.endpoint, self._body(messages), seconds)

    def stream(self, messages: Sequence[Message], seconds: float | None) -> Iterator[Any]:
        """The chunks of a streamed completion."""
        body = self._body(messages) | {"stream": True, "stream_options": {"include_usage": True}}
        return events(self.endpoint, body, seconds)

    def _body(self, messages: Sequence[Message]) -> dict[str, Any]:
        return chat_body(self.model, messages, self.max_tokens)

    def _charge(self, cost: Cost) -> None:
        if self.meter is not None:
            for meter in filter(None, (self.meter, _metered.get())):
                meter.add(cost)


@dataclass(frozen=True, slots=True)
class LlmUse:
    """What an LLM is used for: what it returns, and the settings of its URL and its token limit,
    for messages."""

    expected: str
    url_setting: str
    tokens_setting: str


def open_llm(
    use: LlmUse,
    *,
    url: str,
    model: str,
    key_env: str,
    timeout: float,
    retries: int,
    max_tokens: int,
    drafter: DraftSettings | None = None,
) -> Llm:
    """The LLM at a URL. Sends no request. With `drafter`, it is the LLM that drafts, with its key;
    no other URL receives that key."""
    address = drafter.llm if drafter else url
    if not address.startswith(("http://", "https://")):
        raise SettingsError(
            f"No LLM is configured: {use.url_setting} is '{url}'"
            + (f", and draft.llm is '{address}'." if drafter else "."),
            remedy=f"Set {use.url_setting} to the base URL of an OpenAI-compatible endpoint.",
        )
    if drafter:
        key_env, model = key_env or drafter.key_env, model or drafter.model
    endpoint = chat_endpoint(address, key_env, use.expected, timeout, retries)
    return Llm(endpoint, model, max_tokens, use.tokens_setting)


def _estimate(text: str) -> int:
    return -(-len(text) // _CHARS_PER_TOKEN)
