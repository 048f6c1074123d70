"""Assertions for tests of your own application."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import suffice
from suffice.types import Action, Support, Verdict

if TYPE_CHECKING:
    from suffice.evidence.inputs import Given
    from suffice.settings import Settings


def assert_grounded(
    answer: str,
    evidence: Iterable[Given] | Given,
    question: str | None = None,
    *,
    uncited: bool = True,
    allow: Iterable[str] = (Action.SERVE,),
    settings: Settings | None = None,
) -> Verdict:
    """Fail unless every statement of the answer is backed by the evidence; return the verdict.

    `allow` names the accepted verdicts, `uncited=False` also requires citations as `[n]`.
    """
    __tracebackhide__ = True  # pytest shows the caller's line
    verdict = suffice.check(answer, evidence, question, uncited=uncited, settings=settings)
    if verdict.action not in tuple(allow):
        raise AssertionError("\n".join(_explained(verdict)))
    return verdict


def _explained(verdict: Verdict) -> Iterator[str]:
    from suffice.verdict.claim_status import claim_statuses

    yield f"The answer is not grounded: {verdict.action.value}. {verdict.reason}"
    for status in claim_statuses(verdict):
        if status.support is not Support.BACKED:
            yield f"  {status.support.value}: “{status.claim.text}” ({status.reason})"
