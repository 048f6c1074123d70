"""Facts stand alone with their subject; what is doubtful stays whole."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suffice.text.facts import facts

SPLIT: list[tuple[str, list[str]]] = [
    # Verb phrases with one subject.
    (
        "The policy covers theft and excludes floods.",
        ["The policy covers theft", "The policy excludes floods"],
    ),
    (
        "Employees must submit a form and obtain approval.",
        ["Employees must submit a form", "Employees must obtain approval"],
    ),
    (
        "The bank opens accounts, issues cards, and provides loans.",
        ["The bank opens accounts", "The bank issues cards", "The bank provides loans"],
    ),
    (
        "Smith and Sons was founded in 1999 and acquired by Beta in 2004.",
        ["Smith and Sons was founded in 1999", "Smith and Sons was acquired by Beta in 2004"],
    ),
    (
        "He was born in Ohio and moved to Texas.",
        ["He was born in Ohio", "He moved to Texas"],
    ),
    (
        "The agent was taken to the hospital but was discharged after passing a drug test.",
        [
            "The agent was taken to the hospital",
            "The agent was discharged after passing a drug test",
        ],
    ),
    (
        "The contract does not cover travel and excludes meals.",
        ["The contract does not cover travel", "The contract excludes meals"],
    ),
    (
        "The committee approved the budget and rejected the merger.",
        ["The committee approved the budget", "The committee rejected the merger"],
    ),
    (
        "The supplier has signed the agreement and received the deposit.",
        ["The supplier has signed the agreement", "The supplier has received the deposit"],
    ),
    (
        "Managers receive a bonus and are entitled to a car.",
        ["Managers receive a bonus", "Managers are entitled to a car"],
    ),
    (
        "The drug lowers blood pressure and may cause dizziness.",
        ["The drug lowers blood pressure", "The drug may cause dizziness"],
    ),
    (
        "Claims will be reviewed by the insurer and paid within 30 days.",
        ["Claims will be reviewed by the insurer", "Claims will be paid within 30 days"],
    ),
    (
        "The tenant pays the rent monthly, maintains the garden and reports any damage.",
        [
            "The tenant pays the rent monthly",
            "The tenant maintains the garden",
            "The tenant reports any damage",
        ],
    ),
    (
        "Leave requests must be filed online and must include a reason.",
        ["Leave requests must be filed online", "Leave requests must include a reason"],
    ),
    (
        "The fund returned 6.5 % and outperformed the index.",
        ["The fund returned 6.5 %", "The fund outperformed the index"],
    ),
    (
        "The board may suspend the director and shall inform the members.",
        ["The board may suspend the director", "The board shall inform the members"],
    ),
    (
        "He was inducted in 1985 and spent over four decades with the firm.",
        ["He was inducted in 1985", "He spent over four decades with the firm"],
    ),
    # Clauses with their own subjects.
    (
        "The fee is waived; the deposit is refunded.",
        ["The fee is waived", "The deposit is refunded"],
    ),
    (
        "The premium is $40, and the deductible is $500.",
        ["The premium is $40", "The deductible is $500"],
    ),
    (
        "The office is closed on Sunday but the hotline is open.",
        ["The office is closed on Sunday", "The hotline is open"],
    ),
    (
        "Although the office is closed, the hotline is open.",
        ["The office is closed", "The hotline is open"],
    ),
    (
        "Even though sales fell, profit was stable.",
        ["Sales fell", "Profit was stable"],
    ),
    (
        "The premium rose because claims increased by 5 %.",
        ["The premium rose", "Claims increased by 5 %"],
    ),
    (
        "Full-time staff receive 25 days, whereas part-time staff receive 15 days.",
        ["Full-time staff receive 25 days", "Part-time staff receive 15 days"],
    ),
    (
        "Men were given 5 mg, while women were given 3 mg.",
        ["Men were given 5 mg", "Women were given 3 mg"],
    ),
    (
        "The trial was stopped, so the results are preliminary.",
        ["The trial was stopped", "The results are preliminary"],
    ),
    (
        "In 2023, revenue rose 5 % and costs fell 3 %.",
        ["In 2023, revenue rose 5 %", "In 2023, costs fell 3 %"],
    ),
    (
        "If an employee is ill, the manager must be informed and a certificate must be provided.",
        [
            "If an employee is ill, the manager must be informed",
            "If an employee is ill, a certificate must be provided",
        ],
    ),
    (
        "According to the handbook, leave is 20 weeks and it is fully paid.",
        [
            "According to the handbook, leave is 20 weeks",
            "According to the handbook, it is fully paid",
        ],
    ),
    (
        "However, the visa is valid for 90 days, but it does not permit work.",
        ["The visa is valid for 90 days", "It does not permit work"],
    ),
    (
        "The food is good, but prices and portion sizes may be factors.",
        ["The food is good", "Prices and portion sizes may be factors"],
    ),
    # Lists after one verb.
    (
        "Employees get a laptop, a phone and a badge.",
        ["Employees get a laptop", "Employees get a phone", "Employees get a badge"],
    ),
    (
        "Employees receive a laptop and a phone.",
        ["Employees receive a laptop", "Employees receive a phone"],
    ),
    (
        "The company offers employees a laptop, a phone, and a badge.",
        [
            "The company offers employees a laptop",
            "The company offers employees a phone",
            "The company offers employees a badge",
        ],
    ),
    (
        "The firm has 5 offices, 200 employees and 3 plants.",
        ["The firm has 5 offices", "The firm has 200 employees", "The firm has 3 plants"],
    ),
    (
        "Side effects include nausea, headache and fatigue.",
        [
            "Side effects include nausea",
            "Side effects include headache",
            "Side effects include fatigue",
        ],
    ),
    (
        "The shop sells drinks such as coffee, tea, and juice.",
        [
            "The shop sells drinks such as coffee",
            "The shop sells drinks such as tea",
            "The shop sells drinks such as juice",
        ],
    ),
    (
        "The rule applies to employees, contractors and interns.",
        [
            "The rule applies to employees",
            "The rule applies to contractors",
            "The rule applies to interns",
        ],
    ),
    (
        "She is a lawyer, a teacher and an author.",
        ["She is a lawyer", "She is a teacher", "She is an author"],
    ),
    # Amounts.
    (
        "Revenue rose 5 % in 2023 and 7 % in 2024.",
        ["Revenue rose 5 % in 2023", "Revenue rose 7 % in 2024"],
    ),
    (
        "The company paid $4.2 million in 2022, $5 million in 2023 and $6 million in 2024.",
        [
            "The company paid $4.2 million in 2022",
            "The company paid $5 million in 2023",
            "The company paid $6 million in 2024",
        ],
    ),
    (
        "The dose is 5 mg for adults and 2 mg for children.",
        ["The dose is 5 mg for adults", "The dose is 2 mg for children"],
    ),
    (
        "Sales grew by 12 percent in Europe and 9 percent in Asia.",
        ["Sales grew by 12 percent in Europe", "Sales grew 9 percent in Asia"],
    ),
    # Said by the way.
    (
        "Acme, which was founded in 1999, sells shoes.",
        ["Acme sells shoes", "Acme was founded in 1999"],
    ),
    (
        "The board appointed Jane Doe, who joined the firm in 2015.",
        ["The board appointed Jane Doe", "Jane Doe joined the firm in 2015"],
    ),
    (
        "Jane Doe, the CEO of Acme, resigned in May.",
        ["Jane Doe is the CEO of Acme", "Jane Doe resigned in May"],
    ),
    (
        "The CEO of Acme, Jane Doe, resigned in May.",
        ["The CEO of Acme is Jane Doe", "The CEO of Acme resigned in May"],
    ),
    (
        "Acme, located in Paris, employs 40 people.",
        ["Acme employs 40 people", "Acme is located in Paris"],
    ),
    (
        "Founded in 1999, Acme sells shoes.",
        ["Acme was founded in 1999", "Acme sells shoes"],
    ),
    (
        "The new rate (effective 1 March 2024) is 5 %.",
        ["The new rate is 5 %", "The new rate is effective 1 March 2024"],
    ),
    (
        "His parents, who are opposed to the plan, did not attend.",
        ["His parents did not attend", "His parents are opposed to the plan"],
    ),
    (
        "The hotel is known for its gardens, which are open daily and have no walls.",
        [
            "The hotel is known for its gardens",
            "Its gardens are open daily",
            "Its gardens have no walls",
        ],
    ),
    # Several at once.
    (
        "Acme, which was founded in 1999, sells shoes and offers a warranty.",
        ["Acme sells shoes", "Acme offers a warranty", "Acme was founded in 1999"],
    ),
    (
        "- **Leave** is 20 weeks [1] and is fully paid [2].",
        ["Leave is 20 weeks", "Leave is fully paid"],
    ),
]

WHOLE = [
    # Pairs, names, ranges.
    "The company spends 5 % of its revenue on research and development.",
    "The price is between 5 and 8 euros.",
    "Users accept the terms and conditions.",
    "The plan covers both inpatient and outpatient care.",
    "Johnson and Johnson makes vaccines.",
    "The meeting takes 2 hours and 30 minutes.",
    "The firm designs and manufactures pumps.",
    "The manager reviewed and approved the request.",
    "The plan covers dental, vision and hearing care.",
    "The mixture combines a resin, a hardener and a dye.",
    "The group consists of a doctor, a nurse and a clerk.",
    "The flag is red, white and blue.",
    "The cost of food and drinks is high.",
    "He works for Procter and Gamble.",
    # Conditions and exceptions stay with what they restrict.
    "Employees must submit a form and obtain approval if they travel.",
    "Members get a refund and receive a voucher unless they cancel late.",
    "The policy covers everything except theft, fire and flood.",
    "The plan only covers a checkup, a cleaning and a filling.",
    "Leave is granted subject to manager approval.",
    "Staff may carry over up to 5 days if their manager agrees.",
    "Employees who work at night and on weekends receive a bonus.",
    "Access is given when the form is signed and the fee is paid.",
    "While employees are on leave, they accrue vacation.",
    "Deposits are refunded and fees are waived provided that the contract is cancelled.",
    # Negation.
    "Employees must not disclose data and share passwords.",
    "No employee may sell shares and buy options.",
    "The fee was not raised because costs increased.",
    "The plan does not cover a laptop, a phone or a badge.",
    # What somebody says.
    "The report shows that the firm sells shoes and offers bags.",
    "He said the plan was late and the budget was short.",
    "The audit found that costs rose and profits fell.",
    'The memo says "leave is paid and overtime is not" in bold.',
    # Relative clauses that speak of something unclear, or restrict.
    "He resigned, which surprised the board.",
    "The cost of the trip, which was $500, is covered.",
    "Employees who are ill and cannot work must call.",
    "The plan that covers theft and excludes floods is cheap.",
    "Prices rose, which means that demand fell.",
    # Alternatives.
    "Applicants may send a letter, a fax or an email.",
    "Either the tenant or the owner pays the fee.",
    # Adjectives and nouns that look like verbs.
    "The restaurant has mixed reviews and limited seating.",
    "The fund invests in stocks and bonds.",
    "It is a popular breakfast and brunch spot located in Goleta.",
    "The shop offers outdoor seating and take out options.",
    "Hours are from 10:00 AM to 9:00 PM, Monday to Friday, and 10:00 AM to 5:00 PM on Sunday.",
    "Click the button and select a file.",
    "Guests loved the piano for the ceremony, the jazz hour, and the set that got everyone going.",
    "The two systems collaborate after they have been set up and approved in the lab.",
    "He described the bar as a place located downtown and praised the team.",
    "Guests enjoy a pool, tub, and gardens.",
    "Although filming is costly, particularly when it rains, the firm is rich.",
    "Gravy is juice left after roasting a joint, which can be thickened.",
    "The feast has traditions such as the bunny and colored eggs, which are not religious.",
    "The goal was not to gain fame, but rather to overcome fears and help others do the same.",
    "They serve pizza, wings, sandwiches, and more.",
    "They prefer the route from China, which is considered safer.",
    "Recently eliminated players Ann Rose and Bob Hill have spoken about the show.",
    "The item works, i.e. it is v2.5.1 and no. 7 of Acme Inc. in the U.S. market.",
]


@pytest.mark.parametrize(("sentence", "expected"), SPLIT, ids=[s[:40] for s, _ in SPLIT])
def test_a_sentence_of_several_facts(sentence: str, expected: list[str]) -> None:
    assert [fact.text for fact in facts(sentence)] == expected


@pytest.mark.parametrize("sentence", WHOLE, ids=[s[:40] for s in WHOLE])
def test_a_sentence_that_stays_whole(sentence: str) -> None:
    assert [fact.text for fact in facts(sentence)] == [sentence.rstrip(".")]


def test_spans_and_own_part() -> None:
    sentence = "The policy covers theft and excludes floods."
    first, second = facts(sentence)
    assert [sentence[start:end] for start, end in first.spans] == ["The policy covers theft"]
    assert [sentence[start:end] for start, end in second.spans] == ["The policy", "excludes floods"]
    assert sentence[second.start : second.end] == "excludes floods"


def test_a_row_and_code_are_one_fact() -> None:
    assert len(facts("| Fees are due; rates are fixed | Rents are due, and fees are late |")) == 1
    assert len(facts("```\nfees are due; rates are fixed\n```")) == 1


def test_words_without_letters_hold_no_fact() -> None:
    assert facts("") == facts("---") == facts(" [1] ") == facts("**") == []


def test_an_abbreviation_at_the_end_keeps_its_stop() -> None:
    assert [fact.text for fact in facts("The buyer is Acme Inc.")] == ["The buyer is Acme Inc."]


DROPPED = frozenset(
    """and but so yet while whereas although though even because which who however therefore
    moreover furthermore additionally thus hence""".split()
)
PARTS = st.sampled_from(
    """Acme the a policy employees covers theft and excludes floods , ; which was founded in 1999
    is paid if unless not no but while because rose 5 % 2024 Jane Doe laptop phone must submit
    obtain approval ( ) effective " [1] ** although located between both only who are . - | said
    that costs fell Founded :""".split()
)


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z0-9]+", text.lower()))


def _holds(sentence: str) -> None:
    found = facts(sentence)
    for fact in found:
        assert fact.text.strip() == fact.text != ""
        assert 0 <= fact.start < fact.end <= len(sentence)
        assert fact.spans
        for start, end in fact.spans:
            assert 0 <= start < end <= len(sentence)
            assert sentence[start:end].strip()
    if found:
        said = _words(" ".join(sentence[a:b] for fact in found for a, b in fact.spans))
        bare = re.sub(r"\[1\]", " ", sentence)
        assert _words(bare) - DROPPED <= said


@given(st.lists(PARTS, max_size=40).map(" ".join))
@settings(max_examples=500, deadline=None)
def test_facts_hold_every_word_and_point_into_the_sentence(sentence: str) -> None:
    _holds(sentence)


@given(st.text(max_size=200))
@settings(deadline=None)
def test_any_text_gives_facts_inside_it(text: str) -> None:
    for fact in facts(text):
        assert fact.text
        assert all(0 <= start < end <= len(text) for start, end in fact.spans)


@pytest.mark.parametrize(("sentence", "expected"), SPLIT, ids=[s[:40] for s, _ in SPLIT])
def test_split_sentences_lose_no_word(sentence: str, expected: list[str]) -> None:
    if "[" not in sentence:
        _holds(sentence)
    again = [len(facts(text)) for text in expected]
    assert again == [1] * len(expected)


@pytest.mark.parametrize(
    "text",
    [
        "and " * 50_000,
        "a, " * 70_000,
        "(" * 200_000,
        '"x" ' * 50_000,
        "`" * 200_000,
        "[1]" * 60_000,
    ],
)
def test_a_long_text_is_read_in_linear_time(text: str) -> None:
    began = time.process_time()
    facts(text)
    assert time.process_time() - began < 5
