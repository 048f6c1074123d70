"""Checks chat completions in OpenAI's format, as the OpenAI SDK and LiteLLM return them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import Any

from suffice.errors import EvidenceError
from suffice.evidence.inputs import Given, retrieved
from suffice.integrations.guard import Checked, Guard

Check = Callable[[str], Checked]
_MESSAGE = ("role", "content", "refusal", "tool_calls", "function_call")
_CHOICE = ("index", "message", "delta", "finish_reason")
Passages = Iterable[Given] | Given


def question_of(messages: Iterable[Any]) -> str:
    """The text of the last message of the user."""
    for message in reversed(list(messages or ())):
        if _get(message, "role") == "user":
            return _text(_get(message, "content"))
    return ""


def checked_completion(completion: Any, check: Check) -> Any:
    """The completion with every choice checked, changed in place. Text that no check reads, such as
    reasoning, is removed. A withheld answer is replaced, and fields that repeat it are removed."""
    verdicts = []
    for choice in completion.choices:
        answer = _answer(choice.message)
        if not answer:  # a tool call, or a refusal of the model itself
            continue
        found = check(answer)
        verdicts.append(found.summary)
        _strip(choice.message, _read(choice.message, changed=found.changed))
        if found.changed:
            _strip(choice, _CHOICE)
            choice.message.content = found.text
            choice.finish_reason = "stop"
    if verdicts:
        completion.suffice = verdicts[0] if len(verdicts) == 1 else verdicts
    return completion


def checked_chunks(chunks: Sequence[Any], check: Check) -> Sequence[Any]:
    """The chunks of a complete stream, every choice checked, changed in place. The refusal stands
    in the first chunk of a withheld choice; its other chunks carry no text."""
    deltas: dict[int, list[Any]] = {}
    for chunk in chunks:
        for choice in chunk.choices:
            deltas.setdefault(choice.index, []).append(choice)
    for choices in deltas.values():
        answer = "".join(_answer(choice.delta) for choice in choices)
        if not answer:
            continue
        found = check(answer)
        for choice in choices:
            _strip(choice.delta, _read(choice.delta, changed=found.changed))
        if not found.changed:
            continue
        for place, choice in enumerate(choices):
            _strip(choice, _CHOICE)
            choice.delta.content = found.text if place == 0 else None
            choice.finish_reason = choice.finish_reason and "stop"
    return chunks


def _read(message: Any, *, changed: bool) -> Sequence[str]:
    """The fields of a message whose text was checked, or is of another kind."""
    spoken = not changed and not _text(message.content)
    return (*_MESSAGE, "audio") if spoken else _MESSAGE


def _answer(message: Any) -> str:
    if message is None:
        return ""
    said = _text(message.content)
    return said or str(_get(getattr(message, "audio", None), "transcript") or "")


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(_get(part, "text") or "") for part in content or ()).strip()


def _get(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, Mapping) else getattr(value, key, None)


def _strip(value: Any, kept: Sequence[str]) -> None:
    """Remove all fields of a response object but these."""
    others = set(value.model_extra or ())
    for name in value.model_fields_set - others - set(kept):
        setattr(value, name, None)
    for name in others - set(kept):
        delattr(value, name)


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
