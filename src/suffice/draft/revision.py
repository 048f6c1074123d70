"""The revision loop: a draft that fails its checks is returned to the drafter with the findings.

The loop receives the drafter and the checks as callables and keeps every round.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from time import monotonic

from suffice.draft.reading import PLAIN, Brief
from suffice.errors import SufficeError
from suffice.settings import DraftSettings
from suffice.types import RULES_ON_MEANING, Code, Draft, Finding, Support

Write = Callable[[Brief], Draft]
Check = Callable[[Draft], Sequence[Finding]]

_AGAINST = (Support.CONTRADICTED, Support.UNBACKED)
_JUDGES = frozenset({"entailment", "judge"})
"""The checks that read a claim beside its evidence."""


@dataclass(frozen=True, slots=True)
class Round:
    """One draft with its findings and the cost of both."""

    draft: Draft
    findings: tuple[Finding, ...]
    seconds: float
    tokens: int


class Stopped(StrEnum):
    """Why the loop ended."""

    GOOD = "no finding against the draft"
    ROUNDS = "the maximum number of rounds was reached"
    TIME = "no time was left for another round"
    TOKENS = "no tokens were left for another round"
    SAME = "the revised draft was unchanged"
    DECLINED = "the drafter declined"
    FAILED = "the drafter failed"


@dataclass(frozen=True, slots=True)
class Revised:
    """All rounds, first to last; at least one."""

    rounds: tuple[Round, ...]
    stopped: Stopped
    problem: str = ""
    """The drafter's error in a later round; an error in the first round is raised."""

    @property
    def last(self) -> Round:
        return self.rounds[-1]


def confirmed(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings to send back to the drafter: without those against a claim's meaning that no
    judge confirms. A drafter that follows a wrong finding makes a right draft wrong."""
    doubted = {
        finding.claim
        for finding in findings
        if finding.check in _JUDGES and finding.support in _AGAINST
    }
    return tuple(
        finding
        for finding in findings
        if finding.check not in RULES_ON_MEANING
        or finding.code is Code.MISCALCULATED
        or finding.support not in _AGAINST
        or finding.claim in doubted
    )


def needs_revision(round_: Round) -> bool:
    """Whether a draft should be revised: a claim is contradicted, unbacked or uncertain, the
    draft does not address the question, or it was cut off."""
    return round_.draft.cut or any(
        finding.support in _AGAINST or finding.code in (Code.UNSURE, Code.BESIDE)
        for finding in confirmed(round_.findings)
    )


def revising(
    settings: DraftSettings,
    brief: Brief = PLAIN,
    *,
    again: Callable[[Round], bool] = needs_revision,
    clock: Callable[[], float] = monotonic,
    began: float | None = None,
) -> Generator[Brief, Round | SufficeError, Revised]:
    """The loop as a generator that makes no calls itself: it yields the brief for the drafter, is
    sent the resulting round or error, and returns all rounds.

    It starts another round while `again` returns true, and only if a round as expensive as the last
    one still fits into the time and token budgets. The brief carries the remaining time. `began` is
    when the first draft was requested, if that was earlier.
    """
    began = clock() if began is None else began
    rounds: list[Round] = []
    current = replace(brief, seconds=settings.total_seconds)
    while True:
        result = yield current
        if isinstance(result, SufficeError):
            if not rounds:
                raise result
            return Revised(tuple(rounds), Stopped.FAILED, str(result))
        rounds.append(result)
        left = settings.total_seconds - (clock() - began)
        if stopped := _stopped(rounds, settings, left, again):
            return Revised(tuple(rounds), stopped)
        found = confirmed(result.findings)
        current = replace(brief, earlier=result.draft, findings=found, seconds=left)


def revise(
    write: Write,
    check: Check,
    settings: DraftSettings,
    brief: Brief = PLAIN,
    *,
    again: Callable[[Round], bool] = needs_revision,
    clock: Callable[[], float] = monotonic,
) -> Revised:
    """Run `revising` with the given drafter and checks."""
    steps = revising(settings, brief, again=again, clock=clock)
    current = next(steps)
    while True:
        try:
            result: Round | SufficeError = _round(write, check, current, clock)
        except SufficeError as problem:
            result = problem
        try:
            current = steps.send(result)
        except StopIteration as done:
            revised: Revised = done.value
            return revised


def _round(write: Write, check: Check, brief: Brief, clock: Callable[[], float]) -> Round:
    began = clock()
    draft = write(brief)
    findings = tuple(check(draft))
    return Round(draft, findings, clock() - began, draft.tokens)


def _stopped(
    rounds: Sequence[Round], settings: DraftSettings, left: float, again: Callable[[Round], bool]
) -> Stopped | None:
    """Why the loop ends after this round; `None` if it continues."""
    last = rounds[-1]
    spent = sum(entry.tokens for entry in rounds)
    if not last.draft.text:
        return Stopped.DECLINED
    if not again(last):
        return Stopped.GOOD
    if any(last.draft.text == entry.draft.text for entry in rounds[:-1]):
        return Stopped.SAME
    if len(rounds) > settings.revisions:
        return Stopped.ROUNDS
    if last.seconds > left:
        return Stopped.TIME
    return Stopped.TOKENS if spent + last.tokens > settings.total_tokens else None
