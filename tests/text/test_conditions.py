"""Restrictions of a sentence are found, with kind and exact span."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.text.conditions import conditions, leaning, parts

FOUND = """
Days may be bought, subject to manager approval. = requirement: subject to manager approval
USB sticks may be used only if they were issued here. = requirement: only if they were issued here
They lapse on 31 March, except when you were ill. = exception: except when you were ill
Up to 5 days may be carried over. = limit: Up to 5 days
Dogs are admitted unless they bite. = exception: unless they bite
It is refunded, provided that the keys are back. = requirement: provided that the keys are back
Claims are entered within 30 days of the expense. = limit: within 30 days
Leave is open to full-time staff. = scope: full-time
Tea is free for full-time staff. = scope: for full-time
Employees who adopt a child are entitled to leave. = scope: who adopt a child
Trips need the approval of a director. = requirement: need the approval of a director
During probation, pay is limited to the first week. = scope: During probation
If a receipt is lost, sign here. = requirement: If a receipt is lost
Storm damage is covered, excluding floods. = exception: excluding floods
It is paid once the trial is over. = requirement: once the trial is over
Students under 26 pay half. = limit: under 26
The bands are open to the People team only. = requirement: only
"""

NONE = """
Screens lock after 5 minutes without activity.
Invoices are paid 45 days after receipt.
In addition, tea is served.
Call to see if the office is open.
The coordinator checks the list once a year.
For long-term care the entitlement is six weeks.
"""


@pytest.mark.parametrize("line", FOUND.strip().splitlines())
def test_a_condition_is_found(line: str) -> None:
    sentence, _, wanted = line.partition(" = ")
    (found,) = conditions(sentence)
    assert f"{found.kind}: {found.text}" == wanted


@pytest.mark.parametrize("sentence", NONE.strip().splitlines())
def test_none_is_seen_where_there_is_none(sentence: str) -> None:
    assert conditions(sentence) == []


def test_several_in_one_sentence() -> None:
    said = "Raises of more than 7 percent come only with a promotion, except to correct a wage."
    assert [one.text for one in conditions(said)] == [
        "more than 7 percent",
        "only with a promotion",
        "except to correct a wage",
    ]


def test_what_is_joined_by_and_is_two_things() -> None:
    (found,) = conditions("It may be booked only if the flight is long and a director agrees.")
    assert list(parts(found)) == [" the flight is long", "a director agrees"]
    (found,) = conditions("It is covered, excluding floods and fire.")
    assert list(parts(found)) == [" floods and fire"]


def test_a_sentence_may_only_restrict_the_one_before_it() -> None:
    found = leaning("This needs the written consent of the People team, asked for in time.")
    assert found is not None
    assert found.text == "This needs the written consent of the People team"
    assert leaning("They lapse on 31 March, except when you were ill.") is None


@given(st.text(max_size=120) | st.lists(st.sampled_from(FOUND.split())).map(" ".join))
def test_spans_are_exact_and_apart(sentence: str) -> None:
    end = 0
    for one in conditions(sentence):
        assert end <= one.start < one.end <= len(sentence)
        assert sentence[one.start : one.end] == one.text
        assert one.text.startswith(one.cue)
        end = one.end
