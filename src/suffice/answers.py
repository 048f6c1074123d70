"""Checks an existing answer against the passages it was written from.

>>> import suffice
>>> verdict = suffice.check("Leave lasts 20 weeks [1].", ["Leave lasts 18 weeks."])
>>> verdict.action, [finding.reason for finding in verdict.findings if finding.kind]
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from functools import lru_cache, wraps
from typing import Any, ParamSpec, TypeVar

from suffice.checker import Checker
from suffice.engine import Engine
from suffice.evidence.inputs import Given
from suffice.models.catalog import open_embedder, open_verifier
from suffice.models.embedder import Embedder
from suffice.models.verifier import CachedEmbedder, Verifier
from suffice.settings import DraftSettings, EmbedderSettings, Settings, VerifierSettings
from suffice.types import Verdict

P = ParamSpec("P")
R = TypeVar("R")


def check(
    answer: str,
    passages: Iterable[Given] | Given,
    question: str | None = None,
    *,
    uncited: bool = False,
    settings: Settings | None = None,
    verifier: Verifier | None = None,
    embedder: Embedder | None = None,
) -> Verdict:
    """The verdict on an answer in which `[n]` cites the n-th passage.

    Passages are strings, `Passage`, `Retrieved`, or dicts with "text" and document metadata.
    `uncited` ignores citations and checks every claim against all passages.
    """
    checker = open_checker(settings, verifier, embedder, uncited=uncited)
    return checker.check(answer, passages, question)


def open_checker(
    settings: Settings | None = None,
    verifier: Verifier | None = None,
    embedder: Embedder | None = None,
    *,
    uncited: bool = False,
) -> Checker:
    """A checker for any number of answers. Models that are not given are loaded once per process
    and settings, not for every checker."""
    settings = settings or Settings()
    engine = Engine(
        settings,
        embedder=embedder or _embedder(settings.embedder),
        verifier=verifier or _verifier_of(settings),
    )
    return engine.checker(uncited=uncited)


def _in_thread(call: Callable[P, R]) -> Callable[P, Coroutine[Any, Any, R]]:
    """The call as a coroutine that does not block the event loop."""

    @wraps(call)
    async def later(*args: P.args, **kwargs: P.kwargs) -> R:
        return await asyncio.to_thread(call, *args, **kwargs)

    return later


acheck = _in_thread(check)


def _verifier_of(settings: Settings) -> Verifier:
    """The cached verifier. The cache key includes the draft settings only if the drafter's LLM is
    the verifier."""
    drafts = settings.verifier.llm.url == "draft"
    return _verifier(settings.verifier, settings.draft if drafts else None)


@lru_cache(maxsize=2)
def _verifier(settings: VerifierSettings, draft: DraftSettings | None) -> Verifier:
    return open_verifier(settings, "", draft)


@lru_cache(maxsize=2)
def _embedder(settings: EmbedderSettings) -> Embedder:
    return CachedEmbedder(open_embedder(settings))
