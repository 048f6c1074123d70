"""The words of a withheld draft, and the upstream's own words, do not leave."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from suffice.access.keys import Principals
from suffice.evidence.library import Library
from suffice.settings import CollectionSettings, DraftSettings, RouteSettings, VerdictSettings
from suffice.testing import Scripted, ScriptedUpstream, fails, says
from tests.server.events import piece, raw, said, sends
from tests.server.gateway import QUESTION, RIGHT, RunningGateway, plays, routes, running
from tests.waiting import PATIENCE

LIE = "Eligible employees may work remotely up to 12 days per week"
LONG = f"{LIE}, as the board of directors {'has very often and very clearly ' * 12}said. [1]"
SECRET = "12 days"
OWN = CollectionSettings(
    draft=DraftSettings(revisions=0, retries=0), verdict=VerdictSettings(rescue=False)
)


@pytest.fixture(scope="module")
def modes(library: Library, upstream: ScriptedUpstream) -> Iterator[RunningGateway]:
    held = RouteSettings(upstream=upstream.url, own=OWN)
    named = {
        "default": held,
        "shown": replace(held, show_withheld=True),
        "trims": RouteSettings(upstream=upstream.url),
        "signal": replace(held, streaming="signal"),
        "free": replace(held, grounding=False),
    }
    with running(library, routes(named)) as gateway:
        yield gateway


def asked(gateway: RunningGateway, route: str = "default", key: str = "any", **more: Any) -> Any:
    client = gateway.client(key).with_options(base_url=f"{gateway.url}/{route}/v1")
    return client.with_options(timeout=PATIENCE).chat.completions.create(
        model="mine", messages=[{"role": "user", "content": QUESTION}], **more
    )


def streamed(gateway: RunningGateway, route: str) -> str:
    """All chunks as JSON, except those whose text was streamed before the verdict."""
    return json.dumps([one.model_dump() for one in asked(gateway, route, stream=True)])


def test_a_withheld_draft_does_not_leave_in_any_field(
    modes: RunningGateway, upstream: ScriptedUpstream
) -> None:
    plays(upstream, says(LONG))
    answer = asked(modes)
    assert answer.suffice["verdict"] == "WITHHOLD"
    assert SECRET not in answer.model_dump_json()
    (claim,) = answer.suffice["claims"]
    assert (claim["text"], claim["span"], claim["support"]) == (
        None,
        [0, len(LONG) - 4],
        claim["support"],
    )
    assert claim["findings"][0]["check"]
    assert SECRET not in streamed(modes, "default")
    told = modes.post("/responses", {"input": QUESTION}).text
    assert '"WITHHOLD"' in told
    assert SECRET not in told
    structured = json.dumps({"answer": LIE})
    plays(upstream, says(structured))
    assert SECRET not in asked(modes, response_format={"type": "json_object"}).model_dump_json()


def test_what_was_trimmed_does_not_leave_either(
    modes: RunningGateway, upstream: ScriptedUpstream
) -> None:
    plays(upstream, says(f"{RIGHT} The mascot of the company is a purple owl. [1]"))
    answer = asked(modes, "trims")
    assert answer.suffice["rescue"] == "trimmed"
    assert "Statements that the documents do not support were removed." in str(answer)
    assert "purple owl" not in answer.model_dump_json()


def test_a_reviewer_or_a_route_that_allows_it_sees_an_excerpt(
    modes: RunningGateway, upstream: ScriptedUpstream, library: Library
) -> None:
    keys = Principals(library.store.database)
    reviewer = keys.create("withheld-reader", ["caller", "reviewer"]).secret
    caller = keys.create("plain-caller").secret
    plays(upstream, says(LONG))
    assert SECRET not in asked(modes, key=caller).model_dump_json()
    for answer in (asked(modes, key=reviewer), asked(modes, "shown")):
        (claim,) = answer.suffice["claims"]
        assert claim["text"].startswith(LIE)
        assert claim["text"].endswith("…")
        assert len(claim["text"]) < 210 < len(LONG)


WORDS = {"id": LIE, "model": LIE, "service_tier": LIE, "system_fingerprint": LIE, "object": LIE}
MESSAGE = {"annotations": [{"url": f"u://{LIE}"}], "reasoning": SECRET, "role": LIE, "name": LIE}


@pytest.mark.parametrize("route", ["default", "signal", "free"])
@pytest.mark.parametrize("stream", [False, True])
def test_free_text_in_named_fields_does_not_leave(
    modes: RunningGateway, upstream: ScriptedUpstream, route: str, stream: bool
) -> None:
    others = {"token": "x", "logprob": 0, "top_logprobs": [{"token": SECRET, "logprob": 0}]}
    choice = {"index": 0, "finish_reason": LIE, "logprobs": {"content": [others]}}
    message = {"content": RIGHT, "refusal": LIE, **MESSAGE}
    whole = {**WORDS, "created": LIE, "choices": [{**choice, "message": message}]}
    chunks = [
        *({**one, **WORDS} for one in said(RIGHT)),
        {**piece({**MESSAGE, "refusal": LIE}, LIE), **WORDS},
    ]
    plays(upstream, sends(*chunks) if stream and route != "default" else raw_json(whole))
    if stream:
        parts = [one.model_dump() for one in asked(modes, route, stream=True)]
        told, first = json.dumps(parts), parts[0]
        finishes = {one["choices"][0]["finish_reason"] for one in parts if one["choices"]}
    else:
        answer = asked(modes, route)
        told, first = answer.model_dump_json(), answer.model_dump()
        finishes = {answer.choices[0].finish_reason}
    assert SECRET not in told
    assert RIGHT[:20] in told
    assert first["model"] == "mine"
    assert first["id"].startswith("chatcmpl-")
    assert finishes <= {None, "stop"}


def raw_json(value: Any) -> Scripted:
    return replace(raw(json.dumps(value).encode()), headers={"Content-Type": "application/json"})


def test_an_upstreams_words_about_its_failure_are_no_note(
    modes: RunningGateway, upstream: ScriptedUpstream
) -> None:
    plays(upstream, fails(500, message=LIE))
    answer = asked(modes, "trims")
    assert answer.suffice["rescue"] == "extractive"
    assert SECRET not in answer.model_dump_json()
    assert any("The upstream failed" in note for note in answer.suffice["notes"])
