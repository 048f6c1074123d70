"""A caller polls for an answer that was left to a person; others learn nothing about it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx2
import pytest

from suffice.access.keys import Principals
from suffice.evidence.library import Library
from suffice.log.decision import Filing
from suffice.review.actions import Assign
from suffice.review.case import Act
from suffice.review.review import Review
from suffice.server.openai.completion import suffice_of
from suffice.settings import RouteSettings, ServerSettings, Settings, VerdictSettings
from suffice.testing import ScriptedUpstream, says
from tests.review import examples as some
from tests.server.gateway import PASSAGE, WRONG, RunningGateway, plays, routes, running
from tests.waiting import PATIENCE


@pytest.fixture(scope="module")
def keys(library: Library) -> dict[str, str]:
    principals = Principals(library.store.database)
    rights: dict[str, dict[str, Any]] = {
        "poller": {"labels": ["staff"]},
        "other poller": {"labels": ["staff"]},
        "judge": {"roles": ["reviewer"], "labels": ["staff"]},
        "blind": {"roles": ["reviewer"]},
        "narrow": {"collections": ["sales"]},
    }
    return {name: principals.create(name, **given).secret for name, given in rights.items()}


@pytest.fixture(scope="module")
def keyed(library: Library, keys: dict[str, str]) -> Iterator[RunningGateway]:
    route = RouteSettings(upstream="extractive")
    server = replace(ServerSettings(), keys="required", routes={"default": route})
    with running(library, Settings(server=server)) as served:
        yield served


@pytest.fixture
def review(keyed: RunningGateway) -> Review:
    assert keyed.inner.log is not None
    return Review(keyed.inner.log)


def poll(keyed: RunningGateway, key: str, record: str) -> httpx2.Response:
    headers = {"authorization": f"Bearer {key}"}
    return httpx2.get(f"{keyed.base}/reviews/{record}", headers=headers, timeout=PATIENCE)


def test_a_caller_polls_until_a_person_releases_the_answer(
    keyed: RunningGateway, keys: dict[str, str], review: Review
) -> None:
    id = review.log.write(some.HELD, filing=Filing("poller"))

    def told() -> Any:
        return poll(keyed, keys["poller"], id).json()

    first = told()
    assert (first["object"], first["record"], first["state"]) == ("review", id, "open")
    assert (first["verdict"], first["answer"], first["decision"]) == ("REVIEW", None, None)
    assert "4 days" not in str(first)
    review.act(id, Assign("Ada"), by="Ada")
    assert told()["state"] == "assigned"
    review.decide(id, Act.CORRECT, text="Up to 3 days [1].", reason="Section 1.", by="Ada")
    out = told()
    assert (out["state"], out["decision"], out["verdict"]) == ("decided", "correct", "CAVEAT")
    assert out["answer"] == "Up to 3 days [1]."
    assert out["notes"] == ["Corrected by Ada: Section 1."]
    assert "the words are the reviewer's" in out["reason"]
    assert [one["document"] for one in out["sources"]] == ["remote.md"]
    assert "4 days" not in str(out)
    review.decide(id, Act.WITHDRAW, reason="They are 4 days after all.", by="Ada")
    gone = told()
    assert (gone["answer"], gone["sources"], gone["notes"]) == (None, [], [])
    assert "4 days" not in str(gone)


def test_only_the_caller_and_reviewers_with_the_right_labels_learn_of_it(
    keyed: RunningGateway, keys: dict[str, str], review: Review
) -> None:
    id = review.log.write(some.labelled(some.HELD, "staff"), filing=Filing("poller"))
    review.decide(id, Act.RELEASE, reason="x", by="Ada")
    status = {name: poll(keyed, key, id).status_code for name, key in keys.items()}
    assert status == {"poller": 200, "judge": 200, "other poller": 404, "blind": 404, "narrow": 404}
    assert poll(keyed, keys["judge"], id).json()["answer"] == some.TEXT
    missing = poll(keyed, keys["other poller"], "01nothing")
    assert missing.status_code == 404
    hidden = poll(keyed, keys["other poller"], id).json()["error"]
    assert hidden["message"].replace(id, "01nothing") == missing.json()["error"]["message"]
    # The caller of the record lost its label since.
    lost = review.log.write(some.labelled(some.HELD, "staff"), filing=Filing("narrow"))
    assert poll(keyed, keys["narrow"], lost).status_code == 404
    # A key for some collections polls for its own record, whatever the passages say.
    own = review.log.write(some.HELD, filing=Filing("narrow"))
    assert poll(keyed, keys["narrow"], own).json()["state"] == "open"


def test_an_answer_that_nobody_reviews_is_told_as_such(
    keyed: RunningGateway, keys: dict[str, str], review: Review
) -> None:
    quiet = replace(some.SERVED, gate=replace(some.GATE, signals=()))
    id = review.log.write(quiet, filing=Filing("poller"))
    told = poll(keyed, keys["poller"], id).json()
    assert (told["state"], told["answer"], told["decided"]) == ("not_queued", some.TEXT, None)


def test_a_held_answer_says_where_to_poll(library: Library, upstream: ScriptedUpstream) -> None:
    to_a_person = replace(
        routes(RouteSettings(upstream=upstream.url)),
        verdict=VerdictSettings(routes=("else -> REVIEW",), rescue=False),
    )
    with running(library, to_a_person) as gateway:
        plays(upstream, says(WRONG))
        held = gateway.chat().suffice
        assert held["verdict"] == "REVIEW"
        assert held["review_url"] == f"/v1/reviews/{held['record']}"
        told = httpx2.get(gateway.url + held["review_url"], timeout=PATIENCE).json()
        assert (told["state"], told["answer"]) == ("open", None)
        body = {"answer": WRONG, "evidence": [PASSAGE]}
        checked = gateway.post("/check", body).json()
        assert checked["review_url"] == f"/v1/reviews/{checked['record']}"
    assert suffice_of(replace(some.SERVED, record="01abc"))["review_url"] is None
    assert suffice_of(some.HELD)["review_url"] is None  # nothing is recorded
