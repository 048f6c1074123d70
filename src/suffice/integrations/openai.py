"""Guards a client of the OpenAI SDK: chat completions are checked before they are returned.

>>> import openai, suffice
>>> client = suffice.openai.guard(openai.OpenAI())
>>> client.chat.completions.create(model="…", messages=[…], evidence=["Leave is 18 weeks."])

A stream is read to its end, checked, and then replayed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from suffice.errors import ExtraMissing, SufficeError
from suffice.integrations.chat import AsyncCompletions, Completions, Source, not_guarded
from suffice.integrations.guard import Guard, OnBlock
from suffice.settings import Settings
from suffice.types import Verdict

try:
    import openai
except ImportError as problem:
    raise ExtraMissing("The OpenAI integration", "openai") from problem

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
        kind = AsyncCompletions if isinstance(client, openai.AsyncOpenAI) else Completions
        self.chat = _Chat(kind(client.chat.completions.create, guard, evidence))

    def __getattr__(self, name: str) -> Any:
        if name in _UNGUARDED or name.startswith("_"):
            raise AttributeError(not_guarded(name))
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
    def __init__(self, completions: Completions | AsyncCompletions) -> None:
        self.completions = completions

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(not_guarded(f"chat.{name}"))
