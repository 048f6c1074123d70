"""The text of an answer is for customers, the `suffice` object for operators."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from suffice.evidence.library import Library
from suffice.settings import RouteSettings
from suffice.testing import ScriptedUpstream, says
from tests.server.gateway import OFF_TOPIC, WRONG, RunningGateway, plays, routes, running

OWN = "Nothing found. Ask {contact}, reference {record}."


@pytest.fixture(scope="module")
def gateway(library: Library, upstream: ScriptedUpstream) -> Iterator[RunningGateway]:
    route = RouteSettings(upstream=upstream.url)
    named = {
        "default": route,
        "operators": replace(route, wording="operator"),
        "own": replace(route, texts={"not_answered": OWN, "small_talk": "At your service."}),
        "signal": replace(route, streaming="signal"),
    }
    settings = routes(named)
    gate = replace(settings.gate, contact="the People team")
    with running(library, replace(settings, gate=gate)) as gateway:
        yield gateway


def asked(gateway: RunningGateway, route: str, text: str = OFF_TOPIC, **more: Any) -> Any:
    client = gateway.client().with_options(base_url=f"{gateway.url}/{route}/v1")
    messages: Any = [{"role": "user", "content": text}]
    return client.chat.completions.create(model="m", messages=messages, **more)


def test_a_customer_reads_what_to_do_and_an_operator_why(gateway: RunningGateway) -> None:
    answer = asked(gateway, "default")
    said, reason = answer.choices[0].message.content, answer.suffice["reason"]
    assert "ask the People team" in said
    assert reason not in said
    assert "Next steps" not in said
    told = asked(gateway, "operators").choices[0].message.content
    assert told.startswith(reason)
    assert "Next steps" in told


def test_a_route_has_texts_of_its_own(gateway: RunningGateway, upstream: ScriptedUpstream) -> None:
    answer = asked(gateway, "own")
    assert answer.suffice["record"]
    named = {"contact": "the People team", "record": answer.suffice["record"]}
    assert answer.choices[0].message.content == OWN.format(**named)
    plays(upstream, says("You may work remotely 12 days per week."))
    assert asked(gateway, "own", "Hello!").choices[0].message.content == "At your service."


def test_a_stream_in_signal_mode_ends_with_words_for_customers(
    gateway: RunningGateway, upstream: ScriptedUpstream
) -> None:
    plays(upstream, says(WRONG))
    question = "How many days per week may I work remotely?"
    parts = list(asked(gateway, "signal", question, stream=True))
    said = "".join(one.choices[0].delta.content or "" for one in parts if one.choices)
    assert "Some claims could not be verified. I could not confirm" in said
    assert "The draft" not in said
