"""Upstream failures: each is reported, and none releases unchecked text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import openai
import pytest

from suffice.evidence.library import Library
from suffice.settings import (
    CollectionSettings,
    DraftSettings,
    RouteSettings,
    Settings,
    VerdictSettings,
)
from suffice.testing import (
    Scripted,
    ScriptedUpstream,
    broken,
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
from tests.server.gateway import QUESTION, RIGHT, RunningGateway, plays, routes, running

SLOW = "slow first byte"
FAULTS = {
    "429": (fails(429, retry_after=7), 429),
    "500": (fails(500), 502),
    "401": (fails(401, message="bad key sk-secret"), 502),
    "page": (page(), 502),
    "page 503": (page(503), 502),
    "broken": (broken(), 502),
    "empty choice": (empty(), 502),
    "no text": (says(""), 502),
    "hangs up": (hangs_up(), 502),
    SLOW: (slow(RIGHT, wait=60), 504),
    "not an object": (Scripted(body=b"[1]"), 502),
    "error in a 200": (Scripted(body=b'{"error": {"message": "no"}}'), 502),
}
CHAT = ("plain", "buffer", "signal")
MODES = (*CHAT, "response", "response buffer", "response signal")
ODD = {
    "1-byte chunks": dribbles(RIGHT),
    "comments and a chunk without choices": noisy(RIGHT),
    "slow words": slow(RIGHT, pause=0.005),
    "slow first byte": slow(RIGHT, wait=0.3),
}


def patient_and_hasty(upstream: ScriptedUpstream, own: CollectionSettings) -> Settings:
    """Only tests of timeouts use the hasty routes: others must not depend on the machine's load."""
    patient = RouteSettings(upstream=upstream.url, own=own, timeout=60.0)
    hasty = replace(patient, timeout=0.2)
    return routes(
        {
            "default": patient,
            "signal": replace(patient, streaming="signal"),
            "hasty": hasty,
            "hasty-signal": replace(hasty, streaming="signal"),
        }
    )


@pytest.fixture(scope="module")
def strict(library: Library, upstream: ScriptedUpstream) -> Iterator[RunningGateway]:
    """Routes on which nothing replaces a failed upstream's answer."""
    own = CollectionSettings(
        draft=DraftSettings(retries=0, revisions=0), verdict=VerdictSettings(rescue=False)
    )
    with running(library, patient_and_hasty(upstream, own)) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def rescuing(library: Library, upstream: ScriptedUpstream) -> Iterator[RunningGateway]:
    """Routes on which quotations replace a failed upstream's answer."""
    own = CollectionSettings(draft=DraftSettings(retries=0, revisions=0))
    with running(library, patient_and_hasty(upstream, own)) as gateway:
        yield gateway


def ask(gateway: RunningGateway, mode: str, *, hasty: bool = False) -> str:
    return asked(gateway, mode, hasty=hasty)[0]


def asked(gateway: RunningGateway, mode: str, *, hasty: bool = False) -> tuple[str, dict[str, Any]]:
    """The text shown to a reader, and the verdict."""
    names = (("hasty",) if hasty else ()) + (("signal",) if mode.endswith("signal") else ())
    base = f"{gateway.url}/{'-'.join(names)}/v1" if names else gateway.base
    client: Any = gateway.client().with_options(base_url=base)
    messages: Any = [{"role": "user", "content": QUESTION}]
    carried = {"evidence": [RIGHT.removesuffix(" [1]")], "from": "request"}
    asked_for: Any = {"model": "any", "extra_body": {"suffice": carried}}
    if mode == "response":
        answer = client.responses.create(**asked_for, input=QUESTION)
        return answer.output_text, answer.suffice
    if mode == "plain":
        answer = client.chat.completions.create(**asked_for, messages=messages)
        return answer.choices[0].message.content or "", answer.suffice
    if mode.startswith("response"):
        events = list(client.responses.create(**asked_for, input=QUESTION, stream=True))
        deltas = [one.delta for one in events if one.type == "response.output_text.delta"]
        return "".join(deltas), events[-1].response.suffice
    parts = list(client.chat.completions.create(**asked_for, messages=messages, stream=True))
    said = [part.choices[0].delta.content or "" for part in parts if part.choices]
    return "".join(said), parts[-1].suffice


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_told_in_the_words_of_the_api(
    strict: RunningGateway, upstream: ScriptedUpstream, fault: str, mode: str
) -> None:
    reply, status = FAULTS[fault]
    plays(upstream, reply)
    with pytest.raises(openai.APIStatusError) as told:
        ask(strict, mode, hasty=fault == SLOW)
    assert told.value.status_code == status
    error: Any = told.value.body
    assert set(error) == {"message", "type", "param", "code"}
    if status == 429:
        assert told.value.response.headers["retry-after"] == "7"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("fault", FAULTS)
def test_quotations_stand_in_where_they_may(
    rescuing: RunningGateway, upstream: ScriptedUpstream, fault: str, mode: str
) -> None:
    plays(upstream, FAULTS[fault][0])
    said, ours = asked(rescuing, mode, hasty=fault == SLOW)
    assert "3 days per week" in said
    assert (ours["verdict"], ours["rescue"]) == ("CAVEAT", "extractive")
    assert ours["record"]


@pytest.mark.parametrize("mode", MODES)
def test_a_disconnect_before_a_word_is_rescued_and_after_it_told(
    rescuing: RunningGateway, upstream: ScriptedUpstream, mode: str
) -> None:
    plays(upstream, cut(RIGHT, after=0 if mode.endswith("signal") else 40))
    said, ours = asked(rescuing, mode)
    assert "3 days per week" in said
    assert ours["rescue"] == "extractive"
    if mode.endswith("signal"):  # text that was shown cannot be replaced
        plays(upstream, cut(f"{RIGHT} You may also work from the moon", after=14))
        said, ours = asked(rescuing, mode)
        assert said.startswith(RIGHT)
        assert "Some claims could not be verified" in said
        assert (ours["verdict"], ours["rescue"]) == ("CAVEAT", None)


@pytest.mark.parametrize("status", [400, 404, 422])
def test_a_bad_request_is_the_callers_affair(
    gateway: RunningGateway, upstream: ScriptedUpstream, status: int
) -> None:
    plays(upstream, fails(status, message="'temperature' is too high"))
    with pytest.raises(openai.APIStatusError) as told:
        gateway.chat(temperature=9)
    assert told.value.status_code == status
    assert "The upstream returned no answer" in str(told.value)
    assert "'temperature' is too high" not in str(told.value)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("odd", ODD)
def test_odd_streams_say_the_same(
    rescuing: RunningGateway, upstream: ScriptedUpstream, odd: str, mode: str
) -> None:
    plays(upstream, ODD[odd])
    said, ours = asked(rescuing, mode)
    assert said.startswith(RIGHT)
    assert (ours["verdict"], ours["rescue"]) == ("SERVE", None)


def test_a_stream_that_breaks_off_is_judged_as_cut(
    strict: RunningGateway, upstream: ScriptedUpstream
) -> None:
    plays(upstream, cut(f"{RIGHT} You may also work from the moon", after=14))
    said = ask(strict, "signal")
    assert "could not be verified" in said
    for mode, after in (("signal", 0), ("response signal", 0), ("plain", 40)):
        plays(upstream, cut(RIGHT, after=after))
        with pytest.raises(openai.APIStatusError):
            ask(strict, mode)


def test_what_fails_late_is_told_inside_the_stream(
    library: Library, upstream: ScriptedUpstream
) -> None:
    own = CollectionSettings(draft=DraftSettings(retries=0), verdict=VerdictSettings(rescue=False))
    route = RouteSettings(upstream=upstream.url, own=own)
    plays(upstream, Scripted(status=500, wait=0.6, body=b"{}"))
    with running(library, routes(route, keep_alive_seconds=0.1)) as gateway:
        parts = gateway.chat(stream=True)  # starts with 200: comments keep it open
        with pytest.raises(openai.APIError, match="answered 500"):
            list(parts)


def test_it_is_tried_again_within_the_time(
    gateway: RunningGateway, upstream: ScriptedUpstream
) -> None:
    plays(upstream, fails(503, retry_after=0), hangs_up(), says(RIGHT))
    assert RIGHT in gateway.chat().choices[0].message.content
    assert len(upstream.requests) == 3


def test_a_long_rate_limit_stays_one_and_is_not_waited_for(
    gateway: RunningGateway, upstream: ScriptedUpstream
) -> None:
    plays(upstream, fails(429, retry_after=100))
    with pytest.raises(openai.RateLimitError) as told:
        gateway.chat(tools=[{"type": "function", "function": {"name": "look_up"}}])
    assert told.value.response.headers["retry-after"] == "100"
    assert len(upstream.requests) == 1
