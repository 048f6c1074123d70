"""Reflection and revision: a draft that fails its checks goes back with what they found.

The loop knows neither who writes nor who checks: it is given both, and keeps every round.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from time import monotonic

from suffice.draft.brief import PLAIN, Brief
from suffice.errors import SufficeError
from suffice.settings import DraftSettings
from suffice.types import Code, Draft, Finding, Support

Write = Callable[[Brief], Draft]
Check = Callable[[Draft], Sequence[Finding]]


@dataclass(frozen=True, slots=True)
class Round:
    """One draft, what the checks found of it, and what both cost."""

    draft: Draft
    findings: tuple[Finding, ...]
    seconds: float
    tokens: int


class Stopped(StrEnum):
    """Why no further round was begun."""

    GOOD = "nothing was found against the draft"
    ROUNDS = "the draft went back as often as it may"
    TIME = "no time was left for another round"
    TOKENS = "no tokens were left for another round"
    SAME = "the draft came back unchanged"
    DECLINED = "the drafter declined"
    FAILED = "the drafter failed"


@dataclass(frozen=True, slots=True)
class Revised:
    """All rounds, first to last; at least one."""

    rounds: tuple[Round, ...]
    stopped: Stopped
    problem: str = ""
    """What the drafter failed of in a later round; a failure in the first is raised."""

    @property
    def last(self) -> Round:
        return self.rounds[-1]


def wanting(round_: Round) -> bool:
    """Whether a draft should go back: something speaks against a claim, nobody is sure of one, or
    it broke off."""
    bad = (Support.CONTRADICTED, Support.UNBACKED)
    return round_.draft.cut or any(
        finding.support in bad or finding.code in (Code.UNSURE, Code.BESIDE)
        for finding in round_.findings
    )


def revising(
    settings: DraftSettings,
    brief: Brief = PLAIN,
    *,
    again: Callable[[Round], bool] = wanting,
    clock: Callable[[], float] = monotonic,
) -> Generator[Brief, Round | SufficeError, Revised]:
    """The loop itself, without a call to anyone: yields what the drafter is told, is sent the round
    that came of it or the problem, and returns all rounds.

    Another round is begun while `again` says so, and only if one as long as the last would still
    fit into the time and the tokens; what is left of the time goes with it.
    """
    began = clock()
    rounds: list[Round] = []
    told = replace(brief, seconds=settings.seconds)
    while True:
        came = yield told
        if isinstance(came, SufficeError):
            if not rounds:
                raise came
            return Revised(tuple(rounds), Stopped.FAILED, str(came))
        rounds.append(came)
        left = settings.seconds - (clock() - began)
        if stopped := _stopped(rounds, settings, left, again):
            return Revised(tuple(rounds), stopped)
        told = replace(brief, earlier=came.draft, findings=came.findings, seconds=left)


def revise(
    write: Write,
    check: Check,
    settings: DraftSettings,
    brief: Brief = PLAIN,
    *,
    again: Callable[[Round], bool] = wanting,
    clock: Callable[[], float] = monotonic,
) -> Revised:
    """Writes, checks, and sends the draft back, as `revising` says."""
    steps = revising(settings, brief, again=again, clock=clock)
    told = next(steps)
    while True:
        try:
            came: Round | SufficeError = _round(write, check, told, clock)
        except SufficeError as problem:
            came = problem
        try:
            told = steps.send(came)
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
    """Why this round is the last one; `None` if it is not."""
    last = rounds[-1]
    spent = sum(entry.tokens for entry in rounds)
    if not last.draft.text:
        return Stopped.DECLINED
    if not again(last):
        return Stopped.GOOD
    if any(last.draft.text == entry.draft.text for entry in rounds[:-1]):
        return Stopped.SAME
    if len(rounds) > settings.rounds:
        return Stopped.ROUNDS
    if last.seconds > left:
        return Stopped.TIME
    return Stopped.TOKENS if spent + last.tokens > settings.budget else None
