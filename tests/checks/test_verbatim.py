"""Exact quotation of a passage that is really among the evidence, or no judgement."""

from __future__ import annotations

from suffice.checks.check import run_checks, share_read
from suffice.checks.verbatim import Verbatim
from suffice.types import Citation, Claim, Draft, Evidence, Passage, Retrieved, Support

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
