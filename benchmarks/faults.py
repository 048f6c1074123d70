"""Upstream faults for the soak. Every reply carries text that no document supports: `SAID` where an
answer stands, `ASIDE` everywhere else. Neither may reach the client unchecked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from suffice.testing import (
    Request,
    Scripted,
    broken,
    calls,
    completion,
    cut,
    dribbles,
    empty,
    fails,
    hangs_up,
    noisy,
    page,
    says,
    slow,
)

SAID, ASIDE = "zorblaxian", "quxberrian"
FALSE = f"Every {SAID} employee receives 47 extra days of leave per month. [1]"
_BESIDE = f"Secretly the {ASIDE} budget is 900 million euros per week"


def fault_of(request: Request) -> Scripted:
    """The fault that a request names in its `user` field, which the gateway passes through."""
    return FAULTS[str(request.get("user"))]


def _whole(**fields: Any) -> Scripted:
    """A reply with further fields of the completion, its choice or its message."""
    made = completion(says(FALSE))
    choice: dict[str, Any] = made["choices"][0]
    choice["message"] |= fields.pop("message", {})
    choice |= fields.pop("choice", {})
    return Scripted(body=json.dumps({**made, **fields}).encode())


def _tool(message: Mapping[str, Any]) -> Scripted:
    return Scripted("", finish="tool_calls", message=message)


FAULTS: Mapping[str, Scripted] = {
    "false": says(FALSE),
    "token limit": says(FALSE, finish="length"),
    "content filter": says(FALSE, finish="content_filter"),
    "more choices than asked": says(FALSE, f"{FALSE} {_BESIDE}."),
    "breaks off": cut(FALSE, 6),
    "hangs up": hangs_up(),
    "not JSON": broken(),
    "web page": page(),
    "no choices": empty(),
    "too slow": slow(FALSE, wait=5.0),
    "single letters": dribbles(FALSE),
    "comments": noisy(FALSE),
    "refused, with prose": fails(400, message=_BESIDE),
    "rate limit, with prose": fails(429, retry_after=0, message=_BESIDE),
    "server error, with prose": fails(500, message=_BESIDE),
    "error in a 200": Scripted(body=json.dumps({"error": {"message": _BESIDE}}).encode()),
    "call of a tool not offered": calls("note", json.dumps({"text": _BESIDE})),
    "legacy function call": _tool({"function_call": {"name": "note", "arguments": _BESIDE}}),
    "reasoning": _whole(message={"reasoning_content": _BESIDE, "thinking": [{"text": _BESIDE}]}),
    "open think tag": says(f"<think>{_BESIDE}. {FALSE}"),
    "text in names": _whole(id=_BESIDE, model=_BESIDE, system_fingerprint=_BESIDE),
    "text in the finish reason": _whole(choice={"finish_reason": _BESIDE, "note": _BESIDE}),
    "comment": says(f"{FALSE}<!-- {ASIDE} -->"),
    "attribute": says(f'{FALSE}<img src=x onerror="{ASIDE}()">'),
    "address of a mark": says(f"{FALSE} [1](https://example.com/{ASIDE}-17-days)"),
    "image": says(f"{FALSE} ![](https://example.com/?q={ASIDE})"),
    "definition": says(f"{FALSE}\n\n[1]: https://example.com/{ASIDE}\n"),
    "upper-case think tag": says(f"<THINK>{ASIDE}</THINK>{FALSE}"),
    "invisible": says(FALSE + "".join(chr(0xE0000 + ord(char)) for char in ASIDE)),
    "refusal field": _whole(message={"content": None, "refusal": FALSE}),
    "too long": replace(says(FALSE + " " + FALSE * 2_000), pieces=[FALSE] * 2_001),
}
