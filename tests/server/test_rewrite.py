"""The upstream of a route is asked for search queries before the gate decides."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from suffice.evidence.library import Library
from suffice.settings import RouteSettings, SearchSettings
from suffice.testing import ScriptedUpstream, fails, says, streams
from tests.server.gateway import OFF_TOPIC, QUESTION, RIGHT, RunningGateway, plays, routes, running

QUERIES = says(json.dumps({"queries": ["remote work days per week"]}))
NOTE = "Searched again with rewritten queries: “remote work days per week”."


@pytest.fixture(scope="module")
def rewriting(library: Library, upstream: ScriptedUpstream) -> Iterator[RunningGateway]:
    settings = routes(RouteSettings(upstream=upstream.url))
    settings = replace(settings, search=SearchSettings(rewrite="always"))
    with running(library, settings) as opened:
        yield opened


def test_queries_then_the_draft(rewriting: RunningGateway, upstream: ScriptedUpstream) -> None:
    plays(upstream, QUERIES, says(RIGHT))
    answer = rewriting.chat(QUESTION)
    assert answer.choices[0].message.content == RIGHT
    first, second = upstream.requests
    assert "You write search queries" in first["messages"][0]["content"]
    assert first["model"] == second["model"] == "any"  # the model that the caller named
    assert NOTE in answer.suffice["notes"]


def test_a_stream_too(rewriting: RunningGateway, upstream: ScriptedUpstream) -> None:
    question = f"{QUESTION} Please."  # the queries for the other are known
    plays(upstream, QUERIES, streams(RIGHT))
    chunks = list(rewriting.chat(question, stream=True))
    assert len(upstream.requests) == 2
    notes = [chunk.suffice["notes"] for chunk in chunks if getattr(chunk, "suffice", None)]
    assert NOTE in notes[-1]


def test_a_failure_costs_a_note(rewriting: RunningGateway, upstream: ScriptedUpstream) -> None:
    plays(upstream, fails(500), says(RIGHT))
    answer = rewriting.chat("How many days per week may one work remotely?")
    assert answer.choices[0].message.content == RIGHT
    assert any("the question only" in note for note in answer.suffice["notes"])


def test_no_draft_behind_a_closed_gate(
    rewriting: RunningGateway, upstream: ScriptedUpstream
) -> None:
    plays(upstream, QUERIES, says(RIGHT))
    answer = rewriting.chat(OFF_TOPIC)
    assert len(upstream.requests) == 1
    assert answer.suffice["verdict"] != "SERVE"
