"""The legacy `/v1/completions` with the official SDK: the same path as chat completions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import openai
import pytest

from suffice.evidence.library import Library
from suffice.settings import CollectionSettings, DraftSettings, RouteSettings, VerdictSettings
from suffice.testing import ScriptedUpstream, says
from tests.server.gateway import QUESTION, RIGHT, WRONG, RunningGateway, plays, routes, running


@pytest.fixture(scope="module")
def modes(library: Library, upstream: ScriptedUpstream) -> Iterator[RunningGateway]:
    own = CollectionSettings(
        draft=DraftSettings(retries=0, revisions=0), verdict=VerdictSettings(rescue=False)
    )
    named = {
        "default": RouteSettings(upstream=upstream.url, own=own),
        "signal": RouteSettings(upstream=upstream.url, own=own, streaming="signal"),
        "shadow": RouteSettings(upstream=upstream.url, own=own, shadow=True),
    }
    with running(library, routes(named)) as gateway:
        yield gateway


def completed(gateway: RunningGateway, route: str = "", **more: Any) -> Any:
    base = f"{gateway.url}/{route}/v1" if route else gateway.base
    client: Any = gateway.client().with_options(base_url=base)
    return client.completions.create(**{"model": "any", "prompt": QUESTION, **more})


@pytest.mark.parametrize("prompt", [QUESTION, [QUESTION]])
def test_a_prompt_is_answered_with_its_verdict(
    modes: RunningGateway, upstream: ScriptedUpstream, prompt: Any
) -> None:
    plays(upstream, says(RIGHT))
    answer = completed(modes, prompt=prompt, max_tokens=50, n=1)
    assert (answer.object, answer.id[:5]) == ("text_completion", "cmpl-")
    (choice,) = answer.choices
    assert (choice.text, choice.finish_reason, choice.logprobs) == (RIGHT, "stop", None)
    assert answer.suffice["verdict"] == "SERVE"
    (sent,) = upstream.requests
    assert sent["max_tokens"] == 50
    assert sent["messages"][-1] == {"role": "user", "content": QUESTION}
    assert "prompt" not in sent


@pytest.mark.parametrize("route", ["", "signal", "shadow"])
def test_a_stream_has_chunks_of_text(
    modes: RunningGateway, upstream: ScriptedUpstream, route: str
) -> None:
    plays(upstream, says(RIGHT))
    parts = list(completed(modes, route, stream=True, stream_options={"include_usage": True}))
    assert {part.object for part in parts} == {"text_completion"}
    text = "".join(part.choices[0].text for part in parts if part.choices)
    assert text.startswith(RIGHT)
    assert parts[-1].usage.total_tokens == 10 + len(RIGHT.split())
    verdicts = [getattr(part, "suffice", {}).get("verdict") for part in parts]
    assert ("SERVE" in verdicts) == (route != "shadow")
    assert (text == RIGHT) == (route != "signal")


def test_a_wrong_draft_is_withheld_and_passes_in_shadow_mode(
    modes: RunningGateway, upstream: ScriptedUpstream
) -> None:
    plays(upstream, says(WRONG))
    answer = completed(modes)
    assert answer.suffice["verdict"] == "WITHHOLD"
    assert "4 days" not in answer.to_json()
    shadow = completed(modes, "shadow")
    assert shadow.choices[0].text == WRONG
    assert "suffice" not in shadow.to_dict()


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"prompt": [QUESTION, QUESTION]}, "prompt"),
        ({"prompt": [1, 2]}, "prompt"),
        ({"echo": True}, "echo"),
        ({"suffix": "."}, "suffix"),
        ({"logprobs": 3}, "logprobs"),
        ({"best_of": 3}, "best_of"),
    ],
)
def test_what_is_not_supported_is_refused(
    modes: RunningGateway, change: dict[str, Any], param: str
) -> None:
    with pytest.raises(openai.BadRequestError) as told:
        completed(modes, **change)
    assert told.value.param == param
