"""Signing in and out, and what keeps others out."""

from __future__ import annotations

import re

import httpx2
import pytest

from tests.server.gateway import RunningGateway
from tests.ui.conftest import PASSWORD, People

PAGE = "/ui/try"


def visitor(site: RunningGateway, **headers: str) -> httpx2.Client:
    return httpx2.Client(base_url=site.url, headers=headers, follow_redirects=False, timeout=60)


def token(text: str) -> str:
    found = re.search(r'name="csrf" value="([0-9a-f]{64})"', text)
    assert found, text
    return found[1]


def sign_in(client: httpx2.Client, **fields: str) -> httpx2.Response:
    csrf = token(client.get("/ui/sign-in").text)
    return client.post("/ui/sign-in", data={"csrf": csrf, **fields})


def test_nobody_sees_a_page_without_signing_in(site: RunningGateway) -> None:
    with visitor(site) as client:
        asked = client.get(PAGE)
        assert asked.status_code == 303
        assert asked.headers["location"] == "/ui/sign-in?next=%2Fui%2Ftry"
        assert client.post(PAGE, data={"question": "?"}).status_code == 401


@pytest.mark.parametrize("role", ["viewer", "reviewer", "admin"])
def test_accounts_and_keys_with_a_role_sign_in(
    site: RunningGateway, people: People, role: str
) -> None:
    for fields in (
        {"name": people.name(role), "password": PASSWORD},
        {"key": people.keys[role]},
    ):
        with visitor(site) as client:
            done = sign_in(client, next=PAGE, **fields)
            assert (done.status_code, done.headers["location"]) == (303, PAGE)
            cookie = done.headers["set-cookie"]
            assert "HttpOnly" in cookie
            assert "SameSite=lax" in cookie
            assert client.get(PAGE).status_code == 200


def test_a_key_without_a_role_for_the_site_is_told_so(site: RunningGateway, people: People) -> None:
    with visitor(site) as client:
        done = sign_in(client, key=people.keys["caller"])
        assert done.status_code == 401
        assert "one of the roles" in done.text
        assert client.get(PAGE).status_code == 303


def test_signing_out_ends_the_session(site: RunningGateway, people: People) -> None:
    with visitor(site) as client:
        sign_in(client, key=people.keys["viewer"])
        kept = dict(client.cookies)
        client.post("/ui/sign-out", data={"csrf": token(client.get(PAGE).text)})
        assert client.get(PAGE).status_code == 303
        client.cookies.update(kept)
        assert client.get(PAGE).status_code == 303


def test_the_local_user_of_an_open_gateway_needs_no_sign_in(open_site: RunningGateway) -> None:
    with visitor(open_site) as client:
        assert "local" in client.get(PAGE).text
    with visitor(open_site, host="evil.example") as client:
        assert client.get(PAGE).status_code == 403
    with visitor(open_site, **{"x-forwarded-for": "203.0.113.9"}) as client:
        assert client.get(PAGE).status_code == 303
