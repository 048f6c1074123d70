"""Signing in and out: keys, accounts, forwarded identities and the local user."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import delete, select

from suffice.access.accounts import Accounts
from suffice.access.identity import signed_headers
from suffice.access.keys import Principals
from suffice.access.sign_in import Attempts, SignInAttempt
from suffice.evidence.library import Library
from suffice.log.log import Log
from suffice.log.tables import SIGN_IN_FAILURES
from suffice.settings import (
    IdentitySettings,
    RouteSettings,
    ServerSettings,
    Settings,
    SignedHeaderSettings,
    SiteSettings,
)
from tests.server.gateway import RunningGateway, running
from tests.server.ui.conftest import People
from tests.server.ui.visitors import PASSWORD, Visitor, signed_in
from tests.waiting import PATIENCE, until

PAGE = "/ui/try"
SECRET = "one-secret-of-the-proxy-and-the-gateway"


def signings(library: Library) -> list[tuple[str, str]]:
    log = Log(library.store.database)
    found = [entry for entry in log.entries() if entry.kind == "sign_in"]
    log.close()
    return [(entry.fields()["act"], entry.fields().get("name", "")) for entry in found]


def test_nobody_sees_a_page_without_signing_in(site: RunningGateway) -> None:
    with Visitor(site) as visitor:
        asked = visitor.get(PAGE)
        assert asked.status_code == 303
        assert asked.headers["location"] == "/ui/sign-in?next=%2Fui%2Ftry"
        assert visitor.post(PAGE, data={"question": "?"}).status_code == 401


@pytest.mark.parametrize("role", ["viewer", "reviewer", "admin"])
def test_accounts_and_keys_with_a_role_sign_in(
    site: RunningGateway, people: People, role: str
) -> None:
    ways = {"name": people.name(role), "password": PASSWORD}, {"key": people.keys[role]}
    for fields in ways:
        with Visitor(site) as visitor:
            done = visitor.sign_in(next=PAGE, **fields)
            assert (done.status_code, done.headers["location"]) == (303, PAGE)
            cookie = done.headers["set-cookie"]
            assert "HttpOnly" in cookie
            assert "SameSite=lax" in cookie
            assert "Secure" not in cookie
            assert visitor.get(PAGE).status_code == 200


def test_signing_in_and_out_and_failures_are_records(
    site: RunningGateway, site_library: Library, people: People
) -> None:
    before = len(signings(site_library))
    with Visitor(site) as visitor:
        wrong = visitor.sign_in(name=people.name("viewer"), password="a wrong password")
        unknown = visitor.sign_in(name="my secret passphrase", password="typed here")
        assert wrong.status_code == unknown.status_code == 401
        assert "The name or the password is wrong." in wrong.text
        assert "The name or the password is wrong." in unknown.text
        visitor.sign_in(name=people.name("viewer"), password=PASSWORD)
        kept = dict(visitor.cookies)
        visitor.submit(PAGE, "/ui/sign-out")
        assert visitor.get(PAGE).status_code == 303
        visitor.cookies.update(kept)
        assert visitor.get(PAGE).status_code == 303
    name = people.name("viewer")
    # What was typed as a name may be a password: it is not recorded.
    told = [("refused", name), ("refused", ""), ("signed_in", name), ("signed_out", name)]
    assert signings(site_library)[before:] == told


def test_a_key_without_a_role_for_the_site_is_told_so(site: RunningGateway, people: People) -> None:
    with Visitor(site) as visitor:
        done = visitor.sign_in(key=people.keys["caller"])
        assert done.status_code == 401
        assert "viewer, reviewer" in done.text.partition('role="alert"')[2][:200]
        assert visitor.get(PAGE).status_code == 303


def test_a_revoked_key_ends_its_session(site: RunningGateway, site_library: Library) -> None:
    principals = Principals(site_library.store.database)
    made = principals.create("short-lived", ["viewer"])
    with Visitor(site) as visitor:
        visitor.sign_in(key=made.secret)
        assert visitor.get(PAGE).status_code == 200
        principals.revoke("short-lived")
        assert visitor.get(PAGE).status_code == 303


@pytest.mark.parametrize("name", ["ada-locked", "nobody at all"])
def test_after_many_failures_even_the_right_password_waits(
    site: RunningGateway, site_library: Library, name: str
) -> None:
    """Whether the account exists or not: the reply says nothing about it."""
    database = site_library.store.database
    if name == "ada-locked":
        Accounts(database).add(name, PASSWORD)
    attempts, here = Attempts(database), SignInAttempt("127.0.0.1", name)
    with Visitor(site) as visitor:
        assert visitor.sign_in(name=name, password="a wrong password").status_code == 401
        with database.reading() as connection:
            counted = connection.scalars(select(SIGN_IN_FAILURES.c.subject)).all()
        assert set(here.longest()) <= set(counted)
        assert name not in str(counted)
        for _ in range(15):  # a wait of minutes, however slow this machine is
            attempts.failed(here)
        locked = visitor.sign_in(name=name, password=PASSWORD)
        assert locked.status_code == 429
        assert int(locked.headers["retry-after"]) >= 1
        attempts.succeeded(here)
        assert visitor.sign_in(name=name, password="a wrong password").status_code == 401
    attempts.succeeded(here)


def test_a_sign_in_forgets_the_failures_before_it(
    site: RunningGateway, site_library: Library
) -> None:
    database = site_library.store.database
    Accounts(database).add("ada-clumsy", PASSWORD)
    here = SignInAttempt("127.0.0.1", "ada-clumsy")

    def counted() -> dict[str, int]:
        table = SIGN_IN_FAILURES.c
        chosen = select(table.subject, table.failures).where(table.subject.in_(here.longest()))
        with database.reading() as connection:
            return {row.subject: row.failures for row in connection.execute(chosen)}

    before = counted()
    with Visitor(site) as visitor:
        for _ in range(3):
            assert visitor.sign_in(name="ada-clumsy", password="a wrong one").status_code == 401
        assert len(counted()) == 3
        assert visitor.sign_in(name="ada-clumsy", password=PASSWORD).status_code == 303
    assert counted() == before


def test_a_very_long_name_is_refused_and_counted(
    site: RunningGateway, site_library: Library
) -> None:
    long = "".join(chr(0x4E00 + n * 7 % 20_000) for n in range(1_900))
    with Visitor(site) as visitor:
        assert visitor.sign_in(name=long, password=PASSWORD).status_code == 401
    with site_library.store.database.writing() as connection:
        address = SIGN_IN_FAILURES.c.subject == "address 127.0.0.1"
        assert connection.scalar(select(SIGN_IN_FAILURES.c.failures).where(address))
        connection.execute(delete(SIGN_IN_FAILURES))


def test_many_attempts_at_once_do_not_escape_the_lock_out(
    site: RunningGateway, site_library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two passwords are checked at once; the others wait for their turn and find the account
    locked."""
    database = site_library.store.database
    Accounts(database).add("ada-rushed", PASSWORD)
    here = SignInAttempt("127.0.0.1", "ada-rushed")
    for _ in range(4):
        Attempts(database).failed(here)
    under_way, counted, go = Counter[str](), threading.Lock(), threading.Event()

    def slow(accounts: Accounts, name: str, password: str) -> None:
        with counted:
            under_way["now"] += 1
            under_way["most"] = max(under_way["now"], under_way["most"])
        go.wait(PATIENCE)
        with counted:
            under_way["now"] -= 1

    def attempt(n: int) -> int:
        with Visitor(site) as visitor:
            return visitor.sign_in(name="ada-rushed", password=f"wrong password {n}").status_code

    monkeypatch.setattr(Accounts, "check", slow)
    with ThreadPoolExecutor(12) as pool:
        replies = [pool.submit(attempt, n) for n in range(12)]
        until(lambda: under_way["now"] == 2)
        go.set()
        told = {reply.result() for reply in replies}
    Attempts(database).succeeded(here)
    assert under_way["most"] == 2
    assert told == {401, 429}


def test_the_local_user_of_an_open_gateway_needs_no_sign_in(open_site: RunningGateway) -> None:
    with Visitor(open_site) as visitor:
        assert "local" in visitor.get(PAGE).text
    with Visitor(open_site, host="evil.example") as visitor:
        assert visitor.get(PAGE).status_code == 403
    with Visitor(open_site, **{"x-forwarded-for": "203.0.113.9"}) as visitor:
        assert visitor.get(PAGE).status_code == 303


ADMIN_PAGES = ("/ui/people", "/ui/settings")


def test_the_local_user_is_a_reviewer_and_no_admin(site_library: Library, people: People) -> None:
    with running(site_library, Settings()) as gateway:
        with Visitor(gateway) as visitor:
            for path in ("/ui/log", "/ui/queue"):
                assert visitor.get(path).status_code == 200, path
            for path in ADMIN_PAGES:
                refused = visitor.get(path)
                assert refused.status_code == 403, path
                assert "suffice accounts add NAME --role admin" in refused.text
                assert f'<a href="{path}"' not in refused.text  # nor in the navigation
            fields = {"name": "lasting", "role": "admin", "password": PASSWORD}
            for path in ("keys", "accounts"):
                made = visitor.submit("/ui/try", f"/ui/people/{path}", **fields)
                assert made.status_code == 403, path
        with signed_in(gateway, people.name("admin")) as admin:
            shown = admin.get("/ui/people")
            assert shown.status_code == 200
            assert "lasting" not in shown.text


@pytest.mark.parametrize(("role", "queue", "people"), [("viewer", 403, 403), ("admin", 200, 200)])
def test_the_settings_may_give_the_local_user_another_role(
    site_library: Library, role: Any, queue: int, people: int
) -> None:
    server = replace(ServerSettings(), site=SiteSettings(local_role=role))
    with (
        running(site_library, Settings(server=server)) as gateway,
        Visitor(gateway) as visitor,
    ):
        assert visitor.get("/ui/log").status_code == 200
        assert visitor.get("/ui/queue").status_code == queue
        for path in ADMIN_PAGES:
            assert visitor.get(path).status_code == people


@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": "https://chat.example"},
    ],
)
def test_a_request_of_another_site_is_not_the_local_user(
    open_site: RunningGateway, headers: dict[str, str]
) -> None:
    with Visitor(open_site, **headers) as visitor:
        for path in (PAGE, "/ui/log", "/ui/queue"):
            assert visitor.get(path).status_code == 303, path
            assert visitor.post(path).status_code in (401, 405), path
        page = visitor.get(f"/ui/sign-in?next={PAGE}").text
        assert f'<a href="{PAGE}">continue as local</a>' in page
    for own in ({"sec-fetch-site": "same-origin"}, {"sec-fetch-site": "none"}):
        with Visitor(open_site, **own) as visitor:
            assert visitor.get(PAGE).status_code == 200


def test_somebody_may_sign_in_on_an_open_gateway(open_site: RunningGateway, people: People) -> None:
    with signed_in(open_site, people.name("viewer")) as visitor:
        assert people.name("viewer") in visitor.get(PAGE).text
        assert visitor.get("/ui/people").status_code == 403


@pytest.fixture
def behind_proxy(
    site_library: Library, monkeypatch: pytest.MonkeyPatch
) -> Iterator[RunningGateway]:
    """A gateway behind a proxy that authenticates people and signs their names."""
    monkeypatch.setenv("PROXY_SECRET", SECRET)
    identity = IdentitySettings(
        roles={"reviewers": ("reviewer",), "*": ("viewer",)},
        headers=SignedHeaderSettings(secret_env="PROXY_SECRET"),
    )
    server = replace(
        ServerSettings(),
        keys="required",
        identity=identity,
        site=SiteSettings(behind_proxy=True),
        routes={"default": RouteSettings(upstream="extractive")},
    )
    with running(site_library, Settings(server=server)) as served:
        yield served


def test_a_proxy_names_the_person(behind_proxy: RunningGateway, people: People) -> None:
    key = {"x-api-key": people.keys["admin"], "x-forwarded-proto": "https"}
    with Visitor(behind_proxy, **key, **signed_headers("Grace", ["reviewers"], SECRET)) as visitor:
        shown = visitor.get(PAGE)
        assert "Grace" in shown.text
        assert "Secure" in shown.headers["set-cookie"]
        assert visitor.get("/ui/people").status_code == 403  # narrowed to the group's role
    forged = signed_headers("Grace", ["reviewers"], SECRET + "?")
    with Visitor(behind_proxy, **key, **forged) as visitor:
        assert visitor.get(PAGE).status_code == 401
    with Visitor(behind_proxy, **key) as visitor:
        assert visitor.get(PAGE).status_code == 401


def test_a_key_that_must_name_its_person_does_so_in_a_session_too(
    behind_proxy: RunningGateway, people: People
) -> None:
    with Visitor(behind_proxy) as visitor:
        assert visitor.sign_in(key=people.keys["admin"]).status_code == 303
        assert visitor.get(PAGE).status_code == 401
        named = signed_headers("Grace", [], SECRET)
        assert "Grace" in visitor.get(PAGE, headers=named).text
    with signed_in(behind_proxy, people.name("admin")) as visitor:
        assert visitor.get("/ui/people").status_code == 200
