"""LiteLLM: a guardrail for the proxy, and a guard for `litellm.completion` and `acompletion`.

In the configuration of the proxy:

    guardrails:
      - guardrail_name: suffice
        litellm_params:
          guardrail: suffice.integrations.litellm.SufficeGuardrail
          mode: post_call
          default_on: true

A request carries its passages as `metadata.suffice_evidence`. Without a proxy:

>>> completion = guard(litellm.completion)
>>> completion(model="…", messages=[…], evidence=["Leave is 18 weeks."])

A stream is read to its end, checked, and then replayed.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from suffice.errors import AnswerWithheld, EvidenceError, ExtraMissing, SufficeError
from suffice.evidence.inputs import retrieved
from suffice.integrations.chat import (
    AsyncCompletions,
    Completions,
    Passages,
    Source,
    checked_chunks,
    checked_completion,
    question_of,
)
from suffice.integrations.guard import Checked, Guard, OnBlock
from suffice.settings import read_settings

try:
    from litellm import ModelResponse
    from litellm.exceptions import GuardrailRaisedException
    from litellm.integrations.custom_guardrail import CustomGuardrail
except ImportError as problem:
    raise ExtraMissing("The LiteLLM integration", "litellm") from problem

_NO_TEXT = frozenset(
    "EmbeddingResponse ImageResponse RerankResponse HttpxBinaryResponseContent".split()
)
"""Responses that make no statement: they pass."""


def guard(call: Callable[..., Any], evidence: Source | None = None, **options: Any) -> Any:
    """`litellm.completion` or `litellm.acompletion` with checked answers. Pass its arguments by
    name, and the passages as `evidence`; the options are those of `Guard`."""
    kind = AsyncCompletions if inspect.iscoroutinefunction(call) else Completions
    return kind(call, Guard(**options), evidence).create


class SufficeGuardrail(CustomGuardrail):
    """Checks every chat completion of the proxy, streamed or not.

    `on_block` replaces a withheld answer by the refusal, or rejects the request. `config` is the
    settings file of Suffice. Override `evidence` to take the passages from elsewhere.
    """

    def __init__(
        self,
        on_block: OnBlock = "replace",
        uncited: bool = True,
        config: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._guard = Guard(read_settings(config), uncited=uncited, on_block=on_block)

    def evidence(self, data: Mapping[str, Any]) -> Passages:
        """The passages of a request. Raises `EvidenceError` if it has none."""
        for key in ("metadata", "litellm_metadata"):
            held = data.get(key)
            if isinstance(held, Mapping) and "suffice_evidence" in held:
                found: Passages = held["suffice_evidence"]
                return found
        raise EvidenceError(
            "The request has no evidence.",
            remedy="Send the passages as metadata.suffice_evidence.",
        )

    async def async_post_call_success_hook(
        self, data: dict[str, Any], user_api_key_dict: Any, response: Any
    ) -> Any:
        if type(response).__name__ in _NO_TEXT:
            return response
        if not isinstance(response, ModelResponse):
            raise self._refused("Only chat completions can be checked; use /chat/completions.")
        return await self._run(checked_completion, response, data)

    async def async_post_call_streaming_iterator_hook(
        self, user_api_key_dict: Any, response: Any, request_data: dict[str, Any]
    ) -> AsyncIterator[Any]:
        chunks = [chunk async for chunk in response]
        if not all(hasattr(chunk, "choices") for chunk in chunks):
            raise self._refused("Only chat completions can be checked; use /chat/completions.")
        for chunk in await self._run(checked_chunks, chunks, request_data):
            yield chunk

    async def _run(
        self, checked: Callable[[Any, Callable[[str], Checked]], Any], made: Any, data: Any
    ) -> Any:
        try:
            return await asyncio.to_thread(checked, made, self._check(data))
        except AnswerWithheld as held:
            raise self._refused(held.message, blocked=True) from held
        except SufficeError as problem:
            raise self._refused(str(problem)) from problem

    def _check(self, data: Mapping[str, Any]) -> Callable[[str], Checked]:
        passages, question = retrieved(self.evidence(data)), question_of(data.get("messages") or ())
        return lambda answer: self._guard.check(answer, passages, question)

    def _refused(self, message: str, *, blocked: bool = False) -> Exception:
        told = GuardrailRaisedException(self.guardrail_name, message)
        told.blocked_content = blocked  # set where LiteLLM's version knows it
        refused: Exception = told
        return refused
