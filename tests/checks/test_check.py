"""Running the checks: each judges every claim exactly once, even if it fails or misbehaves."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.checks.check import SwitchedOff, run_checks, share_read
from suffice.checks.literals import Literals
from suffice.types import Claim, Code, Draft, Evidence, Finding, Support
from tests.checks import drafts

CLAIMS = tuple(Claim(text, 0, len(text)) for text in ("One.", "Two, longer.", "Three!"))
DRAFT = Draft("One. Two, longer. Three!", CLAIMS)
EVIDENCE = Evidence("")


@dataclass(frozen=True)
class Scripted:
    """Returns the given findings, then fails if requested."""

    findings: list[Finding] = field(default_factory=list)
    fails: bool = False
    name: str = "scripted"

    def judge(self, draft: Draft, evidence: Evidence) -> list[Finding]:
        if self.fails:
            raise RuntimeError("out of memory")
        return self.findings


made = st.builds(
    Finding,
    claim=st.sampled_from([*CLAIMS, Claim("Not in the draft.", 0, 17)]),
    check=st.sampled_from(["scripted", "somebody else"]),
    support=st.sampled_from(list(Support)),
)


@given(st.lists(st.lists(made)), st.lists(st.booleans(), min_size=20, max_size=20))
def test_one_finding_a_check_and_claim_in_order(
    scripts: list[list[Finding]], fails: list[bool]
) -> None:
    checks = [
        Scripted(script, fail, f"check {n}")
        for n, (script, fail) in enumerate(zip(scripts, fails, strict=False))
    ]
    found = run_checks(checks, DRAFT, EVIDENCE)
    wanted = [(check.name, claim) for check in checks for claim in CLAIMS]
    assert [(finding.check, finding.claim) for finding in found] == wanted


@given(st.lists(made))
def test_of_two_judgements_the_one_against_the_claim_holds(script: list[Finding]) -> None:
    for finding in run_checks([Scripted(script)], DRAFT, EVIDENCE):
        said = {one.support for one in script if one.claim == finding.claim}
        assert finding.support in (said or {Support.UNCHECKED})
        if finding.support is Support.BACKED:
            assert said == {Support.BACKED}


def test_a_check_that_fails_leaves_its_claims_unchecked_and_tells_the_log_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    for finding in run_checks([Scripted(fails=True)], DRAFT, EVIDENCE):
        assert finding.support is Support.UNCHECKED
        assert finding.reason == "not checked: the check failed; see the log"
    assert "out of memory" in caplog.text
    assert "Traceback" in caplog.text


@pytest.mark.parametrize(
    ("draft", "reason"),
    [
        (Draft("One.", CLAIMS[:1] * 2_001), "2,001 claims, over the limit of 2,000"),
        (
            Draft("One.", (Claim("One.", 0, 4, tuple(range(2_001))),)),
            "2,001 citations, over the limit of 2,000",
        ),
        (Draft("1 " * 10_001, CLAIMS[:1]), "10,001 numbers, over the limit of 10,000"),
    ],
)
def test_no_claim_of_a_draft_that_exceeds_a_limit_is_checked(draft: Draft, reason: str) -> None:
    backed = Finding(draft.claims[0], "scripted", Support.BACKED)
    found = run_checks([Scripted([backed])], draft, EVIDENCE)
    assert len(found) == len(draft.claims)
    assert {one.support for one in found} == {Support.UNCHECKED}
    assert {one.reason for one in found} == {f"not checked: the draft has {reason}"}


def test_a_check_that_is_switched_off_counts_as_unchecked() -> None:
    found = run_checks([SwitchedOff("literals")], DRAFT, EVIDENCE)
    assert [finding.claim for finding in found] == list(CLAIMS)
    assert {(one.support, one.code) for one in found} == {(Support.UNCHECKED, Code.OFF)}
    assert "checks.literals" in found[0].reason
    assert share_read(DRAFT, found) == 0


def test_share_read_counts_characters_once() -> None:
    backed = [Finding(claim, "a", Support.BACKED) for claim in CLAIMS[:2]]
    total = sum(len(claim.text) for claim in CLAIMS)
    assert share_read(DRAFT, backed * 2) == (len("One.") + len("Two, longer.")) / total
    assert share_read(Draft(""), []) == 0


def test_a_costly_check_reads_what_a_rule_contradicts_and_not_what_another_decided() -> None:
    given = drafts.evidence("Leave lasts 18 weeks. Pay is due on Friday.")
    written = drafts.draft("Leave lasts 20 weeks [1]. Pay is due on Monday [1].", given)
    asked: list[Claim] = []

    @dataclass(frozen=True)
    class Dear:
        name: str = "dear"

        def only(self, claims: Collection[Claim], /) -> Dear:
            asked.extend(claims)
            return self

        def judge(self, draft: Draft, evidence: Evidence) -> list[Finding]:
            return []

    run_checks([Literals(), Dear()], written, given)
    contradicted = [
        f.claim for f in Literals().judge(written, given) if f.support is Support.CONTRADICTED
    ]
    assert contradicted
    assert asked == list(written.claims)

    @dataclass(frozen=True)
    class Decided:
        name: str = "decided"

        def judge(self, draft: Draft, evidence: Evidence) -> list[Finding]:
            return [Finding(one, self.name, Support.CONTRADICTED) for one in contradicted]

    asked.clear()
    run_checks([Decided(), Dear()], written, given)
    assert asked == [claim for claim in written.claims if claim not in contradicted]
