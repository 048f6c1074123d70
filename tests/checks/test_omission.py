"""A condition of the source sentence that a claim drops is reported; one that it paraphrases or
quotes is not."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.checks.entailment import Sentences, roots
from suffice.checks.omission import Omission
from suffice.text.sentences import sentences
from suffice.types import Code, Finding, Hallucination, Passage, Support
from tests.checks.drafts import draft, evidence, judged, only, passage

HANDBOOK = sorted(
    (Path(__file__).parent.parent.parent / "src" / "suffice" / "handbook").glob("*.md")
)
# Hand-written answers that paraphrase a condition, and answers that omit it.
WRITTEN = json.loads((Path(__file__).parent / "paraphrases.json").read_text(encoding="utf-8"))
RULES = [(row["source"], row["kept"], row["dropped"]) for row in WRITTEN["rules"]]
AROUND = "Everything was painted again. {} Questions are answered at the desk."


def sections() -> list[Passage]:
    found = []
    for file in HANDBOOK:
        text = file.read_text(encoding="utf-8").split("---", 2)[2]
        for number, part in enumerate(re.split(r"(?m)^(?=#{1,3} )", text)):
            if part.strip():
                found.append(passage(part.strip(), f"{file.stem}-{number}"))
    return found


SECTIONS = sections()


def nearest(claim: str) -> list[Passage]:
    """The four sections that share most with a claim, as a search would give them."""
    said = roots(claim)

    def near(one: Passage) -> float:
        held = roots(one.text)
        return float(len(said & held) / (1 + len(held)) ** 0.3)

    return sorted(SECTIONS, key=near, reverse=True)[:4]


@pytest.mark.parametrize(("source", "kept", "dropped"), RULES)
def test_rules_kept_and_dropped(source: str, kept: str, dropped: str) -> None:
    text = AROUND.format(source)
    assert only(Omission(), source.replace(".", " [1].", 1), text).code is not Code.OMITTED
    assert only(Omission(), f"{kept} [1]", text).support is Support.UNCHECKED


def test_most_dropped_rules_are_told() -> None:
    told = [only(Omission(), f"{drop} [1]", AROUND.format(rule)) for rule, _, drop in RULES]
    caught = [one for one in told if one.support is Support.UNBACKED]
    assert len(caught) >= 0.9 * len(RULES)
    assert {(one.code, one.kind) for one in caught} == {(Code.OMITTED, Hallucination.OMISSION)}


def test_answers_on_the_handbook() -> None:
    kept, dropped = WRITTEN["handbook"]["kept"], WRITTEN["handbook"]["dropped"]

    def against(claims: list[str]) -> list[Finding]:
        found = [only(Omission(), f"{said} [1][2][3][4]", *nearest(said)) for said in claims]
        return [one for one in found if one.support is Support.UNBACKED]

    assert len(against(kept)) <= 0.03 * len(kept)
    assert len(against(dropped)) >= 0.9 * len(dropped)


def test_no_sentence_of_the_handbook_misses_its_own_conditions() -> None:
    check = Omission()
    for one in SECTIONS:
        given_ = evidence(one)
        for start, end in sentences(one.text):
            said = one.text[start:end]
            for found in check.judge(draft(f"{said} [1]", given_), given_):
                assert found.support is Support.UNCHECKED, f"{said}: {found.reason}"


@pytest.mark.parametrize(
    ("claim", "source", "condition"),
    [
        (
            "Employees may buy additional days [1].",
            "Employees may buy additional days, subject to manager approval.",
            "subject to manager approval",
        ),
        (
            "USB sticks may be used [1].",
            "USB sticks may be used only if they were issued by the desk.",
            "only if they were issued by the desk",
        ),
        (
            "Holiday cannot be exchanged for money [1].",
            "Holiday cannot be exchanged for money, except at the end of employment.",
            "except at the end of employment",
        ),
        (
            "Staff may carry over 5 days [1].",
            "Staff may carry over up to 5 days.",
            "up to 5 days",
        ),
        (
            "The bands are available to the People team [1].",
            "The bands are available to the People team only.",
            "only",
        ),
        (
            "Business class may be booked if the flight takes over 8 hours [1].",
            "Business class may be booked if the flight takes over 8 hours and a director agrees.",
            "if the flight takes over 8 hours and a director agrees",
        ),
    ],
)
def test_the_condition_is_named_and_its_place_is_exact(
    claim: str, source: str, condition: str
) -> None:
    found = only(Omission(), claim, f"First of all. {source}")
    assert (found.support, found.code) == (Support.UNBACKED, Code.OMITTED)
    assert found.reason == f"the source adds “{condition}”"
    assert found.span is not None
    assert f"First of all. {source}"[slice(*found.span)] == condition


def test_a_condition_in_a_sentence_of_its_own_is_kept() -> None:
    source = "Employees may buy additional days, subject to manager approval."
    text = "Employees may buy additional days [1]. The manager has to approve it [1]."
    assert judged(Omission(), text, source)[0].support is Support.UNCHECKED


def test_what_only_the_next_sentence_adds_is_noted() -> None:
    source = "Staff may work from Spain. This needs the written consent of the People team."
    found = only(Omission(), "Staff may work from Spain [1].", source)
    assert (found.support, found.code) == (Support.UNCHECKED, Code.OMITTED)
    assert found.span is not None
    assert source[slice(*found.span)] == "This needs the written consent of the People team"


def test_a_claim_on_another_clause_drops_nothing() -> None:
    source = "Requests for weeks need a form, subject to approval; shorter ones go by mail."
    found = only(Omission(), "Shorter ones go by mail [1].", source)
    assert found.support is Support.UNCHECKED


def test_without_a_source_sentence_nothing_is_judged() -> None:
    found = only(Omission(), "Penguins live in the south [1].", "Leave lasts 20 weeks if approved.")
    assert (found.support, found.code) == (Support.UNCHECKED, None)
    assert found.reason == "no sentence of the source is similar enough"
    assert only(Omission(), "Leave lasts 20 weeks [1].").support is Support.UNCHECKED


def test_only_cited_passages_are_read() -> None:
    one, other = "Leave lasts 20 weeks.", "Leave lasts 20 weeks, subject to approval by a doctor."
    assert only(Omission(), "Leave lasts 20 weeks [1].", one, other).code is Code.CLEAR
    assert only(Omission(), "Leave lasts 20 weeks [2].", one, other).code is Code.OMITTED


pieces = st.sampled_from(
    [row[0] for row in RULES[:8]] + ["| a | up to 5 |", "[1]", "unless", "\x00"]
)


@given(st.lists(pieces, max_size=6).map(" ".join), st.lists(pieces, max_size=3))
def test_every_claim_is_judged_once_and_spans_are_exact(text: str, sources: list[str]) -> None:
    known = {one.id: one for one in evidence(*sources).passages}
    for finding in judged(Omission(), text, *sources):
        assert finding.support in (Support.UNCHECKED, Support.UNBACKED)
        if finding.span:
            start, end = finding.span
            assert 0 <= start < end <= len(known[finding.passage_id or ""].text)


def test_the_nearest_sentence_is_that_of_the_rare_word() -> None:
    text = "Leave is paid. Adopters ask early. Leave is paid again. Leave is paid late."
    found = Sentences.of([passage(text)]).nearest(roots("Adopters have paid leave."))
    assert found is not None
    assert found.text == "Adopters ask early."


@pytest.mark.timing
def test_a_long_draft_takes_time_in_proportion() -> None:
    given_ = evidence(*(AROUND.format(rule) for rule, _, _ in RULES))
    seconds = []
    for copies in (4, 40):
        text = " ".join(f"{drop[:-1]} [{n}]." for n, (_, _, drop) in enumerate(RULES, 1)) * copies
        written = draft(text, given_)
        start = time.process_time()
        Omission().judge(written, given_)
        seconds.append(time.process_time() - start)
    assert seconds[1] < 20 * seconds[0] + 0.5
