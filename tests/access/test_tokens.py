"""Tokens: only those that the provider signed for this audience, by an accepted algorithm."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import ECAlgorithm

from suffice.access.identity import Identities, Identity
from suffice.access.tokens import _PAUSE, KeySet, Tokens
from suffice.errors import ExtraMissing, IdentityError, SettingsError
from suffice.settings import IdentitySettings, ServerSettings, Settings, TokenSettings

ISSUER, AUDIENCE = "https://id.example.org", "suffice"
PRIVATE, OTHER = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
PEM = PRIVATE.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def public(private: Any = PRIVATE, kid: str = "one", **more: Any) -> dict[str, Any]:
    entry: dict[str, Any] = ECAlgorithm.to_jwk(private.public_key(), as_dict=True)
    return entry | {"kid": kid, "use": "sig", **more}


def token(
    key: Any = PRIVATE, algorithm: str = "ES256", kid: str | None = "one", **more: Any
) -> str:
    claims: dict[str, Any] = {"sub": "ada", "groups": ["hr"], "iss": ISSUER, "aud": AUDIENCE}
    claims |= {"exp": int(time.time()) + 86_400, **more}
    kept = {name: value for name, value in claims.items() if value is not None}
    return jwt.encode(kept, key, "ES256", {"kid": kid} if kid else None)


def forged(algorithm: str, key: bytes = b"") -> str:
    """A token whose algorithm needs no private key; the library refuses to make some of them."""
    from jwt.utils import base64url_encode

    head = base64url_encode(json.dumps({"alg": algorithm, "kid": "one"}).encode())
    body = token().encode().split(b".")[1]
    sign = jwt.get_algorithm_by_name("HS256").sign(head + b"." + body, key) if key else b""
    return b".".join((head, body, base64url_encode(sign))).decode()


def tokens(path: Path, keys: list[dict[str, Any]] | None = None, **more: Any) -> Tokens:
    path.write_text(json.dumps({"keys": [public()] if keys is None else keys}))
    options = {"issuer": ISSUER, "audiences": (AUDIENCE, "other app"), **more}
    return Tokens(TokenSettings(jwks=str(path), **options))


def test_a_token_names_a_person_and_groups(tmp_path: Path) -> None:
    reader = tokens(tmp_path / "jwks.json")
    assert reader.read(token()).name == "ada"
    assert reader.read(token(kid=None)).groups == {"hr"}  # the only key there is
    assert reader.read(token(groups="hr and law")).groups == {"hr and law"}
    assert reader.read(token(groups=[1, "x", None])).groups == {"x"}
    assert reader.read(token(groups=None)).groups == frozenset()
    nested = tokens(tmp_path / "n.json", groups_claim="realm.roles", user_claim="email")
    user = nested.read(token(email="ada@example.org", realm={"roles": ["law"]}))
    assert user == Identity("ada@example.org", frozenset({"law"}))
    with pytest.raises(IdentityError, match="no claim 'email'"):
        nested.read(token())
    assert tokens(tmp_path / "s.json", groups_claim="scope").read(token(scope="a b")).groups == {
        "a",
        "b",
    }


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        (token(exp=int(time.time()) - 60), "has expired"),
        (token(exp=None), "exp"),
        (token(nbf=int(time.time()) + 86_000), "not yet valid"),
        (token(aud="another"), "another audience"),
        (token(aud=None), "aud"),
        (token(iss="https://evil.example"), "another issuer"),
        (token(iss=None), "iss"),
        (token(OTHER), "Signature verification failed"),
        (token(OTHER, kid="two"), "unknown key 'two'"),
        (token(sub=""), "names no user"),
        (forged("none"), "algorithm 'none' is not accepted"),
        (forged("HS256", PEM), "algorithm 'HS256' is not accepted"),
        (forged("ES384", PEM), "algorithm 'ES384' is not accepted"),
        (forged("ES256", PEM), "not valid"),
        (token()[:-4] + "AAAA", "Signature verification failed"),
        ("a.b.c", "not valid"),
        ("", "not valid"),
    ],
)
def test_what_is_not_a_token_of_the_provider_is_refused(
    tmp_path: Path, sent: str, message: str
) -> None:
    with pytest.raises(IdentityError, match=message):
        tokens(tmp_path / "jwks.json").read(sent)


def test_a_key_is_used_for_what_it_is_meant_for(tmp_path: Path) -> None:
    secret = {"kty": "oct", "kid": "one", "k": "c2VjcmV0"}
    unfit = [secret, public(use="enc"), {"kty": "?"}, "no key"]
    with pytest.raises(IdentityError, match="could not be read"):
        tokens(tmp_path / "none.json", unfit).read(token())  # type: ignore[arg-type]
    declared = tokens(tmp_path / "alg.json", [public(alg="ES256")], algorithms=("ES256", "ES384"))
    assert declared.read(token()).name == "ada"
    with pytest.raises(IdentityError, match=r"'ES384' is not accepted. Accepted: ES256"):
        declared.read(forged("ES384", PEM))
    two = tokens(tmp_path / "two.json", [public(), public(OTHER, "two")])
    with pytest.raises(IdentityError, match="no key id"):
        two.read(token(kid=None))


def test_settings_that_would_accept_too_much_are_refused() -> None:
    for wrong in ("none", "HS256", "RSA"):
        with pytest.raises(SettingsError, match="not `none`"):
            TokenSettings(algorithms=("ES256", wrong))
    with pytest.raises(SettingsError, match="https"):
        TokenSettings(jwks="http://127.0.0.1.evil.example/keys", issuer=ISSUER, audiences=("a",))
    for missing in ({"issuer": ""}, {"audiences": ()}):
        given: dict[str, Any] = {"issuer": ISSUER, "audiences": ("a",), **missing}
        with pytest.raises(SettingsError, match="not empty"):
            TokenSettings(jwks="keys.json", **given)


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    reader = tokens(tmp_path / "jwks.json")
    assert reader.read(token()).name == "ada"
    (tmp_path / "jwks.json").write_text(json.dumps({"keys": [public(OTHER, "the next one")]}))
    assert reader.read(token(OTHER, kid="the next one")).name == "ada"
    with pytest.raises(IdentityError, match="unknown key"):
        reader.read(token())


class Provider:
    """An identity provider on loopback that serves its keys."""

    def __init__(self) -> None:
        self.keys, self.status, self.reads = [public()], 200, 0
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                provider.reads += 1
                self.send_response(provider.status)
                self.send_header("Location", "/elsewhere")
                self.end_headers()
                self.wfile.write(json.dumps({"keys": provider.keys}).encode())

            def log_message(self, format: str, *args: Any) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/jwks"


@pytest.fixture
def provider() -> Iterator[Provider]:
    made = Provider()
    thread = threading.Thread(target=made.server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield made
    made.server.shutdown()
    made.server.server_close()


def test_a_url_is_cached_refreshed_and_spared(provider: Provider) -> None:
    now = [1_000.0]
    keys = KeySet(provider.url, 3_600, lambda: now[0])
    for _ in range(3):
        keys.key("one")
    assert provider.reads == 1
    provider.keys.append(public(OTHER, "two"))
    for _ in range(5):  # forged key ids do not reach the provider
        with pytest.raises(IdentityError, match="unknown key"):
            keys.key("two")
    assert provider.reads == 1
    now[0] += _PAUSE
    keys.key("two")
    assert provider.reads == 2
    provider.keys.pop(0)
    now[0] += 3_601
    with pytest.raises(IdentityError, match="unknown key"):
        keys.key("one")
    assert provider.reads == 3


@pytest.mark.parametrize("status", [500, 302])
def test_while_the_provider_fails_known_keys_count_for_a_day(
    provider: Provider, status: int
) -> None:
    now = [1_000.0]
    keys = KeySet(provider.url, 3_600, lambda: now[0])
    keys.key("one")
    provider.status = status
    now[0] += 7_200
    keys.key("one")
    assert provider.reads == 2
    now[0] += 86_400
    with pytest.raises(IdentityError, match="could not be read") as problem:
        keys.key("one")
    assert problem.value.unavailable
    with pytest.raises(IdentityError, match="could not be read"):
        KeySet(provider.url, 3_600).key("one")


def test_only_tokens_need_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    program = "import sys; sys.modules['jwt'] = None; import suffice.access.identity"
    subprocess.run([sys.executable, "-c", program], check=True)
    monkeypatch.setitem(sys.modules, "jwt", None)
    monkeypatch.delitem(sys.modules, "suffice.access.tokens")
    settings = TokenSettings(jwks="keys.json", issuer=ISSUER, audiences=(AUDIENCE,))
    server = ServerSettings(identity=IdentitySettings(jwt=settings))
    with pytest.raises(ExtraMissing, match=r"suffice\[oidc\]"):
        Identities.of(Settings(server=server), {})
