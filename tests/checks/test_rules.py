"""Properties that hold for every rule-based check on any input."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.checks.check import Check, run_checks
from suffice.checks.registry import rule_checks
from suffice.checks.verbatim import Verbatim
from suffice.draft.extractive import Extractive
from suffice.evidence.library import Library
from suffice.settings import ChecksSettings, DraftSettings, read_settings
from suffice.types import Code, Evidence, Support
from tests.checks.drafts import draft, evidence, passage

NAMES = ["structure", "citations", "literals", "omission"]
CHECKS = rule_checks(ChecksSettings())

texts = st.text(max_size=120) | st.lists(
    st.sampled_from(
        """Leave lasts 20 weeks.|Up to 5 days, unless ill [1].|[2]|【9】|§ 4.2|$4.3M|| a | 5 |
        |- item [1]|# Title|```|As an AI, no.|I cannot find it.|ISO 27001:2022|\x00|“|é
        |20 Wochen""".split("|")
    )
).map(" ".join)


@pytest.mark.parametrize("check", CHECKS, ids=NAMES)
@given(text=texts, sources=st.lists(texts, max_size=3))
def test_every_check_judges_every_claim_once_and_backs_none(
    check: Check, text: str, sources: list[str]
) -> None:
    given_ = evidence(*sources)
    written = draft(text, given_)
    found = check.judge(written, given_)  # it never raises
    assert [one.claim for one in found] == list(written.claims)
    known = {one.id: len(one.text) for one in given_.passages}
    for one in found:
        assert one.check == check.name
        assert one.reason
        assert one.support is not Support.BACKED  # none has read the whole claim
        assert (one.kind is None) == (one.support is Support.UNCHECKED)
        assert one.passage_id is None or one.passage_id in known
        if one.span and one.passage_id:
            assert 0 <= one.span[0] < one.span[1] <= known[one.passage_id]


def test_they_come_cheapest_first_and_can_be_switched_off() -> None:
    assert [check.name for check in CHECKS] == NAMES
    given_ = evidence("Leave lasts 20 weeks.")
    written = draft("Leave lasts 99 weeks [7].", given_)
    for name in NAMES:
        settings = read_settings(None, {f"SUFFICE_CHECKS__{name.upper()}": "false"}).checks
        found = run_checks(rule_checks(settings), written, given_)
        assert [one.check for one in found] == NAMES
        assert [one.check for one in found if one.code is Code.OFF] == [name]


def test_an_answer_without_marks_is_read_without_the_citations_check() -> None:
    given_ = evidence("Leave lasts 20 weeks.")
    written = draft("Leave lasts 20 weeks.", given_)
    found = run_checks(rule_checks(ChecksSettings(), uncited=True), written, given_)
    assert {one.check: one.code for one in found} == {
        "structure": Code.CLEAR,
        "citations": Code.OFF,
        "literals": Code.CLEAR,
        "omission": Code.CLEAR,
    }


def test_quotations_of_the_handbook_meet_no_objection(library: Library) -> None:
    drafter = Extractive(library.embedder, DraftSettings(min_similarity=0.2, min_share_of_best=0.5))
    search = library.search()
    checks = (*rule_checks(ChecksSettings(), search.documents), Verbatim())
    for asked in ("How many days of leave?", "Who approves trips abroad?", "How long is notice?"):
        found = search(asked)
        for finding in run_checks(checks, drafter.write(found), found):
            assert finding.support in (Support.BACKED, Support.UNCHECKED), finding


def test_a_changed_number_meets_one(library: Library) -> None:
    found = library.search()("How many days per week may I work remotely?")
    number = next(
        n for n, one in enumerate(found.passages, 1) if "up to 3 days per week" in one.text
    )
    text = f"Eligible employees may work remotely up to 4 days per week [{number}]."
    checks = rule_checks(ChecksSettings(), library.search().documents)
    against = [
        one
        for one in run_checks(checks, draft(text, found), found)
        if one.support is not Support.UNCHECKED
    ]
    assert [(one.check, one.code) for one in against] == [("literals", Code.CHANGED)]


@pytest.mark.timing
def test_a_huge_draft_is_read_in_seconds() -> None:
    given_ = Evidence("", evidence(passage("Leave lasts 20 weeks, subject to approval.")).items)
    text = "Leave of sort A lasts 20 weeks under Section 4.2 [1]. " * 3_700
    assert len(text) > 199_000
    written = draft(text, given_)
    start = time.process_time()
    run_checks(CHECKS, written, given_)
    assert time.process_time() - start < 15  # about two on an idle machine
