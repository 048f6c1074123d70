"""The pipeline over labelled cases: the counts, and the comparison of two configurations."""

from __future__ import annotations

import gzip
import json
import shutil
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from suffice.cli import cli
from suffice.errors import SettingsError, SourceMissing, Unreadable
from suffice.lab.eval.cases import Cases, Draft, Question, read_all, read_cases
from suffice.lab.eval.evaluation import compare, evaluate, figures, rules
from suffice.lab.eval.outcomes import Outcome
from suffice.lab.eval.twins import Lacking, twin_figures
from suffice.lab.eval.worker import MemoizedVerifier, once
from suffice.models.catalog import open_verifier
from suffice.models.llm.verifier import LlmVerifier, below_llm
from suffice.models.verifier import Verifier
from suffice.settings import LlmSettings, Settings, VerifierSettings
from tests.lab.eval.overlap import silent

LEAVE = "# Parental leave\n\nParents may take 16 weeks of paid leave after a birth.\n"
PETS = "# Pets\n\nDogs are welcome on Fridays. They stay on a lead in the canteen.\n"
QUESTIONS: list[dict[str, Any]] = [
    {"id": "q1", "question": "How many weeks of paid leave may parents take?", "answerable": True,
     "answers_all": [["16 weeks", "sixteen weeks"]]},
    {"id": "q2", "question": "Who won the world cup in 1998?", "answerable": False},
]  # fmt: skip
DRAFTS: list[dict[str, Any]] = [
    {"id": "d1", "question": "How long is leave?", "draft": "Paid leave is 16 weeks.",
     "correct": True, "evidence": [{"title": "Leave", "text": "Paid leave is 16 weeks."}],
     "pair": "p"},
    {"id": "d2", "question": "How long is leave?", "draft": "Paid leave is 61 weeks.",
     "correct": False, "evidence": ["Paid leave is 16 weeks."], "kind": "number", "pair": "p"},
]  # fmt: skip


CLAIM = {"claim": "Leave is paid.", "evidence": "Leave is paid.", "label": "entail", "task": "qa"}
CASE: dict[str, Any] = {
    "id": "c", "passages": ["Leave is paid."],
    "qa": [{"q": "Is it paid?", "a": "Yes.", "w": [{"t": "No.", "k": "negation"}]}],
}  # fmt: skip


@pytest.fixture(scope="module")
def verifier() -> Verifier:
    return open_verifier(VerifierSettings())


def lines(path: Path, rows: Sequence[Any]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lines(tmp_path / "questions.jsonl", QUESTIONS)
    lines(tmp_path / "drafts.jsonl", DRAFTS)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "leave.md").write_text(LEAVE, "utf-8")
    (tmp_path / "docs" / "pets.md").write_text(PETS, "utf-8")
    return tmp_path


def test_every_case_is_decided_and_counted(folder: Path, verifier: Verifier) -> None:
    found = evaluate(read_cases(folder), Settings(), verifier, silent, off=["literals"])
    assert found["outcomes"] == {
        "answerable: right": 1,
        "right draft: served": 1,
        "unanswerable: withheld": 1,
        "wrong draft: withheld": 1,
    }
    assert found["good"] == found["pairs_told_apart"] == found["f1"] == 1
    assert found["coverage"] == 0.5
    served = sum(own["served"] for own in found["precision"].values())
    assert served == 1
    other = found["without"]["literals"]
    assert other["cases"] == 4
    assert other["better"] == 0


def test_the_tier_below_an_llm_is_found_in_an_evaluation() -> None:
    """Small pairs are judged there: an LLM would take a call for each."""
    settings = VerifierSettings(llm=LlmSettings(url="http://127.0.0.1:9/v1", model="none"))
    verifier = once(open_verifier(settings))
    assert isinstance(verifier, LlmVerifier)
    assert isinstance(below_llm(verifier), MemoizedVerifier)


def test_answers_and_drafts_are_counted_apart() -> None:
    cases = Cases(
        "c",
        questions=(Question("How long?", True, (("16 weeks",),)),),
        drafts=(Draft("16 weeks.", (), True, pair="p"), Draft("26 weeks.", (), False, pair="p")),
    )
    outcomes = [
        Outcome("answerable: withheld", "WITHHOLD", 0.0),
        Outcome("right draft: served", "SERVE", 1.0),
        Outcome("wrong draft: served", "SERVE", 0.0),
    ]
    found = figures(outcomes, cases)
    assert found["coverage"] == 0
    assert found["precision"] == {}
    assert found["pairs_told_apart"] == 0


def test_a_rule_that_is_off_changes_what_becomes_of_a_case(
    tmp_path: Path, verifier: Verifier
) -> None:
    """The conflict rule is what keeps this question from an answer."""
    lines(tmp_path / "questions.jsonl", QUESTIONS[:1])
    (tmp_path / "docs").mkdir()
    for name, weeks in (("one", 16), ("two", 26)):
        text = LEAVE.replace("16", str(weeks))
        (tmp_path / "docs" / f"{name}.md").write_text(text, "utf-8")
    found = evaluate(read_cases(tmp_path), Settings(), verifier, silent, off=["conflicts"])
    assert found["outcomes"] == {"answerable: false conflict": 1}
    other = found["without"]["conflicts"]
    assert "answerable: false conflict" not in other["outcomes"]
    assert found["good"] == 0


def test_a_question_is_also_asked_of_documents_without_its_answer(
    folder: Path, verifier: Verifier
) -> None:
    quoted = "Parents may take 16 weeks of paid leave after a birth."
    missing = {
        "question": "On which day are cats welcome?", "answerable": False,
        "adds": "Cats are welcome on Mondays.",
    }  # fmt: skip
    lines(folder / "questions.jsonl", [QUESTIONS[0] | {"quotes": [quoted]}, missing])
    found = evaluate(read_cases(folder), Settings(), verifier, silent, twins=True)
    assert found["twins"] == {
        "questions": 2, "right_with": 1.0, "not_served_without": 1.0, "both": 1.0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("quote", "left"),
    [
        ("16 weeks", "Leave is paid. Ask HR."),
        ("May take 16  weeks of paid leave.", "Leave is paid. Ask HR."),
        ("Leave is paid. You may take 16 weeks of paid leave.", "Ask HR."),
    ],
)
def test_what_holds_the_answer_is_taken_out_and_nothing_else(quote: str, left: str) -> None:
    said = "Leave is paid. You may take **16** weeks of paid leave. Ask HR."
    (passage,) = Lacking(lambda _: [said], (quote,))("How long?").passages
    assert passage.text.split() == left.split()


def test_a_passage_of_which_nothing_is_left_is_not_found() -> None:
    search = Lacking(lambda _: ["Leave is 16 weeks.", "Ask HR."], ("16 weeks",))
    assert [passage.text for passage in search("How long?").passages] == ["Ask HR."]


def test_twins_are_counted_by_their_halves() -> None:
    found = twin_figures([(1, 1), (1, 0), (0.5, 1)])
    shares = [found[name] for name in ("right_with", "not_served_without", "both")]
    assert shares == pytest.approx([2 / 3, 2 / 3, 1 / 3])


def test_a_rule_that_is_not_there_is_named_with_those_that_are(
    folder: Path, verifier: Verifier
) -> None:
    with pytest.raises(SettingsError, match="no rule “spelling”") as problem:
        evaluate(read_cases(folder), Settings(), verifier, silent, off=["spelling"])
    assert all(name in problem.value.remedy for name in rules())
    assert {"literals", "facts", "copies", "conflicts"} <= set(rules())


def test_documents_may_come_as_an_archive_with_collections(folder: Path) -> None:
    with tarfile.open(folder / "docs.tar.gz", "w:gz") as archive:
        archive.add(folder / "docs" / "leave.md", "hr/leave.md")
    shutil.rmtree(folder / "docs")
    lines(folder / "questions.jsonl", [QUESTIONS[0] | {"collection": "hr"}])
    (folder / "drafts.jsonl").unlink()
    found = evaluate(read_cases(folder), Settings(), open_verifier(VerifierSettings()), silent)
    assert found["outcomes"] == {"answerable: right": 1}
    assert found["f1"] is None


def test_files_of_claims_and_of_cases_are_drafts(tmp_path: Path) -> None:
    lines(tmp_path / "claims.jsonl", [CLAIM, CLAIM | {"label": "neutral", "task": None}])
    one, two = read_cases(tmp_path / "claims.jsonl").drafts
    assert (one.correct, one.kind, two.correct) == (True, "qa", False)
    with gzip.open(tmp_path / "cases.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write(json.dumps(CASE))
    right, wrong = read_cases(tmp_path / "cases.jsonl.gz").drafts
    assert (right.text, right.correct, right.pair) == ("Yes.", True, "c 0")
    assert (wrong.text, wrong.correct, wrong.kind) == ("No.", False, "negation")


@pytest.mark.parametrize(
    ("files", "error", "words"),
    [
        ({}, SourceMissing, "neither questions nor drafts"),
        ({"questions.jsonl": QUESTIONS}, SourceMissing, "no documents"),
        ({"drafts.jsonl": [{"draft": "x", "evidence": ["y"]}]}, Unreadable, "no field correct"),
        ({"drafts.jsonl": [DRAFTS[0] | {"evidence": [{"t": 1}]}]}, Unreadable, "'evidence'"),
        ({"drafts.jsonl": [CLAIM | {"label": "yes"}]}, Unreadable, "'label' is 'yes'"),
        ({"drafts.jsonl": [CASE | {"qa": [{"q": "?", "a": "x"}]}]}, Unreadable, "'qa'"),
        (
            {"docs.tar.gz": [], "questions.jsonl": [{"question": "?", "answerable": True}]},
            Unreadable,
            "question 1 is answerable, but answers_all is missing",
        ),
    ],
)
def test_what_cannot_be_used_is_named(
    tmp_path: Path, files: dict[str, Any], error: type[Exception], words: str
) -> None:
    for name, rows in files.items():
        lines(tmp_path / name, rows)
    with pytest.raises(error, match=words):
        read_cases(tmp_path)


def test_several_folders_are_evaluated_together(folder: Path, verifier: Verifier) -> None:
    asked, other = QUESTIONS
    for name, rows in {"one": [asked], "two": [other]}.items():
        (folder / name).mkdir()
        lines(folder / name / "questions.jsonl", rows)
        shutil.copytree(folder / "docs", folder / name / "docs")
    lines(folder / "two" / "drafts.jsonl", DRAFTS)
    cases = read_all([folder / "one", folder / "two"])
    found = evaluate(cases, Settings(), verifier, silent)
    assert (found["data"], found["questions"]) == ("one, two", 2)
    assert list(found["collections"]) == ["one", "two"]
    one, two = (own["answers"] for own in found["collections"].values())
    assert found["answers"] == {"answerable": one["answerable"], "others": two["others"]}
    assert found["collections"]["two"]["outcomes"] == {
        "right draft: served": 1, "unanswerable: withheld": 1, "wrong draft: withheld": 1
    }  # fmt: skip


def test_collections_of_one_name_cannot_be_told_apart(folder: Path) -> None:
    with pytest.raises(SettingsError, match=f"Two folders have a collection “{folder.name}”"):
        read_all([folder, folder])


def test_thresholds_of_other_collections_need_another_collection(
    folder: Path, verifier: Verifier
) -> None:
    with pytest.raises(SettingsError, match="there is only one"):
        evaluate(read_cases(folder), Settings(), verifier, silent, leave_out=True)


def test_drafts_of_one_question_are_a_pair_in_the_collection_of_the_question(folder: Path) -> None:
    question = QUESTIONS[0] | {"collection": "hr"}
    lines(folder / "questions.jsonl", [question])
    asked = {"question": question["question"], "pair": None}
    lines(folder / "drafts.jsonl", [row | asked for row in DRAFTS])
    drafts = read_cases(folder).drafts
    assert {one.pair for one in drafts} == {question["question"]}
    assert {one.collection for one in drafts} == {"hr"}


def test_recorded_drafts_take_their_answers_from_the_questions(folder: Path) -> None:
    row = {"question": QUESTIONS[0]["question"], "answerable": True, "draft": "16 weeks [1].",
           "evidence": [LEAVE], "label": "right"}  # fmt: skip
    lines(folder / "llm_drafts.jsonl", [row])
    (one,) = read_cases(folder).recorded
    assert one.question.answers == (("16 weeks", "sixteen weeks"),)
    lines(folder / "llm_drafts.jsonl", [row | {"label": "wrong"}])
    with pytest.raises(Unreadable, match="'label' is 'wrong'"):
        read_cases(folder)


def test_an_archive_that_is_none_is_named(folder: Path, verifier: Verifier) -> None:
    shutil.rmtree(folder / "docs")
    (folder / "docs.tar.gz").write_text("no archive")
    with pytest.raises(Unreadable, match="cannot be unpacked"):
        evaluate(read_cases(folder), Settings(), verifier, silent)


def test_cases_need_no_names_to_be_kept_apart(folder: Path, verifier: Verifier) -> None:
    for name, rows in (("questions", QUESTIONS), ("drafts", DRAFTS)):
        lines(folder / f"{name}.jsonl", [row | {"id": "1"} for row in rows])
    found = evaluate(read_cases(folder), Settings(), verifier, silent)
    assert (found["good"], found["coverage"], found["f1"]) == (1, 0.5, 1)


def test_an_answer_is_right_in_part() -> None:
    case = Question("?", True, (("16 weeks",), ("full pay", "paid in full")))
    assert case.share("It is 16  Weeks,\npaid in full.") == 1
    assert case.share("It is 16 weeks.") == 0.5
    assert case.share("It is long.") == 0


def test_a_limit_takes_cases_from_all_over() -> None:
    """Also of drafts of which every second one is wrong."""
    drafts = tuple(Draft(str(n), (), n % 2 == 0) for n in range(100))
    some = Cases("n", drafts=drafts).at_most(20).drafts
    places = [int(one.text) for one in some]
    assert len(set(places)) == 20
    assert places == sorted(places)
    assert min(places) < 20 < 80 < max(places)
    assert 5 < sum(one.correct for one in some) < 15
    assert set(some) < set(Cases("n", drafts=drafts).at_most(30).drafts)
    assert Cases("n", drafts=drafts).at_most(999).drafts == drafts


def test_the_interval_is_paired() -> None:
    """Both configurations fail on the same half of the cases: only what differs counts."""
    cases = Cases("n", drafts=tuple(Draft("x", (), True) for _ in range(200)))
    base = [Outcome("x", "SERVE", float(n % 2)) for n in range(200)]
    better = [Outcome("x", "SERVE", 1.0 if n < 4 else float(n % 2)) for n in range(200)]
    same = compare(base, base, cases)
    assert (same["change"], same["interval"]) == (0, [0, 0])
    found = compare(base, better, cases)
    assert (found["better"], found["worse"], found["change"]) == (2, 0, 0.01)
    low, high = found["interval"]
    assert 0 <= low < 0.01 < high < 0.04


def test_a_pair_is_told_apart_only_where_both_are_decided_well() -> None:
    drafts = tuple(
        Draft("x", (), correct, pair=pair) for pair in ("a", "b", "c") for correct in (True, False)
    )
    outcomes = [Outcome("x", "SERVE", good) for good in (1.0, 1.0, 1.0, 0.0, 0.0, 1.0)]
    assert figures(outcomes, Cases("n", drafts=drafts))["pairs_told_apart"] == pytest.approx(1 / 3)


def test_the_command_shows_and_prints_json(folder: Path) -> None:
    run = CliRunner().invoke(cli, ["eval", str(folder), "--without", "facts", "--quiet"])
    assert run.exit_code == 0, run.output
    assert "answerable: right" in run.output
    assert "of 100" in run.output
    assert "95 % interval" in run.output
    assert "100.0% good decisions" in run.output
    run = CliRunner().invoke(cli, ["eval", str(folder / "drafts.jsonl"), "--json"])
    assert json.loads(run.stdout)["outcomes"] == {
        "right draft: served": 1, "wrong draft: withheld": 1
    }  # fmt: skip


def test_one_set_of_a_file_of_sets(tmp_path: Path) -> None:
    rows = [
        {"set": name, "claim": f"{name} holds.", "label": "entail", "evidence": "It holds."}
        for name in ("first", "second")
    ]
    file = tmp_path / "sets.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    assert [one.text for one in read_cases(file, "second").drafts] == ["second holds."]
    with pytest.raises(SourceMissing, match="third"):
        read_cases(file, "third")
