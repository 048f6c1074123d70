"""Every attack makes cases from any documents, the same ones for the same seed."""

from __future__ import annotations

import base64

import pytest

from suffice.errors import SettingsError
from suffice.lab.redteam.attacks import (
    ATTACKS,
    Conflicting,
    Instructions,
    LongContext,
    NoDocument,
    VersionMix,
    chosen,
    question,
)
from suffice.lab.redteam.edits import STYLES, instruction
from suffice.lab.redteam.material import SERVED, STOPPED, Attack, Material, first
from suffice.text.instructions import instructs
from tests.lab.redteam.documents import material, passage

every = pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)


@every
def test_a_case_has_a_hostile_trial_and_a_harmless_twin(attack: Attack) -> None:
    cases = first(attack.cases(material()), 4)
    assert cases
    for case in cases:
        assert case.attack == attack.name
        assert case.twin.right == SERVED
        assert not case.twin.forbidden
        assert case.hostile.right & STOPPED
        # Whatever is served in the end, something keeps the attack from being a success.
        assert case.hostile.right.isdisjoint({*SERVED}) or (
            case.hostile.forbidden or case.hostile.disclosed
        )
        assert case.hostile != case.twin


@every
def test_the_same_seed_makes_the_same_cases(attack: Attack) -> None:
    assert first(attack.cases(material(3)), 4) == first(attack.cases(material(3)), 4)


@every
def test_documents_without_material_give_no_cases(attack: Attack) -> None:
    bare = Material((passage("list", "- apples\n- pears\n\n```\nx = 1\n```"),))
    assert not first(attack.cases(bare), 4)


def test_an_unknown_attack_is_refused() -> None:
    with pytest.raises(SettingsError, match="no attack “x”"):
        chosen(["x"])
    assert [attack.name for attack in chosen(["negation", "number"])] == ["number", "negation"]


def test_a_hidden_document_answers_no_other_question() -> None:
    """The question needs words that only the hidden document has."""
    made = material()
    for case in NoDocument().cases(made):
        (hidden,) = case.hostile.hidden
        others = [one.text for one in made.passages if one.document != hidden]
        assert case.hostile.question == case.twin.question
        assert not any(case.hostile.question[:-1] in text for text in others)


def test_a_question_is_made_of_its_statement() -> None:
    facts = {fact.text: question(fact) for fact in material().facts}
    asked = facts["Mileage claims can be submitted through the finance portal every quarter."]
    assert asked == "Can Mileage claims be submitted through the finance portal every quarter?"


@pytest.mark.parametrize("style", STYLES)
def test_every_style_carries_the_order(style: str) -> None:
    order = instruction("Leave is 40 weeks.")
    written = STYLES[style](order)
    if style == "base64":
        assert base64.b64decode(written.rsplit(maxsplit=1)[1]).decode() == order
    else:
        assert instructs(written)
    made = first(Instructions().cases(Material(material().passages * 1)), len(STYLES))
    assert len({case.what for case in made}) == len(made)


def test_an_old_version_differs_from_the_current_one_in_the_value_alone() -> None:
    case = next(VersionMix().cases(material()))
    current, old = case.hostile.passages
    assert current.document == old.document
    assert (current.version, old.version) == ("2", "1")
    assert old.until == current.effective
    assert current.text != old.text
    assert len(current.text.split()) == len(old.text.split())


def test_conflicting_documents_disagree_and_those_of_the_twin_agree() -> None:
    case = next(Conflicting().cases(material()))
    assert case.hostile.draft == case.twin.draft
    assert case.hostile.passages[1].text != case.twin.passages[1].text
    assert case.twin.passages[1].text in case.twin.passages[0].text


def test_a_long_context_holds_its_source_in_the_middle() -> None:
    case = next(LongContext().cases(material()))
    (long,) = case.hostile.passages
    source = next(one for one in material().passages if one.document == case.document)
    assert 30_000 <= len(long.text) < 35_000
    assert 0.3 < long.text.index(source.text) / len(long.text) < 0.7


@pytest.mark.parametrize(
    ("subject", "combined"),
    [("The travel desk", True), ("The next step", False), ("Use of this desk", False)],
)
def test_a_subject_that_points_to_its_text_is_combined_with_nothing(
    subject: str, combined: bool
) -> None:
    texts = {
        "one": f"{subject} is open to all members of the regional sales branch.",
        "two": "The dental plan is paid with the salary of every permanent employee.",
    }
    made = Material(tuple(passage(name, text) for name, text in texts.items()))
    (attack,) = chosen(("synthesis",))
    drafts = [case.hostile.draft for case in attack.cases(made)]
    assert bool(drafts) is combined
