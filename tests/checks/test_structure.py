"""Structural problems of a draft; a refusal is not a failure."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.checks.structure import Structure, shape
from suffice.types import Claim, Code, Draft, Evidence, Hallucination, Support
from tests.checks.drafts import judged, only

LEAVE = "Leave lasts 20 weeks."


@pytest.mark.parametrize(
    "text",
    [
        "As an AI language model, I think that leave lasts 20 weeks [1].",
        "Based on my training data, leave lasts 20 weeks [1].",
        "I don't have access to the handbook, but leave usually lasts 20 weeks [1].",
        "As of my last update, leave lasts 20 weeks [1].",
        "Beyond the provided documents, leave lasts 20 weeks [1].",
    ],
)
def test_what_falls_back_to_training_is_not_backed(text: str) -> None:
    found = only(Structure(), text, LEAVE)
    assert (found.support, found.code) == (Support.UNBACKED, Code.TRAINING)
    assert found.kind is Hallucination.FACTUALITY


def test_after_such_a_sentence_what_cites_nothing_is_from_memory_too() -> None:
    text = "I don't have access to your handbook. Most firms give 20 weeks. Here it is 16 [1]."
    assert [one.code for one in judged(Structure(), text, LEAVE)] == [Code.TRAINING, Code.CLEAR]


def test_documents_may_speak_of_training_data() -> None:
    text = "The training data of the model, such as AI logs, are kept for 2 years [1]."
    assert only(Structure(), text, LEAVE).code is Code.CLEAR


def test_a_draft_without_any_mark_is_not_backed() -> None:
    for found in judged(Structure(), "Leave lasts 20 weeks. Pay is full.", LEAVE):
        assert (found.support, found.code) == (Support.UNBACKED, Code.UNCITED)
        assert found.kind is Hallucination.ATTRIBUTION


def test_one_claim_without_a_mark_among_others_is_noted() -> None:
    found = judged(Structure(), "Leave lasts 20 weeks. Pay is full [1].", LEAVE)
    assert [(one.support, one.code) for one in found] == [
        (Support.UNCHECKED, Code.UNCITED),
        (Support.UNCHECKED, Code.CLEAR),
    ]


def test_where_marks_are_not_expected_none_is_missed() -> None:
    assert only(Structure(uncited=True), "Leave lasts 20 weeks.", LEAVE).code is Code.CLEAR


@pytest.mark.parametrize("tail", ["It may be taken within", "It may be [1"])
def test_the_claim_in_which_a_draft_breaks_off_is_not_backed(tail: str) -> None:
    first, last = judged(Structure(), f"Leave lasts 20 weeks [1]. {tail}", LEAVE)
    assert first.code is Code.CLEAR
    assert (last.support, last.code) == (Support.UNBACKED, Code.CUT_OFF)


def test_a_draft_that_breaks_off_behind_its_claims_leaves_them_alone() -> None:
    text = "Leave lasts 20 weeks [1].\n\nHere is a summary of the sources:"
    assert not shape(text).complete
    assert only(Structure(), text, LEAVE).code is Code.CLEAR


def test_a_suspiciously_short_draft_is_noted() -> None:
    assert only(Structure(), "Yes [1].", LEAVE).code is Code.SHORT
    assert only(Structure(shortest=1), "Yes [1].", LEAVE).code is Code.CLEAR


def test_a_refusal_abstains() -> None:
    said = "I could not find this in the provided documents."
    assert shape(said).abstains
    assert judged(Structure(), said, LEAVE) == []
    claim = Claim(said, 0, len(said))
    (found,) = Structure().judge(Draft(said, (claim,)), Evidence(""))
    assert (found.support, found.code) == (Support.UNCHECKED, Code.ABSTAINED)


def test_a_refusal_that_says_something_after_all_does_not_abstain() -> None:
    assert not shape("The documents do not say, but it is 5 %.").abstains
    assert not shape("I could not find this. Leave lasts 20 weeks.").abstains


def test_an_empty_draft_has_a_shape() -> None:
    empty = shape("")
    assert (empty.words, empty.abstains, empty.complete) == (0, False, True)


@given(st.text(max_size=80))
def test_any_draft_is_judged_and_nothing_is_backed(text: str) -> None:
    for found in judged(Structure(), text, LEAVE):
        assert found.support is not Support.BACKED
        assert found.reason
