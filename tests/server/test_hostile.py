"""Hostile requests are refused or answered, never with a server error, and others go on."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx2
import pytest

from benchmarks.hostile import CLOSED, KINDS, hostile_requests, send_hostile
from suffice.evidence.library import Library
from suffice.settings import RouteSettings
from suffice.settings.server import LimitSettings
from suffice.testing import ScriptedUpstream, says
from tests.server.gateway import RIGHT, RunningGateway, plays, routes, running
from tests.server.test_metrics import samples
from tests.waiting import PATIENCE, until

VALID = {
    "question of a megabyte",
    "word of a megabyte",
    "many keys",
    "lone surrogate",
    "escaped NULs",
}
"""Kinds that are valid JSON of the right types: an answer is as good as a refusal."""
UNREAD = {"body cut short", "broken chunks", "huge header", "many headers", "negative length"}
"""Kinds whose client leaves, or still sends when it is refused, so that the reply may be lost."""
LIMITS = LimitSettings(body_seconds=0.3, evidence_characters=100_000)


@pytest.fixture(scope="module")
def gateway(library: Library, upstream: ScriptedUpstream) -> Iterator[RunningGateway]:
    settings = routes(RouteSettings(upstream=upstream.url), limits=LIMITS)
    with running(library, settings) as one:
        yield one


@pytest.fixture(scope="module")
def replies(gateway: RunningGateway, upstream: ScriptedUpstream) -> dict[str, str]:
    """What each kind of request came to, sent one after another."""
    plays(upstream, says(RIGHT))
    place = urlsplit(gateway.url)

    async def sent() -> dict[str, str]:
        return {
            kind: await send_hostile(
                str(place.hostname), place.port or 0, "/v1/chat/completions", request
            )
            for kind, request in hostile_requests().items()
        }

    return asyncio.run(sent())


@pytest.mark.parametrize("kind", KINDS)
def test_a_hostile_request_is_refused_or_answered(replies: dict[str, str], kind: str) -> None:
    reply = replies[kind]
    allowed = {*(["200"] if kind in VALID else []), *([CLOSED] if kind in UNREAD else [])}
    assert reply in allowed or "400" <= reply < "500"


def counted(gateway: RunningGateway) -> dict[str, float]:
    """Requests by status, in the gateway's metrics."""
    found = samples(httpx2.get(f"{gateway.url}/metrics", timeout=PATIENCE).text)
    wanted = {name: n for name, n in found.items() if name.startswith("suffice_requests_total")}
    return {name.partition('status="')[2][:3]: n for name, n in wanted.items() if "chat" in name}


@pytest.mark.usefixtures("replies")
def test_a_client_that_leaves_is_not_a_server_error(gateway: RunningGateway) -> None:
    until(lambda: "499" in counted(gateway))
    assert not [status for status in counted(gateway) if status >= "500"]
