"""The reply of an upstream: its choices as drafts that can be checked, and its token usage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from suffice.checks.unread import unread
from suffice.draft.reading import THOUGHT, draft_of_rendered, read_draft, storable, thought_aloud
from suffice.models.chat import STOPPED, text_in
from suffice.server.errors import encode
from suffice.text.released import Rendered, rendered, rendered_json
from suffice.text.tables import flatten
from suffice.types import Draft, Evidence, Passage

_A_TOKEN = 4
_MOST_TOKENS = 1_000_000_000
_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")
_BROKE_OFF = {
    "length": "The draft was cut off at the token limit.",
    "content_filter": "The draft was cut off by the upstream's content filter.",
}


@dataclass(frozen=True, slots=True)
class DraftedChoice:
    """An upstream's choice and its draft (`None` if it calls tools). `long`: the text exceeds the
    limit, and the draft is only its beginning, without claims. `seconds` is how long it took."""

    choice: Mapping[str, Any]
    draft: Draft | None
    long: bool = False
    seconds: float = 0.0


def choices_in(raw: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The choices of a completion."""
    choices = raw.get("choices")
    return (
        [choice for choice in choices if isinstance(choice, dict)]
        if isinstance(choices, list)
        else []
    )


def drafts_in(
    raw: Mapping[str, Any],
    passages: Sequence[Passage],
    *,
    structured: bool = False,
    n: int | None = None,
    most: int,
) -> list[DraftedChoice]:
    """The first `n` choices of a completion. A choice without text has an empty draft; a text of
    more than `most` characters is not split into claims."""
    model, tokens = str(raw.get("model") or ""), usage_of(raw)["total_tokens"]

    def drafted(choice: dict[str, Any]) -> DraftedChoice:
        if calls_tools(choice):
            return DraftedChoice(choice, None)
        text = _text(choice)
        if len(text) > most:
            return DraftedChoice(choice, beginning(text, most, model), long=True)
        draft = draft_of(
            text,
            passages,
            drafter=model,
            finish=str(choice.get("finish_reason") or ""),
            structured=structured,
            tokens=tokens,
        )
        return DraftedChoice(choice, draft)

    return [drafted(choice) for choice in choices_in(raw)[:n]]


def beginning(text: str, most: int, drafter: str) -> Draft:
    """A draft with the beginning of a text that exceeds the limit."""
    return Draft(rendered(storable(text[:most])).text, drafter=drafter, cut=True)


def beside_call(text: str, most: int, evidence: Evidence) -> str | None:
    """The text next to a tool call, or `None` if it states something, which would need checks."""
    if len(text) > most:
        return None
    draft = draft_of(text, evidence.passages)
    return None if draft.claims or unread(draft, evidence) else draft.text


def calls_tools(choice: Mapping[str, Any]) -> bool:
    message = choice.get("message")
    if not isinstance(message, dict):
        return False
    return bool(message.get("tool_calls") or message.get("function_call"))


def content_of(choice: Mapping[str, Any]) -> str:
    """The text of a choice, including a refusal in its own field, without leading reasoning. It is
    raw: only a draft or `structured_of` may be released."""
    text = storable(_text(choice))
    thought = thought_aloud(text)
    return text if thought == 0 else "" if thought is None else text[thought:].strip()


def structured_of(choice: Mapping[str, Any]) -> str:
    """The structured output of a choice as it may be released: the text that its draft states."""
    return rendered_json(content_of(choice)).text


def _text(choice: Mapping[str, Any]) -> str:
    message = choice.get("message")
    return text_in(message) if isinstance(message, dict) else ""


def draft_of(
    text: str,
    passages: Sequence[Passage],
    *,
    drafter: str = "",
    finish: str = "stop",
    structured: bool = False,
    tokens: int = 0,
) -> Draft:
    """A text as a draft. Structured output is flattened to lines of names and values."""
    notes = tuple(filter(None, [_BROKE_OFF.get(finish, "")]))
    cut = finish in STOPPED
    if not structured:
        return read_draft(text, passages, drafter=drafter, cut=cut, notes=notes, tokens=tokens)
    text = storable(text)
    if (thought := thought_aloud(text)) != 0:
        text, notes = "" if thought is None else text[thought:], (*notes, THOUGHT)
    shown = rendered_json(text.strip())
    stated = Rendered(flatten(shown.text), shown.removed)
    return draft_of_rendered(stated, passages, drafter=drafter, cut=cut, notes=notes, tokens=tokens)


def usage_of(raw: Mapping[str, Any]) -> dict[str, int]:
    """The token usage that a completion reports."""
    usage = raw.get("usage")
    reported = usage if isinstance(usage, dict) else {}
    return {name: _count(reported.get(name)) for name in _COUNTS}


def _count(value: Any) -> int:
    """A token count; 0 if the value is not plausible."""
    return value if isinstance(value, int) and 0 <= value <= _MOST_TOKENS else 0


def estimated(body: Mapping[str, Any], length: int) -> dict[str, int]:
    """Estimate the usage from the number of characters if the upstream did not report it, so that
    limits still apply. `length` is the number of characters of the reply."""
    prompt, written = len(encode(body)) // _A_TOKEN, length // _A_TOKEN
    total = prompt + written
    return {"prompt_tokens": prompt, "completion_tokens": written, "total_tokens": total}


def added(first: Mapping[str, Any], *others: Mapping[str, Any]) -> dict[str, Any]:
    """The total usage of several calls. Other fields of the first call's usage are kept."""
    reported = first.get("usage")
    total = usage_of(first)
    for other in others:
        total = {name: total[name] + usage_of(other)[name] for name in _COUNTS}
    return {**(reported if isinstance(reported, dict) else {}), **total}
