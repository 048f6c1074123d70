"""LiteLLM's SDK and its proxy, with a scripted upstream behind them."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # otherwise it is downloaded
pytest.importorskip("litellm")

import httpx2
import litellm
from litellm.exceptions import GuardrailRaisedException

from suffice.errors import AnswerWithheld, EvidenceError
from suffice.integrations.litellm import SufficeGuardrail, guard
from suffice.testing import ScriptedUpstream, calls, says
from tests.frameworks.leave import QUESTION, RIGHT, TEXTS, WRONG, blocked, example
from tests.waiting import until

KEY = f"sk-{secrets.token_hex(32)}"
"""Of the proxy that the tests start; it refuses to run without one."""
MESSAGES = [{"role": "user", "content": QUESTION}]


def asked(upstream: ScriptedUpstream, **more: Any) -> dict[str, Any]:
    return {
        "model": "openai/any",
        "api_base": upstream.url,
        "api_key": "none",
        "messages": MESSAGES,
        **more,
    }


def text(chunks: list[Any]) -> str:
    return "".join(
        choice.delta.content or "" for chunk in chunks for choice in chunk.choices if choice.delta
    )


def test_completion() -> None:
    completion = guard(litellm.completion, TEXTS)
    with ScriptedUpstream([says(WRONG)]) as upstream:
        made = completion(**asked(upstream))
        assert blocked(made.choices[0].message.content)
        assert made.suffice["verdict"] == "WITHHOLD"
        assert blocked(text(list(completion(**asked(upstream, stream=True)))))
    with ScriptedUpstream([says(RIGHT)]) as upstream:
        assert completion(**asked(upstream)).choices[0].message.content == RIGHT
        assert text(list(completion(**asked(upstream, stream=True)))) == RIGHT


def test_acompletion() -> None:
    completion = guard(litellm.acompletion)

    async def run(upstream: ScriptedUpstream) -> tuple[str, str]:
        made = await completion(**asked(upstream), evidence=TEXTS)
        stream = await completion(**asked(upstream, stream=True), evidence=TEXTS)
        return made.choices[0].message.content, text([chunk async for chunk in stream])

    with ScriptedUpstream([says(WRONG)]) as upstream:
        assert [blocked(one) for one in asyncio.run(run(upstream))] == [True, True]
    with ScriptedUpstream([says(RIGHT)]) as upstream:
        assert asyncio.run(run(upstream)) == (RIGHT, RIGHT)


def test_raising_and_tool_calls() -> None:
    completion = guard(litellm.completion, on_block="raise")
    with ScriptedUpstream([says(WRONG), calls("search", "{}")]) as upstream:
        with pytest.raises(EvidenceError):
            completion(**asked(upstream))
        with pytest.raises(AnswerWithheld):
            completion(**asked(upstream), evidence=TEXTS)
        made = completion(**asked(upstream), evidence=TEXTS)
        assert made.choices[0].message.tool_calls


@pytest.mark.parametrize("on_block", ["replace", "raise"])
def test_the_guardrail_in_acompletion(on_block: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK runs a guardrail that the call names, but not for streams."""
    own = SufficeGuardrail(on_block, guardrail_name="suffice", event_hook="post_call")
    monkeypatch.setattr(litellm, "callbacks", [own])
    named = {"guardrails": ["suffice"], "metadata": {"suffice_evidence": TEXTS}}
    with ScriptedUpstream([says(WRONG)]) as upstream:
        call = litellm.acompletion(**asked(upstream, **named))
        if on_block == "raise":
            with pytest.raises(GuardrailRaisedException, match="documents"):
                asyncio.run(call)
        else:
            assert blocked(asyncio.run(call).choices[0].message.content)


CONFIG = """
model_list:
  - model_name: any
    litellm_params: {{model: openai/any, api_base: "{url}", api_key: none}}
guardrails:
  - guardrail_name: suffice
    litellm_params:
      guardrail: suffice.integrations.litellm.SufficeGuardrail
      mode: post_call
      default_on: true
"""


def reply(request: Any) -> Any:
    """The upstream is right only if it is asked for weeks."""
    return says(RIGHT if "weeks" in request["messages"][-1]["content"] else WRONG)


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    pytest.importorskip("litellm.proxy.proxy_server", exc_type=ImportError)
    folder = tmp_path_factory.mktemp("proxy")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    with ScriptedUpstream([reply]) as upstream:
        (folder / "config.yaml").write_text(CONFIG.format(url=upstream.url))
        command = [str(Path(sys.executable).with_name("litellm")), "--config", "config.yaml"]
        with (folder / "log").open("w") as log:
            running = subprocess.Popen(
                [*command, "--host", "127.0.0.1", "--port", str(port)],
                cwd=folder,
                stdout=log,
                stderr=log,
                env={**os.environ, "LITELLM_MASTER_KEY": KEY},
            )
        try:
            until(lambda: _alive(url, running, folder / "log"), 300)
            yield url
        finally:
            running.terminate()
            running.wait()


def _alive(url: str, running: subprocess.Popen[bytes], log: Path) -> bool:
    assert running.poll() is None, log.read_text()
    try:
        return httpx2.get(f"{url}/health/liveliness").status_code == 200
    except httpx2.HTTPError:
        return False


def ask(url: str, question: str = QUESTION, **more: Any) -> httpx2.Response:
    messages = [{"role": "user", "content": question}]
    body = {"model": "any", "messages": messages, "metadata": {"suffice_evidence": TEXTS}, **more}
    headers = {"Authorization": f"Bearer {KEY}"}
    return httpx2.post(f"{url}/v1/chat/completions", json=body, headers=headers, timeout=120)


def streamed(answer: httpx2.Response) -> str:
    lines = [line.removeprefix("data: ") for line in answer.text.splitlines() if line]
    chunks = [json.loads(line) for line in lines if line.startswith("{")]
    deltas = [choice["delta"] for chunk in chunks for choice in chunk.get("choices", [])]
    return "".join(delta.get("content") or "" for delta in deltas)


def test_the_proxy_blocks_a_hallucination(proxy: str) -> None:
    answer = ask(proxy)
    assert blocked(answer.json()["choices"][0]["message"]["content"]), answer.text
    assert "52" not in answer.text
    stream = ask(proxy, stream=True)
    assert blocked(streamed(stream)), stream.text
    assert "52 weeks" not in stream.text


def test_the_proxy_passes_a_grounded_answer(proxy: str) -> None:
    question = "How many weeks does parental leave last?"
    assert ask(proxy, question).json()["choices"][0]["message"]["content"] == RIGHT
    assert streamed(ask(proxy, question, stream=True)) == RIGHT


def test_the_proxy_rejects_what_it_cannot_check(proxy: str) -> None:
    bare = ask(proxy, metadata={})
    assert bare.status_code == 400
    assert "suffice_evidence" in bare.text
    assert "52 weeks" not in ask(proxy, metadata={}, stream=True).text


def test_the_example() -> None:
    told = example("litellm_guard.py")
    assert "documents" in told
    assert "52" not in told
