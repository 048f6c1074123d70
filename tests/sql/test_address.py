"""Database addresses and their masked form."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.errors import StoreUnreachable
from suffice.sql.backend import Server, address, masked


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("suffice.db", "suffice.db"),
        ("/var/lib/s.db", "/var/lib/s.db"),
        ("C:\\data\\s.db", "C:\\data\\s.db"),
        ("sqlite:///s.db", "s.db"),
        ("sqlite:////var/s.db", "/var/s.db"),
        (Path("a b.db"), "a b.db"),
    ],
)
def test_files(written: str | Path, meant: str) -> None:
    assert address(written) == Path(meant)


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+psycopg", "PostgreSQL"])
def test_servers(scheme: str) -> None:
    found = address(f"{scheme}://me:pass%40word@host:5433/name?sslmode=require")
    assert isinstance(found, Server)
    assert (found.url.host, found.url.port, found.url.password) == ("host", 5433, "pass@word")
    assert found.shown == f"{scheme}://me:***@host:5433/name?sslmode=require"


def said_of(url: str) -> str:
    try:
        found = address(url)
    except StoreUnreachable as told:
        return str(told)
    return found.shown if isinstance(found, Server) else ""


@given(st.text(min_size=6).filter(lambda secret: secret not in "postgresql://user:***@host/name"))
def test_no_password_is_ever_shown(secret: str) -> None:
    for url in (f"postgresql://user:{secret}@host/name", f"mysql://u:{secret}@h/n"):
        assert secret not in masked(url)
        assert secret not in said_of(url)
