"""A draft is released only if its claims cover the text, are backed and not contradicted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from suffice import check
from suffice.checks.check import SwitchedOff, run_checks
from suffice.checks.verbatim import Verbatim
from suffice.draft.reading import read_draft
from suffice.types import (
    Action,
    Citation,
    Claim,
    Code,
    Draft,
    Evidence,
    Finding,
    GateDecision,
    Level,
    Passage,
    ReasonCode,
    Retrieved,
    Support,
)
from suffice.verdict.decide import decide, withhold
from suffice.verdict.route import read_routes

SAID = "You get 30 days of leave."
HERE = Passage(id="a@1#0-9", text=f"{SAID} No employee may sell leave.", document="a", title="A")
EVIDENCE = Evidence("How many days of leave for contractors?", (Retrieved(HERE, 0.9),))
OPEN = GateDecision(Level.SUFFICIENT, 0.9, "tiers", missing=("contractors",))


def draft(text: str, claimed: str | None = None, start: int = 0) -> Draft:
    claimed = text if claimed is None else claimed
    claim = Claim(claimed, start, start + len(claimed), (1,))
    return Draft(text, (claim,), (Citation(1, HERE, "what the drafter says it quotes"),))


def verdict(written: Draft, *more: Finding) -> Action:
    findings = (*run_checks([Verbatim()], written, EVIDENCE), *more)
    return decide(EVIDENCE, OPEN, written, findings).action


def test_a_quotation_is_served_with_the_source_as_retrieved() -> None:
    written = draft(f"{SAID} [1]", SAID)
    served = decide(EVIDENCE, OPEN, written, run_checks([Verbatim()], written, EVIDENCE))
    assert served.action is Action.SERVE
    assert served.citations == (Citation(1, HERE, SAID),)
    assert served.share_read == 1.0


def test_a_condition_left_out_is_told_and_decides_nothing() -> None:
    written = draft(f"{SAID} [1]", SAID)
    (claim,) = written.claims
    said = Finding(
        claim,
        "omission",
        Support.UNBACKED,
        reason="the source adds “if you ask”",
        code=Code.OMITTED,
    )
    found = run_checks([Verbatim()], written, EVIDENCE)
    served = decide(EVIDENCE, OPEN, written, (*found, said, said))
    assert served.action is Action.SERVE
    assert served.notes == ("“You get 30 days of leave”: the source adds “if you ask”.",)
    minor = replace(said, support=Support.UNCHECKED)
    assert decide(EVIDENCE, OPEN, written, (*found, minor)).notes == ()


def test_a_source_is_quoted_in_its_own_words() -> None:
    """A paraphrase is never shown as a quotation of the document."""
    written = draft("Workers have 30 days off as leave. [1]")
    (claim,) = written.claims
    backed = Finding(claim, "entailment", Support.BACKED, passage_id=HERE.id, span=(0, 8))
    for findings in ([backed], [replace(backed, passage_id=None, span=None)]):
        (source,) = decide(EVIDENCE, OPEN, written, findings).citations
        assert (source.n, source.quote) == (1, SAID)


def test_an_answer_without_marks_has_the_sources_that_back_it() -> None:
    claim = Claim("Workers have 30 days off.", 0, 25, ())
    written = Draft(claim.text, (claim,))
    backed = Finding(claim, "entailment", Support.BACKED, passage_id=HERE.id, span=(0, 8))
    assert decide(EVIDENCE, OPEN, written, [backed]).citations == (Citation(1, HERE, SAID),)


def test_partial_evidence_makes_a_caveat() -> None:
    written = draft(SAID)
    partial = GateDecision(Level.PARTIAL, 0.6, "coverage")
    findings = run_checks([Verbatim()], written, EVIDENCE)
    doubted = decide(EVIDENCE, partial, written, findings)
    assert doubted.action is Action.CAVEAT
    assert "only in part" not in doubted.reason
    lacking = replace(partial, missing=("contractors",))
    assert "only in part" in decide(EVIDENCE, lacking, written, findings).reason


@pytest.mark.parametrize(
    "written",
    [
        draft(f"The boss is a thief. {SAID}", SAID, 21),  # words outside any claim
        draft(f"{SAID} Trust me.", SAID),
        draft("You get 99 days of leave.", SAID),  # the claim is not what the text says
        draft("employee may sell leave."),  # part of a sentence that says the opposite
        draft("0 days of leave."),
        draft("You get 31 days of leave."),
        Draft("You get 31 days of leave."),  # no claims at all
    ],
)
def test_anything_else_is_withheld(written: Draft) -> None:
    assert verdict(written) is Action.WITHHOLD


@pytest.mark.parametrize("support", [Support.CONTRADICTED, Support.UNBACKED])
def test_one_finding_against_a_claim_is_enough(support: Support) -> None:
    written = draft(SAID)
    against = Finding(written.claims[0], "other", support)
    assert verdict(written, against) is Action.WITHHOLD


def noted(code: Code, support: Support, check: str = "citations") -> Action:
    """The verdict on a draft of two quotations under a table that always serves, with one more
    finding on the second."""
    text = f"{SAID} No employee may sell leave."
    first, second = Claim(SAID, 0, 25, (1,)), Claim(text[26:], 26, len(text), (1,))
    written = Draft(text, (first, second), (Citation(1, HERE, ""),))
    findings = run_checks([Verbatim()], written, EVIDENCE)
    found = Finding(second, check, support, code=code)
    table = read_routes(["else -> SERVE"])
    return decide(EVIDENCE, OPEN, written, (*findings, found), table).action


@pytest.mark.parametrize(
    ("code", "action"),
    [
        (Code.FABRICATED, Action.WITHHOLD),
        (Code.NOT_RETRIEVED, Action.CAVEAT),
        (Code.STALE, Action.CAVEAT),
        (Code.EXPIRED, Action.CAVEAT),
        (Code.MISATTRIBUTED, Action.CAVEAT),
    ],
)
def test_what_no_table_loosens(code: Code, action: Action) -> None:
    assert noted(code, Support.UNBACKED) is action


def test_no_table_serves_a_contradiction() -> None:
    assert noted(Code.CHANGED, Support.CONTRADICTED, "literals") is Action.WITHHOLD
    assert noted(Code.VERIFIED, Support.BACKED) is Action.SERVE


def test_a_conflict_that_is_none_is_no_answer() -> None:
    findings = run_checks([Verbatim()], draft(SAID), EVIDENCE)
    table = read_routes(["else -> CONFLICT"])
    found = decide(EVIDENCE, OPEN, draft(SAID), findings, table)
    assert (found.action, found.served) == (Action.WITHHOLD, False)


def test_marks_that_nobody_looked_up_leave_with_a_caveat() -> None:
    findings = run_checks([Verbatim(), SwitchedOff("citations")], draft(SAID), EVIDENCE)
    found = decide(EVIDENCE, OPEN, draft(SAID), findings)
    assert found.action is Action.CAVEAT
    assert "switched off" in found.reason


class Broken:
    name = "broken"

    def judge(self, draft: Draft, evidence: Evidence) -> list[Finding]:
        raise RuntimeError("no model")


class Lazy:
    name = "lazy"

    def judge(self, draft: Draft, evidence: Evidence) -> list[Finding]:
        return []


@pytest.mark.parametrize("check", [Broken(), Lazy()])
def test_a_check_that_fails_leaves_its_claims_unchecked(check: Broken | Lazy) -> None:
    findings = run_checks([check], draft(SAID), EVIDENCE)
    assert [finding.support for finding in findings] == [Support.UNCHECKED]
    assert decide(EVIDENCE, OPEN, draft(SAID), findings).action is Action.WITHHOLD


def test_a_refusal_helps_whatever_it_is_for() -> None:
    refused = withhold(EVIDENCE, OPEN, "because")
    assert refused.missing == ("contractors",)
    assert refused.nearest[0].document == "a"
    written = draft("You get 31 days of leave.")
    findings = run_checks([Verbatim()], written, EVIDENCE)
    assert decide(EVIDENCE, OPEN, written, findings).findings == findings


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (SAID, ReasonCode.NO_SOURCE),
        (f"{SAID} [7]", ReasonCode.NO_SUCH_SOURCE),
        ("You get 31 days of leave. [1]", ReasonCode.CONTRADICTED),
    ],
)
def test_a_refusal_says_what_is_wrong_with_the_draft(said: str, why: ReasonCode) -> None:
    held = check(said, [HERE.text])
    assert held.action is Action.WITHHOLD
    assert held.draft is not None
    assert [(one.code, one.claims) for one in held.reasons] == [(why, held.draft.claims)]
    assert " days of leave”" in held.reason


@pytest.mark.parametrize(
    "gap",
    [
        "The passages do not say who pays.",
        "The passages do not say who pays, so the sum cannot be worked out.",
    ],
)
def test_what_is_left_open_is_never_served_as_a_whole_answer(gap: str) -> None:
    written = read_draft(f"{SAID} [1] {gap}", [HERE])
    found = [Finding(claim, "judge", Support.BACKED, 0.95, HERE.id) for claim in written.claims]
    drawn = decide(EVIDENCE, replace(OPEN, missing=()), written, found)
    assert drawn.action is Action.CAVEAT
    assert gap.rstrip(".") in drawn.reason
    assert drawn.missing[0].startswith("who pays")
