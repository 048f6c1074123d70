"""The gateway conforms to its OpenAPI document for any input: all default checks of schemathesis.
`SUFFICE_TEST_CASES` sets the number of valid and of invalid requests for each operation: 150 make
more than 2,000 in all, and take some minutes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis import GenerationMode

from suffice.evidence.library import Library
from suffice.server.openapi import document
from suffice.settings import RouteSettings, Settings
from suffice.testing import ScriptedUpstream, says
from tests.server.gateway import RIGHT, RunningGateway, plays, routes, running
from tests.waiting import PATIENCE

CASES = int(os.environ.get("SUFFICE_TEST_CASES", "20"))
_SLACK = list(HealthCheck)


def _schema(mode: GenerationMode) -> Any:
    schema = schemathesis.openapi.from_dict(document())
    schema.config.generation.update(modes=[mode])
    return schema


right: Any = _schema(GenerationMode.POSITIVE)
wrong: Any = _schema(GenerationMode.NEGATIVE).include(method="POST")


@pytest.fixture(scope="module")
def small(tmp_path_factory: Any, upstream: ScriptedUpstream) -> Iterator[RunningGateway]:
    """A small index, so that many cases run fast."""
    folder = tmp_path_factory.mktemp("small")
    (folder / "a.md").write_text("# Remote\n\nYou may work remotely 3 days per week.\n")
    library = Library.open(folder / "s.db", Settings(), create=True)
    library.add(folder / "a.md")
    with running(library, routes(RouteSettings(upstream=upstream.url))) as gateway:
        yield gateway


@right.parametrize()  # type: ignore[untyped-decorator]
@settings(max_examples=CASES, deadline=None, phases=[Phase.generate], suppress_health_check=_SLACK)
def test_a_right_request_is_answered_by_the_document(
    case: Any, small: RunningGateway, upstream: ScriptedUpstream
) -> None:
    plays(upstream, says(RIGHT))
    reply = case.call_and_validate(base_url=small.url, timeout=PATIENCE)
    assert reply.status_code < 500


@wrong.parametrize()  # type: ignore[untyped-decorator]
@settings(max_examples=CASES, deadline=None, phases=[Phase.generate], suppress_health_check=_SLACK)
def test_a_wrong_request_is_refused_by_the_document(case: Any, small: RunningGateway) -> None:
    reply = case.call_and_validate(base_url=small.url, timeout=PATIENCE)
    assert 400 <= reply.status_code < 500
