"""A refusal states the reason, what is not covered, the nearest sources and the next steps."""

from __future__ import annotations

from dataclasses import replace

import pytest

from suffice.types import (
    Action,
    Claim,
    Draft,
    Evidence,
    Exclusion,
    GateDecision,
    Level,
    Passage,
    Reason,
    ReasonCode,
    Retrieved,
    Verdict,
)
from suffice.verdict import wording
from suffice.verdict.decide import withhold

HERE = Passage(id="a", text="Leave is long.", document="a.md", title="Leave policy")
SHUT = GateDecision(
    Level.INSUFFICIENT,
    0.1,
    "tiers",
    ("best similarity 0.10",),
    missing=("contractors", "the date"),
    next_steps=("Ask Ines.",),
)
FIRST, SECOND = Claim("Leave is 7 days.", 0, 16), Claim("It is paid.", 17, 28)
DRAFT = Draft("Leave is 7 days. It is paid.", (FIRST, SECOND))
EVIDENCE = Evidence("When do contractors get leave?", (Retrieved(HERE, 0.1),))


def withheld(reason: Reason) -> Verdict:
    return withhold(EVIDENCE, SHUT, reason, DRAFT)


def test_a_refusal_as_one_text() -> None:
    refused = withhold(EVIDENCE, SHUT, wording.gate_refusal(SHUT, 1))
    assert wording.refusal(refused).split("\n\n") == [
        "The documents do not contain enough to answer this question: best similarity 0.10.",
        "Not covered by the documents: contractors; the date.",
        "Nearest sources:\n- Leave policy",
        "Next steps:\n- Ask Ines.",
    ]


def test_there_is_always_a_next_step() -> None:
    bare = replace(SHUT, missing=(), next_steps=())
    refused = withhold(Evidence("?"), bare, wording.gate_refusal(bare, 0))
    assert wording.refusal(refused).startswith("No document matches this question.")
    assert wording.refusal(refused).endswith(wording.NEXT_STEPS[0])


def test_what_was_left_out_is_said_whatever_the_refusal() -> None:
    out = replace(SHUT, excluded=(Exclusion(HERE, "expired on 2024-12-31"),))
    assert wording.gate_refusal(out, 0).code is ReasonCode.ONLY_LEFT_OUT
    said = wording.rendered_reason(wording.unanswered(out))
    assert said.endswith("Excluded: Leave policy: expired on 2024-12-31.")
    assert wording.rendered_reason(wording.unanswered(SHUT)).endswith("answers this question.")


@pytest.mark.parametrize("code", ReasonCode)
def test_every_reason_has_words(code: ReasonCode) -> None:
    said = wording.rendered_reason(Reason(code, (FIRST, SECOND), ("7 days",)))
    assert said
    assert "{" not in said


def test_withheld_claims_are_counted_and_not_quoted() -> None:
    told = wording.without_withheld(withheld(Reason(ReasonCode.CONTRADICTED, (FIRST, SECOND))))
    assert (
        told.reason == "The draft makes a statement that the documents contradict (2 statements)."
    )
    assert told.reasons == (Reason(ReasonCode.CONTRADICTED, withheld=2),)


def test_a_reason_of_which_nothing_is_known_is_not_shown_with_a_withheld_draft() -> None:
    """It may quote the draft in other words than those of today."""
    held = replace(withheld(Reason(ReasonCode.CONTRADICTED)), reasons=(), reason=f"{FIRST.text}?!")
    assert wording.without_withheld(held).reason == wording.NOT_SHOWN


def test_a_note_that_quotes_a_withheld_claim_is_left_out() -> None:
    omission = Reason(ReasonCode.CONDITION_OMITTED, (FIRST,), ("the source adds “if asked”",))
    note = wording.rendered_reason(omission)
    assert note == "“Leave is 7 days”: the source adds “if asked”."
    held = withheld(Reason(ReasonCode.CONTRADICTED))
    held = replace(held, notes=("Plain.", note), remarks=(omission,))
    assert wording.without_withheld(held).notes == ("Plain.",)
    reworded = replace(held, notes=("Plain.", f"In other words: {FIRST.text}"))
    assert wording.without_withheld(reworded).notes == ()


def test_what_was_released_is_quoted() -> None:
    weak = Reason(ReasonCode.NOT_VERIFIED, (SECOND,))
    served = replace(withheld(weak), action=Action.CAVEAT, released=DRAFT.text)
    assert wording.without_withheld(served) == served
