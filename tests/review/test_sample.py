"""What a sequence of decisions says about a served answer."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from suffice.errors import ReviewError
from suffice.log.setup import Setup
from suffice.review.case import Act
from suffice.review.labels import judgement
from suffice.review.review import Review
from tests.review import examples as some

RELEASE, CORRECT, WITHDRAW, OPEN, CONFIRM, DISMISS = Act
SILENT = (OPEN, DISMISS)
"""Decisions that say nothing about a served answer."""


@pytest.mark.parametrize(
    ("acts", "right"),
    [
        ((), None),
        ((DISMISS,), None),
        ((CONFIRM,), True),
        ((DISMISS, CONFIRM), True),
        ((CONFIRM, DISMISS), True),
        ((WITHDRAW,), False),
        ((CORRECT,), False),
        ((WITHDRAW, CONFIRM), False),  # "Keep withheld"
        ((CORRECT, CONFIRM), False),  # "Keep released": the corrected text
        ((WITHDRAW, DISMISS, CONFIRM), False),
        ((WITHDRAW, CONFIRM, CONFIRM), False),
        ((CONFIRM, WITHDRAW, CONFIRM), False),
        ((CONFIRM, CORRECT, WITHDRAW), False),
        ((WITHDRAW, RELEASE), True),
        ((WITHDRAW, RELEASE, CONFIRM), True),
        ((CORRECT, WITHDRAW, RELEASE), True),
        ((WITHDRAW, RELEASE, CORRECT, CONFIRM), False),
    ],
)
def test_a_sequence_of_decisions(acts: Sequence[Act], right: bool | None) -> None:
    assert judgement([act.value for act in acts]) is right


@given(st.lists(st.sampled_from([act.value for act in Act])))
def test_who_agrees_changes_nothing(acts: list[str]) -> None:
    before = judgement(acts)
    assert judgement([*acts, CONFIRM]) is (True if before is None else before)
    for act in SILENT:
        assert judgement([*acts, act]) is before
    # Only the last decision that is not an agreement counts.
    telling = [act for act in acts if act in (RELEASE, CORRECT, WITHDRAW)]
    if telling:
        assert before is (telling[-1] == RELEASE)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(acts=st.lists(st.sampled_from([RELEASE, CORRECT, WITHDRAW, CONFIRM, DISMISS]), max_size=6))
@example(acts=[WITHDRAW, CONFIRM])
@example(acts=[CORRECT, CONFIRM])
def test_an_answer_is_exported_as_right_only_if_it_is_out_as_it_was_served(
    review: Review, acts: list[Act]
) -> None:
    """Whatever the reviewers do, within the rules of the queue."""
    sampling = some.at_rate(review, 1)
    id = sampling.log.write(some.SERVED, filing=Setup().filing())
    for act in acts:
        with suppress(ReviewError):  # not possible in this state
            sampling.decide(id, act, reason="x", by="Ada", text="3 days.")
    case = sampling.case(id)
    (row,) = (row for row in sampling.labels() if row["record"] == id)
    judged = any(done.act is not DISMISS for done in case.decided)
    same = case.verdict is not None and case.verdict.released == some.TEXT
    assert row["correct"] is (same if judged else None)
