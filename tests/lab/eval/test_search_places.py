"""The places of passages that hold quotes: found, cut in two, standing twice, written otherwise."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from suffice.cli import cli
from suffice.lab.eval.cases import Question, read_cases
from suffice.lab.eval.retrieval import Passages, bench_places
from suffice.settings import Settings
from suffice.types import Passage

CUT = (
    Passage("a#1", "Leave is paid. You may carry over", "leave.md", start=0),
    Passage("a#2", "five days until the end of March.", "leave.md", start=40),
    Passage("b#1", "Leave is paid. Ask your manager **first**!", "managers.md"),
)


def needed(*quotes: str, sources: tuple[str, ...] = ()) -> list[list[frozenset[str]]]:
    case = Question("How many days?", True, (("five days",),), quotes=quotes, sources=sources)
    return Passages(CUT).needed(case)


def test_a_quote_that_is_cut_needs_all_its_passages() -> None:
    assert needed("carry over five days") == [[frozenset({"a#1", "a#2"})]]


def test_a_quote_may_stand_in_several_places() -> None:
    both = [[frozenset({"a#1"}), frozenset({"b#1"})]]
    assert needed("Leave is paid.") == both
    assert needed("Leave is paid.", sources=("managers.md",)) == [[frozenset({"b#1"})]]


def test_a_quote_in_other_words_is_where_most_of_it_stands() -> None:
    assert needed("Ask your own manager first") == [[frozenset({"b#1"})]]
    assert needed("Nothing of the kind is written anywhere") == []


def test_without_quotes_the_expected_answer_counts() -> None:
    assert needed() == [[frozenset({"a#2"})]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    docs = tmp_path / "set" / "docs"
    docs.mkdir(parents=True)
    docs.joinpath("leave.md").write_text("# Leave\n\nParental leave lasts twenty weeks.\n")
    docs.joinpath("cats.md").write_text("# Cats\n\nCats sleep on the warm roof.\n")
    rows = [
        {
            "question": "How long is parental leave?",
            "quote": "lasts twenty weeks",
            "type": "number",
        },
        {"question": "Where do cats sleep?", "quote": "warm roof\n||\ntwenty weeks"},
        {"question": "Who pays?", "quote": "The company pays for all of it, always."},
    ]
    with docs.parent.joinpath("questions.jsonl").open("w") as file:
        for row in rows:
            file.write(json.dumps({"answerable": True, "answers_all": [["x"]], **row}) + "\n")
    return docs.parent


def test_places(folder: Path) -> None:
    figures = bench_places(folder, Settings(), lambda *_: None)
    assert (figures["questions"], figures["passages"]) == (2, 2)
    assert figures["recall"] == {"1": 0.5, "3": 1.0, "5": 1.0, "10": 1.0, "20": 1.0, "50": 1.0}
    assert figures["mean_place"] == 1.5
    assert figures["kinds"]["number"]["ndcg@10"] == 1.0
    assert (figures["misses"], figures["unplaced"]) == ([], ["Who pays?"])
    assert read_cases(folder).questions[1].quotes == ("warm roof", "twenty weeks")


def test_command_line(folder: Path) -> None:
    shown = CliRunner().invoke(cli, ["bench", "retrieval", str(folder), "--quiet"])
    assert shown.exit_code == 0
    assert "are all among the first" in shown.output
    assert "Who pays?" in shown.output
    alone = CliRunner().invoke(cli, ["bench", "retrieval", str(folder / "questions.jsonl")])
    assert "in pairs" in alone.output
