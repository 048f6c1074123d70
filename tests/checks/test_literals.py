"""Values of a claim against the cited passages: changed values are caught, rewordings are not."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.checks.literals import Literals
from suffice.types import Claim, Code, Hallucination, Support
from tests.checks.drafts import draft, evidence, judged, only, passage

FINANCE = "Revenue was $4.2M and costs were $3.1M. Headcount grew by 14 percent."
LEAVE = "Adopters get 16 weeks, birth parents 20 weeks of paid leave."
ERASURE = "The right to erasure is laid down in Article 17 of the regulation."


@pytest.mark.parametrize(
    ("claim", "source", "reason"),
    [
        ("Revenue was $4.3M [1].", FINANCE, "“$4.3M” is “$4.2M” in the source"),
        ("Headcount grew by 15 % [1].", FINANCE, "“15 %” is “14 percent” in the source"),
        ("Adopters get 18 weeks [1].", LEAVE, "“18 weeks” is “16 weeks” in the source"),
        (
            "The right to erasure is laid down in Article 21 [1].",
            ERASURE,
            "“Article 21” is “Article 17” in the source",
        ),
        (
            "Staff may carry over at least 5 days [1].",
            "Staff may carry over up to 5 days.",
            "“5 days” has the bound “at least” in the claim, “at most” in the source",
        ),
    ],
)
def test_a_changed_value_contradicts(claim: str, source: str, reason: str) -> None:
    found = only(Literals(), claim, source)
    assert (found.support, found.code) == (Support.CONTRADICTED, Code.CHANGED)
    assert found.kind is Hallucination.FAITHFULNESS
    assert found.reason == reason


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("The price was four million dollars [1].", "The price was $4,000,000."),
        ("Adopters receive sixteen weeks [1].", LEAVE),
        ("The lease runs for 18 months [1].", "The lease runs for a year and a half."),
        ("The bins are emptied weekly [1].", "The bins are emptied once a week."),
        ("It was signed on Tuesday, 12 March 2024 [1].", "It was signed on 12 March 2024."),
        ("Gloves are a matter of Section 4.2 [1].", "4.2 Gloves\nGloves are worn."),
        ("Thanks to two friends the first step is easy [1].", "Friends make it easy."),
    ],
)
def test_an_equal_value_is_no_objection_and_no_backing(claim: str, source: str) -> None:
    found = only(Literals(), claim, source)
    assert found.support is Support.UNCHECKED, found.reason


def test_a_value_in_no_passage_is_not_backed() -> None:
    found = only(Literals(), "The plant employs 412 people [1].", FINANCE)
    assert (found.support, found.code) == (Support.UNBACKED, Code.ABSENT)
    assert found.kind is Hallucination.FACTUALITY
    assert found.reason == "“412” does not appear in any passage"


@pytest.mark.parametrize(
    ("claim", "support"),
    [
        ("Requests go to Jane Doe [1].", Support.UNBACKED),
        ("Requests go to Dana Oakes [1].", Support.UNBACKED),
        ("Requests go to Dana Okell [1].", Support.UNCHECKED),
        ("Requests go to Okell in Europe [1].", Support.UNCHECKED),
    ],
)
def test_a_full_name_nobody_spoke_of_is_not_backed(claim: str, support: Support) -> None:
    found = only(Literals(), claim, "Write to Dana Okell, the coordinator.")
    assert found.support is support, found.reason


def test_a_value_of_the_question_is_the_askers_own() -> None:
    asked = "Is Windows 10 supported on 412 machines?"
    found = only(Literals(), "On 412 machines it is supported [1].", FINANCE, question=asked)
    assert (found.support, found.code) == (Support.UNCHECKED, Code.ABSENT)
    assert found.reason == "“412” appears only in the question, not in any passage"


def test_a_value_of_another_passage_is_misattributed() -> None:
    found = only(Literals(), "Revenue was $4.2M [2].", FINANCE, LEAVE)
    assert (found.support, found.code) == (Support.UNBACKED, Code.MISATTRIBUTED)
    assert found.kind is Hallucination.ATTRIBUTION
    assert found.passage_id == passage(FINANCE, "a").id


def test_without_a_mark_every_passage_counts() -> None:
    assert only(Literals(), "Revenue was $4.2M.", LEAVE, FINANCE).support is Support.UNCHECKED


@pytest.mark.parametrize(
    ("claim", "shown"),
    [
        ("Revenue and costs together were $7.3M [1].", "the sum of “$4.2M” and “$3.1M”"),
        ("Revenue was $1.1M more than costs [1].", "the difference of “$4.2M” and “$3.1M”"),
        ("Costs were a share of 74 % of revenue [1].", "the share of “$4.2M” and “$3.1M”"),
    ],
)
def test_a_derived_value_shows_what_it_comes_from(claim: str, shown: str) -> None:
    found = only(Literals(), claim, FINANCE)
    assert (found.support, found.code) == (Support.UNCHECKED, Code.DERIVED)
    assert shown in found.reason


KNOWN = passage(
    "Leave lasts 16 weeks.", title="Leave policy", version="2.1", effective=date(2024, 1, 15)
)


def test_what_is_known_of_the_document_is_evidence() -> None:
    text = "The policy was updated in January 2024 [1]. Version 2.1 says so [1]."
    found = judged(Literals(), text, KNOWN)
    assert {one.support for one in found} == {Support.UNCHECKED}
    assert {(one.passage_id, one.span) for one in found} == {(KNOWN.id, None)}  # not in its text
    wrong = "The policy was updated in March 2024 [1]. Version 2.2 says so [1]."
    against = {Support.UNBACKED, Support.CONTRADICTED}
    assert {one.support for one in judged(Literals(), wrong, KNOWN)} <= against


def test_a_quotation_has_the_values_of_its_source() -> None:
    listed = "Signs are allowed as follows:\n\n1. A sign of four feet.\n\n2. One more."
    given = evidence(f"{listed} Others need a permit.")
    whole = Claim(listed, 0, len(listed), (1,))
    (found,) = Literals().judge(replace(draft(listed, given), claims=(whole,)), given)
    assert (found.support, found.code) == (Support.UNCHECKED, Code.CLEAR)
    part = only(Literals(), "4 feet are allowed. [1]", "Signs of 14 feet are allowed.")
    assert part.code is not Code.CLEAR


def test_without_passages_nothing_is_judged() -> None:
    found = only(Literals(), "Revenue was $4.2M [1].")
    assert found.support is Support.UNCHECKED
    assert found.reason == "there is no passage to compare with"


def test_a_language_it_cannot_read_is_not_judged() -> None:
    said = "Der Urlaub für die Eltern ist nicht 20 Wochen lang, und das ist auch gut so [1]."
    assert only(Literals(), said, LEAVE.replace("20", "30")).support is Support.UNCHECKED


pieces = st.sampled_from(
    [
        "Revenue was $4.3M [1].",
        "Costs were $3.1M [2][7].",
        "| Grade | Pay |\n| --- | --- |\n| 4 | 34,000 |\n",
        "- up to 12.5 % [1, 2]\n",
        "See [3].",
        "¾ of 1,00,0 – 【1】",
        "\x00 ２０ weeks",
        "Article 17",
    ]
)


@given(st.lists(pieces, max_size=8).map(" ".join), st.lists(pieces, max_size=3))
def test_every_claim_is_judged_once_and_spans_are_exact(text: str, sources: list[str]) -> None:
    given_ = evidence(*sources)
    known = {one.id: one for one in given_.passages}
    for finding in judged(Literals(), text, *sources):
        if finding.span:
            start, end = finding.span
            assert 0 <= start < end <= len(known[finding.passage_id or ""].text)


def test_the_span_is_that_of_the_value_in_the_passage_it_stands_in() -> None:
    found = only(Literals(), "Revenue was $4.3M [2].", LEAVE, FINANCE)
    assert found.passage_id == passage(FINANCE, "b").id
    assert found.span is not None
    assert FINANCE[slice(*found.span)] == "$4.2M"


@pytest.mark.timing
def test_a_long_draft_takes_time_in_proportion() -> None:
    given_ = evidence(FINANCE, LEAVE)
    seconds = []
    for copies in (100, 1000):
        written = draft("Revenue was $4.3M [1]. Birth parents get 20 weeks [2]. " * copies, given_)
        start = time.process_time()
        assert len(Literals().judge(written, given_)) == 2 * copies
        seconds.append(time.process_time() - start)
    assert seconds[1] < 20 * seconds[0] + 0.5
