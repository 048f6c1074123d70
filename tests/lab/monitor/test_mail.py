"""E-mail over TLS, sent to a real SMTP server on loopback with a self-signed certificate."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, Envelope, LoginPassword
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from suffice.errors import SettingsError
from suffice.lab.monitor.worker import Mailer
from suffice.log.log import Log
from suffice.log.record import Entry, Record
from suffice.settings import MailSettings

SECRET = {"MAIL": "s3cret"}


@pytest.fixture(autouse=True)
def _certificates(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other tests load no certificates."""
    loads = super(ssl.SSLContext, ssl.SSLContext).load_verify_locations
    monkeypatch.setattr(ssl.SSLContext, "load_verify_locations", loads)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A self-signed certificate for 127.0.0.1, and its private key."""
    folder, key = tmp_path_factory.mktemp("tls"), ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        .sign(key, hashes.SHA256())
    )
    files = folder / "server.pem", folder / "server.key"
    files[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain
    )
    files[1].write_bytes(private)
    return files


@dataclass
class Received:
    port: int = 0
    mails: list[Envelope] = field(default_factory=list)
    logins: list[tuple[bytes, bytes, bool]] = field(default_factory=list)
    """User, password, and whether the connection was encrypted."""


@contextmanager
def smtp(**options: Any) -> Iterator[Received]:
    box = Received()

    class Keep:
        async def handle_DATA(self, server: Any, session: Any, envelope: Envelope) -> str:
            box.mails.append(envelope)
            return "250 kept"

    def login(server: Any, session: Any, envelope: Any, mechanism: str, auth: Any) -> AuthResult:
        assert isinstance(auth, LoginPassword)
        encrypted = session.ssl is not None or "ssl_context" in options
        box.logins.append((auth.login, auth.password, encrypted))
        return AuthResult(success=auth.password == b"s3cret", handled=False)

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        box.port = free.getsockname()[1]
    controller = Controller(
        Keep(), hostname="127.0.0.1", port=box.port, authenticator=login, **options
    )
    controller.start()
    try:
        yield box
    finally:
        controller.stop()


def context_of(pair: tuple[Path, Path]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*pair)
    return context


@pytest.fixture
def alarm(log: Log) -> Entry:
    log.append(Record("alarm", {"about": "x", "what": "raised", "text": "T."}, id="alarm-x"))
    return log.entry("alarm-x")


def mailer(box: Received, security: str, ca_file: Path | None, **more: Any) -> Mailer:
    own = MailSettings(
        host="127.0.0.1",
        port=box.port,
        security=security,  # type: ignore[arg-type]
        ca_file=str(ca_file or ""),
        user="ada",
        password_env="MAIL",
        sender="suffice@example.org",
        to=("on-call@example.org",),
    )
    found = Mailer.of(replace(own, **more), SECRET)
    assert found is not None
    return found


def options_of(security: str, pair: tuple[Path, Path]) -> dict[str, Any]:
    if security == "tls":
        return {"ssl_context": context_of(pair), "auth_require_tls": False}
    return {"tls_context": context_of(pair), "require_starttls": True, "auth_required": True}


@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_the_login_and_the_message_are_encrypted(
    alarm: Entry, pair: tuple[Path, Path], security: str
) -> None:
    with smtp(**options_of(security, pair)) as box:
        assert mailer(box, security, pair[0]).send(alarm) == ""
    assert box.logins == [(b"ada", b"s3cret", True)]
    (sent,) = box.mails
    assert sent.rcpt_tos == ["on-call@example.org"]
    assert isinstance(sent.content, bytes)
    assert b"Subject: Suffice: alarm raised for x" in sent.content


@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_an_unknown_certificate_gets_no_password_and_no_message(
    alarm: Entry, pair: tuple[Path, Path], security: str
) -> None:
    with smtp(**options_of(security, pair)) as box:
        assert "CERTIFICATE_VERIFY_FAILED" in mailer(box, security, None).send(alarm)
    assert (box.logins, box.mails) == ([], [])


def test_a_certificate_for_another_host_is_refused(alarm: Entry, pair: tuple[Path, Path]) -> None:
    with smtp(**options_of("starttls", pair)) as box:
        told = mailer(box, "starttls", pair[0], host="localhost").send(alarm)
    assert "Hostname mismatch" in told
    assert (box.logins, box.mails) == ([], [])


def test_a_server_without_starttls_gets_nothing(alarm: Entry, pair: tuple[Path, Path]) -> None:
    with smtp(auth_require_tls=False) as box:
        assert "STARTTLS extension not supported" in mailer(box, "starttls", pair[0]).send(alarm)
    assert (box.logins, box.mails) == ([], [])


def test_a_wrong_password_is_reported_without_it(alarm: Entry, pair: tuple[Path, Path]) -> None:
    with smtp(**options_of("starttls", pair)) as box:
        told = replace(mailer(box, "starttls", pair[0]), password="wrong").send(alarm)
    assert "SMTPAuthenticationError" in told
    assert "wrong" not in told
    assert box.mails == []


@pytest.mark.parametrize("text", [None, "no certificate"])
def test_a_ca_file_that_cannot_be_read_is_refused_at_once(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "ca.pem").write_text(text)
    with pytest.raises(SettingsError, match=r"monitor\.mail\.ca_file"):
        mailer(Received(port=1), "starttls", tmp_path / "ca.pem")
