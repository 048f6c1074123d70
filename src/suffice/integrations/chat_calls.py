"""Calls that return chat completions in OpenAI's format, made to return checked ones."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from types import TracebackType
from typing import Any

from suffice.errors import EvidenceError
from suffice.evidence.inputs import retrieved
from suffice.integrations.chat import Passages, checked_chunks, checked_completion, question_of
from suffice.integrations.guard import Checked, Guard

Source = Passages | Callable[[str], Passages]
"""Passages, or a function from the question to passages."""


class _Calls:
    """One call of `create`: its evidence and its question."""

    def __init__(self, create: Callable[..., Any], guard: Guard, evidence: Source | None) -> None:
        self._create, self._guard, self._evidence = create, guard, evidence

    def _check(self, evidence: Source | None, request: dict[str, Any]) -> Callable[[str], Checked]:
        source = self._evidence if evidence is None else evidence
        if source is None:
            raise EvidenceError(
                "The guarded call has no evidence.",
                remedy="Pass evidence=[…] to create() or to guard().",
            )
        question = question_of(request.get("messages") or ())
        passages = retrieved(source(question) if callable(source) else source)
        return lambda answer: self._guard.check(answer, passages, question)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(not_guarded(f"chat.completions.{name}"))


class Completions(_Calls):
    def create(self, *, evidence: Source | None = None, **request: Any) -> Any:
        check = self._check(evidence, request)
        made = self._create(**request)
        return (
            CheckedStream(made, check) if request.get("stream") else checked_completion(made, check)
        )


class AsyncCompletions(_Calls):
    async def create(self, *, evidence: Source | None = None, **request: Any) -> Any:
        check = await asyncio.to_thread(self._check, evidence, request)
        made = await self._create(**request)
        if request.get("stream"):
            return AsyncCheckedStream(made, check)
        return await asyncio.to_thread(checked_completion, made, check)


class CheckedStream:
    """The chunks of a stream, released after the whole answer was checked."""

    def __init__(self, stream: Any, check: Callable[[str], Checked]) -> None:
        self._stream = stream
        self._chunks = self._checked(check)

    def _checked(self, check: Callable[[str], Checked]) -> Iterator[Any]:
        yield from checked_chunks(list(self._stream), check)

    def __iter__(self) -> Iterator[Any]:
        return self._chunks

    def __next__(self) -> Any:
        return next(self._chunks)

    def __enter__(self) -> CheckedStream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: object, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        if hasattr(self._stream, "close"):  # streams of LiteLLM have none
            self._stream.close()


class AsyncCheckedStream:
    """`CheckedStream` for the asynchronous client."""

    def __init__(self, stream: Any, check: Callable[[str], Checked]) -> None:
        self._stream = stream
        self._chunks = self._checked(check)

    async def _checked(self, check: Callable[[str], Checked]) -> AsyncIterator[Any]:
        chunks = [chunk async for chunk in self._stream]
        for chunk in await asyncio.to_thread(partial(checked_chunks, chunks, check)):
            yield chunk

    def __aiter__(self) -> AsyncIterator[Any]:
        return self._chunks

    async def __anext__(self) -> Any:
        return await anext(self._chunks)

    async def __aenter__(self) -> AsyncCheckedStream:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: object, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        if hasattr(self._stream, "close"):
            await self._stream.close()


def not_guarded(name: str) -> str:
    return (
        f"'{name}' is not guarded: its answers would not be checked. "
        "Use chat.completions.create, or the original client."
    )
