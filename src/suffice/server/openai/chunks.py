"""Split a completion into chunks that SDKs can parse."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from suffice.server.openai.completion import Choice, sufficiency_of

CHUNK = "chat.completion.chunk"


def frame(whole: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that all chunks of a completion share."""
    apart = ("object", "choices", "usage", "suffice", "sufficiency")
    return {**{k: v for k, v in whole.items() if k not in apart}, "object": CHUNK}


def chunk(
    base: Mapping[str, Any],
    index: int,
    delta: Mapping[str, Any],
    finish: str | None = None,
    **more: Any,
) -> dict[str, Any]:
    choice = {"index": index, "delta": dict(delta), "finish_reason": finish}
    return {**base, "choices": [choice], **more}


def chunks(
    whole: Mapping[str, Any], choices: Sequence[Choice], *, usage: bool
) -> Iterator[dict[str, Any]]:
    """The chunks of an answer: role, content, finish reason with verdict, and usage if
    requested."""
    base = frame(whole)
    for n, choice in enumerate(choices):
        yield chunk(base, n, {"role": "assistant", "content": ""})
        others = dict(choice.others)
        if choice.content:
            yield chunk(base, n, {"content": choice.content})
        if choice.refusal:
            yield chunk(base, n, {"refusal": choice.refusal})
        if isinstance(calls := choice.message.get("tool_calls"), list):
            made = (one for one in calls if isinstance(one, dict))
            others["tool_calls"] = [{**one, "index": i} for i, one in enumerate(made)]
        if call := choice.message.get("function_call"):
            others["function_call"] = call
        if others:
            yield chunk(base, n, others)
        ours = {"suffice": choice.suffice, "sufficiency": sufficiency_of(choice)}
        yield chunk(base, n, {}, choice.finish, **ours)
    if usage:
        yield {**base, "choices": [], "usage": whole["usage"]}
