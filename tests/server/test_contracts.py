"""Requests in the documented formats of chat UIs, and the other endpoints of the API."""

from __future__ import annotations

from typing import Any

import pytest
from openai import NotFoundError

from suffice.evidence.library import Library
from suffice.settings import RouteSettings
from suffice.testing import ScriptedUpstream, calls, says
from tests.server.gateway import (
    OFF_TOPIC,
    PASSAGE,
    QUESTION,
    RIGHT,
    SERVED,
    RunningGateway,
    plays,
    routes,
    running,
)

# LibreChat's custom endpoint: the OpenAI client of LangChain, always streaming, with its own
# parameters and the user's id.
LIBRECHAT: dict[str, Any] = {
    "model": "gpt-4o-mini",
    "temperature": 1,
    "top_p": 1,
    "presence_penalty": 0,
    "frequency_penalty": 0,
    "stream": True,
    "stream_options": {"include_usage": True},
    "user": "66f1c0ffee",
    "stop": ["||>", "\nUser:", "<|diff_marker|>"],
    "messages": [
        {"role": "system", "content": "You are a helpful assistant."},
        {"role": "user", "content": [{"type": "text", "text": QUESTION}]},
    ],
}

# Open WebUI: its RAG template is in the user's turn (or, with RAG_SYSTEM_CONTEXT, in the system
# message), with the sources in tags, numbered by document. The body is the `body` of its docs.
RAG = f"""### Task:
Respond to the user query using the provided context, incorporating inline citations in the format
[id] **only when the <source> tag includes an explicit id attribute** (e.g., <source id="1">).

### Guidelines:
- If you don't know the answer, clearly state that.

<context>
<source id="1" name="remote.md">{PASSAGE}</source>
<source id="2" name="lunch.md">Lunch is served at noon.</source>
</context>

<user_query>
{QUESTION}
</user_query>
"""
OPEN_WEBUI: dict[str, Any] = {
    "stream": True,
    "model": "llama3.1:8b",
    "messages": [{"role": "user", "content": RAG}],
    "stream_options": {"include_usage": True},
    "metadata": {"chat_id": "c1", "message_id": "m1", "features": {"web_search": False}},
    "features": {"image_generation": False, "code_interpreter": False, "web_search": False},
    "variables": {"{{USER_NAME}}": "Ada"},
    "files": [],
}
IN_SYSTEM: dict[str, Any] = {
    **OPEN_WEBUI,
    "messages": [
        {"role": "system", "content": "You are kind.\n" + RAG.partition("<user_query>")[0]},
        {"role": "user", "content": QUESTION},
    ],
}


def events(text: str) -> list[dict[str, Any]]:
    import json

    lines = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
    assert lines[-1] == "[DONE]"
    return [json.loads(line) for line in lines[:-1]]


def test_librechat(gateway: RunningGateway, upstream: ScriptedUpstream) -> None:
    plays(upstream, says(RIGHT))
    reply = gateway.post("/chat/completions", LIBRECHAT)
    parts = events(reply.text)
    assert reply.headers["content-type"].startswith("text/event-stream")
    assert parts[0]["choices"][0]["delta"]["role"] == "assistant"
    said = "".join(p["choices"][0]["delta"].get("content") or "" for p in parts if p["choices"])
    assert said.startswith(RIGHT)
    assert parts[-1]["usage"]["total_tokens"] > 0
    sent = upstream.requests[0]
    assert (sent["user"], sent["stop"]) == (LIBRECHAT["user"], LIBRECHAT["stop"])
    assert sent["messages"][0]["content"].startswith("You are a helpful assistant.\n\nYou answer")


@pytest.mark.parametrize("body", [OPEN_WEBUI, IN_SYSTEM], ids=["user", "system"])
def test_open_webui_with_its_own_documents(
    library: Library, upstream: ScriptedUpstream, body: dict[str, Any]
) -> None:
    plays(upstream, says(SERVED))
    route = RouteSettings(upstream=upstream.url, evidence="request")
    with running(library, routes(route)) as gateway:
        *_, last, usage = events(gateway.post("/chat/completions", body).text)
    ours = last["suffice"]
    assert usage["usage"]["total_tokens"] > 0
    assert ours["question"] == QUESTION
    assert ours["verdict"] == "SERVE"
    assert ours["sources"][0]["title"] == "remote.md"
    assert upstream.requests[0]["metadata"] == OPEN_WEBUI["metadata"]


def test_open_webui_without_grounding_for_its_tasks(
    library: Library, upstream: ScriptedUpstream
) -> None:
    title = '{ "title": "🏠 Remote Work" }'
    plays(upstream, says(title))
    named = {
        "default": RouteSettings(upstream=upstream.url),
        "tasks": RouteSettings(upstream=upstream.url, grounding=False, models={"task": "small"}),
    }
    task = {
        "model": "task",
        "stream": False,
        "max_completion_tokens": 1000,
        "response_format": {"type": "json_object"},
        "messages": [{"role": "user", "content": "### Task:\nGenerate a concise title."}],
    }
    with running(library, routes(named)) as gateway:
        reply = gateway.post("/chat/completions", task).json()
    assert reply["choices"][0]["message"]["content"] == title
    assert "no documents" in reply["suffice"]["reason"]


def test_the_responses_api(gateway: RunningGateway, upstream: ScriptedUpstream) -> None:
    client: Any = gateway.client()
    plays(upstream, says(RIGHT))
    answer = client.responses.create(model="m", input=QUESTION, instructions="Be brief.")
    assert answer.output_text.startswith(RIGHT)
    assert answer.suffice["record"]
    assert upstream.requests[0]["messages"][0]["content"].startswith("Be brief.")
    refused = client.responses.create(model="m", input=OFF_TOPIC)
    assert (refused.status, refused.suffice["verdict"]) == ("completed", "WITHHOLD")
    with client.responses.stream(model="m", input=QUESTION) as stream:
        kinds = [event.type for event in stream]
        assert stream.get_final_response().output_text.startswith(RIGHT)
    assert kinds[0] == "response.created"
    assert kinds[-1] == "response.completed"


def test_the_responses_api_calls_tools_and_keeps_formats(
    gateway: RunningGateway, upstream: ScriptedUpstream
) -> None:
    client: Any = gateway.client()
    tool = {"type": "function", "name": "find", "parameters": {"type": "object"}}
    plays(upstream, calls("find", '{"q": 1}'))
    asked = client.responses.create(model="m", input=QUESTION, tools=[tool])
    assert upstream.requests[0]["tools"][0]["function"]["name"] == "find"
    (call,) = asked.output
    assert (call.type, call.arguments) == ("function_call", '{"q": 1}')
    plays(upstream, says(SERVED))
    brought = client.responses.create(
        model="m",
        input=[
            {"role": "user", "content": QUESTION},
            {"type": "function_call", "call_id": "c", "name": "find", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": PASSAGE},
        ],
        extra_body={"suffice": {"from": "request"}},
    )
    assert brought.suffice["verdict"] == "SERVE"
    plays(upstream, says('{"answer": "Eligible employees may work remotely 6 days per week."}'))
    shaped = client.responses.create(
        model="m", input=QUESTION, text={"format": {"type": "json_object"}}
    )
    assert shaped.output[0].content[0].type == "refusal"
    for field in ("previous_response_id", "background"):
        body = {"input": QUESTION, field: "x"}
        assert gateway.post("/responses", body).status_code == 400


def test_gate_check_and_feedback(gateway: RunningGateway, upstream: ScriptedUpstream) -> None:
    found = gateway.post("/gate", {"question": QUESTION}).json()
    assert found["open"]
    assert found["passages"][0]["document"] == "remote-work.md"
    assert found["record"]
    given = gateway.post("/gate", {"question": QUESTION, "evidence": ["Lunch is at noon."]}).json()
    assert given["level"] == "INSUFFICIENT"
    body = {"answer": "Leave lasts 20 weeks. [1]", "evidence": ["Leave lasts 18 weeks."]}
    checked = gateway.post("/check", body).json()
    assert checked["verdict"] == "WITHHOLD"
    assert checked["claims"][0]["support"] == "CONTRADICTED"
    said = gateway.post("/feedback", {"record": checked["record"], "rating": "up"})
    assert said.json()["record"] == checked["record"]
    assert gateway.post("/feedback", {"record": "nope", "rating": "up"}).status_code == 404


def test_embeddings_and_models_go_through(gateway: RunningGateway) -> None:
    client = gateway.client()
    made = client.embeddings.create(model="m", input=["a", "b"], encoding_format="float")
    assert [one.embedding for one in made.data] == [[1.0, 0.0]] * 2
    assert [one.id for one in client.models.list()] == ["scripted"]
    assert client.models.retrieve("scripted").id == "scripted"
    with pytest.raises(NotFoundError):
        client.models.retrieve("a/b")


def test_the_extractive_drafter_stands_behind_it_too(library: Library) -> None:
    with running(library, routes(RouteSettings(upstream="extractive"))) as gateway:
        parts = list(gateway.chat(stream=True))
    said = "".join(part.choices[0].delta.content or "" for part in parts if part.choices)
    assert "3 days per week" in said
    assert parts[-1].suffice["record"]
    assert parts[-1].suffice["verdict"] == "SERVE"
