"""A claim's values against the evidence: the right number on the wrong subject is a mismatch."""

from __future__ import annotations

import pytest

from suffice.text.literals import (
    Comparator,
    Comparison,
    LiteralKind,
    Operation,
    Outcome,
    Reading,
    compare,
    literals,
)

FINANCE = "Revenue was $4.2M and costs were $3.1M. Headcount grew by 14 percent."
LEAVE = "Adopters get 16 weeks, birth parents 20 weeks of paid leave."
POLICY = """# Leave

Birth parents are entitled to 20 weeks of leave at full pay. The deductible is $500.
Claims are entered within 30 days of the expense. The hotline opens at 9 a.m. on weekdays.
The policy took effect on 1 March 2025 under Article 17 of the statute. At most 5 days may be
carried over. Form ON-3 goes to Noor Hallam, privacy@quillmere.example.

| Grade | Position | Minimum | Maximum |
| --- | --- | --- | --- |
| 3 | Workshop assistant | 29,500 | 34,500 |
| 4 | Technician | 34,000 | 43,000 |
"""


def judged(claim: str, evidence: str) -> list[Comparison]:
    """What was judged about values; names are left aside."""
    return [one for one in compare(claim, evidence) if one.claim.kind is not LiteralKind.NAME]


def outcome(claim: str, evidence: str) -> Outcome:
    found = judged(claim, evidence)
    assert len(found) == 1, found
    return found[0].outcome


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("Revenue was four million dollars.", "Revenue was $4,000,000."),
        ("Revenue was $4.2 million.", FINANCE),
        ("Costs came to 3.1 million dollars.", FINANCE),
        ("Headcount rose 14 %.", FINANCE),
        ("Adopters receive sixteen weeks.", LEAVE),
        ("Birth parents receive 20 weeks.", LEAVE),
        ("Birth parents have 140 days of leave.", POLICY),
        ("The deductible is 500 dollars.", POLICY),
        ("Claims must be entered within 30 days.", POLICY),
        ("The hotline opens at 09:00.", POLICY),
        ("The policy took effect on March 1st, 2025.", POLICY),
        ("The policy took effect in March 2025.", POLICY),
        ("The policy took effect in 2025.", POLICY),
        ("It rests on article 17.", POLICY),
        ("Up to five days may be carried over.", POLICY),
        ("Five days may be carried over.", POLICY),
        ("Use form ON-3.", POLICY),
        ("Write to privacy@quillmere.example.", POLICY),
        ("A technician earns at least 34,000 euros.", POLICY),
        ("Half of the staff agreed.", "Of the staff, 50 percent agreed."),
        ("It is checked twice a year.", "The list is checked two times a year."),
        ("It grew by 14 percent.", "It grew by 14.3 percent."),
        ("About 4,200 people live there.", "The town has 4,213 people."),
        ("More than 4,000 people live there.", "The town has 4,213 people."),
        ("The match is on 3 May 2021.", "Fixtures for 2021. The match is played on 3 May."),
        ("The range is 4-7%.", "The range goes from 4% up, ending at 7%."),
        ("It costs $11,100 or more.", "It costs $11,100 to $11,250. Last year it cost $9,000."),
        ("They met on a Tuesday.", "They met on 12 March 2024."),
        ("It follows from Section 4.2.", "## 4.2 Scope\n\nGloves are worn."),
        ("It sold more than 1600.", "It sold 1,600 pieces."),
        ("The limit is 96.56 km/h.", "The limit is 60 mph."),
        ("The limit is 60 mph.", "The limit is 96.56 km/h."),
        ("Seventy percent is paid.", "To the end of the 39th week 70 percent is paid."),
    ],
)
def test_a_reworded_value_is_equal(claim: str, evidence: str) -> None:
    found = judged(claim, evidence)
    assert [one.outcome for one in found] == [Outcome.EQUAL], found


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("Revenue was $4.3M.", FINANCE),
        ("Headcount grew by 15 percent.", FINANCE),
        ("Headcount grew by 14 percentage points.", FINANCE),
        ("Revenue was €4.2M.", FINANCE),
        ("Adopters get 18 weeks.", LEAVE),
        ("Adopters get 16 months.", LEAVE),
        ("Birth parents have 21 weeks of leave.", POLICY),
        ("The deductible is $750.", POLICY),
        ("Claims are entered within 60 days of the expense.", POLICY),
        ("The hotline opens at 10 a.m.", POLICY),
        ("The policy took effect on 1 May 2025.", POLICY),
        ("The policy took effect under Article 21 of the statute.", POLICY),
        ("At least 5 days may be carried over.", POLICY),
        ("Send Form ON-4.", "Send Form ON-3."),
        ("The plant feeds 5 MW into the grid.", "The plant feeds 5 mW into the grid."),
        ("The file takes 5 Mb.", "The file takes 5 MB."),
    ],
)
def test_another_value_of_the_same_thing_is_a_mismatch(claim: str, evidence: str) -> None:
    assert outcome(claim, evidence) is Outcome.MISMATCH


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("Turnout was 56.0 percent.", "Turnout was 56.1 percent."),
        ("The team has two coaches.", "The team has one coach."),
        ("The team has one coach.", "The team has two coaches."),
    ],
)
def test_a_small_change_is_a_mismatch(claim: str, evidence: str) -> None:
    assert outcome(claim, evidence) is Outcome.MISMATCH


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        (
            "The nurse on duty saw two sick passengers.",
            "The ship had 84 passengers. At 9 a.m. a sick boy came to the nurse on duty.",
        ),
        ("The firm began in 1952.", "It was begun in 1952. The firm moved to York in 1960."),
    ],
)
def test_another_number_of_the_same_sort_is_no_mismatch(claim: str, evidence: str) -> None:
    assert outcome(claim, evidence) is not Outcome.MISMATCH


def test_readings_are_joined_without_reading_again() -> None:
    texts = [FINANCE, LEAVE, POLICY]
    joined = Reading.joined([Reading.of(text) for text in texts])
    assert joined.text == "\n\n".join(texts)
    assert {joined.text[one.start : one.end] == one.text for one in joined.literals} == {True}
    for claim in ("Costs were $4.2M.", "Adopters get 20 weeks.", "The deductible is $500."):
        assert [one.outcome for one in compare(claim, joined)] == [
            one.outcome for one in compare(claim, "\n\n".join(texts))
        ]


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("The bridge is 300 metres long.", FINANCE),
        ("The dose is 500 IU of vitamin D.", "The dose is 500 mg of vitamin D."),
        ("The dose is 500 units of insulin.", "The dose is 500 mg of insulin."),
        ("The file takes 5 gb.", "The file takes 5 MB."),
        ("It was founded in 1987.", LEAVE),
        ("There are 12 meeting rooms.", POLICY),
        ('He said "we will never leave".', POLICY),
    ],
)
def test_what_the_evidence_does_not_speak_of_is_absent(claim: str, evidence: str) -> None:
    assert outcome(claim, evidence) is Outcome.ABSENT


@pytest.mark.parametrize(
    ("claim", "evidence", "operation"),
    [
        ("Revenue and costs together were $7.3M.", FINANCE, Operation.SUM),
        ("Revenue was $1.1M more than costs.", FINANCE, Operation.DIFFERENCE),
        (
            "Sales rose by 25 percent.",
            "Sales were $400 in May and sales were $500 in June.",
            Operation.CHANGE,
        ),
        (
            "The share of women is 40 percent of employees.",
            "The firm has 200 employees, of whom 80 employees are women.",
            Operation.SHARE,
        ),
        ("Birth parents get 4 more weeks than adopters.", LEAVE, Operation.DIFFERENCE),
    ],
)
def test_arithmetic_on_two_stated_numbers_is_derived(
    claim: str, evidence: str, operation: Operation
) -> None:
    (found,) = judged(claim, evidence)
    assert found.outcome is Outcome.DERIVED
    assert found.derivation is not None
    assert found.derivation.operation is operation
    assert len({one.text for one in found.derivation.operands}) == 2


@pytest.mark.parametrize("bound", ["up to", "more than", "less than"])
def test_a_bound_says_nothing_of_arithmetic(bound: str) -> None:
    evidence = "Travel counts as work for 10 hours. Work on travel is two hours."
    assert outcome(f"Travel counts as work for {bound} 8 hours.", evidence) is Outcome.MISMATCH


def test_a_dropped_bound_is_equal_and_both_comparators_are_there() -> None:
    (found,) = compare("Five days may be carried over.", POLICY)
    assert found.outcome is Outcome.EQUAL
    assert found.evidence is not None
    assert (found.claim.comparator, found.evidence.comparator) == (
        Comparator.EXACTLY,
        Comparator.AT_MOST,
    )


def test_names_are_found_or_absent() -> None:
    assert compare("Write to Noor Hallam.", POLICY)[0].outcome is Outcome.EQUAL
    assert compare("Write to Jane Doe.", POLICY)[0].outcome is Outcome.ABSENT
    other = compare("Form ON-3 goes to Noor Hallan.", POLICY)[-1]
    assert other.outcome is Outcome.MISMATCH


def test_marks_of_citation_and_lists_are_not_literals() -> None:
    assert literals("1. Sign the paper [1][2, 3].\n2) Send it [^4].\n(3) Wait [5-7].") == []
    assert compare("The deductible applies [7].", POLICY) == []


def test_the_evidence_may_be_read_once() -> None:
    reading = Reading.of(POLICY)
    assert compare("The deductible is $500.", reading) == compare("The deductible is $500.", POLICY)


def test_empty_texts() -> None:
    assert compare("", POLICY) == []
    assert outcome("It costs $5.", "") is Outcome.ABSENT


@pytest.mark.parametrize(
    ("text", "number", "about"),
    [
        ("New parents get 16 weeks of parental leave.", "16 weeks", {"leav", "parent"}),
        ("The deductible is $500.", "$500", {"deduct"}),
        (FINANCE, "$4.2M", {"revenu"}),
        (FINANCE, "$3.1M", {"cost"}),
        (LEAVE, "16 weeks", {"adopt"}),
        (LEAVE, "20 weeks", {"birth", "parent", "paid", "leav"}),
        ("There are 3 sites in Spain; 5 sites are in Italy.", "3", {"site", "spain"}),
        ("There are 3 sites in Spain; 5 sites are in Italy.", "5", {"site", "itali"}),
    ],
)
def test_each_number_is_bound_to_its_own_neighbourhood(
    text: str, number: str, about: set[str]
) -> None:
    (found,) = [one for one in literals(text) if one.text == number]
    assert set(found.about) == about


def test_respectively_binds_every_number_to_every_word() -> None:
    found = literals("Revenue and costs were $4.2M and $3.1M respectively.")
    assert all({"revenu", "cost"} <= set(one.about) for one in found)
