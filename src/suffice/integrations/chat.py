"""Checks chat completions in OpenAI's format, as the OpenAI SDK and LiteLLM return them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from suffice.evidence.inputs import Given
from suffice.integrations.guard import Checked

Check = Callable[[str], Checked]
_MESSAGE = ("role", "content", "refusal", "tool_calls", "function_call")
_CHOICE = ("index", "message", "delta", "finish_reason")
Passages = Iterable[Given] | Given


def question_of(messages: Iterable[Any]) -> str:
    """The text of the last message of the user."""
    for message in reversed(list(messages or ())):
        if _get(message, "role") == "user":
            return _text(_get(message, "content"))
    return ""


def checked_completion(completion: Any, check: Check) -> Any:
    """The completion with every choice checked, changed in place. Text that no check reads, such as
    reasoning, is removed. A withheld answer is replaced, and fields that repeat it are removed."""
    verdicts = []
    for choice in completion.choices:
        answer = _answer(choice.message)
        if not answer:  # a tool call, or a refusal of the model itself
            continue
        found = check(answer)
        verdicts.append(found.summary)
        _strip(choice.message, _read(choice.message, changed=found.changed))
        if found.changed:
            _strip(choice, _CHOICE)
            choice.message.content = found.text
            choice.finish_reason = "stop"
    if verdicts:
        completion.suffice = verdicts[0] if len(verdicts) == 1 else verdicts
    return completion


def checked_chunks(chunks: Sequence[Any], check: Check) -> Sequence[Any]:
    """The chunks of a complete stream, every choice checked, changed in place. The refusal stands
    in the first chunk of a withheld choice; its other chunks carry no text."""
    deltas: dict[int, list[Any]] = {}
    for chunk in chunks:
        for choice in chunk.choices:
            deltas.setdefault(choice.index, []).append(choice)
    for choices in deltas.values():
        answer = "".join(_answer(choice.delta) for choice in choices)
        if not answer:
            continue
        found = check(answer)
        for choice in choices:
            _strip(choice.delta, _read(choice.delta, changed=found.changed))
        if not found.changed:
            continue
        for place, choice in enumerate(choices):
            _strip(choice, _CHOICE)
            choice.delta.content = found.text if place == 0 else None
            choice.finish_reason = choice.finish_reason and "stop"
    return chunks


def _read(message: Any, *, changed: bool) -> Sequence[str]:
    """The fields of a message whose text was checked, or is of another kind."""
    spoken = not changed and not _text(message.content)
    return (*_MESSAGE, "audio") if spoken else _MESSAGE


def _answer(message: Any) -> str:
    if message is None:
        return ""
    said = _text(message.content)
    return said or str(_get(getattr(message, "audio", None), "transcript") or "")


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(_get(part, "text") or "") for part in content or ()).strip()


def _get(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, Mapping) else getattr(value, key, None)


def _strip(value: Any, kept: Sequence[str]) -> None:
    """Remove all fields of a response object but these."""
    others = set(value.model_extra or ())
    for name in value.model_fields_set - others - set(kept):
        setattr(value, name, None)
    for name in others - set(kept):
        delattr(value, name)
