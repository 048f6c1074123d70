"""In a real browser: from a held answer to its release and the caller's poll, by keyboard only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from suffice.evidence.library import Library
from suffice.review.review import Review
from suffice.settings import RouteSettings, VerdictSettings
from suffice.testing import ScriptedUpstream, says
from tests.review import examples as some
from tests.server.gateway import QUESTION, WRONG, RunningGateway, routes, running
from tests.server.ui.conftest import People
from tests.server.ui.visitors import PASSWORD
from tests.waiting import PATIENCE


@pytest.fixture(scope="module")
def careful(site_library: Library) -> Iterator[RunningGateway]:
    """A gateway that leaves every answer to a person."""
    with ScriptedUpstream([says(WRONG)]) as upstream:
        settings = routes(RouteSettings(upstream=upstream.url), keys="required")
        to_a_person = VerdictSettings(routes=("else -> REVIEW",), rescue=False)
        with running(site_library, replace(settings, verdict=to_a_person)) as served:
            yield served


def arrived(tab: Page, place: Locator) -> None:
    """Wait until a page is there and its keys work."""
    expect(place).to_be_visible()
    tab.wait_for_load_state("load")


def test_a_held_answer_is_released_by_keyboard_and_the_caller_gets_it(
    careful: RunningGateway, people: People, tab: Page
) -> None:
    key = {"authorization": f"Bearer {people.keys['caller']}"}
    asked = [{"role": "user", "content": f"{QUESTION} Please."}]
    reply = careful.post("/chat/completions", {"messages": asked}, headers=key).json()["suffice"]
    assert reply["verdict"] == "REVIEW"

    def poll() -> Any:
        url = f"{careful.url}{reply['review_url']}"
        return httpx2.get(url, headers=key, timeout=PATIENCE).json()

    assert (poll()["state"], poll()["answer"]) == ("open", None)

    keys = tab.keyboard
    tab.goto(f"{careful.url}/ui/queue?view=open&order=newest")
    tab.get_by_label("Name", exact=True).focus()
    keys.type(people.name("reviewer"))
    keys.press("Tab")
    keys.type(PASSWORD)
    keys.press("Enter")
    arrived(tab, tab.get_by_role("heading", name="Queue"))
    keys.press("j")
    expect(tab.locator(".case-question").first).to_be_focused()
    keys.press("Enter")
    arrived(tab, tab.locator("h1").filter(has_text=QUESTION))
    record = tab.url.rpartition("/")[2]
    assert record == reply["record"]

    keys.press("?")
    expect(tab.locator("dialog.shortcuts")).to_contain_text("Overrule the finding")
    keys.press("Escape")
    keys.press("j")
    claim = tab.locator("[data-claims] [data-claim='1']")
    expect(claim).to_be_focused()
    expect(tab.locator(".decides.lit").first).to_contain_text("3 days")
    keys.press("e")
    expect(tab.locator("#text-1")).to_be_focused()
    keys.press("Control+A")
    keys.type("You may work remotely up to 3 days per week. [1]")
    keys.press("Tab")
    keys.type("The policy says 3.")
    keys.press("Tab")
    keys.press("Enter")
    arrived(tab, tab.get_by_role("status").filter(has_text="Claim 1: corrected."))
    expect(tab.get_by_label("Answer to release")).to_have_value(
        "You may work remotely up to 3 days per week. [1]"
    )
    assert poll()["answer"] is None  # a judgement of a claim releases nothing

    keys.press("r")
    expect(tab.locator("#decided")).to_contain_text("Corrected by ada-reviewer")
    out = poll()
    assert (out["state"], out["decision"], out["verdict"]) == ("decided", "correct", "CAVEAT")
    assert out["answer"] == "You may work remotely up to 3 days per week. [1]"
    assert "the words are the reviewer's" in out["reason"]
    assert out["sources"]


def test_a_reason_is_asked_for_and_enter_then_sends_the_choice(
    careful: RunningGateway, people: People, tab: Page
) -> None:
    assert careful.inner.log is not None
    review = Review(careful.inner.log)
    first, second = review.log.write(some.HELD), review.log.write(some.HELD)
    tab.goto(f"{careful.url}/ui/queue/{first}")
    tab.get_by_label("Name", exact=True).fill(people.name("reviewer"))
    tab.get_by_label("Password").fill(PASSWORD)
    tab.keyboard.press("Enter")
    arrived(tab, tab.locator("#decide"))
    tab.keyboard.press("w")
    expect(tab.get_by_label("Reason")).to_be_focused()
    expect(tab.get_by_role("alert")).to_have_text("Type the reason. Enter sends: Keep withheld.")
    tab.keyboard.type("w is only a letter here")
    tab.keyboard.press("Enter")
    arrived(tab, tab.locator("#decided").filter(has_text="Confirmed by ada-reviewer: w is only"))
    tab.keyboard.press("n")
    tab.wait_for_url(lambda url: first not in url)
    tab.goto(f"{careful.url}/ui/queue/{second}")
    tab.locator("[data-claims] [data-claim='2']").click()
    expect(tab.locator(".decides.lit")).to_have_text("Managers approve the days.")
    tab.keyboard.press("o")
    arrived(tab, tab.get_by_role("status").filter(has_text="Claim 2: finding overruled."))
    expect(tab.locator("#claim-1")).to_have_class("chosen")  # the next that nobody judged
    tab.keyboard.press("a")
    expect(tab.get_by_role("status")).to_contain_text("Claim 1: finding accepted.")
    assert {n: one.supported for n, one in review.case(second).judgements.items()} == {
        1: False,
        2: False,
    }


def sign_in(tab: Page, site: RunningGateway, people: People, path: str) -> None:
    tab.goto(f"{site.url}{path}")
    tab.get_by_label("Name", exact=True).fill(people.name("reviewer"))
    tab.get_by_label("Password").fill(PASSWORD)
    tab.get_by_role("button", name="Sign in", exact=True).click()
    arrived(tab, tab.locator("#decide"))


FIELDS = ("#field-reason", "#comment-1", "#mark-1")
"""Fields of forms whose buttons are choices: a decision, a judgement of a claim, and a mark."""


@pytest.mark.parametrize("scripts", [True, False])
def test_enter_in_a_field_chooses_nothing(
    careful: RunningGateway, people: People, browser: Browser, scripts: bool
) -> None:
    assert careful.inner.log is not None
    review = Review(careful.inner.log)
    id = review.log.write(some.HELD)
    context = browser.new_context(java_script_enabled=scripts)
    context.set_default_timeout(PATIENCE * 1_000)
    tab = context.new_page()
    sign_in(tab, careful, people, f"/ui/queue/{id}")
    sent: list[str] = []
    tab.on("request", lambda request: sent.append(request.method))
    for selector in FIELDS:
        field = tab.locator(selector)
        if not field.is_visible():
            tab.locator("details", has=field).locator("summary").click()
        field.fill("Looks right to me")
        field.press("Enter")
        if scripts:
            told = tab.locator("form", has=field).get_by_role("alert")
            expect(told).to_have_text("Nothing was sent. Choose one of the buttons.")
        expect(field).to_have_value("Looks right to me")
    assert "POST" not in sent
    # After a request that is sent, all earlier ones would have arrived.
    tab.get_by_label("Assignee").fill("grace")
    tab.get_by_label("Assignee").press("Enter")
    arrived(tab, tab.get_by_role("status").filter(has_text="Assigned to grace."))
    assert sent.count("POST") == 1
    case = review.case(id)
    assert (case.decided, case.judged, case.marks, case.assignee) == ((), (), (), "grace")
    context.close()


def test_a_choice_by_key_ends_when_the_reason_is_left(
    careful: RunningGateway, people: People, tab: Page
) -> None:
    assert careful.inner.log is not None
    review = Review(careful.inner.log)
    id = review.log.write(some.HELD)
    sign_in(tab, careful, people, f"/ui/queue/{id}")
    tab.keyboard.press("r")
    reason = tab.get_by_label("Reason")
    expect(reason).to_be_focused()
    expect(tab.get_by_role("alert")).to_have_text("Type the reason. Enter sends: Release.")
    tab.keyboard.press("Escape")
    expect(tab.get_by_role("alert")).to_have_count(0)
    reason.fill("Not sure yet")
    reason.press("Enter")
    expect(tab.get_by_role("alert")).to_have_text("Nothing was sent. Choose one of the buttons.")
    assert review.case(id).open
