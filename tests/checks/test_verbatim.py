"""A claim is backed only by an exact quotation of a passage in the evidence."""

from __future__ import annotations

import time
from typing import Any

import pytest

from suffice.checks.check import run_checks, share_read
from suffice.checks.verbatim import Verbatim
from suffice.types import Citation, Claim, Draft, Evidence, Passage, Retrieved, Support
from tests.checks import drafts
from tests.checks.drafts import only

HERE = Passage(id="a@1#0-9", text="Leave is 20 weeks. Pay is full.", document="a")
ELSEWHERE = Passage(id="b@1#0-9", text="Leave is 16 weeks.", document="b")
EVIDENCE = Evidence("leave?", (Retrieved(HERE, 0.9),))


def judged(text: str, passage: Passage = HERE, cites: tuple[int, ...] = (1,)) -> Support:
    claim = Claim(text, 0, len(text), cites)
    draft = Draft(text, (claim,), (Citation(1, passage, text),))
    findings = run_checks([Verbatim()], draft, EVIDENCE)
    assert len(findings) == 1  # every claim exactly once
    assert share_read(draft, findings) == (findings[0].support is Support.BACKED)
    return findings[0].support


def test_a_quotation_is_backed() -> None:
    assert judged("Leave is 20 weeks.") is Support.BACKED


def test_a_changed_number_is_not() -> None:
    assert judged("Leave is 18 weeks.") is Support.UNCHECKED


def test_a_quotation_of_what_was_not_retrieved_is_not() -> None:
    assert judged("Leave is 16 weeks.", ELSEWHERE) is Support.UNCHECKED


def test_a_mark_without_a_source_is_not() -> None:
    assert judged("Leave is 20 weeks.", cites=(7,)) is Support.UNCHECKED
    assert judged("Leave is 20 weeks.", cites=()) is Support.UNCHECKED


# The context of a quotation


LIST = "The following are not reimbursed:\n\n- Alcohol and tobacco\n- Fines for speeding\n"
ASKED = "May I work from abroad? Yes. Up to four weeks. Is it paid? No."
LEANING = "Contractors are hired by the day. They get no leave. Leave is 20 weeks."
TABLE = "| Service | Employee | Company |\n|---|---|---|\n| 10 years | 13 weeks | 26 weeks |\n"


def quoted(text: str, source: str, question: str = "", **known: Any) -> list[Support]:
    found = drafts.judged(Verbatim(), text, drafts.passage(source, **known), question=question)
    return [one.support for one in found]


BACKED, OPEN = [Support.BACKED], [Support.UNCHECKED]


def test_an_item_is_quoted_only_under_the_line_that_introduces_it() -> None:
    assert quoted("Alcohol and tobacco [1]", LIST) == OPEN
    assert quoted("- Alcohol and tobacco [1]", LIST) == OPEN
    other = "The following are reimbursed:\n\n- Alcohol and tobacco [1]"
    assert quoted(other, LIST) == OPEN
    same = "The following are not reimbursed:\n\n- Alcohol and tobacco [1]"
    assert quoted(same, LIST) == BACKED


def test_a_line_that_introduces_changes_what_is_quoted() -> None:
    source = "Employees may work from home."
    assert quoted("- Employees may work from home. [1]", source) == BACKED
    assert quoted("Here are the details:\n\n- Employees may work from home. [1]", source) == BACKED
    denied = "Rules abolished last spring:\n\n- Employees may work from home. [1]"
    assert quoted(denied, source) == OPEN


def test_an_answer_in_a_word_is_nothing_without_its_question() -> None:
    assert quoted("Yes. [1]", ASKED) == OPEN
    assert quoted("Up to four weeks. [1]", ASKED.replace(" Yes.", "")) == OPEN
    assert quoted("Yes. [1]", ASKED, "May I work from abroad in summer?") == BACKED
    assert quoted("Yes. [1]", ASKED, "Is smoking allowed?") == OPEN
    assert quoted("Yes. [1]", "Employees may smoke. Yes.") == OPEN


def test_a_pronoun_stands_for_what_it_stands_for_in_the_source() -> None:
    assert quoted("They get no leave. [1]", LEANING) == OPEN
    apart = "Employees are hired by the month. They get no leave. [1]"
    assert quoted(apart, LEANING)[-1:] == OPEN
    together = "Contractors are hired by the day. [1] They get no leave. [1]"
    assert quoted(together, LEANING) == BACKED * 2
    assert quoted("Leave is 20 weeks. [1]", LEANING) == BACKED


def test_what_a_heading_takes_back_is_no_quotation() -> None:
    assert quoted("Leave is 16 weeks. [1]", "# Myths\n\nLeave is 16 weeks.") == OPEN
    assert quoted("Leave is 16 weeks. [1]", "Leave is 16 weeks.", heading=("Old", "Myths")) == OPEN
    assert quoted("Leave is 16 weeks. [1]", "# Leave\n\nLeave is 16 weeks.") == BACKED
    assert quoted("- Alcohol at work [1]", "## Not allowed\n\n- Alcohol at work") == OPEN
    assert quoted("- Alcohol at work [1]", "## Policy\n\n- Alcohol at work") == BACKED


def test_a_row_is_quoted_under_the_head_of_its_table() -> None:
    assert quoted(f"{TABLE}\n[1]", TABLE)[-1] is Support.BACKED
    turned = TABLE.replace("Employee | Company", "Company | Employee")
    assert quoted(f"{turned}\n[1]", TABLE)[-1] is Support.UNCHECKED


def test_a_row_of_a_table_that_began_in_another_passage_needs_no_head() -> None:
    rest = "> | Townhouse | 1.25 spaces |\n> | Cottage | 2 spaces |"
    assert quoted("| Cottage | 2 spaces |\n[1]", rest) == BACKED


@pytest.mark.timing
def test_many_claims_and_long_passages_take_time_by_their_size() -> None:
    def seconds(size: int) -> float:
        source = " ".join(f"Room {n} has {n} chairs in it." for n in range(size))
        given = drafts.evidence(source)
        written = drafts.draft(source.replace(". ", ". [1] "), given)
        best = 1e9
        for _ in range(3):
            began = time.perf_counter()
            found = Verbatim().judge(written, given)
            best = min(best, time.perf_counter() - began)
        assert all(one.support is Support.BACKED for one in found[:-1])
        return best

    seconds(50)
    assert seconds(1600) < 12 * seconds(400)  # four times the size, not sixteen times the time


@pytest.mark.parametrize(
    "claim",
    [
        "Ask the help desk first.",
        "Ask the [help desk](https://example.org/desk) **first**.",
    ],
)
def test_a_quotation_without_marks_is_found_where_the_source_has_them(claim: str) -> None:
    source = "Leave is paid. Ask the [help desk](https://example.org/desk) **first**. Then go."
    found = only(Verbatim(), f"{claim} [1]", source)
    assert found.support is Support.BACKED
    assert found.span == (15, source.index(" Then"))
