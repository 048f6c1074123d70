"""Keys and accounts: shown once, recorded, and never more rights than one's own labels."""

from __future__ import annotations

import re

import pytest

from suffice.access.accounts import Accounts
from suffice.access.keys import Principals
from suffice.access.sign_in import Attempts, SignInAttempt
from suffice.evidence.library import Library
from suffice.log.log import Log
from tests.server.gateway import RunningGateway
from tests.server.ui.conftest import People
from tests.server.ui.visitors import PASSWORD, Visitor, signed_in

PAGE = "/ui/people"
NARROW = ("lim-key", "lim-account")


@pytest.fixture
def admin(site: RunningGateway, people: People) -> Visitor:
    return signed_in(site, people.name("admin"))


def test_a_key_is_shown_once_and_can_be_revoked(
    admin: Visitor, site_library: Library, people: People
) -> None:
    made = admin.submit(PAGE, f"{PAGE}/keys", name="shop <b>", role="caller", expires="30")
    (secret,) = re.findall(r"sk-suffice-[0-9a-f]{16}-[\w-]{43}", made.text)
    assert "shop &lt;b&gt;" in made.text
    assert secret not in admin.get(PAGE).text
    principals = Principals(site_library.store.database)
    found = principals.lookup(secret)
    assert found is not None
    assert found.expires
    again = admin.submit(PAGE, f"{PAGE}/keys", name="shop <b>", role="caller")
    assert again.status_code == 400
    assert "already exists" in again.text
    revoked = admin.submit(PAGE, f"{PAGE}/keys/revoke", id=found.id)
    assert revoked.status_code == 303
    assert "is revoked" in admin.get(PAGE).text
    assert "is revoked" not in admin.get(PAGE).text  # the notice is shown once
    assert principals.lookup(secret) is None
    log = Log(site_library.store.database)
    told = [entry for entry in log.entries() if entry.tag == "shop <b>"]
    assert [(entry.fields()["act"], entry.caller) for entry in told] == [
        ("created", people.name("admin")),
        ("revoked", people.name("admin")),
    ]
    log.close()


def test_nobody_gives_a_label_they_do_not_hold(admin: Visitor) -> None:
    for path in ("keys", "accounts"):
        made = admin.submit(
            PAGE, f"{PAGE}/{path}", name="insider", role="viewer", labels="hr", password=PASSWORD
        )
        assert made.status_code == 400
        assert "do not hold the label hr" in made.text
    assert "insider" not in admin.get(PAGE).text


def test_nobody_gives_collections_or_routes_they_may_not_use(
    site: RunningGateway, site_library: Library
) -> None:
    database = site_library.store.database
    accounts, principals = Accounts(database), Principals(database)
    accounts.add("lim-admin", PASSWORD, ["admin"], collections=["sales"], routes=["shop"])
    with signed_in(site, "lim-admin") as limited:
        for path in ("keys", "accounts"):
            for given in ("*", "default", "sales *", "sales,default"):
                fields = {"name": "wide", "role": "viewer", "password": PASSWORD}
                refused = limited.submit(PAGE, f"{PAGE}/{path}", **fields, collections=given)
                assert refused.status_code == 400, (path, given)
                assert "You may not use the collection" in refused.text
        for given in ("*", "default"):
            refused = limited.submit(PAGE, f"{PAGE}/keys", name="wide", role="caller", routes=given)
            assert refused.status_code == 400
            assert "You may not use the route" in refused.text
        fields = {"role": "viewer", "password": PASSWORD}
        limited.submit(PAGE, f"{PAGE}/keys", name="lim-key", **fields)
        limited.submit(PAGE, f"{PAGE}/accounts", name="lim-account", **fields)
    made = [one for one in (*principals.all(), *accounts.all()) if one.name in NARROW]
    assert len(made) == len(NARROW)
    assert {(one.collections, one.routes) for one in made} == {
        (frozenset({"sales"}), frozenset({"shop"}))
    }
    assert not [one for one in (*principals.all(), *accounts.all()) if one.name == "wide"]


def test_an_admin_of_everything_gives_all_or_some(admin: Visitor, site_library: Library) -> None:
    for name, given in (("all-of-it", ""), ("some-of-it", "sales, law")):
        admin.submit(PAGE, f"{PAGE}/keys", name=name, role="caller", collections=given)
    made = {one.name: one for one in Principals(site_library.store.database).all()}
    assert made["all-of-it"].collections == made["all-of-it"].routes == {"*"}
    assert made["some-of-it"].collections == {"sales", "law"}


def test_an_account_is_added_used_and_disabled(admin: Visitor, site: RunningGateway) -> None:
    for fields in ({"password": "short", "role": "viewer"}, {"password": PASSWORD}):
        refused = admin.submit(PAGE, f"{PAGE}/accounts", name="grace", **fields)
        assert refused.status_code == 400
    made = admin.submit(PAGE, f"{PAGE}/accounts", name="grace", password=PASSWORD, role="reviewer")
    assert made.status_code == 303
    with signed_in(site, "grace") as grace:
        assert admin.submit(PAGE, f"{PAGE}/accounts/disable", name="grace").status_code == 303
        assert grace.get("/ui/try").status_code == 303


def test_nobody_locks_themselves_out(admin: Visitor, people: People) -> None:
    own = admin.submit(PAGE, f"{PAGE}/accounts/disable", name=people.name("admin"))
    assert own.status_code == 400
    assert admin.get(PAGE).status_code == 200


def test_a_new_password_signs_out_everywhere(site: RunningGateway, site_library: Library) -> None:
    Accounts(site_library.store.database).add("mary", PASSWORD)
    with signed_in(site, "mary") as mary, signed_in(site, "mary") as elsewhere:
        new = {"new": "another long password", "again": "another long password"}
        wrong = mary.submit("/ui/password", "/ui/password", old="not it", **new)
        assert wrong.status_code == 400
        differ = {**new, "again": "something else"}
        assert (
            mary.submit("/ui/password", "/ui/password", old=PASSWORD, **differ).status_code == 400
        )
        assert mary.submit("/ui/password", "/ui/password", old=PASSWORD, **new).status_code == 303
        assert mary.get("/ui/try").status_code == 303
        assert elsewhere.get("/ui/try").status_code == 303
        assert mary.sign_in(name="mary", password="another long password").status_code == 303


def test_the_current_password_cannot_be_guessed_in_a_session(
    site: RunningGateway, site_library: Library
) -> None:
    database = site_library.store.database
    Accounts(database).add("mabel", PASSWORD)
    attempts, here = Attempts(database), SignInAttempt("127.0.0.1", "mabel")
    new = {"new": "another long password", "again": "another long password"}
    with signed_in(site, "mabel") as mabel:
        wrong = mabel.submit("/ui/password", "/ui/password", old="not it", **new)
        assert wrong.status_code == 400
        for _ in range(14):  # with the one above, a wait of minutes
            attempts.failed(here)
        locked = mabel.submit("/ui/password", "/ui/password", old=PASSWORD, **new)
        assert locked.status_code == 429
        assert int(locked.headers["retry-after"]) > 30
        Accounts(database).set_password("mabel", new["new"])  # by an administrator
        assert mabel.sign_in(name="mabel", password=new["new"]).status_code == 303
        for _ in range(4):
            attempts.failed(here)
        mabel.submit("/ui/password", "/ui/password", old="not it", **new)
        assert attempts.wait(here) > 0  # it was the fifth
        attempts.succeeded(here)


def test_the_settings_page_shows_no_secret(admin: Visitor) -> None:
    text = admin.get("/ui/settings").text
    assert "server.limits.body_bytes" in text
    assert "server.keys" in text
    assert "required" in text
