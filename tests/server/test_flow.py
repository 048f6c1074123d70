"""The tasks of a stream end with it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, cast

from suffice.server.openai.completion import Choice
from suffice.server.openai.request import ChatRequest
from suffice.server.openai.stream import Flow
from suffice.server.openai.stream_format import ChatFormat
from suffice.server.openai.streamed_choice import StreamedChoice
from suffice.server.openai.upstream import Upstream
from tests.server.gateway import QUESTION, RIGHT


def test_what_goes_on_beside_a_stream_ends_with_it() -> None:
    class Endless:
        looking: asyncio.Task[None] | None = None

        async def heard(self, streamed_choice: StreamedChoice, flow: Flow) -> None:
            self.looking = self.looking or flow.start(asyncio.sleep(60))

        async def ended(self, streamed_choice: StreamedChoice, flow: Flow) -> tuple[str, Choice]:
            raise AssertionError("the stream was left before its end")

    class Says:
        async def events(self, body: Any) -> AsyncIterator[dict[str, Any]]:
            for word in RIGHT.split():
                yield {"choices": [{"index": 0, "delta": {"content": word}}]}
            await asyncio.sleep(60)

    async def left() -> None:
        ending, stream_format = Endless(), ChatFormat(ChatRequest({}, QUESTION))
        events = Flow(cast(Upstream, Says()), {}, ending, stream_format).events()
        await anext(events)
        await events.aclose()
        assert ending.looking is not None
        assert ending.looking.cancelled()

    asyncio.run(left())
