"""A stream ends with its client, and reads no further ahead than the client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from functools import partial
from typing import Any

import pytest

from suffice.server.inference_pool import InferencePool
from suffice.server.openai.answering import Answering, Delivery
from suffice.server.openai.chat import ChatFormat
from suffice.server.openai.shadow import Shadow, ShadowCall
from suffice.server.sending import Emit, Events
from suffice.settings import WorkSettings
from tests.server.gateway import RIGHT
from tests.server.test_same_verdict import Script, context, request, route


class Endless(Script):
    """An upstream that never stops."""

    sent = 0

    async def events(self, body: Any, path: str = "") -> AsyncGenerator[Mapping[str, Any], None]:
        while True:
            for word in RIGHT.split():
                self.sent += 1
                yield {"choices": [{"index": 0, "delta": {"content": f"{word} "}}]}


async def forever() -> Any:
    await asyncio.Event().wait()


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not true():
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("delivery", [Delivery.SIGNAL, Delivery.SHADOW])
def test_a_client_that_reads_slowly_slows_the_upstream(delivery: Delivery) -> None:
    async def sent_ahead() -> int:
        work, upstream, received = InferencePool(WorkSettings(threads=1)), Endless(), list[bytes]()
        call, opened, asked = context(work), route(upstream), request(1)
        produce: Callable[[Any, Emit], Awaitable[None]]
        if delivery is Delivery.SHADOW:
            produce = Shadow(call, opened, asked, ShadowCall({}, asked, "m")).stream
        else:
            produce = Answering.of(call, opened, asked, delivery).stream

        async def send(message: Any) -> None:
            received.append(message)
            if len(received) > 3:  # the response has started, but the client stops reading
                await forever()

        events = Events(partial(produce, ChatFormat(asked)), 60)
        sending = asyncio.create_task(events({}, forever, send))
        await until(lambda: len(received) > 3 and upstream.sent > 50)
        before = upstream.sent
        await asyncio.sleep(0.1)
        assert upstream.sent == before
        sending.cancel()
        await asyncio.wait({sending})
        work.close()
        return before

    assert asyncio.run(sent_ahead()) < 100


def test_what_goes_on_beside_a_stream_ends_with_it() -> None:
    async def left() -> None:
        beside: list[asyncio.Task[Any]] = []
        begun = asyncio.Event()

        async def produce(emit: Emit) -> None:
            async with asyncio.TaskGroup() as group:
                beside.append(group.create_task(forever()))
                await emit([b"data: {}\n\n"])
                begun.set()

        async def leave() -> Any:
            await begun.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            pass

        done: list[bool] = []
        events = Events(produce, 60)
        events.done = lambda: done.append(beside[0].cancelled())
        await events({}, leave, send)
        assert done == [True]

    asyncio.run(left())


def test_a_failure_after_the_start_becomes_an_event() -> None:
    async def body(on_error: Callable[[Exception], bytes | None]) -> bytes:
        async def produce(emit: Emit) -> None:
            await emit([b"one "])
            raise ValueError("two")

        parts: list[bytes] = []

        async def send(message: Any) -> None:
            parts.append(message.get("body", b""))

        await Events(produce, 60, on_error=on_error)({}, forever, send)
        return b"".join(parts)

    assert asyncio.run(body(lambda problem: str(problem).encode())) == b"one two"
    with pytest.raises(ValueError, match="two"):
        asyncio.run(body(lambda problem: None))
