"""Forward an upstream's stream while it is checked.

Chunks are forwarded as they arrive; only the end of the stream waits. `Ending` decides what is
added before the end: a verdict, a note that the answer is unverified, or nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Mapping
from contextlib import AbstractContextManager, aclosing, nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from suffice.server.offload import offload
from suffice.server.openai.completion import Choice
from suffice.server.openai.stream_format import StreamFormat
from suffice.server.openai.streamed_choice import StreamedChoice
from suffice.server.openai.upstream import EMPTY, UpstreamClient, UpstreamFault

Raw = Mapping[str, Any]


class Ending(Protocol):
    """What the gateway adds to a stream."""

    async def heard(self, streamed_choice: StreamedChoice, flow: Flow) -> None:
        """Called when a part of a choice was forwarded."""
        ...

    async def ended(self, streamed_choice: StreamedChoice, flow: Flow) -> tuple[str, Choice]:
        """Called at the end of a choice; returns the text to append and the decided choice."""
        ...


@dataclass
class Flow:
    """A stream of at most `n` choices. Iterate over `events`; closing the iterator early cancels
    the upstream call. If `untouched`, chunks are forwarded unchanged and nothing is added."""

    upstream: UpstreamClient
    body: Raw
    ending: Ending
    stream_format: StreamFormat
    n: int = 1
    most: int = 100_000
    """Maximum length of a choice, in characters. The stream ends there unless it is `untouched`."""
    untouched: bool = False
    offered: frozenset[str] | None = None
    """The tools that may be called; `None` allows any."""
    reading: Callable[[], AbstractContextManager[None]] = nullcontext
    """Context manager that is active while the upstream writes, to measure the time."""
    frame: dict[str, Any] = field(default_factory=dict)
    """Fields that all chunks of the upstream share, such as id and model."""
    streamed_choices: dict[int, StreamedChoice] = field(default_factory=dict)
    spent: dict[str, Any] = field(default_factory=dict)
    _started: set[asyncio.Task[None]] = field(default_factory=set)
    _out: asyncio.Queue[bytes | Exception | None] = field(default_factory=asyncio.Queue)

    @property
    def model(self) -> str:
        return str(self.frame.get("model") or "")

    def say(self, events: Iterable[bytes]) -> None:
        for one in events:
            self._out.put_nowait(one)

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run a background task. It is cancelled when the stream ends."""
        task = asyncio.create_task(work)
        self._started.add(task)
        task.add_done_callback(self._started.discard)
        return task

    async def events(self) -> AsyncGenerator[bytes, None]:
        """Yield the events to send, and raise failures."""
        self.start(self._run())
        try:
            while (entry := await self._out.get()) is not None:
                if isinstance(entry, Exception):
                    raise entry
                yield entry
        finally:
            for task in list(self._started):
                task.cancel()
                with suppress(asyncio.CancelledError, Exception):
                    await task

    async def _run(self) -> None:
        try:
            with self.reading():
                await self._pump()
            await self._end()
            self._out.put_nowait(None)
        except Exception as problem:  # raised again in `events`
            self._out.put_nowait(problem)

    async def _pump(self) -> None:
        try:
            async with aclosing(self.upstream.events(self.body)) as chunks:
                async for raw in chunks:
                    await self._heard(raw)
                    if not self.untouched and any(
                        one.long for one in self.streamed_choices.values()
                    ):
                        break
        except UpstreamFault:
            # If a stream fails after its first text, judge the text received so far.
            if not any(one.text or one.finish for one in self.streamed_choices.values()):
                raise
        if not self.streamed_choices:
            raise UpstreamFault(EMPTY)

    async def _heard(self, raw: Raw) -> None:
        if not self.frame:
            self.frame = {key: raw[key] for key in raw if key not in ("choices", "usage")}
        if isinstance(raw.get("usage"), dict):
            self.spent = dict(raw["usage"])
        choices = raw.get("choices")
        going = []
        for choice in choices if isinstance(choices, list) else ():
            streamed_choice = self._streamed_choice(choice)
            if streamed_choice is None:
                continue
            if kept := await offload(streamed_choice.size(choice), streamed_choice.hear, choice):
                going.append(kept)
        if self.untouched:
            self.say(self.stream_format.passed(raw))
        elif going:
            self.say(self.stream_format.heard(raw, going))
            for streamed_choice in list(self.streamed_choices.values()):
                await self.ending.heard(streamed_choice, self)

    def _streamed_choice(self, choice: Any) -> StreamedChoice | None:
        """The choice that a chunk belongs to; `None` if its index exceeds the requested `n`."""
        if not isinstance(choice, dict):
            return None
        index = choice.get("index")
        index = index if isinstance(index, int) else 0
        if not 0 <= index < self.n:
            return None
        new = StreamedChoice(index, self.offered, self.most)
        return self.streamed_choices.setdefault(index, new)

    async def _end(self) -> None:
        for streamed_choice in sorted(self.streamed_choices.values(), key=lambda one: one.index):
            if (kept := streamed_choice.flush()) and not self.untouched:
                self.say(self.stream_format.heard(self.frame, [kept]))
            words, choice = await self.ending.ended(streamed_choice, self)
            if not self.untouched:
                events = self.stream_format.ended(streamed_choice.index, words, choice)
                self.say(await offload(len(streamed_choice.text), list, events))
        end = self.stream_format.passed_end if self.untouched else self.stream_format.closed
        self.say(end(self.spent))
