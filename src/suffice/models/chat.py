"""Chat completions from an OpenAI-compatible endpoint, and fences for untrusted text in prompts."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from suffice.models.wire.endpoint import Endpoint, endpoint_url
from suffice.text.one_line import one_line
from suffice.types import Kind, Passage

# Some servers expect the newer name of the token limit. Some models accept no temperature or seed.
_SPARE = {
    "max_tokens": "max_completion_tokens",
    "temperature": "",
    "seed": "",
    "stream_options": "",
    "response_format": "",
}
STOPPED = frozenset({"length", "content_filter"})
"""Finish reasons that mean an incomplete reply."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message to a model."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class ChatDelta:
    """What a reply or a stream event adds to a completion. Malformed input gives empty fields
    instead of an error."""

    text: str = ""
    finish: str = ""
    tokens: int | None = None


def chat_endpoint(url: str, key_env: str, wanted: str, timeout: float, retries: int) -> Endpoint:
    """The endpoint under a base URL, with a key from the named environment variable, if any."""
    key = os.environ.get(key_env, "").strip() if key_env else ""
    return Endpoint(
        endpoint_url(url, "chat/completions"), key, wanted, timeout, retries, spare=_SPARE
    )


def chat_body(model: str, messages: Sequence[Message], tokens: int) -> dict[str, Any]:
    """A request body that makes replies as deterministic as the server allows."""
    return {
        **({"model": model} if model else {}),
        "messages": [asdict(message) for message in messages],
        "max_tokens": tokens,
        "temperature": 0,
        "seed": 0,
    }


def read_delta(event: Any) -> ChatDelta:
    """Parse a reply or a stream event."""
    event = event if isinstance(event, dict) else {}
    usage = event.get("usage")
    total = usage.get("total_tokens") if isinstance(usage, dict) else None
    choice = _first(event.get("choices"))
    finish = choice.get("finish_reason")
    message = choice.get("delta") or choice.get("message")
    return ChatDelta(
        text_in(message) if isinstance(message, dict) else "",
        finish if isinstance(finish, str) else "",
        total if isinstance(total, int) else None,
    )


def _first(choices: Any) -> dict[str, Any]:
    found = choices[0] if isinstance(choices, list) and choices else None
    return found if isinstance(found, dict) else {}


def text_in(message: Mapping[str, Any]) -> str:
    """The text of a message: plain, in parts, or in a separate refusal field."""
    return content_in(message) or refusal_in(message)


def content_in(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        texts = (part.get("text") for part in content if isinstance(part, dict))
        content = "".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""


def refusal_in(message: Mapping[str, Any]) -> str:
    refusal = message.get("refusal")
    return refusal if isinstance(refusal, str) else ""


_LINE = 300


def fence(texts: Iterable[str]) -> str:
    """A mark that occurs in none of the texts. The same texts always give the same mark."""
    held = "\n".join(texts)
    mark = ""
    while not mark or mark in held:
        mark = hashlib.sha256(f"{mark}\n{held}".encode("utf-8", "replace")).hexdigest()[:12]
    return mark


def fenced(mark: str, name: str, text: str, about: str = "") -> str:
    """A text between its fence lines. `about` describes it on the first line."""
    head = f"{name}: {about}" if about else name
    return f"--- {mark} {head} ---\n{text}\n--- {mark} end of {name} ---"


def quoted(text: str) -> str:
    """A text for use between quotation marks: on one line, shortened, without double quotes."""
    return one_line(text.replace('"', "'"), _LINE)


def described(passage: Passage) -> str:
    """One line about the origin of a passage: title, position, version and dates."""
    parts = [f'"{quoted(passage.title or passage.document)}"']
    parts += [f'section "{quoted(passage.place)}"'] if passage.place else []
    parts += [f"version {quoted(passage.declared)}"] if passage.declared else []
    since, until = passage.effective or passage.since, passage.expires or passage.until
    parts += [f"in force from {since.isoformat()}"] if since else []
    parts += [f"until {until.isoformat()}"] if until else []
    parts += ["minutes of a discussion"] if passage.kind is Kind.DISCUSSION else []
    return ", ".join(parts)
