"""A pytest plugin: the fixture `assert_grounded`, and golden files as tests.

Every row of a file `*.golden.jsonl` is a test (the format is that of `suffice golden run`). The
answers come from your application (`suffice_app = module:function` in the settings of pytest) or
from Suffice itself over a folder of documents (`suffice_docs = folder`). The function takes the
question and returns the answer with its passages, or a verdict; it may be asynchronous.

The plugin is loaded with every run of pytest, so it imports the rest of Suffice on first use only.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from dataclasses import replace
from fnmatch import fnmatch
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from suffice.lab.golden import GoldenCase
    from suffice.types import Verdict

PATTERN = "*.golden.jsonl"
_ANSWERING = pytest.StashKey["Callable[[str], Verdict]"]()


@pytest.fixture(scope="session")
def assert_grounded() -> Callable[..., Verdict]:
    """Call it with an answer and its passages; see `suffice.testing.assert_grounded`."""
    from suffice.testing import assert_grounded

    return assert_grounded


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("suffice_app", "Golden files: module:function that answers a question.")
    parser.addini("suffice_docs", "Golden files: a folder that Suffice answers from.")
    parser.addini("suffice_config", "Golden files: the settings file of Suffice.")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if not fnmatch(file_path.name, PATTERN):
        return None
    return GoldenFile.from_parent(parent, path=file_path)


class GoldenFile(pytest.File):
    def collect(self) -> Iterator[pytest.Item]:
        from suffice.lab.golden import key_of, read_golden

        for case in read_golden(self.path):
            yield GoldenItem.from_parent(self, name=key_of(case), case=case)


class GoldenItem(pytest.Item):
    """One question with its expected outcome."""

    def __init__(self, *, case: GoldenCase, **fields: Any) -> None:
        super().__init__(**fields)
        self.case = case

    def runtest(self) -> None:
        verdict = _answering(self.config)(self.case.question.question)
        if not self.case.passes(verdict):
            raise GoldenFailed(self._expected(), verdict)

    def _expected(self) -> str:
        if self.case.allowed:
            return " or ".join(action.value for action in self.case.allowed)
        return "an answer" if self.case.question.answerable else "a refusal"

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, GoldenFailed):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, self.name


class GoldenFailed(AssertionError):
    def __init__(self, expected: str, verdict: Verdict) -> None:
        said = verdict.draft.text if verdict.draft else verdict.released
        super().__init__(
            f"expected {expected}, got {verdict.action.value}: {verdict.reason}\nanswer: {said!r}"
        )


def _answering(config: pytest.Config) -> Callable[[str], Verdict]:
    """What answers the questions, opened once per run."""
    if _ANSWERING not in config.stash:
        config.stash[_ANSWERING] = _opened(config)
    return config.stash[_ANSWERING]


def _opened(config: pytest.Config) -> Callable[[str], Verdict]:
    import suffice

    app, docs = str(config.getini("suffice_app")), str(config.getini("suffice_docs"))
    file = config.getini("suffice_config")
    settings = suffice.read_settings(config.rootpath / file if file else None)
    if app:
        module, _, name = app.partition(":")
        return _app(getattr(import_module(module), name), settings)
    if docs:
        corpus = suffice.open(config.rootpath / docs, settings=settings)
        config.add_cleanup(corpus.close)
        return corpus.ask
    raise pytest.UsageError(
        "Golden files need suffice_app = module:function or suffice_docs = folder "
        "in the settings of pytest."
    )


def _app(call: Callable[[str], Any], settings: Any) -> Callable[[str], Verdict]:
    from suffice.integrations.guard import Guard
    from suffice.types import Action, Verdict

    guard = Guard(settings)

    def ask(question: str) -> Verdict:
        made = call(question)
        if inspect.isawaitable(made):
            made = asyncio.run(_result(made))
        if isinstance(made, Verdict):
            return made
        answer, passages = made
        verdict = guard.check(answer, passages, question).verdict
        declines = verdict.served and verdict.draft is not None and not verdict.draft.claims
        # An application that says "I do not know" has withheld an answer.
        return replace(verdict, action=Action.WITHHOLD) if declines else verdict

    return ask


async def _result(made: Any) -> Any:
    return await made
