"""What the OpenAPI document says is what the gateway does, whatever it is sent."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import CHECKS

from suffice.draft.scripted import ScriptedUpstream, says
from suffice.evidence.library import Library
from suffice.server.openapi import document
from suffice.settings import RouteSettings, Settings
from tests.server.gateway import RIGHT, Gateway, plays, routes, running

CASES = int(os.environ.get("SUFFICE_TEST_CASES", "12"))
"""For each operation; set it to 350 for more than 2,000 in all."""

schema = schemathesis.openapi.from_dict(document())


@pytest.fixture(scope="module")
def small(tmp_path_factory: Any, upstream: ScriptedUpstream) -> Iterator[Gateway]:
    """Little to search, so that many cases take little time."""
    folder = tmp_path_factory.mktemp("small")
    (folder / "a.md").write_text("# Remote\n\nYou may work remotely 3 days per week.\n")
    library = Library.open(folder / "s.db", Settings(), create=True)
    library.add(folder / "a.md")
    with running(library, routes(RouteSettings(upstream=upstream.url))) as gateway:
        yield gateway


@schema.parametrize()
@settings(
    max_examples=CASES,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_any_request_is_answered_by_the_document(
    case: Any, small: Gateway, upstream: ScriptedUpstream
) -> None:
    plays(upstream, says(RIGHT))
    reply = case.call(base_url=small.url)
    assert reply.status_code < 500
    names = ("content_type_conformance", "response_schema_conformance", "not_a_server_error")
    case.validate_response(reply, checks=[CHECKS.get_one(name) for name in names])
