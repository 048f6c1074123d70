"""Naming the parts of a question that the evidence does not cover."""

from __future__ import annotations

from datetime import date
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from suffice.gate.missing import missing_aspects
from suffice.text.words import Synonyms
from suffice.types import Evidence, Passage, Retrieved


def missing(question: str, *texts: str, **more: Any) -> tuple[str, ...]:
    items = (
        Retrieved(Passage(id=str(n), text=text, document=str(n), **more), 0.5)
        for n, text in enumerate(texts)
    )
    return missing_aspects(Evidence(question, tuple(items)))


LEAVE = "Employees are entitled to 20 weeks of parental leave."


def test_a_group_a_place_and_a_year() -> None:
    assert missing("How long is parental leave for contractors?", LEAVE) == ("contractors",)
    asked = "How many weeks of parental leave do contractors in Berlin get in 2025?"
    assert missing(asked, LEAVE) == (
        "contractors",
        "Berlin",
        "a figure for 2025",
    )


def test_what_is_there_is_not_missing() -> None:
    assert missing("How long is parental leave?", LEAVE) == ()
    assert missing("Are the employees entitled to leaves?", LEAVE) == ()


def test_words_that_stand_for_others_and_other_spellings() -> None:
    text = "Customers in the European Union and Port Harcourt pay by invoice."
    assert missing("Do customers in the EU get an invoice?", text) == ()
    assert missing("Do customers in portharcourt pay?", text) == ()
    assert missing("Which airport does Brasilia have?", "Brasília has an airport.") == ()
    items = (Retrieved(Passage(id="1", text="The MOT is yearly.", document="a"), 0.5),)
    evidence = Evidence("Who pays for the roadworthiness test?", items)
    assert missing_aspects(evidence) != ()
    own = Synonyms.read(["mot, roadworthiness test"])
    assert missing_aspects(evidence, synonyms=own) == ()


def test_titles_headings_and_summaries_count() -> None:
    assert missing("How long is the probation?", "It lasts 6 months.", title="Probation") == ()
    assert missing("How long is the probation?", "It lasts 6 months.", heading=("Probation",)) == ()


def test_a_figure_of_the_sort_that_is_asked_for() -> None:
    about = "The travel agency Lodestar makes the bookings at least 10 days ahead."
    assert missing("How much does Lodestar charge?", about) == ("the amount",)
    assert missing("How many days ahead does Lodestar book?", about) == ()
    assert missing("What percentage does Lodestar take?", about) == ("the percentage",)
    assert missing("When was the agency founded?", "The agency is old.") == ("the date",)
    assert missing("How many employees may a buddy have?", "A buddy has 3 keys.") == (
        "the number of employees",
    )
    assert missing("How many employees may a buddy have?", "A buddy has 3 employees.") == ()
    item = "3. Employees meet their buddy."  # the number of the item, not of employees
    assert missing("How many employees may a buddy have?", item) == ("the number of employees",)


def test_a_figure_in_another_passage_is_none_for_this_subject() -> None:
    asked = "How much does the agency charge for a booking?"
    texts = ("The agency makes every booking.", "A room costs 140 euros.")
    assert missing(asked, *texts) == ("the amount",)


def test_a_date_is_a_value_not_a_word() -> None:
    asked = "What was the revenue in March 2024?"
    assert missing(asked, "Revenue was 5 million on 12 March 2024.") == ()
    assert missing(asked, "Revenue was 5 million in March 2023.") == ("March 2024",)
    known = {"effective": date(2023, 1, 1)}
    assert missing(asked, "Revenue is 5 million.", **known) == ()
    ended = {"effective": date(2022, 1, 1), "expires": date(2023, 1, 1)}
    assert missing(asked, "Revenue is 5 million.", **ended) == ("March 2024",)


def test_what_is_missing_is_in_the_words_of_the_question() -> None:
    asked = "How long does the Zürich office store hepatitis vaccination records?"
    assert missing(asked, "The office is open.") == ("Zürich", "hepatitis vaccination")
    assert missing("What does the red sign mean?", "The door is locked.") == ()


def test_a_year_within_a_span_is_covered() -> None:
    asked = "What was the allowance in 2005?"
    assert missing(asked, "The allowance was 300 euros in 2001.") == ("2005",)
    assert missing(asked, "On or after September 11, 2001, the allowance is 300 euros.") == ()
    assert missing(asked, "From 2001 to 2009 the allowance was 300 euros.") == ()


@settings(deadline=None)
@given(st.text(max_size=100), st.lists(st.text(max_size=200), max_size=4))
def test_at_most_three_phrases_whatever_is_asked(question: str, texts: list[str]) -> None:
    said = missing(question, *texts)
    assert len(said) <= 3
    assert len(set(said)) == len(said)
    assert said == missing(question, *texts)


WORDS = st.sampled_from("parental leave contractors Berlin laptop salary grade pension".split())


@settings(deadline=None)
@given(st.lists(WORDS, min_size=1, max_size=5, unique=True))
def test_a_passage_that_says_it_all_leaves_nothing_to_miss(words: list[str]) -> None:
    things = " and the ".join(words)
    assert missing(f"What about the {things}?", f"Here is the {things}.") == ()


def test_the_occasion_of_a_question_may_be_spoken_of_elsewhere() -> None:
    texts = ("A stolen laptop is reported within 2 hours.", "Journeys are made by train.")
    asked = "My laptop was stolen on the train; how quickly must I report the laptop?"
    assert missing(asked, *texts) == ()


def test_how_something_is_done_is_no_thing() -> None:
    texts = ("Trips are approved 10 days before departure.", "Holiday is requested in advance.")
    assert missing("How far in advance are trips approved?", *texts) == ()


def test_extra_days_are_days() -> None:
    asked = "How many additional days of holiday are there?"
    assert missing(asked, "There are 4 days of holiday.") == ()
