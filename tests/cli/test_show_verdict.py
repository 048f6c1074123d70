"""The terminal shows the full text of an answer."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from suffice.cli.show_verdict import show_verdict
from suffice.types import Action, Verdict
from tests.log.examples import VERDICT


@pytest.mark.parametrize(
    "said", ["Run git checkout <branch-name> first.", "Keep `a <b> c` as it is, and x < 5."]
)
def test_what_looks_like_a_tag_is_shown(said: str) -> None:
    written = StringIO()
    show_verdict(replace(VERDICT, released=said), Console(file=written, width=120))
    assert said.replace("`", "") in written.getvalue()


def test_a_review_shows_the_draft_and_the_sentence_behind_it() -> None:
    held = replace(VERDICT, action=Action.REVIEW, released="", reason="A person must review it.")
    assert "Draft, not released" in shown(held)
    assert "18 weeks [1]" in shown(held)  # the draft
    assert "Parental leave lasts 18 weeks." in shown(held)  # the passage
    assert "Draft, not released" not in shown(replace(held, action=Action.WITHHOLD))


def test_a_review_without_a_draft_shows_the_best_passage() -> None:
    held = replace(VERDICT, action=Action.REVIEW, released="", draft=None, findings=())
    assert "Parental leave lasts 18 weeks." in shown(held)


def shown(verdict: Verdict) -> str:
    written = StringIO()
    show_verdict(verdict, Console(file=written, width=120))
    return " ".join(written.getvalue().replace("│", " ").split())
