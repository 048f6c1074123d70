"""Guards a client of the OpenAI SDK: chat completions are checked before they are returned.

>>> import openai, suffice
>>> client = suffice.openai.guard(openai.OpenAI())
>>> client.chat.completions.create(model="…", messages=[…], evidence=["Leave is 18 weeks."])

A stream is read to its end, checked, and then replayed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from types import TracebackType
from typing import Any

from suffice.errors import EvidenceError, ExtraMissing, SufficeError
from suffice.evidence.inputs import retrieved
from suffice.integrations.chat import Passages, checked_chunks, checked_completion, question_of
from suffice.integrations.guard import Checked, Guard, OnBlock
from suffice.settings import Settings
from suffice.types import Verdict

try:
    import openai
except ImportError as problem:
    raise ExtraMissing("The OpenAI integration", "openai") from problem

Source = Passages | Callable[[str], Passages]
_UNGUARDED = frozenset(
    "responses completions beta realtime conversations with_raw_response "
    "with_streaming_response".split()
)
_COPIES = frozenset({"with_options", "copy"})


def guard(
    client: openai.OpenAI | openai.AsyncOpenAI,
    evidence: Source | None = None,
    *,
    settings: Settings | None = None,
    uncited: bool = True,
    on_block: OnBlock = "replace",
    on_verdict: Callable[[Verdict], object] | None = None,
) -> Any:
    """A client whose `chat.completions.create` returns checked answers only.

    `evidence` is a list of passages, or a function from the question to passages; the argument
    `evidence` of a call takes precedence. `on_block` replaces a withheld answer by the refusal, or
    raises `AnswerWithheld`. Other endpoints that generate text are not available; use the original
    client for them.
    """
    if not isinstance(client, openai.OpenAI | openai.AsyncOpenAI):
        raise SufficeError(
            f"guard() needs a client of the OpenAI SDK, not {type(client).__name__}.",
            remedy="Pass openai.OpenAI() or openai.AsyncOpenAI().",
        )
    own = Guard(settings, uncited=uncited, on_block=on_block, on_verdict=on_verdict)
    return _Client(client, own, evidence)


class _Client:
    """The client with guarded chat completions. Other attributes are those of the client, except
    endpoints that would return unchecked text."""

    def __init__(self, client: Any, guard: Guard, evidence: Source | None) -> None:
        self._client, self._guard, self._evidence = client, guard, evidence
        kind = _AsyncCompletions if isinstance(client, openai.AsyncOpenAI) else _Completions
        self.chat = _Chat(kind(client.chat.completions.create, guard, evidence))

    def __getattr__(self, name: str) -> Any:
        if name in _UNGUARDED or name.startswith("_"):
            raise AttributeError(_not_guarded(name))
        found = getattr(self._client, name)
        return self._copied(found) if name in _COPIES else found

    def _copied(self, copy: Callable[..., Any]) -> Callable[..., _Client]:
        return lambda **options: _Client(copy(**options), self._guard, self._evidence)

    def __enter__(self) -> _Client:
        self._client.__enter__()
        return self

    def __exit__(self, *problem: object) -> None:
        self._client.__exit__(*problem)

    async def __aenter__(self) -> _Client:
        await self._client.__aenter__()
        return self

    async def __aexit__(self, *problem: object) -> None:
        await self._client.__aexit__(*problem)


class _Chat:
    def __init__(self, completions: _Completions | _AsyncCompletions) -> None:
        self.completions = completions

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(_not_guarded(f"chat.{name}"))


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
        raise AttributeError(_not_guarded(f"chat.completions.{name}"))


class _Completions(_Calls):
    def create(self, *, evidence: Source | None = None, **request: Any) -> Any:
        check = self._check(evidence, request)
        made = self._create(**request)
        return (
            CheckedStream(made, check) if request.get("stream") else checked_completion(made, check)
        )


class _AsyncCompletions(_Calls):
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
        await self._stream.close()


def _not_guarded(name: str) -> str:
    return (
        f"'{name}' is not guarded: its answers would not be checked. "
        "Use chat.completions.create, or the original client."
    )
