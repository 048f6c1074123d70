"""The guide of the demo, and a site that other origins may not read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from suffice.evidence.library import Library
from suffice.server.ui.guide import COOKIE, STEPS
from suffice.settings import CorsSettings, RouteSettings, ServerSettings, Settings, SiteSettings
from tests.server.gateway import RunningGateway, running
from tests.server.ui.visitors import Visitor

OTHER = "https://chat.example"


@pytest.fixture(scope="module")
def guided(site_library: Library) -> Iterator[RunningGateway]:
    server = replace(
        ServerSettings(),
        routes={"default": RouteSettings(upstream="extractive")},
        site=SiteSettings(guide=True, local_role="admin"),
        cors=CorsSettings((OTHER,)),
    )
    with running(site_library, Settings(server=server)) as served:
        yield served


def test_the_guide_leads_through_its_steps(guided: RunningGateway) -> None:
    with Visitor(guided) as visitor:
        assert visitor.get("/ui/try").text.count('aria-current="step"') == 1
        opened = visitor.get("/ui/guide/1")
        assert opened.headers["location"] == STEPS[0].path
        text = visitor.get("/ui/try").text
        assert text.count('class="done"') == 1
        assert STEPS[0].about.split(":")[0] in text
        assert visitor.get("/ui/guide/99").status_code == 404


def test_the_guide_can_be_dismissed_and_brought_back(guided: RunningGateway) -> None:
    with Visitor(guided) as visitor:
        assert visitor.submit("/ui/try", "/ui/guide", next="/ui/settings").status_code == 303
        assert "guide-steps" not in visitor.get("/ui/try").text
        visitor.submit("/ui/try", "/ui/guide", show="1")
        assert "guide-steps" in visitor.get("/ui/try").text


@pytest.mark.parametrize("value", ["", "7-x-1-1-99999", "-" * 3_000, "%00"])
def test_a_foreign_cookie_does_no_harm(guided: RunningGateway, value: str) -> None:
    with Visitor(guided, cookie=f"{COOKIE}={value}") as visitor:
        assert visitor.get("/ui/try").status_code == 200


def test_without_the_demo_there_is_no_guide(open_site: RunningGateway) -> None:
    with Visitor(open_site) as visitor:
        assert "guide-steps" not in visitor.get("/ui/try").text


def test_an_origin_that_may_call_the_api_may_not_read_the_site(guided: RunningGateway) -> None:
    allowed = "access-control-allow-origin"
    with Visitor(guided, origin=OTHER) as visitor:
        assert visitor.get("/v1/models").headers[allowed] == OTHER
        for path in ("/ui", "/ui/try", "/ui/v1"):
            assert allowed not in visitor.get(path).headers, path
            asks = {"access-control-request-method": "GET"}
            assert allowed not in visitor.options(path, headers=asks).headers, path
