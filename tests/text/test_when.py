"""Which time a question asks about, and which mentions of time are no such question."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suffice.text.when import NOW, TimeAsked, asked_about

TODAY = date(2026, 11, 15)


@pytest.mark.parametrize(
    "question",
    [
        "How many days per week may I work remotely?",
        "Do employees who joined before 2024 get the bonus?",
        "Do employees hired in 2019 get a pension?",
        "What is the notice period for contracts signed in 2020?",
        "Must receipts be handed in before 31 March 2027?",
        "By when do I have to use vacation left over from last year?",
        "What happens if I did not use my holiday last year?",
        "Which form is used to get a laptop?",
        "Is SQL Server 2019 supported?",
        "Does ISO 27001:2022 apply?",
        "What are the salary bands for 2026?",
        "Who has been in charge since 2019?",
        "In which year did the Berlin Wall fall?",
        "What happens with my previous employer's pension?",
        "Can I use my old laptop?",
        "Is there an old age pension policy?",
        "What is the difference between annual and sick leave?",
        "Can I carry over previously unused days?",
        "",
    ],
)
def test_no_question_about_another_time(question: str) -> None:
    assert asked_about(question, TODAY) == NOW


@pytest.mark.parametrize(
    ("question", "start", "until", "firm"),
    [
        ("What was Apple's revenue in 2019?", date(2019, 1, 1), date(2020, 1, 1), False),
        ("What is the travel allowance for 2024?", date(2024, 1, 1), date(2025, 1, 1), False),
        ("How many days were allowed in March 2023?", date(2023, 3, 1), date(2023, 4, 1), False),
        ("How many were allowed in Q4 2023?", date(2023, 10, 1), date(2024, 1, 1), False),
        ("What was the rate on 5 May 2023?", date(2023, 5, 5), date(2023, 5, 6), False),
        ("What was the limit before 2024?", date.min, date(2024, 1, 1), False),
        ("What was the limit until 2024?", date.min, date(2025, 1, 1), False),
        ("What were the fees between 2020 and 2022?", date(2020, 1, 1), date(2023, 1, 1), False),
        ("What will the budget be in 2027?", date(2027, 1, 1), date(2028, 1, 1), False),
        ("What was the allowance last year?", date(2025, 1, 1), date(2026, 1, 1), False),
        ("What was the allowance last month?", date(2026, 10, 1), date(2026, 11, 1), False),
        ("What was the rule two years ago?", date(2024, 11, 15), date(2024, 11, 16), False),
        ("What did the 2023 policy say?", date(2023, 1, 1), date(2024, 1, 1), True),
        ("What does the policy of March 2023 say?", date(2023, 3, 1), date(2023, 4, 1), True),
        ("As of 1 June 2024, how many days?", date(2024, 6, 1), date(2024, 6, 2), True),
        ("Which rules were in force in 2022?", date(2022, 1, 1), date(2023, 1, 1), True),
        ("What does last year's policy say?", date(2025, 1, 1), date(2026, 1, 1), True),
    ],
)
def test_another_time(question: str, start: date, until: date, firm: bool) -> None:
    when = asked_about(question, TODAY)
    assert (when.asked, when.start, when.until, when.firm) == (TimeAsked.THEN, start, until, firm)
    assert when.words


@pytest.mark.parametrize(
    "question",
    [
        "What did the previous remote work policy say?",
        "What was in the old version?",
        "What was the previous rate?",
        "How many days did we use to have?",
        "The limit used to be what?",
        "How many days were previously allowed?",
        "What was the limit before the change?",
    ],
)
def test_the_version_before(question: str) -> None:
    assert asked_about(question, TODAY).asked is TimeAsked.BEFORE


@pytest.mark.parametrize(
    "question",
    [
        "What changed between the old policy and the new one?",
        "How did remote work change between 2023 and 2025?",
        "What is the history of the travel allowance?",
        "List all versions of the policy.",
    ],
)
def test_more_than_one_version(question: str) -> None:
    assert asked_about(question, TODAY).asked is TimeAsked.EVER


def test_a_version_by_its_name() -> None:
    when = asked_about("What does version 1.0 of the policy say?", TODAY)
    assert (when.asked, when.version) == (TimeAsked.NAMED, "1.0")


def test_the_same_words_mean_another_time_on_another_day() -> None:
    asked = "What was the allowance last year?"
    assert asked_about(asked, date(2020, 2, 29)).start == date(2019, 1, 1)
    assert asked_about("What was it in 2024?", date(2024, 5, 1)) == NOW
    leap = asked_about("What was the rule a year ago?", date(2024, 2, 29))
    assert leap.start == date(2023, 2, 28)


@settings(deadline=None)
@given(st.text(max_size=100), st.dates())
def test_any_text_has_a_time(text: str, today: date) -> None:
    when = asked_about(text, today)
    assert when.start < when.until


@settings(deadline=None)
@given(
    st.sampled_from(["before", "until", "in", "since", "as of", "after"]),
    st.integers(1, 9999),
    st.sampled_from(["", " AD", "s"]),
)
def test_any_year_can_be_asked_about(word: str, year: int, tail: str) -> None:
    when = asked_about(f"What was the policy {word} {year}{tail}?", TODAY)
    assert when.start < when.until


@pytest.mark.parametrize(
    "ago", ["last year", "last month", "yesterday", "999 years ago", "0 days ago"]
)
@pytest.mark.parametrize("today", [date.min, date.max, date(2024, 2, 29)])
def test_the_ends_of_the_calendar(ago: str, today: date) -> None:
    when = asked_about(f"What was the rule {ago}?", today)
    assert when.start < when.until
    assert asked_about("What was the rule before 1 AD?", today).start < date.max
