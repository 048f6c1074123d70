"""A gateway with its site over the handbook, and a real browser."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from suffice.access.accounts import Accounts
from suffice.access.keys import Principals
from suffice.evidence.library import Library
from suffice.settings import RouteSettings, ServerSettings, Settings, SiteSettings
from tests.conftest import HANDBOOK
from tests.server.gateway import RunningGateway, running
from tests.server.ui.visitors import PASSWORD
from tests.waiting import PATIENCE

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
ROLES = ("viewer", "reviewer", "admin")


@dataclass(frozen=True)
class People:
    """The secrets of an account and a key for each role: `ada-viewer`, `key-viewer`, …"""

    keys: dict[str, str]

    def name(self, role: str) -> str:
        return f"ada-{role}"


@pytest.fixture(scope="package")
def site_library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """The handbook in a store of its own: the site writes records."""
    where = tmp_path_factory.mktemp("site") / "handbook.db"
    opened = Library.open(where, Settings(), create=True)
    opened.add(HANDBOOK)
    yield opened
    opened.store.close()


@pytest.fixture(scope="package")
def people(site_library: Library) -> People:
    database = site_library.store.database
    accounts, principals = Accounts(database), Principals(database)
    keys = {}
    for role in ROLES:
        accounts.add(f"ada-{role}", PASSWORD, [role])
        keys[role] = principals.create(f"key-{role}", [role]).secret
    keys["caller"] = principals.create("key-caller").secret
    return People(keys)


@pytest.fixture(scope="package")
def site(site_library: Library) -> Iterator[RunningGateway]:
    """A gateway that requires keys."""
    route = RouteSettings(upstream="extractive")
    server = replace(ServerSettings(), keys="required", routes={"default": route})
    with running(site_library, Settings(server=server)) as served:
        yield served


@pytest.fixture(scope="package")
def open_site(site_library: Library) -> Iterator[RunningGateway]:
    """A gateway that requires no keys, as the demo sets it up: the person is `local`, an admin."""
    route = RouteSettings(upstream="extractive")
    site = SiteSettings(local_role="admin")
    server = replace(ServerSettings(), routes={"default": route}, site=site)
    with running(site_library, Settings(server=server)) as served:
        yield served


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Not for the whole session: while it is open, no other test of the process can call
    `asyncio.run`."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    expect.set_options(timeout=PATIENCE * 1_000)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=found, args=ARGUMENTS)
        yield launched
        launched.close()


@pytest.fixture
def window(browser: Browser) -> Iterator[BrowserContext]:
    """A fresh browser profile."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(PATIENCE * 1_000)
    yield context
    context.close()


@pytest.fixture
def tab(window: BrowserContext) -> Page:
    return window.new_page()


def signed_in(tab: Page, site: RunningGateway, name: str, path: str = "/ui/") -> Page:
    """Sign in with an account and go to a page."""
    tab.goto(f"{site.url}{path}")
    tab.get_by_label("Name", exact=True).fill(name)
    tab.get_by_label("Password").fill(PASSWORD)
    tab.get_by_role("button", name="Sign in", exact=True).click()
    tab.wait_for_url(f"{site.url}/ui/**")
    return tab


def picture(tab: Page, folder: Path, name: str) -> None:
    """The page in light, dark and at phone width, as files to look at."""
    for theme, width in (("light", 1280), ("dark", 1280), ("light", 390)):
        tab.set_viewport_size({"width": width, "height": 900})
        tab.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
        tab.screenshot(path=folder / f"{name}-{theme}-{width}.png", full_page=True)
