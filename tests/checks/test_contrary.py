"""The words of a source sentence, turned around: told, and nothing that says the same is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.checks.contrary import Contrary
from suffice.types import Code, Support
from tests.checks.drafts import judged

LIST = "The following are not reimbursed:\n\n- Alcohol and tobacco\n- Fines for speeding"
TURNED = [
    # who does what to whom
    ("The insurer pays the employer.", "The employer pays the insurer."),
    ("The owner notifies the tenant in writing.", "The tenant notifies the owner in writing."),
    ("The board was notified by the union.", "The board notified the union."),
    # a negation added, or dropped
    ("Employees may carry over leave to the next year.",
     "Employees may not carry over leave to the next year."),
    ("No employee may carry over leave.", "Employees may carry over leave."),
    ("Contractors do not receive a laptop.", "Contractors receive a laptop."),
    (LIST, "Alcohol and tobacco are reimbursed."),
    (LIST, "The following are reimbursed:\n\n- Alcohol and tobacco"),
    # comparisons
    ("The request is made before the trip.", "The request is made after the trip."),
    ("The trip comes before the request.", "The request comes before the trip."),
    ("Plan Gold lasts longer than plan Silver.", "Plan Silver lasts longer than plan Gold."),
    ("Refunds take more time than exchanges.", "Refunds take less time than exchanges."),
    # opposites
    ("Sales increased in the second quarter.", "Sales decreased in the second quarter."),
    ("Meals are included in the rate.", "Meals are excluded from the rate."),
    ("Parental leave is paid.", "Parental leave is unpaid."),
]  # fmt: skip
STRONGER = [
    ("Some employees may work from home.", "All employees may work from home."),
    ("Requests are usually granted within days.", "Requests are always granted within days."),
    ("Visitors may register at the desk.", "Visitors must register at the desk."),
    ("Managers approve travel. Directors approve hiring.", "Managers approve hiring."),
]
SAME = [
    ("No employee may carry over leave.", "Employees may not carry over leave."),
    ("The tenant is notified by the landlord.", "The landlord notifies the tenant."),
    ("The trip comes before the request.", "The request comes after the trip."),
    ("Plan Gold lasts longer than plan Silver.", "Plan Silver lasts shorter than plan Gold."),
    ("Leave is not reimbursed, but travel is reimbursed.", "Travel is reimbursed."),
    ("Employees may not carry over leave unless it is approved.",
     "Employees may carry over leave if it is approved."),
    ("All employees may work from home.", "Some employees may work from home."),
    ("Visitors must register at the desk.", "Visitors must register."),
    ("Craters are caused by impacts.", "Craters can also be caused by impacts."),
    ("Alice met Bob in Paris.", "Bob met Alice in Paris."),
    ("It is not unusual for people to run.", "It is not unusual for people to run far."),
    ("Don't allow the soil to dry out.", "The soil should not be allowed to dry out."),
    (LIST, "Alcohol and tobacco are not reimbursed."),
    ("Managers approve travel. Directors approve hiring.", "Directors approve hiring."),
    ("Managers approve travel. They also approve hiring.", "Managers approve hiring."),
]  # fmt: skip


@pytest.mark.parametrize(("source", "said"), TURNED)
def test_what_is_turned_around_is_contradicted(source: str, said: str) -> None:
    found = judged(Contrary(), said, source)[-1]
    assert (found.support, found.code) == (Support.CONTRADICTED, Code.CONTRARY)
    assert found.span is not None


@pytest.mark.parametrize(("source", "said"), STRONGER)
def test_what_says_more_is_not_backed(source: str, said: str) -> None:
    found = judged(Contrary(), said, source)[-1]
    assert (found.support, found.code) == (Support.UNBACKED, Code.CONTRARY)


@pytest.mark.parametrize(("source", "said"), SAME)
def test_what_says_the_same_meets_no_objection(source: str, said: str) -> None:
    assert judged(Contrary(), said, source)[-1].code is Code.CLEAR


WORD = st.sampled_from(
    """the a not no never all some may must before after more less than is are pays approves leave
    employees managers travel paid unpaid by to and , but 5 days""".split()
)


@given(st.lists(WORD, min_size=1, max_size=14))
def test_no_sentence_contradicts_itself(words: list[str]) -> None:
    said = " ".join(words).capitalize() + "."
    for found in judged(Contrary(), said, said):
        assert found.code is Code.CLEAR
