"""Signed headers name a person; what is unsigned, changed or stale names nobody."""

from __future__ import annotations

import pytest

from suffice.access.identity import (
    GROUPS,
    SIGNATURE,
    TIMESTAMP,
    USER,
    Identity,
    SignedHeaders,
    signed_headers,
)
from suffice.errors import IdentityError

SECRET = "a secret that is long enough to be one"
NOW = 1_800_000_000.0


def reader(secret: str = SECRET, now: float = NOW) -> SignedHeaders:
    return SignedHeaders(
        [b"the secret before this one, rotated", secret.encode()], 300, lambda: now
    )


def test_names_with_commas_and_accents_arrive_as_they_are() -> None:
    groups = ["CN=hr,OU=people", "Zürich", "a b"]
    headers = signed_headers("Zoë, ada@example.org", groups, SECRET, NOW)
    assert all(value.isascii() for value in headers.values())
    assert reader().read(headers) == Identity("Zoë, ada@example.org", frozenset(groups))
    assert reader(now=NOW + 300).read(headers).name.startswith("Zoë")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({SIGNATURE: ""}, "not signed"),
        ({TIMESTAMP: ""}, "not signed"),
        ({SIGNATURE: "v0=" + 64 * "0"}, "v1="),
        ({SIGNATURE: "v1=" + 64 * "0"}, "does not match"),
        ({SIGNATURE: "v1=é"}, "v1="),
        ({USER: "bob"}, "does not match"),
        ({GROUPS: "hr,board"}, "does not match"),
        ({GROUPS: ""}, "does not match"),
        ({TIMESTAMP: str(int(NOW) + 1)}, "does not match"),
    ],
)
def test_a_change_is_noticed(change: dict[str, str], message: str) -> None:
    headers = signed_headers("ada", ["hr"], SECRET, NOW) | change
    with pytest.raises(IdentityError, match=message):
        reader().read(headers)


def test_another_secret_an_old_signature_and_a_clock_ahead() -> None:
    headers = signed_headers("ada", ["hr"], SECRET, NOW)
    with pytest.raises(IdentityError, match="does not match"):
        reader("another secret, of the same length too").read(headers)
    with pytest.raises(IdentityError, match="301 seconds old; the limit is 300 seconds"):
        reader(now=NOW + 301).read(headers)
    with pytest.raises(IdentityError, match="301 seconds in the future"):
        reader(now=NOW - 301).read(headers)


def test_any_language_can_sign() -> None:
    """printf 'v1\\n1800000000\\nada\\nhr' | openssl dgst -sha256 -hmac "$SECRET" """
    signature = signed_headers("ada", ["hr"], "openssl-and-python-agree-on-this", NOW)[SIGNATURE]
    assert signature == "v1=c98c2975e63c580552429981a897d30144981d4f372065a7f684ec08da50c98a"
