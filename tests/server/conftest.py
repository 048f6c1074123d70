"""The handbook in a separate store, because a gateway writes records."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from suffice.evidence.library import Library
from suffice.settings import RouteSettings, Settings
from suffice.testing import ScriptedUpstream, says
from tests.conftest import HANDBOOK
from tests.server.gateway import RIGHT, RunningGateway, routes, running


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    opened = Library.open(
        tmp_path_factory.mktemp("served") / "handbook.db", Settings(), create=True
    )
    opened.add(HANDBOOK)
    yield opened
    opened.store.close()


@pytest.fixture(scope="package")
def upstream() -> Iterator[ScriptedUpstream]:
    """One upstream for all tests; each test sets its own script."""
    with ScriptedUpstream([says(RIGHT)]) as running_:
        yield running_


@pytest.fixture(scope="package")
def gateway(library: Library, upstream: ScriptedUpstream) -> Iterator[RunningGateway]:
    """A gateway whose default route uses the scripted upstream."""
    with running(library, routes(RouteSettings(upstream=upstream.url))) as running_:
        yield running_
