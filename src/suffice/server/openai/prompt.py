"""The upstream prompt: the caller's request with evidence and rules added."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from suffice.draft.brief import Brief
from suffice.draft.prompt import messages as prompt
from suffice.draft.shown import Rank, shown
from suffice.evidence.flags import flagged
from suffice.evidence.sanitize import sanitized
from suffice.types import Evidence

OURS = "suffice"
"""The request field with options for the gateway; it is not forwarded."""
_NO_MARKS = (
    "Write no numbers of passages and no marks like [1] into the answer. Where a format is asked"
    " for, keep to it."
)
_SYSTEM = ("system", "developer")


def forwarded(body: Mapping[str, Any], model: str) -> dict[str, Any]:
    """The request to forward: all fields except `suffice`, with the upstream's model name and
    without streaming."""
    rest = {key: value for key, value in body.items() if key not in (OURS, "stream_options")}
    if model:
        rest["model"] = model
    return {**rest, "stream": False} if "stream" in rest else rest


def with_evidence(
    body: Mapping[str, Any],
    evidence: Evidence,
    brief: Brief,
    rank: Rank,
    room: int,
    *,
    marks: bool = True,
) -> dict[str, Any]:
    """The request with rules and passages in its system message. For a revision, the earlier draft
    and the findings on it are appended."""
    parts = shown(sanitized(evidence), room, rank)
    # The question is already part of the conversation.
    system, asked, *again = prompt("", parts, brief, flagged(evidence))
    rules = system.content if marks else f"{system.content}\n{_NO_MARKS}"
    passages = asked.content.removesuffix("Question: ").rstrip()
    added = "\n\n".join(filter(None, (rules, passages)))
    return {
        **body,
        "messages": [
            *_with_system(body["messages"], added),
            *({"role": one.role, "content": one.content} for one in again),
        ],
    }


def _with_system(messages: Sequence[Mapping[str, Any]], added: str) -> list[Mapping[str, Any]]:
    """Append to an existing system message, because some models accept only one."""
    first, rest = messages[0], list(messages[1:])
    if first.get("role") not in _SYSTEM:
        return [{"role": "system", "content": added}, *messages]
    content = first.get("content")
    if isinstance(content, list):
        return [{**first, "content": [*content, {"type": "text", "text": added}]}, *rest]
    return [{**first, "content": f"{content}\n\n{added}" if content else added}, *rest]
