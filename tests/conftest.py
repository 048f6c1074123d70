"""What all tests share: the handbook, a library over it, and a wall around the network."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import hypothesis
import pytest

from suffice.evidence import library as libraries
from suffice.evidence.library import Library
from suffice.evidence.read.process import Reader
from suffice.models import session
from suffice.settings import Settings
from suffice.sql import sqlite
from tests import outputs
from tests.clock import any_day, freeze
from tests.network import no_network
from tests.postgres import place, postgres, postgres_url

__all__ = ["any_day", "no_network", "place", "postgres", "postgres_url"]  # fixtures

ROOT = Path(__file__).parent.parent
HANDBOOK = ROOT / "src" / "suffice" / "handbook"
SHIPPED = sqlite.WRITER
THREADS = session.bounded

# The same examples in every run, however busy the machine is: a red run can be repeated.
hypothesis.settings.register_profile("suite", deadline=None, derandomize=True)
hypothesis.settings.load_profile("suite")


def pytest_configure(config: pytest.Config) -> None:
    freeze()
    # Only e-mail tests speak TLS, and each client would read the certificates of the system anew.
    for load in ("load_default_certs", "load_verify_locations"):
        setattr(ssl.SSLContext, load, lambda self, *args, **options: None)
    # One process reads the documents of all libraries with the same limits.
    vars(libraries)["Reader"] = cache(Reader)
    # A machine does not lose its power in a test: nothing waits for the disk.
    sqlite.WRITER = tuple(pragma.replace("FULL", "OFF") for pragma in SHIPPED)
    if config.getoption("markexpr") == "not timing":
        # The test processes share the cores, so that each model runs on one.
        session.bounded = lambda threads: threads or 1
        if made := outputs.share():
            config.add_cleanup(lambda: outputs.forget(made))


@pytest.fixture(autouse=True)
def _runs_models(request: pytest.FixtureRequest) -> Iterator[None]:
    """Tests of threads, deadlines and cancelling run each model as often as the product does."""
    outputs.RECALLS.append(request.node.get_closest_marker("runs_models") is None)
    yield
    outputs.RECALLS.pop()


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
