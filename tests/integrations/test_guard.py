"""What all adapters share."""

from __future__ import annotations

import asyncio
import re

import pytest

from suffice.errors import AnswerError, AnswerWithheld, EvidenceInsufficient, SettingsError
from suffice.integrations.guard import EvidenceGate, Guard, passage_of
from suffice.types import Level, Verdict

EVIDENCE = ["Parental leave lasts 18 weeks."]
WRONG = "Parental leave lasts 52 weeks."
FIGURE = re.compile(r"\b52\b")
"""The figure itself, not two digits of another number."""


def test_a_withheld_answer_is_never_quoted() -> None:
    found = Guard().check(f"{WRONG} Bears live in the archive.", EVIDENCE, "How long is leave?")
    assert found.changed
    for told in (found.text, str(found.summary)):
        assert not FIGURE.search(told)
        assert "Bears" not in told
    with pytest.raises(AnswerWithheld) as raised:
        Guard(on_block="raise").check(WRONG, EVIDENCE)
    assert not FIGURE.search(str(raised.value))
    assert raised.value.verdict.draft is not None


def test_a_served_answer_keeps_its_spaces() -> None:
    answer = "Parental leave lasts 18 weeks.\n"
    found = asyncio.run(Guard().acheck(answer, EVIDENCE))
    assert (found.text, found.changed) == (answer, False)


def test_every_verdict_is_reported_before_anything_is_raised() -> None:
    seen: list[Verdict] = []
    with pytest.raises(AnswerWithheld):
        Guard(on_block="raise", on_verdict=seen.append).check(WRONG, EVIDENCE)
    assert len(seen) == 1


def test_what_cannot_be_checked_does_not_leave() -> None:
    with pytest.raises(AnswerError):
        Guard().check("word " * 30_000, EVIDENCE)


def test_a_long_prompt_is_not_taken_for_a_question() -> None:
    found = Guard().check(EVIDENCE[0], EVIDENCE, "Answer from this text. " * 1000)
    assert (found.verdict.question, found.changed) == ("", False)


def test_citations_are_checked_if_asked_for() -> None:
    assert Guard(uncited=False).check("Parental leave lasts 18 weeks [7].", EVIDENCE).changed
    assert not Guard(uncited=False).check("Parental leave lasts 18 weeks [1].", EVIDENCE).changed


def test_the_gate_selects() -> None:
    found = [("Parental leave lasts 18 weeks.", {}), ("It lasts 9 weeks.", {"expires": "2020-1-1"})]
    gate = EvidenceGate()
    kept, decision = gate.select("How long is parental leave?", found, lambda one: passage_of(*one))
    assert (kept, decision.level) == (found[:1], Level.SUFFICIENT)
    assert gate.select("Who won the cup?", found, lambda one: passage_of(*one))[0] == []
    with pytest.raises(EvidenceInsufficient, match="INSUFFICIENT"):
        EvidenceGate(on_insufficient="raise").select("Who won the cup?", [], dict)
    with pytest.raises(SettingsError, match="'empty' or 'raise'"):
        EvidenceGate(on_insufficient="ignore")  # type: ignore[arg-type]


def test_metadata_of_frameworks() -> None:
    metadata = {"source": "a.md", "title": "A", "page": 3, "kind": "pdf", "access": "all"}
    assert passage_of("x", metadata) == {"text": "x", "document": "a.md", "title": "A", "page": 3}
    assert passage_of("x", None) == {"text": "x"}
