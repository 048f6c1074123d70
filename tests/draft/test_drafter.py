"""Properties of every drafter, and opening one by name."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from suffice.draft.drafter import Drafter, open_drafter
from suffice.draft.extractive import Extractive
from suffice.draft.llm import LlmDrafter
from suffice.draft.reading import Brief
from suffice.errors import SettingsError
from suffice.settings import DraftSettings
from suffice.testing import ScriptedUpstream, says
from tests.draft.asked import evidence
from tests.fakes import HashEmbedder


def opened(llm: str) -> Drafter:
    settings = DraftSettings(llm=llm, min_similarity=0.0, timeout=300)
    return open_drafter(settings, HashEmbedder())


@pytest.fixture(scope="module", params=["extractive", "url"])
def drafter(request: pytest.FixtureRequest) -> Iterator[Drafter]:
    if request.param == "url":
        with ScriptedUpstream([says("Parental leave lasts 20 weeks. [1] It is paid [2].")]) as up:
            yield opened(up.url)
        return
    yield opened(request.param)


def test_a_draft_with_exact_spans_that_cites_the_evidence(drafter: Drafter) -> None:
    found = evidence("Parental leave lasts 20 weeks.", "It is fully paid.")
    draft = drafter.write(found, Brief(seconds=300))
    assert draft.claims
    assert draft.drafter
    numbers = {citation.n for citation in draft.citations}
    for claim in draft.claims:
        assert draft.text[claim.start : claim.end] == claim.text
        assert set(claim.cites) <= numbers
    assert all(citation.passage in found.passages for citation in draft.citations)


def test_without_evidence_it_declines(drafter: Drafter) -> None:
    draft = drafter.write(evidence())
    assert (draft.text, draft.claims) == ("", ())


def test_by_name_or_url() -> None:
    assert isinstance(opened("extractive"), Extractive)
    assert isinstance(opened("http://127.0.0.1:9/v1"), LlmDrafter)


@pytest.mark.parametrize("llm", ["gpt-4", "local", "", "ftp://a.b", "127.0.0.1:8080/v1"])
def test_another_name_is_refused(llm: str) -> None:
    with pytest.raises(SettingsError, match=r"draft\.llm is .*extractive, or the base URL"):
        opened(llm)
