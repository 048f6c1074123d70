"""What all tests share: the handbook, a library over it, and a wall around the network."""

from __future__ import annotations

import hashlib
import socket
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import onnxruntime
import pytest

from suffice.evidence.library import Library
from suffice.settings import Settings
from tests.clock import freeze
from tests.postgres import place, postgres, postgres_url

__all__ = ["place", "postgres", "postgres_url"]  # fixtures

ROOT = Path(__file__).parent.parent
HANDBOOK = ROOT / "examples" / "handbook"
LOOPBACK = {"127.0.0.1", "::1", "localhost"}
_REMEMBERED = 200_000_000
"""Bytes of model outputs that a test process keeps."""

# The same examples in every run, however busy the machine is: a red run can be repeated.
hypothesis.settings.register_profile("suite", deadline=None, derandomize=True)
hypothesis.settings.load_profile("suite")


def pytest_configure(config: pytest.Config) -> None:
    freeze()
    if config.getoption("markexpr") == "not timing":
        _remember_outputs()


def _remember_outputs() -> None:
    """Many tests ask the models about the same few sentences: what one was given before, it is not
    run on again. Tests that measure time run without this."""
    run = onnxruntime.InferenceSession.run
    known: OrderedDict[bytes, list[Any]] = OrderedDict()
    size = 0

    def remembered(self: Any, names: Any, feed: Mapping[str, Any], options: Any = None) -> Any:
        nonlocal size
        digest = hashlib.blake2b(f"{self._model_path} {names}".encode())
        for name, value in sorted(feed.items()):
            array = np.ascontiguousarray(value)
            digest.update(f"{name} {array.dtype} {array.shape}".encode())
            digest.update(array.data)
        key = digest.digest()
        found = known.get(key)
        if found is None:
            found = known[key] = run(self, names, feed, options)
            size += sum(output.nbytes for output in found)
            while size > _REMEMBERED:
                size -= sum(output.nbytes for output in known.popitem(last=False)[1])
        return [output.copy() for output in found]

    onnxruntime.InferenceSession.run = remembered


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
