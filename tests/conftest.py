"""What all tests share: the handbook, a library over it, and a wall around the network."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from suffice.evidence.library import Library
from suffice.settings import Settings
from tests.postgres import place, postgres, postgres_url

__all__ = ["place", "postgres", "postgres_url"]  # fixtures

ROOT = Path(__file__).parent.parent
HANDBOOK = ROOT / "examples" / "handbook"
# The first example of a property may load a model or a library.
settings.register_profile("suffice", deadline=None)
settings.load_profile("suffice")
LOOPBACK = {"127.0.0.1", "::1", "localhost"}


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only loopback may be reached from a test."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in LOOPBACK:
            raise AssertionError(f"a test reached for {address}")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture(scope="session")
def handbook() -> Path:
    return HANDBOOK


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Labelled data that lies beside a checkout where there is any."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("needs ../shared/data, which is not on this machine")
    return folder


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """The sample handbook, indexed with the embedder that ships. Tests only read it."""
    opened = Library.open(tmp_path_factory.mktemp("store") / "handbook.db", Settings(), create=True)
    opened.add(HANDBOOK)
    yield opened
    opened.store.close()
