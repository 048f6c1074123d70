"""An overridden decision is CAVEAT at best, and the reason says so."""

from __future__ import annotations

from dataclasses import replace

import pytest

from suffice.types import Action
from suffice.verdict.decide import overridden, released, withdrawn
from tests.log import examples as some


@pytest.mark.parametrize("action", Action)
def test_what_was_opened_is_never_simply_served(action: Action) -> None:
    verdict = overridden(replace(some.VERDICT, action=action), "Gate opened by Ada: x")
    assert verdict.action is (Action.CAVEAT if action is Action.SERVE else action)
    assert verdict.notes[-1] == "Gate opened by Ada: x"
    assert ("A person overrode the gate for this answer." in verdict.reason) is verdict.served


def test_a_held_draft_is_released_as_it_was_written() -> None:
    held = replace(some.VERDICT, action=Action.WITHHOLD, released="", citations=())
    verdict = released(held, "Released by Ada: x")
    assert (verdict.action, verdict.released) == (Action.CAVEAT, some.DRAFT.text)
    assert [citation.passage for citation in verdict.citations] == [some.LEAVE]
    assert verdict.reason == f"A person released this answer. {held.reason}"
    assert verdict.findings == held.findings  # what was found against it stays


def test_what_was_withdrawn_is_no_answer() -> None:
    verdict = withdrawn(some.VERDICT, "Withdrawn by Ada: x")
    assert (verdict.action, verdict.released, verdict.citations) == (Action.WITHHOLD, "", ())
    assert verdict.draft == some.DRAFT
