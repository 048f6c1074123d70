"""What customers read is short and says what to do; no figure and no internals."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from suffice.errors import SettingsError
from suffice.settings import RouteSettings
from suffice.settings.server import Occasion
from suffice.types import Action, Code, Draft, Evidence, Finding, Level, Support, Verdict
from suffice.verdict.wording import CustomerTexts, occasion_of, render_text
from tests.log.examples import CLAIM, VERDICT

OPEN = replace(VERDICT.gate, level=Level.PARTIAL)
CLOSED = replace(VERDICT.gate, level=Level.INSUFFICIENT)
HELD = replace(VERDICT, action=Action.WITHHOLD, released="", reason="Probability 0.42; p < 3.")
BY_OCCASION = {
    Occasion.NOT_ANSWERED: replace(HELD, draft=None, gate=CLOSED, findings=()),
    Occasion.NOT_VERIFIED: HELD,
    Occasion.REVIEW: replace(HELD, action=Action.REVIEW),
    Occasion.UNAVAILABLE: replace(HELD, draft=None, gate=OPEN, findings=()),
    Occasion.CONFLICT: replace(HELD, action=Action.CONFLICT, released="“a” and “b”"),
    Occasion.PARTIAL: replace(HELD, action=Action.CAVEAT, released="18 weeks."),
    Occasion.CAVEAT: replace(HELD, action=Action.CAVEAT, released="18 weeks.", missing=()),
}


@pytest.mark.parametrize("contact", ["", "the People team"])
@pytest.mark.parametrize("occasion", list(BY_OCCASION), ids=str)
def test_a_customer_reads_a_short_text_and_an_operator_the_reason(
    occasion: Occasion, contact: str
) -> None:
    verdict = BY_OCCASION[occasion]
    assert occasion_of(verdict) is occasion
    said = render_text(verdict, CustomerTexts(contact))
    assert verdict.reason in render_text(verdict)
    assert verdict.reason not in said
    own = said.replace(verdict.released, "")
    assert not re.search(r"[\d%{}]", own)
    assert 10 < len(own) < 160
    assert contact in own
    assert verdict.released in said


def test_an_answer_that_is_served_stands_alone() -> None:
    served = replace(VERDICT, action=Action.SERVE, released="18 weeks.")
    assert render_text(served, CustomerTexts("HR")) == "18 weeks."


def test_a_failed_check_is_a_technical_problem() -> None:
    failed = Finding(CLAIM, "entailment", Support.UNCHECKED, code=Code.FAILED)
    assert occasion_of(replace(HELD, findings=(failed,))) is Occasion.UNAVAILABLE


def test_a_draft_that_states_nothing_answers_nothing() -> None:
    silent = replace(HELD, draft=Draft("I do not know."), findings=())
    assert occasion_of(silent) is Occasion.NOT_ANSWERED


def test_own_texts_replace_the_built_in_ones() -> None:
    own = {"not_answered": "Nope. Ask {contact}, case {record}. {{x}}"}
    gap = Verdict("Who?", Action.WITHHOLD, "Nothing.", CLOSED, Evidence("Who?"), record="r7")
    assert render_text(gap, CustomerTexts("Ada", own)) == "Nope. Ask Ada, case r7. {x}"
    assert "Nope" not in render_text(HELD, CustomerTexts("Ada", own))


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ({"nothing": "No."}, "not_answered"),
        ({"review": "Score {score}."}, "{contact}"),
        ({"review": "{contact.__class__}"}, "{contact}"),
        ({"review": "Ask {contact"}, "braces"),
    ],
)
def test_a_wrong_text_is_an_error_with_its_remedy(texts: dict[str, str], said: str) -> None:
    with pytest.raises(SettingsError) as told:
        RouteSettings(texts=texts)
    assert said in told.value.remedy


def test_a_text_cannot_name_a_contact_that_is_not_set() -> None:
    with pytest.raises(SettingsError, match="names a contact") as told:
        CustomerTexts("", {"review": "Ask {contact}."})
    assert "gate.contact" in told.value.remedy
