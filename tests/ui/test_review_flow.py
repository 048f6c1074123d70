"""In a real browser: from a held answer to its release and the caller's poll, by keyboard only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Locator, Page, expect

from suffice.evidence.library import Library
from suffice.review.review import Review
from suffice.settings import RouteSettings, VerdictSettings
from suffice.testing.upstream import ScriptedUpstream, says
from tests.review import examples as some
from tests.server.gateway import QUESTION, WRONG, RunningGateway, routes, running
from tests.ui.conftest import People
from tests.ui.visitors import PASSWORD
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
