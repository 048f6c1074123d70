"""Pass the upstream's other fields through, unless they contain text.

These fields are not checked, so reasoning, annotations, audio and all values that read as text are
removed; names, numbers and addresses pass. Fields that the gateway sets are removed too.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from typing import Any

OURS = ("suffice", "sufficiency")
_FRAME = ("id", "object", "created", "model")
"""Fields that the gateway sets."""
_TIERS = frozenset({"auto", "default", "flex", "scale", "priority"})
_FINISHES = frozenset({"stop", "length", "content_filter"})
_CALLED = frozenset({"tool_calls", "function_call"})
_TOKEN = ("token", "logprob", "bytes")
_UNCHECKED = re.compile(r"reasoning|think|thought|audio|transcript|annotation", re.IGNORECASE)
_OPAQUE = re.compile(r"signature$|encrypted", re.IGNORECASE)
"""Opaque values that clients send back to the upstream."""
_WORDS = 3
_DEEPEST = 16
_ADDRESS = re.compile(r"https?://([\w.-]+)(?::\d+)?(/\S*)?\Z", re.IGNORECASE)
_HOST = 4
_PART = re.compile(r"[^\W\d_]{2,}")
_LETTER = re.compile(r"[^\W\d_]")
# Scripts without spaces between words.
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{4}")

_TEXT = object()


def beside(fields: Mapping[str, Any], *apart: str) -> dict[str, Any]:
    """The fields that may be released, except those in `apart`."""
    plain = _within(without_reasoning(fields, *apart, *_FRAME, *_NAMED), 0)
    named = {name: clean(fields[name]) for name, clean in _NAMED.items() if fields.get(name)}
    return {**plain, **{name: value for name, value in named.items() if value}}


def finish_of(reason: Any, calls: Any = False) -> str:
    """Map a finish reason to one of OpenAI's. `calls`: whether the choice calls tools."""
    if calls:
        return reason if reason in _CALLED else "tool_calls"
    return reason if isinstance(reason, str) and reason in _FINISHES else "stop"


def _tier(value: Any) -> str | None:
    return value if isinstance(value, str) and value in _TIERS else None


def _fingerprint(value: Any) -> str | None:
    """Hash a fingerprint. Clients only compare fingerprints."""
    if not isinstance(value, str):
        return None
    return f"fp_{hashlib.sha256(value.encode(errors='replace')).hexdigest()[:10]}"


_NAMED: dict[str, Callable[[Any], str | None]] = {
    "service_tier": _tier,
    "system_fingerprint": _fingerprint,
}


def without_reasoning(fields: Mapping[str, Any], *apart: str) -> dict[str, Any]:
    """The fields without reasoning, audio and those that the gateway sets. They may still contain
    text: whether a streamed field is text is known only at its end."""
    return {
        name: value
        for name, value in fields.items()
        if name not in apart and name not in OURS and not _silent(name, value)
    }


def logprobs_of(logprobs: Any, text: str) -> Any:
    """The logprobs if their tokens spell exactly this text; else `None`."""
    if not isinstance(logprobs, dict):
        return None
    tokens = logprobs.get("content") or []
    if logprobs.get("refusal") or not isinstance(tokens, list):
        return None
    if tokens and _joined(tokens) != text:
        return None
    refusal = {"refusal": None} if "refusal" in logprobs else {}
    return {"content": [_of_token(token) for token in tokens], **refusal}


def _of_token(token: Mapping[str, Any]) -> dict[str, Any]:
    """A token without its alternatives, which could spell a different text."""
    fields = {name: token[name] for name in _TOKEN if name in token}
    return {**fields, "top_logprobs": []}


def _joined(tokens: list[Any]) -> str | None:
    """The text of the tokens, decoded from bytes because a token can split a character."""
    if not all(isinstance(token, dict) for token in tokens):
        return None
    try:
        spelled = [bytes(token["bytes"]) for token in tokens]
        return b"".join(spelled).decode()
    except (KeyError, TypeError, ValueError):
        return "".join(str(token.get("token")) for token in tokens)


def reads_as_text(text: str) -> bool:
    """Whether a value reads as text: more than a name ("eu-west-1", "Google AI Studio"), a number
    or an address."""
    words = text.split()
    if len(words) > _WORDS or _UNSPACED.search(text):
        return True
    if len(words) == 1:
        return not _is_address(text) and len(_PART.findall(text)) > _WORDS
    if not _LETTER.search(text):
        return False
    return bool(re.search(r"\d", text)) or not all(word[0].isupper() for word in words)


def _silent(name: str, value: Any) -> bool:
    """Whether a field is never released: reasoning and audio, except for plain numbers such as
    token counts."""
    if not _UNCHECKED.search(name) or _OPAQUE.search(name):
        return False
    return not isinstance(value, int | float | None)


def _within(fields: Mapping[str, Any], depth: int) -> dict[str, Any]:
    quiet = {name: _quiet(value, depth) for name, value in without_reasoning(fields).items()}
    return {
        name: value
        for name, value in quiet.items()
        if value is not _TEXT and not reads_as_text(name)
    }


def _quiet(value: Any, depth: int) -> Any:
    """Remove text from a value."""
    if isinstance(value, str):
        return _TEXT if reads_as_text(value) else value
    if not isinstance(value, dict | list):
        return value
    if depth > _DEEPEST:
        return _TEXT
    if isinstance(value, dict):
        return _within(value, depth + 1)
    quiet = [clean for item in value if (clean := _quiet(item, depth + 1)) is not _TEXT]
    words = filter(_is_word, quiet)
    # A list can contain a text word by word.
    return (
        [item for item in quiet if not _is_word(item)] if reads_as_text(" ".join(words)) else quiet
    )


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and not _is_address(value)


def _is_address(text: str) -> bool:
    """Whether a value is an address that does not spell a sentence."""
    match = _ADDRESS.match(text)
    if match is None:
        return False
    host, path = _PART.findall(match[1]), _PART.findall(match[2] or "")
    return len(host) <= _HOST and len(path) <= _WORDS
