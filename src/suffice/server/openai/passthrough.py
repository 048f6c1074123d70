"""Pass the upstream's other fields through, unless they contain text.

These fields are not checked. Therefore reasoning, audio and every value that reads as text are
removed; names, numbers and addresses pass. Field names that the gateway uses itself are removed
too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

OURS = ("suffice", "sufficiency")
_KNOWN = frozenset({"id", "object", "created", "model", "system_fingerprint", "service_tier"})
_UNCHECKED = re.compile(r"reasoning|think|thought|audio|transcript", re.IGNORECASE)
_OPAQUE = re.compile(r"signature$|encrypted", re.IGNORECASE)
"""Values that only the upstream can read, and that clients send back to it."""
_WORDS = 3
_DEEPEST = 16
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://\S*\Z", re.IGNORECASE)
_LETTER = re.compile(r"[^\W\d_]")
# Scripts that put no spaces between words.
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{4}")

_SPEAKS = object()


def beside(fields: Mapping[str, Any], *apart: str) -> dict[str, Any]:
    """The fields that may be released, except `apart`, which the caller handles itself."""
    plain = (name for name in fields.keys() & _KNOWN if not isinstance(fields[name], dict | list))
    known = {name: fields[name] for name in sorted(plain)}
    return {**known, **_within(unheard(fields, *apart, *_KNOWN), 0)}


def unheard(fields: Mapping[str, Any], *apart: str) -> dict[str, Any]:
    """The same for fields that are still growing: whether they contain text is known at the end."""
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
    own = {name: value for name, value in logprobs.items() if name in ("content", "refusal")}
    return {**beside(logprobs, *own), **own}


def _joined(tokens: list[Any]) -> str | None:
    """The text that tokens spell, from their bytes, because tokens can split a character."""
    if not all(isinstance(one, dict) for one in tokens):
        return None
    try:
        spelled = [bytes(one["bytes"]) for one in tokens]
        return b"".join(spelled).decode()
    except (KeyError, TypeError, ValueError):
        return "".join(str(one.get("token")) for one in tokens)


def speaks(text: str) -> bool:
    """Whether a value reads as text: more than a name, a number or an address."""
    words = text.split()
    if len(words) > _WORDS or _UNSPACED.search(text):
        return True
    return len(words) > 1 and bool(re.search(r"\d", text) and _LETTER.search(text))


def _silent(name: str, value: Any) -> bool:
    """Whether a field is never released: reasoning and audio, except for plain numbers such as
    token counts."""
    if not _UNCHECKED.search(name) or _OPAQUE.search(name):
        return False
    return not isinstance(value, int | float | None)


def _within(fields: Mapping[str, Any], depth: int) -> dict[str, Any]:
    quiet = {name: _quiet(value, depth) for name, value in unheard(fields).items()}
    return {
        name: value for name, value in quiet.items() if value is not _SPEAKS and not speaks(name)
    }


def _quiet(value: Any, depth: int) -> Any:
    """A value without the texts in it."""
    if isinstance(value, str):
        return _SPEAKS if speaks(value) else value
    if not isinstance(value, dict | list):
        return value
    if depth > _DEEPEST:
        return _SPEAKS
    if isinstance(value, dict):
        return _within(value, depth + 1)
    quiet = [kept for one in value if (kept := _quiet(one, depth + 1)) is not _SPEAKS]
    words = filter(_is_word, quiet)
    # A list may spell out a text word by word.
    return [one for one in quiet if not _is_word(one)] if speaks(" ".join(words)) else quiet


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and not _ADDRESS.match(value)
