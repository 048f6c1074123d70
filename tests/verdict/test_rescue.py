"""Rescuing a draft keeps its backed claims, with exact spans."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from suffice.draft.reading import read_draft
from suffice.types import Finding, Passage, Support
from suffice.verdict.assess import assess
from suffice.verdict.rescue import trimmed

PASSAGES = [Passage(str(n), "Leave is long.", "a") for n in range(3)]
TEXT = "Leave is 20 weeks. [1] Pay is full. [2] Cats may come too. [3] Ask the HR team. [1]"


@given(st.lists(st.sampled_from(list(Support)), min_size=4, max_size=4))
def test_nothing_but_what_is_backed(supports: list[Support]) -> None:
    draft = read_draft(TEXT, PASSAGES)
    findings = [
        Finding(claim, "some", support)
        for claim, support in zip(draft.claims, supports, strict=False)
    ]
    kept = [f.claim.text for f in findings if f.support is Support.BACKED]
    cut = trimmed(draft, assess(draft, findings))
    if not kept or len(kept) == len(draft.claims):
        assert cut is None
        return
    assert cut is not None
    assert [claim.text for claim in cut.claims] == kept
    assert all(cut.text[claim.start : claim.end] == claim.text for claim in cut.claims)
    assert {citation.n for citation in cut.citations} == {n for c in cut.claims for n in c.cites}


def test_what_is_left_open_is_kept() -> None:
    gap = "The passages do not say who pays."
    draft = read_draft(f"Leave is 20 weeks. [1] {gap} Cats may come too. [3]", PASSAGES)
    first, second = draft.claims
    found = [Finding(first, "some", Support.BACKED), Finding(second, "some", Support.UNBACKED)]
    cut = trimmed(draft, assess(draft, found))
    assert cut is not None
    assert cut.text == f"Leave is 20 weeks. [1] {gap}"
    assert [claim.text for claim in cut.claims] == [first.text]
    every = [Finding(one, "some", Support.BACKED) for one in draft.claims]
    assert trimmed(draft, assess(draft, every)) is None
