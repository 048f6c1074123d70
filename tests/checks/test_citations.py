"""Citations and named sources: fabricated, not retrieved, stale, expired, misattributed and
verified are distinct findings."""

from __future__ import annotations

import time
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.checks.check import run_checks
from suffice.checks.citations import Citations, confirm_citations
from suffice.checks.verbatim import Verbatim
from suffice.evidence.index import Filter
from suffice.evidence.library import Library
from suffice.types import Citation, Code, Draft, Evidence, Finding, Hallucination, Passage, Support
from tests.checks.drafts import draft, evidence, judged, only, passage

DAY = date(2026, 11, 15)
CHECK = Citations(day=DAY)
LEAVE = passage("Leave lasts 20 weeks.", "leave.md", title="Leave policy", version="2.0")
PAY = passage("Salaries are paid on the 26th.", "pay.md", title="Payroll guide", version="1.0")
SAFETY = passage(
    "4.2 Gloves\nGloves are worn at the lathe.\nLogs are kept as ISO 27001:2022 8.4.3 asks.",
    "safety.md",
    title="Safety manual",
)


def code(text: str, *passages: Passage, check: Citations = CHECK) -> Code | None:
    return only(check, text, *passages).code


# Marks


def test_a_mark_of_a_passage_at_hand_resolves_and_backs_nothing() -> None:
    found = only(CHECK, "Leave lasts 20 weeks [1].", LEAVE)
    assert (found.support, found.code) == (Support.UNCHECKED, Code.RESOLVED)
    assert found.passage_id == LEAVE.id


@pytest.mark.parametrize("mark", ["[7]", "[1][9]", "【4】", "[1-3]", "(Source 5)"])
def test_a_mark_of_nothing_is_fabricated(mark: str) -> None:
    found = only(CHECK, f"Leave lasts 20 weeks {mark}.", LEAVE)
    assert (found.support, found.code) == (Support.UNBACKED, Code.FABRICATED)
    assert found.kind is Hallucination.ATTRIBUTION
    assert "does not refer to any passage" in found.reason


def test_a_claim_that_names_nothing_is_not_judged() -> None:
    found = only(CHECK, "Leave lasts 20 weeks.", LEAVE)
    assert (found.support, found.code) == (Support.UNCHECKED, None)


def test_without_a_numbering_marks_count_the_passages() -> None:
    given_ = evidence(LEAVE, PAY)
    written = draft("Salaries are paid on the 26th [2].", given_)
    unnumbered = Draft(written.text, written.claims)
    assert CHECK.judge(unnumbered, given_)[0].passage_id == PAY.id


def test_a_passage_that_was_not_retrieved_is_told_and_so_is_the_missing_store() -> None:
    written = draft("Leave lasts 20 weeks [1].", evidence(LEAVE))
    (found,) = CHECK.judge(written, evidence(PAY))
    assert found.code is Code.NOT_RETRIEVED
    assert "no document store to search" in found.reason


@pytest.mark.parametrize(
    ("known", "wanted"),
    [
        ({"expires": date(2026, 11, 14)}, Code.EXPIRED),
        ({"expires": DAY}, Code.RESOLVED),
        ({"until": DAY}, Code.STALE),
        ({"until": date(2026, 11, 16)}, Code.RESOLVED),
        ({"since": date(2027, 1, 1)}, Code.STALE),
        ({"effective": date(2020, 1, 1)}, Code.RESOLVED),
    ],
)
def test_expired_and_stale_sources(known: dict[str, Any], wanted: Code) -> None:
    assert code("Leave lasts 20 weeks [1].", passage("Leave lasts 20 weeks.", **known)) is wanted


def test_without_a_store_a_newer_version_at_hand_makes_the_older_one_stale() -> None:
    old = passage("Leave lasts 16 weeks.", "old.md", title="Leave policy", version="1.9")
    text = "Leave lasted 16 weeks [1]. Leave lasts 20 weeks [2]."
    assert [one.code for one in judged(CHECK, text, old, LEAVE)] == [Code.STALE, Code.RESOLVED]


def test_a_quotation_beside_the_wrong_mark_is_misattributed() -> None:
    said = passage("Adopted children give a right to sixteen weeks of leave.", "adoption.md")
    found = only(CHECK, "Adopted children give a right to sixteen weeks of leave [1].", PAY, said)
    assert (found.support, found.code) == (Support.UNBACKED, Code.MISATTRIBUTED)
    assert found.passage_id == said.id


# Names


@pytest.mark.parametrize(
    "text",
    [
        "Section 4.2 asks for gloves [1].",
        "ISO 27001:2022 8.4.3 asks for logs [1].",
        "ISO 27001 asks for logs [1].",
        "According to the Safety Manual, gloves are worn [1].",
        "The Safety Manual states that gloves are worn.",
    ],
)
def test_a_source_named_in_words_resolves(text: str) -> None:
    found = only(CHECK, text, SAFETY)
    assert (found.support, found.code) == (Support.UNCHECKED, Code.RESOLVED)


@pytest.mark.parametrize(
    "text",
    [
        "Section 9.9 asks for gloves [1].",
        "ISO 27001:2022 8.4.9 asks for logs [1].",
        "ISO 14001:2015 asks for logs [1].",
        "According to the Quality Handbook, gloves are worn [1].",
        "See “Working with lasers” for gloves [1].",
    ],
)
def test_a_source_that_is_nowhere_is_fabricated(text: str) -> None:
    found = only(CHECK, text, SAFETY)
    assert (found.support, found.code) == (Support.UNBACKED, Code.FABRICATED)
    assert "there is no document store to search" in found.reason


def test_an_older_edition_is_stale_and_one_that_never_was_is_fabricated() -> None:
    assert code("ISO 27001:2013 asks for logs [1].", SAFETY) is Code.STALE
    assert code("ISO 27001:2030 asks for logs [1].", SAFETY) is Code.FABRICATED
    assert code("In the Leave Policy 1.0 it is so.", LEAVE) is Code.RESOLVED  # no version named
    assert code("In the Leave Policy v1.0 it is so.", LEAVE) is Code.STALE
    assert code("In the Leave Policy v9.0 it is so.", LEAVE) is Code.FABRICATED
    assert code("In the Leave Policy v2.0 it is so.", LEAVE) is Code.RESOLVED


def test_a_title_beside_the_mark_of_another_document_is_misattributed() -> None:
    found = only(CHECK, "According to the Payroll Guide, leave lasts 20 weeks [1].", LEAVE, PAY)
    assert (found.support, found.code) == (Support.UNBACKED, Code.MISATTRIBUTED)


def test_a_title_is_verified_only_by_the_document_it_names() -> None:
    """A claim without a citation is based on the source it names, not on any source that agrees."""
    given_ = evidence(LEAVE, PAY)
    written = draft("According to the Leave Policy, salaries are paid on the 26th.", given_)
    (claim,) = written.claims
    resolved = CHECK.judge(written, given_)

    def settled(by: Passage) -> Code | None:
        backed = Finding(claim, "entailment", Support.BACKED, passage_id=by.id)
        found = confirm_citations(written, given_, [*resolved, backed], {"entailment"})
        return found[0].code

    assert resolved[0].code is Code.RESOLVED
    assert settled(PAY) is Code.MISATTRIBUTED
    assert settled(LEAVE) is Code.VERIFIED


def test_no_mark_names_an_earlier_turn() -> None:
    """Earlier answers are evidence but have no citation number."""
    known = evidence(LEAVE, PAY)
    written = draft("Salaries are paid on the 26th [2].", known)
    unnumbered = Draft(written.text, written.claims)
    before = Evidence(known.question, known.items, earlier=1)
    assert CHECK.judge(unnumbered, before)[0].code is Code.FABRICATED


# Against SQL


def stored(library: Library, *words: str, allowed: Filter | None = None) -> tuple[Passage, ...]:
    return tuple(library.search(allowed).documents.titled(words))


def checking(library: Library, day: date = DAY) -> Citations:
    return Citations(library.search().documents, day)


def test_versions_are_those_of_the_store(library: Library) -> None:
    both = stored(library, "remote", "work")
    old, new = sorted(both, key=lambda one: one.version)
    check = checking(library)
    assert code("You may work from home [1].", new, check=check) is Code.RESOLVED
    assert code("You may work from home [1].", old, check=check) is Code.STALE
    before = checking(library, date(2024, 6, 1))
    assert code("You may work from home [1].", old, check=before) is Code.RESOLVED
    (allowance,) = stored(library, "travel", "allowance")
    assert code("A day is worth 28 euros [1].", allowance, check=check) is Code.EXPIRED


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("According to the Remote Work Policy, 3 days are allowed.", Code.RESOLVED),
        ("According to the Remote Work Policy v2.0, 3 days are allowed.", Code.RESOLVED),
        ("According to the Remote Work Policy v1.0, 2 days are allowed.", Code.STALE),
        ("According to the Remote Work Policy v7.0, 5 days are allowed.", Code.FABRICATED),
        ("According to the Sick Leave Policy, 3 days are allowed.", Code.FABRICATED),
        ("See “Sick leave and medical absence” for more.", Code.NOT_RETRIEVED),
        ("See “Daily travel allowance 2024” for more.", Code.EXPIRED),
        ("See “Salary bands and annual review” for more.", Code.FABRICATED),
        ("Section 12.7 allows 3 days.", Code.FABRICATED),
    ],
)
def test_named_documents_are_looked_up(library: Library, text: str, wanted: Code) -> None:
    new = max(stored(library, "remote", "work"), key=lambda one: one.version)
    assert code(text, new, check=checking(library)) is wanted


def test_a_passage_of_the_store_that_was_not_retrieved(library: Library) -> None:
    (sick,) = stored(library, "sick", "leave")
    (allowance,) = stored(library, "annual", "leave")
    written = draft("Leave lasts 20 weeks [1].", evidence(sick))
    (found,) = checking(library).judge(written, evidence(allowance))
    assert found.code is Code.NOT_RETRIEVED
    nobody = draft("Leave lasts 20 weeks [1].", evidence(LEAVE))
    assert checking(library).judge(nobody, evidence(sick))[0].code is Code.FABRICATED


def test_a_store_that_fails_leaves_the_claims_unchecked() -> None:
    class Broken:
        def lookup(self, ids: object) -> dict[str, Passage]:
            raise RuntimeError("the disk is gone")

        titled = holding = lookup

    given_ = evidence(LEAVE)
    written = draft("Leave lasts 20 weeks [1].", given_)
    (found,) = run_checks([Citations(Broken())], written, given_)  # type: ignore[arg-type]
    assert (found.support, found.reason) == (
        Support.UNCHECKED,
        "not checked: the check failed; see the log",
    )


# What another check found


def settled(text: str, *passages: Passage) -> list[Finding]:
    given_ = evidence(*passages)
    written = draft(text, given_)
    found = run_checks([CHECK, Verbatim()], written, given_)
    done = confirm_citations(written, given_, found, {"verbatim"})
    return [one for one in done if one.check == "citations"]


def test_a_source_that_another_check_found_to_say_so_is_verified() -> None:
    (found,) = settled("Leave lasts 20 weeks. [1]", LEAVE, PAY)
    assert (found.support, found.code) == (Support.BACKED, Code.VERIFIED)


def backed_elsewhere(by: str) -> Finding:
    """A claim that cites one passage, and that a check finds backed by another."""
    given_ = evidence(LEAVE, PAY)
    written = draft("Leave is long. [2]", given_)
    (before,) = CHECK.judge(written, given_)
    assert before.code is Code.RESOLVED
    backed = Finding(written.claims[0], "entailment", Support.BACKED, 0.9, LEAVE.id)
    after, same = confirm_citations(written, given_, (before, backed), {by})
    assert same is backed
    return after


def test_a_claim_that_only_another_passage_backs_is_misattributed() -> None:
    found = backed_elsewhere("entailment")
    assert (found.support, found.code) == (Support.UNBACKED, Code.MISATTRIBUTED)
    assert found.kind is Hallucination.ATTRIBUTION
    assert found.passage_id == LEAVE.id


def test_only_the_checks_named_settle_anything() -> None:
    assert backed_elsewhere("grounding").code is Code.RESOLVED


def test_what_nobody_backed_stays_open_and_what_is_wrong_stays_wrong() -> None:
    (found,) = settled("Leave lasts 99 weeks [1].", LEAVE)
    assert (found.support, found.code) == (Support.UNCHECKED, Code.RESOLVED)
    (found,) = settled("Leave lasts 20 weeks. [8]", LEAVE)
    assert found.code is Code.FABRICATED


pieces = st.sampled_from(
    """Leave lasts 20 weeks|[1]|[[2]]|【1】|[1, 9]|¹|Section 4.2|§ 99|.
    |According to the Leave Policy v1.0|ISO 27001:2022 8.4.3|see “Some odd title”|[|\x00""".split(
        "|"
    )
)


@given(st.lists(pieces, max_size=10).map(" ".join), st.integers(0, 3))
def test_every_claim_is_judged_once_and_none_is_backed(text: str, number: int) -> None:
    passages = (LEAVE, PAY, SAFETY)[:number]
    for found in judged(CHECK, text, *passages):
        assert found.support in (Support.UNCHECKED, Support.UNBACKED)
        assert (found.code in (None, Code.RESOLVED)) == (found.support is Support.UNCHECKED)
        assert found.reason


def test_a_draft_of_only_citations_claims_nothing() -> None:
    assert judged(CHECK, "[1] [2][3] 【4】", LEAVE) == []


@pytest.mark.timing
def test_a_long_draft_takes_time_in_proportion() -> None:
    given_ = Evidence("", evidence(LEAVE, PAY, SAFETY).items)
    seconds = []
    for copies in (50, 500):
        text = "".join(
            f"Leave of sort {n} lasts 20 weeks, see Section {n}.1 [1][{n}]. " for n in range(copies)
        )
        written = Draft(text, draft(text, given_).claims, (Citation(1, LEAVE, ""),))
        start = time.process_time()
        assert len(CHECK.judge(written, given_)) == copies
        seconds.append(time.process_time() - start)
    assert seconds[1] < 20 * seconds[0] + 0.5
