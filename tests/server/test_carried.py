"""Evidence that a request carries does not pass for an indexed document."""

from __future__ import annotations

import json
from typing import Any

from suffice.evidence.inputs import given
from suffice.testing import ScriptedUpstream, says
from tests.server.gateway import QUESTION, RIGHT, RunningGateway, plays


def _sources(reply: Any) -> list[dict[str, Any]]:
    ours = reply.suffice
    return [*ours["sources"], *(one["evidence"] for one in ours["claims"] if one["evidence"])]


def test_a_carried_passage_does_not_pose_as_the_indexed_document_it_names(
    gateway: RunningGateway, upstream: ScriptedUpstream
) -> None:
    plays(upstream, says(RIGHT))
    known = _sources(gateway.chat())[0]
    assert known["origin"] == "indexed"
    posing = {
        "id": known["passage"],
        "document": known["document"],
        "title": known["title"],
        "version": known["version"],
        "effective": "2026-10-01",
        "text": "Eligible employees may work remotely up to 9 days per week.",
    }
    plays(upstream, says(RIGHT.replace("3 days", "9 days")))
    for source in ("request", "both"):
        body = {"suffice": {"evidence": [posing], "from": source}}
        answer = gateway.chat(extra_body=body)
        for one in _sources(answer):
            assert (one["origin"] == "carried") is (one["passage"] != known["passage"])
        told = json.dumps(answer.suffice)
        if source == "request":
            assert answer.suffice["verdict"] in ("SERVE", "CAVEAT")
            assert {one["origin"] for one in _sources(answer)} == {"carried"}
        else:  # it neither supersedes the indexed document nor counts as the same version of it
            assert answer.suffice["verdict"] == "CONFLICT"
            assert {one["origin"] for one in _sources(answer)} == {"carried", "indexed"}
        assert '"origin": "carried"' in told
    gate = gateway.post(
        "/gate", {"question": QUESTION, "evidence": [posing], "from": "both"}
    ).json()
    origins = {one["passage"]: one["origin"] for one in gate["passages"]}
    assert origins[known["passage"]] == "indexed"
    assert origins[f"{known['passage']} (carried)"] == "carried"


def test_the_nearest_sources_of_a_refusal_say_where_they_come_from(
    gateway: RunningGateway,
) -> None:
    posing = {"document": "benefits.md", "title": "Benefits", "text": "Lunch is at noon."}
    answer = gateway.chat(
        "Who won the world cup in 1998?", extra_body={"suffice": {"evidence": [posing]}}
    )
    assert answer.suffice["verdict"] == "WITHHOLD"
    assert {one["origin"] for one in answer.suffice["nearest"]} >= {"carried"}


def test_no_carried_id_has_the_form_of_an_indexed_one() -> None:
    ids = [
        one.passage.id
        for one in given([{"id": "a.md@1#0-9", "text": "a"}, {"id": "b", "text": "b"}, "c"])
    ]
    assert ids == ["a.md@1#0-9 (carried)", "b", "passage-3"]
