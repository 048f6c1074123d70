"""An edit changes one thing, and a rewording changes nothing that matters."""

from __future__ import annotations

from random import Random

import pytest

from suffice.lab.redteam import edits
from suffice.lab.redteam.material import Fact, Material, facts
from suffice.text.literals import literals
from tests.lab.redteam.documents import material, passage


def fact(text: str, around: str = "") -> Fact:
    (found,) = facts(passage("one", f"{text}\n\n{around}"))
    return found


def test_a_number_edit_gives_a_value_that_the_passage_does_not_have() -> None:
    one = fact("The leave policy grants parents 16 weeks of paid leave.")
    for seed in range(20):
        (edit,) = edits.number_edits(one, Random(seed))
        assert edit.old == "16 weeks"
        assert edit.new not in one.passage.text
        assert edit.text == one.text.replace(edit.old, edit.new)


@pytest.mark.parametrize(
    "text",
    [
        "The managers will meet for a 1:1 talk with every employee.",
        "The reviews are held at the 3-, 6- and then the later marks.",
        "The rules of the year 2022 are kept in the archive.",
        "The applicant will sign the form and (2) send the letter to the office.",
    ],
)
def test_a_number_that_is_no_quantity_is_left_alone(text: str) -> None:
    assert not list(edits.number_edits(fact(text), Random(1)))


def test_units_and_dates_are_edited() -> None:
    (unit,) = edits.unit_edits(
        fact("The leave policy grants parents 16 weeks of leave."), Random(1)
    )
    assert unit.new == "16 months"
    (day,) = edits.date_edits(fact("The enrollment period is open in November 2022."), Random(1))
    assert "November" not in day.text
    assert "2022" in day.text


def test_a_negation_adds_one_word_and_hedged_statements_have_none() -> None:
    said = "The security team must encrypt every laptop in the building."
    edit = edits.negated(fact(said))
    assert edit
    assert edit.text == said.replace("must", "must not")
    assert edits.negated(fact("The time of the review may vary with the season.")) is None
    assert edits.negated(fact("No salary data is sent to the office of the branch.")) is None


def test_a_condition_is_cut_at_either_end_of_the_statement() -> None:
    whole = {"If the employee has worked for one year, the company will pay the full salary.":
             "The company will pay the full salary.",
             "The company will refund train tickets unless the ticket was bought by Omega Tours.":
             "The company will refund train tickets."}  # fmt: skip
    for said, left in whole.items():
        one = edits.outer_condition(fact(said))
        assert one
        assert edits.without(fact(said), one) == left


@pytest.mark.parametrize(
    "text",
    [
        # A list after "if", which a comma does not end.
        "If you have the form, the receipt, and the passport, the office will pay the refund.",
        "If the path, the query or the header matches, the server will send the file.",
        # "Subject" is a noun here.
        "The office keeps letters with details about the subject to whom the form is issued.",
        # What is left would end in half a phrase, or keep half of the condition.
        "The rules may be different in the branches, especially if you come from abroad.",
        "The version of the form is only available if the office has printed the letter.",
        # There was code after "if", or the condition is in the sentence before.
        "If -, the output of the command is written to the screen.",
        "If you do, the office will send the form to the manager.",
    ],
)
def test_a_condition_that_would_leave_no_whole_statement_is_not_cut(text: str) -> None:
    assert edits.outer_condition(fact(text)) is None


def test_a_list_in_the_statement_itself_leaves_its_condition_alone() -> None:
    said = "If no file is named, the server will load the default, adapt it for us, and run it."
    one = edits.outer_condition(fact(said))
    assert one
    assert one.text == "If no file is named"


def test_a_respelled_value_is_the_same_value() -> None:
    one = fact("The salary of the office rises by 5% to $73,500 in the spring.")
    values = [(literal.kind, literal.value) for literal in literals(one.text)]
    found = list(edits.respelled(one))
    assert [edit.new for edit in found] == ["5 percent", "$73500"]
    for edit in found:
        assert [(literal.kind, literal.value) for literal in literals(edit.text)] == values


def test_values_of_tables_become_statements() -> None:
    said = [one.text for one in material().facts]
    assert "For Rome, the Distance is 1,100 km." in said
    clause = "| Case | Amount |\n|---|---|\n| If the member died | $2,000 |\n| Members | $900 |\n"
    assert [one.text for one in facts(passage("one", clause))] == [
        "For Members, the Amount is $900."
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Once the form is approved by the office, the manager sends the letter.",
        "Since the office is a server of all branches, the manager sends the letter.",
        "After messages are sent to an output, the reader handles the messages.",
        "To add a report of the branch you can insert the option of the form.",
        "We now know the form is signed by the manager of the branch.",
        "Find the list of packages you can install from the download page.",
        "Note: The page of the branch is written by the members of the office.",
    ],
)
def test_an_auxiliary_of_a_clause_is_not_that_of_the_statement(text: str) -> None:
    assert not fact(text).clear
    assert edits.negated(fact(text)) is None


@pytest.mark.parametrize(
    "text",
    [
        "After the birth, the company will pay the salary of the parents.",
        "You can file the form of the office at the desk.",
        "The IT desk of the company will replace the laptop of the member.",
    ],
)
def test_a_phrase_or_a_pronoun_alone_leaves_the_subject_clear(text: str) -> None:
    assert fact(text).clear


def test_a_false_value_is_forbidden_unless_true_texts_have_it_by_chance() -> None:
    weeks = edits.Edit("Leave lasts 18 weeks.", "16 weeks", "18 weeks")
    assert edits.forbidden(weeks) == ("Leave lasts 18 weeks", "18 weeks")
    bare = edits.Edit("Value 3 means that it is down.", "0", "3")
    assert edits.forbidden(bare) == ("Value 3 means that it is down",)


def test_a_sentence_that_needs_others_is_no_statement() -> None:
    text = "They must be sent to the office. This is paid by the company within a month."
    assert not Material((passage("one", text),)).facts
