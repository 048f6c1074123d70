"""The timeout of an upstream call applies in whichever task reads the reply."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import httpx2
import pytest

from suffice.server.openai.upstream import Upstream, UpstreamFault
from suffice.testing import ScriptedUpstream, says
from tests.server.gateway import RIGHT, RunningGateway, plays


class Stalls(httpx2.AsyncByteStream):
    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield b'data: {"type": "response.created"}\n\n'
        await asyncio.sleep(60)


def test_a_stream_that_several_tasks_read_has_its_time() -> None:
    def stalled(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=Stalls())

    async def read() -> None:
        async with httpx2.AsyncClient(transport=httpx2.MockTransport(stalled)) as client:
            events = Upstream("http://127.0.0.1/v1", "", client, timeout=0.3).events({})
            assert await asyncio.wait_for(anext(events), 50) == {"type": "response.created"}
            with pytest.raises(UpstreamFault) as problem:
                await asyncio.wait_for(anext(events), 50)
            assert problem.value.status == 504

    asyncio.run(read())


def test_no_name_of_a_model_is_a_way_to_another_place(
    gateway: RunningGateway, upstream: ScriptedUpstream
) -> None:
    plays(upstream, says(RIGHT))
    for name in ("%2e%2e", "%2e"):
        reply = httpx2.get(f"{gateway.base}/models/{name}", timeout=120)
        assert reply.json()["error"]["code"] == "model_not_found"
