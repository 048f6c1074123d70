"""Upstreams that stream given chunks byte for byte, and the chunks that a client receives."""

from __future__ import annotations

import json
from typing import Any

import httpx2

from suffice.testing import Scripted
from tests.server.gateway import QUESTION, RunningGateway

FRAME = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m"}


def piece(delta: Any, finish: str | None = None, index: int = 0, **more: Any) -> dict[str, Any]:
    choice = {"index": index, "delta": delta, "finish_reason": finish, **more}
    return {**FRAME, "choices": [choice]}


def said(*texts: str) -> list[dict[str, Any]]:
    return [piece({"content": text}) for text in texts]


def sends(*pieces: dict[str, Any], done: bool = True) -> Scripted:
    """An upstream that streams these chunks."""
    lines = [f"data: {json.dumps(one)}\n\n" for one in pieces]
    return raw("".join([*lines, "data: [DONE]\n\n" if done else ""]).encode())


def raw(body: bytes) -> Scripted:
    return Scripted(body=body, headers={"Content-Type": "text/event-stream"})


def replies(message: dict[str, Any], finish: str = "stop", **more: Any) -> Scripted:
    """An upstream that replies with a whole completion."""
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    made = {**FRAME, "object": "chat.completion", "choices": [{**choice, **more}]}
    return Scripted(body=json.dumps(made).encode())


def asked(gateway: RunningGateway, route: str, **more: Any) -> httpx2.Response:
    """The reply to a request for a stream."""
    body = {"stream": True, "messages": [{"role": "user", "content": QUESTION}], **more}
    return httpx2.post(f"{gateway.url}/{route}/v1/chat/completions", json=body, timeout=120)


def heard(gateway: RunningGateway, route: str = "signal", **more: Any) -> list[dict[str, Any]]:
    """The chunks of a stream."""
    reply = asked(gateway, route, **more)
    assert reply.status_code == 200, reply.text
    lines = reply.text.splitlines()
    data = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
    return [json.loads(one) for one in data if one != "[DONE]"]


def text(parts: list[dict[str, Any]], index: int = 0) -> str:
    choices = [one for part in parts for one in part.get("choices", ()) if one["index"] == index]
    return "".join(one["delta"].get("content") or "" for one in choices)
