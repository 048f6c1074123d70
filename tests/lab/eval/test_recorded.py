"""Recorded drafts of an LLM go through gate and checks."""

from __future__ import annotations

import pytest

from suffice.draft.prompt import DECLINED
from suffice.evidence.inputs import given
from suffice.lab.eval.cases import Question, Recorded
from suffice.lab.eval.twins import Replayed, renumbered, replay
from suffice.models.catalog import open_embedder, open_verifier
from suffice.models.embedder import Embedder
from suffice.models.verifier import CachedEmbedder, Verifier
from suffice.settings import CollectionSettings, EmbedderSettings, VerifierSettings
from suffice.types import Action, Evidence

LEAVE = "Parents may take 16 weeks of paid leave after a birth."
ASKED = Question("How many weeks of paid leave may parents take?", True, (("16 weeks",),))


@pytest.fixture(scope="module")
def verifier() -> Verifier:
    return open_verifier(VerifierSettings())


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return CachedEmbedder(open_embedder(EmbedderSettings()))


def test_the_draft_is_checked_against_its_own_passages(
    verifier: Verifier, embedder: Embedder
) -> None:
    passages = ({"text": "Dogs are welcome on Fridays."}, {"text": LEAVE})
    drafts = {
        "Parents may take 16 weeks of paid leave [2].": True,
        "Parents may take 61 weeks of paid leave [2].": False,
    }
    for text, right in drafts.items():
        case = Recorded(ASKED, text, passages, "right")
        found = replay(case, CollectionSettings(), verifier, embedder)
        assert found.draft
        assert (found.released == text) is right
        assert found.attempts[0].draft.drafter == "recorded"


def test_a_refusal_of_the_llm_is_replayed(verifier: Verifier, embedder: Embedder) -> None:
    other = Question("Who won the world cup in 1998?", False)
    case = Recorded(other, DECLINED, ({"text": LEAVE},), "declined")
    found = replay(case, CollectionSettings(), verifier, embedder)
    assert found.action is Action.WITHHOLD


@pytest.mark.parametrize(
    ("now", "text"),
    [
        ({1: 1, 2: 2}, "Paid [1]. For 16 weeks [1][2]."),
        ({1: 2, 2: 1}, "Paid [2]. For 16 weeks [2][1]."),
        ({2: 1}, "Paid . For 16 weeks [1]."),
    ],
)
def test_citations_follow_their_passages(now: dict[int, int], text: str) -> None:
    assert renumbered("Paid [1]. For 16 weeks [1][2].", now) == text


def test_a_draft_cites_what_is_left_of_its_passages() -> None:
    one, two = given(["Dogs bark.", LEAVE])
    drafter = Replayed("16 weeks [2].", {one.passage.id: 1, two.passage.id: 2})
    draft = drafter.write(Evidence("?", (two,)))
    assert draft.text == "16 weeks [1]."
    assert [citation.passage.text for citation in draft.citations] == [LEAVE]
