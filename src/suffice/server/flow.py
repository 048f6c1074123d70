"""A stream that goes on while it is checked.

The upstream's pieces go to the caller as they come; only their end waits. `Ending` says what is
added before it: a verdict, the word that nothing was verified, or nothing at all.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from suffice.errors import SufficeError
from suffice.server.chunks import chunk, frame
from suffice.server.drafts import usage_of
from suffice.server.fault import Fault, fault_of
from suffice.server.reply import Choice, sufficiency_of
from suffice.server.telling import Telling
from suffice.server.upstream import EMPTY, Upstream, UpstreamFault
from suffice.server.wire import DONE, event

Raw = Mapping[str, Any]


class Ending(Protocol):
    """What a stream says beside the upstream's own words."""

    async def heard(self, telling: Telling, flow: Flow) -> None:
        """More was told of a choice."""
        ...

    async def ended(self, telling: Telling, flow: Flow) -> tuple[str, Choice]:
        """A choice was told to its end: the last words to add to it, and what was decided."""
        ...


@dataclass
class Flow:
    """One stream. Iterate over `events`; who stops early cancels the upstream."""

    upstream: Upstream
    body: Raw
    ending: Ending
    usage: bool = False
    """Whether the caller wants to be told what it cost."""
    untouched: bool = False
    """Every piece goes on as it is, and nothing is added."""
    base: dict[str, Any] = field(default_factory=dict)
    tellings: dict[int, Telling] = field(default_factory=dict)
    spent: dict[str, Any] = field(default_factory=dict)
    _out: asyncio.Queue[bytes | Exception | None] = field(default_factory=asyncio.Queue)
    _task: asyncio.Task[None] | None = None

    def send(self, value: Any, name: str = "") -> None:
        self._out.put_nowait(event(value, name))

    async def first(self) -> bytes | None:
        """Starts, and gives the first event; what fails before it is raised."""
        self._task = asyncio.create_task(self._run())
        return await self._next()

    async def _next(self) -> bytes | None:
        entry = await self._out.get()
        if isinstance(entry, Exception):
            raise entry
        return entry

    async def events(self, first: bytes | None) -> AsyncIterator[bytes]:
        entry = first
        try:
            while entry is not None:
                yield entry
                try:
                    entry = await self._next()
                except Fault as fault:
                    yield event(fault.said)
                    return
                except SufficeError as problem:
                    yield event(fault_of(problem).said)
                    return
        finally:
            await self.stop()

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await self._task

    async def _run(self) -> None:
        try:
            await self._pump()
            await self._end()
            self._out.put_nowait(DONE)
            self._out.put_nowait(None)
        except Exception as problem:  # told in the stream, or before it, by whoever reads
            self._out.put_nowait(problem)

    async def _pump(self) -> None:
        try:
            async for raw in self.upstream.events(self.body):
                await self._heard(raw)
        except UpstreamFault:
            # What broke off after its first word is judged as far as it came.
            if not any(one.text.strip() for one in self.tellings.values()):
                raise
        if not self.tellings:
            raise UpstreamFault(EMPTY)

    async def _heard(self, raw: Raw) -> None:
        if not self.base:
            self.base = frame({key: value for key, value in raw.items() if value is not None})
        if isinstance(raw.get("usage"), dict):
            self.spent = dict(raw["usage"])
        choices = raw.get("choices")
        going = []
        for choice in choices if isinstance(choices, list) else ():
            if not isinstance(choice, dict):
                continue
            index = choice.get("index") if isinstance(choice.get("index"), int) else 0
            telling = self.tellings.setdefault(index or 0, Telling(index or 0))
            if kept := telling.hear(choice):
                going.append(kept)
        if self.untouched:
            self.send(raw)
        elif going:
            shared = {**raw, "object": self.base["object"], "choices": going}
            self.send({key: value for key, value in shared.items() if key != "usage"})
        for telling in list(self.tellings.values()):
            await self.ending.heard(telling, self)

    async def _end(self) -> None:
        for telling in sorted(self.tellings.values(), key=lambda one: one.index):
            words, choice = await self.ending.ended(telling, self)
            if self.untouched:
                continue
            if words:
                self.send(chunk(self.base, telling.index, {"content": words}))
            said = {"suffice": choice.suffice, "sufficiency": sufficiency_of(choice)}
            self.send(chunk(self.base, telling.index, {}, choice.finish, **said))
        if self.usage and not self.untouched:
            used = {**self.spent, **usage_of({"usage": self.spent})}
            self.send({**self.base, "choices": [], "usage": used})
