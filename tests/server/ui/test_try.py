"""Try it: the same work, limits, records and rights as an API call."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from suffice.access.accounts import Accounts
from suffice.access.keys import Principals
from suffice.evidence.library import Library
from suffice.log.decision import decision_of
from suffice.log.log import Log
from suffice.settings import DraftSettings, RouteSettings, ServerSettings, Settings, VerdictSettings
from suffice.testing import ScriptedUpstream, says
from tests.server.gateway import QUESTION, WRONG, RunningGateway, running
from tests.server.ui.conftest import People
from tests.server.ui.visitors import PASSWORD, Visitor, signed_in

PAGE = "/ui/try"
DRAFT = "Leave lasts 20 weeks [1]. It is requested eight weeks ahead [1]."
EVIDENCE = "Leave lasts 18 weeks. It must be requested at least eight weeks ahead.\n---\nNothing."


def newest(library: Library) -> tuple[str, str]:
    """The caller and the action of the newest verdict."""
    log = Log(library.store.database)
    entry = next(one for one in log.page(most=20) if one.kind == "verdict")
    log.close()
    decided = decision_of(entry).verdict
    assert decided is not None
    return entry.caller, decided.action.value


def test_a_question_is_answered_and_recorded(
    site: RunningGateway, site_library: Library, people: People
) -> None:
    with signed_in(site, people.name("viewer")) as visitor:
        text = visitor.submit(PAGE, PAGE, question=QUESTION).text
    assert "up to 3 days per week" in text
    assert "The answer is released" in text
    assert "SUFFICIENT" in text
    assert 'data-decides="1"' in text
    assert newest(site_library) == (people.name("viewer"), "SERVE")


def test_a_draft_is_checked_claim_by_claim(site: RunningGateway, people: People) -> None:
    with signed_in(site, people.name("viewer")) as visitor:
        text = visitor.submit(PAGE, PAGE, way="draft", draft=DRAFT, evidence=EVIDENCE).text
    assert "claim-contradicted" in text
    assert "claim-backed" in text
    assert "&#34;verdict&#34;: &#34;WITHHOLD&#34;" in text
    assert "18 weeks" in text.partition("data-decides")[2]


def test_a_draft_without_evidence_is_checked_against_the_documents(
    site: RunningGateway, people: People
) -> None:
    draft = "Eligible employees may work remotely up to 5 days per week."
    with signed_in(site, people.name("viewer")) as visitor:
        text = visitor.submit(PAGE, PAGE, way="draft", draft=draft, question=QUESTION).text
    assert "claim-contradicted" in text
    assert "Remote work policy" in text


@pytest.fixture
def careless(site_library: Library) -> Iterator[RunningGateway]:
    """A gateway whose model is wrong and is not asked again."""
    with ScriptedUpstream([says(WRONG)] * 4) as upstream:
        route = RouteSettings(upstream=upstream.url)
        server = replace(ServerSettings(), keys="required", routes={"default": route})
        settings = Settings(
            server=server,
            draft=DraftSettings(revisions=0),
            verdict=VerdictSettings(rescue=False),
        )
        with running(site_library, settings) as served:
            yield served


def test_only_reviewers_read_a_withheld_draft(careless: RunningGateway, people: People) -> None:
    with signed_in(careless, people.name("viewer")) as viewer:
        text = viewer.submit(PAGE, PAGE, question=QUESTION).text
        assert "The answer is withheld" in text
        assert "4 days" not in text
    with signed_in(careless, people.name("reviewer")) as reviewer:
        assert "4 days" in reviewer.submit(PAGE, PAGE, question=QUESTION).text


def test_labels_decide_what_a_question_finds(site: RunningGateway, site_library: Library) -> None:
    Accounts(site_library.store.database).add("holder", PASSWORD, ["viewer"], ["hr"])
    Accounts(site_library.store.database).add("outsider", PASSWORD, ["admin"])
    asked = "What is the maximum salary of a team lead?"
    with signed_in(site, "holder") as holder:
        assert "Salary bands" in holder.submit(PAGE, PAGE, question=asked).text
    with signed_in(site, "outsider") as outsider:
        assert "Salary bands" not in outsider.submit(PAGE, PAGE, question=asked).text


def test_the_limits_of_a_key_apply(site: RunningGateway, site_library: Library) -> None:
    principals = Principals(site_library.store.database)
    made = principals.create("sparing", ["viewer"], limits={"requests_per_day": 1})
    with Visitor(site) as visitor:
        visitor.sign_in(key=made.secret)
        assert visitor.submit(PAGE, PAGE, way="draft", draft=DRAFT, evidence=EVIDENCE).is_success
        over = visitor.submit(PAGE, PAGE, way="draft", draft=DRAFT, evidence=EVIDENCE)
        assert over.status_code == 429
        assert "retry-after" in over.headers
        assert DRAFT in over.text  # what was typed is kept


def test_a_link_fills_in_the_form(site: RunningGateway, people: People) -> None:
    with signed_in(site, people.name("viewer")) as visitor:
        text = visitor.get(PAGE, params={"question": '</textarea><script>"'}).text
    assert "&lt;/textarea&gt;&lt;script&gt;&#34;" in text
