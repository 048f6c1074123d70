"""A refusal states the reason, what is not covered, the nearest sources and the next steps."""

from __future__ import annotations

from dataclasses import replace

from suffice.types import Evidence, Exclusion, GateDecision, Level, Passage, Retrieved
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
EVIDENCE = Evidence("When do contractors get leave?", (Retrieved(HERE, 0.1),))


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
    assert wording.refusal(refused).startswith(wording.NOTHING_FOUND)
    assert wording.refusal(refused).endswith(wording.NEXT_STEPS[0])


def test_what_was_left_out_is_said_whatever_the_refusal() -> None:
    out = replace(SHUT, excluded=(Exclusion(HERE, "expired on 2024-12-31"),))
    assert wording.gate_refusal(out, 0).startswith(wording.ONLY_LEFT_OUT)
    assert wording.unanswered(out).endswith("Excluded: Leave policy: expired on 2024-12-31.")
    assert wording.unanswered(SHUT) == wording.NO_STATEMENT
