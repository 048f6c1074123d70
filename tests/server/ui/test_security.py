"""What protects the site: headers, forged forms, foreign input."""

from __future__ import annotations

import re

import pytest

from suffice.server.ui.security import local_path
from tests.server.gateway import RunningGateway
from tests.server.ui.conftest import People
from tests.server.ui.visitors import Visitor, signed_in

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
PAGES = ("/ui/", "/ui/try", "/ui/settings", "/ui/people", "/ui/password", "/ui/sign-in?switch=1")


@pytest.fixture
def admin(site: RunningGateway, people: People) -> Visitor:
    return signed_in(site, people.name("admin"))


def test_every_response_has_the_headers(admin: Visitor) -> None:
    for path in (*PAGES, "/ui/nothing", "/ui/static/site.css", "/ui/static/../page.py"):
        response = admin.get(path)
        assert response.headers["content-security-policy"] == POLICY, path
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["x-frame-options"] == "DENY"
        if "static" not in path:
            assert response.headers["cache-control"] == "no-store"


def test_no_page_has_inline_scripts_or_styles(admin: Visitor) -> None:
    for path in PAGES:
        text = admin.get(path).text
        assert not re.search(r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=|javascript:", text)


def test_a_form_needs_the_token_of_its_own_session(
    admin: Visitor, site: RunningGateway, people: People
) -> None:
    with signed_in(site, people.name("viewer")) as other:
        foreign = other.token("/ui/try")
    fields = {"name": "forged", "role": "admin"}
    tokens: tuple[dict[str, str], ...]
    tokens = ({}, {"csrf": ""}, {"csrf": "0" * 64}, {"csrf": "ü"}, {"csrf": foreign})
    for token in tokens:
        assert admin.post("/ui/people/keys", data={**fields, **token}).status_code == 403
    with Visitor(site) as stranger:
        assert stranger.post("/ui/sign-in", data={"key": "x"}).status_code == 403
    assert "forged" not in admin.get("/ui/people").text


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": ""},
        {"origin": "http://[bad"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_a_form_of_another_site_is_refused(admin: Visitor, headers: dict[str, str]) -> None:
    fields = {"csrf": admin.token("/ui/try"), "name": "forged", "role": "admin"}
    assert admin.post("/ui/people/keys", data=fields, headers=headers).status_code == 403


def test_a_form_of_this_site_is_accepted(admin: Visitor, site: RunningGateway) -> None:
    fields = {"csrf": admin.token("/ui/try"), "question": ""}
    done = admin.post("/ui/try", data=fields, headers={"origin": site.url})
    assert "Write a question first." in done.text


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"csrf=%ff%fe", "application/x-www-form-urlencoded", 400),
        (b"csrf=\xff", "application/x-www-form-urlencoded", 400),
        (b"csrf=1" + b"&a=1" * 3_000, "application/x-www-form-urlencoded", 400),
        (b"{}", "application/json", 415),
        (b"", "", 415),
        (b"--x\r\n", "multipart/form-data; boundary=x", 415),
    ],
)
def test_bad_input_is_the_senders_error(
    admin: Visitor, body: bytes, kind: str, status: int
) -> None:
    response = admin.post("/ui/try", content=body, headers={"content-type": kind})
    assert response.status_code == status
    assert "<h1>" in response.text


def test_a_form_that_is_too_large_is_refused(admin: Visitor, site: RunningGateway) -> None:
    most = site.inner.state.settings.server.limits.body_bytes
    response = admin.post(
        "/ui/try",
        content=b"a" * (most + 1),
        headers={"content-type": "application/x-www-form-urlencoded"},
    )
    assert response.status_code == 413


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"way": "draft"},
        {"way": "draft", "draft": "x"},
        {"way": "ask", "question": " "},
        {"way": "ask", "question": "q", "route": "nowhere"},
        {"way": "draft", "draft": "x" * 200_000, "evidence": "y"},
        {"way": "draft", "draft": "x\x00", "evidence": "---\n---"},
    ],
)
def test_missing_and_wrong_fields_are_explained(admin: Visitor, fields: dict[str, str]) -> None:
    response = admin.submit("/ui/try", "/ui/try", **fields)
    assert 400 <= response.status_code < 500, response.text


@pytest.mark.parametrize(
    "path",
    [
        "https://evil.example",
        "//evil.example",
        "/ui//evil.example",
        "/ui/\\evil",
        "/v1/chat",
        "/ui/x\r\nset-cookie: a=b",
        "/uix",
        "javascript:alert(1)",
        "",
    ],
)
def test_a_redirect_stays_on_the_site(path: str) -> None:
    assert local_path(path) == "/ui/"
    assert local_path("/ui/log?verdict=WITHHOLD") == "/ui/log?verdict=WITHHOLD"


def test_roles_decide_who_sees_a_page(site: RunningGateway, people: People) -> None:
    for role in ("viewer", "reviewer"):
        with signed_in(site, people.name(role)) as visitor:
            assert visitor.get("/ui/try").status_code == 200
            for path in ("/ui/settings", "/ui/people"):
                response = visitor.get(path)
                assert response.status_code == 403
                assert "needs the role admin" in response.text
            made = visitor.submit("/ui/try", "/ui/people/keys", name="mine", role="admin")
            assert made.status_code == 403


def test_static_files_are_kept_by_browsers_until_they_change(admin: Visitor) -> None:
    (address,) = re.findall(r'href="(/ui/static/site.css\?v=\w+)"', admin.get("/ui/try").text)
    assert "immutable" in admin.get(address).headers["cache-control"]
    assert admin.get("/ui/static/site.css").headers["cache-control"] == "no-cache"
    assert admin.get("/ui/static/nothing.css").status_code == 404
    assert admin.get("/ui/static/..%2fpage.py").status_code == 404
