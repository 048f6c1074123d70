"""The site in a real browser: keyboard, hostile texts, phones, both themes, accessibility."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Dialog, Page, Response, expect

from suffice.server.ui.app import NAV
from tests.server.gateway import QUESTION, RunningGateway
from tests.server.ui.conftest import People, signed_in
from tests.server.ui.visitors import PASSWORD

PAGES = [*(item.path for item in NAV), "/ui/try?way=draft", "/ui/password", "/ui/sign-in?switch=1"]
HOSTILE = (
    "Leave lasts 18 weeks. <script>window.hacked = 1</script>"
    "<img src=x onerror='window.hacked = 2'> {{ 7 * 7 }} "
    '"><svg onload="window.hacked = 3"> ' + "unbreakable" * 40
)
_THEMES: dict[Literal["light", "dark"], Any] = {
    "light": None,
    "dark": {"runOnly": ["color-contrast"]},
}
DRAFT = f"{HOSTILE} Leave lasts 20 weeks [1]."


def check_draft(tab: Page, site: RunningGateway) -> Page:
    tab.goto(f"{site.url}/ui/try?way=draft")
    tab.get_by_label("Draft", exact=True).fill(DRAFT)
    tab.get_by_label("Evidence", exact=True).fill(HOSTILE)
    tab.get_by_role("button", name="Check", exact=True).click()
    expect(tab.locator("#result")).to_be_visible()
    return tab


def about_the_check(tab: Page) -> list[str]:
    """The pages about the record of a check: in the log, and as a case of the queue."""
    record = tab.locator(".verdict a[href^='/ui/log/']").get_attribute("href") or ""
    return [record, record.replace("/log/", "/queue/")]


def focused(tab: Page) -> str:
    """What a screen reader calls the focused element, about."""
    found: str = tab.evaluate(
        "() => { const one = document.activeElement;"
        " return one.labels?.[0]?.textContent ?? one.textContent.trim() }"
    )
    return found


def tab_to(tab: Page, name: str) -> None:
    for _ in range(30):
        tab.keyboard.press("Tab")
        if focused(tab) == name:
            return
    raise AssertionError(f"the Tab key never reaches {name!r}")


def test_sign_in_and_ask_by_keyboard_alone(tab: Page, site: RunningGateway, people: People) -> None:
    tab.goto(f"{site.url}/ui/try")
    tab.keyboard.press("Tab")
    assert focused(tab) == "Skip to content"
    tab_to(tab, "Name")
    tab.keyboard.type(people.name("reviewer"))
    tab_to(tab, "Password")
    tab.keyboard.type(PASSWORD)
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/ui/try")  # waits until it is loaded
    tab.keyboard.press("?")
    expect(tab.get_by_role("dialog")).to_be_visible()
    tab.keyboard.press("Escape")
    expect(tab.get_by_role("dialog")).to_be_hidden()
    tab.keyboard.press("/")
    tab.keyboard.type(QUESTION)
    tab.keyboard.press("Control+Enter")
    expect(tab.get_by_text("The answer is released")).to_be_visible()
    tab.wait_for_load_state()  # keys work when the scripts have run
    tab.keyboard.press("j")
    expect(tab.locator(".decides.lit")).to_contain_text("up to 3 days per week")
    tab_to(tab, "Sign out")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/ui/sign-in")


def test_a_claim_lights_up_its_evidence(tab: Page, open_site: RunningGateway) -> None:
    tab.goto(f"{open_site.url}/ui/try?way=draft")
    tab.get_by_label("Draft", exact=True).fill("Leave lasts 20 weeks [1]. Tea is free [1].")
    tab.get_by_label("Evidence", exact=True).fill("Tea is free. Leave lasts 18 weeks. Ask early.")
    tab.get_by_role("button", name="Check", exact=True).click()
    claim = tab.locator("a.claim-contradicted")
    expect(claim).to_be_visible()
    expect(tab.locator(".lit")).to_have_count(0)
    claim.click()
    expect(tab.locator(".decides.lit")).to_have_text("18 weeks")
    expect(tab.locator("[data-claim-detail='1'] table")).to_be_visible()
    assert "Tea" not in "".join(tab.locator(".around.lit").all_inner_texts())


def test_script_in_a_draft_or_a_passage_does_not_run(tab: Page, open_site: RunningGateway) -> None:
    spoken: list[str] = []

    def dismiss(dialog: Dialog) -> None:
        spoken.append(dialog.message)
        dialog.dismiss()

    tab.on("dialog", dismiss)
    check_draft(tab, open_site)
    hostile = tab.locator(".passage-text").first
    expect(hostile).to_contain_text("<script>window.hacked = 1</script>")
    # A draft is shown as the text that was read.
    expect(tab.locator(".draft").first).to_contain_text("window.hacked = 1")
    expect(tab.locator(".draft").first).to_contain_text("{{ 7 * 7 }}")
    tab.locator("a.claim").first.click()
    assert tab.evaluate("window.hacked") is None
    assert spoken == []


def test_even_markup_that_got_through_would_not_run(tab: Page, open_site: RunningGateway) -> None:
    tab.goto(f"{open_site.url}/ui/try")
    tab.evaluate(  # an inline script runs while it is added, or never
        """() => {
          const script = document.createElement("script");
          script.textContent = "window.hacked = 1";
          document.body.append(script);
        }"""
    )
    assert tab.evaluate("window.hacked") is None


@pytest.mark.parametrize("width", [360, 768])
def test_no_page_scrolls_sideways(tab: Page, open_site: RunningGateway, width: int) -> None:
    tab.set_viewport_size({"width": width, "height": 740})
    for path in PAGES:
        tab.goto(f"{open_site.url}{path}")
        _fits(tab, path)
    check_draft(tab, open_site)
    for details in tab.locator("main details > summary").all():
        details.click()
    _fits(tab, "the result of a check")
    for path in about_the_check(tab):
        tab.goto(f"{open_site.url}{path}")
        _fits(tab, path)


def _fits(tab: Page, path: str) -> None:
    wide: list[int] = tab.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide[0] <= wide[1], f"{path} is {wide[0]} pixels wide"


def test_no_serious_accessibility_finding(tab: Page, open_site: RunningGateway) -> None:
    """Everything in light; in dark only what a theme can change."""
    found: list[str] = []
    for path in PAGES:
        tab.goto(f"{open_site.url}{path}")
        found += _serious(tab, path)
    check_draft(tab, open_site)
    for details in tab.locator("main details > summary").all():
        details.click()
    found += _serious(tab, "the result of a check")
    for path in about_the_check(tab):
        tab.goto(f"{open_site.url}{path}")
        found += _serious(tab, path)
    assert found == []


def _serious(tab: Page, path: str) -> Iterator[str]:
    for theme, options in _THEMES.items():
        tab.emulate_media(color_scheme=theme)
        for one in Axe().run(tab, options=options).response["violations"]:
            if one["impact"] in ("serious", "critical"):
                yield f"{path}, {theme}: {one['id']}: {one['nodes'][0]['html'][:200]}"


def test_the_theme_is_kept(tab: Page, open_site: RunningGateway) -> None:
    tab.emulate_media(color_scheme="light")
    tab.goto(f"{open_site.url}/ui/try")
    light = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    tab.get_by_role("button", name="Switch between light and dark").click()
    dark = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert light != dark
    tab.reload()
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == dark


def test_a_page_is_light(tab: Page, site: RunningGateway, people: People) -> None:
    sizes: list[int] = []

    def weigh(response: Response) -> None:
        if response.ok:
            sizes.append(len(response.body()))

    tab.on("response", weigh)
    signed_in(tab, site, people.name("admin"), "/ui/settings")
    expect(tab.get_by_role("heading", name="Settings", exact=True)).to_be_visible()
    assert 0 < sum(sizes) < 300_000
