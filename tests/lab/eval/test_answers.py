"""The answers bench with a verifier that counts words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from suffice.answers import open_checker
from suffice.checker import Checker
from suffice.cli import cli
from suffice.errors import Unreadable
from suffice.lab.eval.answers import bench_answers, chosen
from suffice.lab.eval.worker import MemoizedVerifier
from suffice.models.verifier import Pair
from tests.fakes import HashEmbedder
from tests.lab.eval.overlap import OverlapVerifier, silent, write

EVIDENCE = "Parental leave lasts twenty weeks. The office in Berlin closes at six."
GOOD = "Parental leave lasts twenty weeks."
BAD = "Nobody mentioned penguins anywhere here."


def row(claim: str, label: str = "entail", **fields: object) -> dict[str, object]:
    own = {"set": "ragtruth", "task": "qa", "evidence": EVIDENCE, "claim": claim, "label": label}
    return {**own, **fields}


ROWS = [
    row(GOOD),
    row("The office in Berlin closes at six.", task="summary"),
    row("The office in Madrid opens at nine for penguins.", task="summary"),
    row(f"{GOOD} {BAD}", "not_entail", spans=[[len(GOOD) + 1, len(GOOD) + 1 + len(BAD), "new"]]),
    row("Parental leave lasts in Berlin.", "not_entail", task="summary", spans=[[0, 8, "x"]]),
    row(BAD, "not_entail", task="data2txt", spans=[[0, 40, "x"]]),
]


def measured(tmp_path: Path, rows: list[dict[str, object]], **options: Any) -> dict[str, Any]:
    data = write(tmp_path / "rows.jsonl", rows)

    def opened(verifier: Any) -> Checker:
        return open_checker(verifier=verifier, embedder=HashEmbedder(), uncited=True)

    return bench_answers(data, OverlapVerifier(), opened, None, silent, **options)


def test_figures_per_set_and_task(tmp_path: Path) -> None:
    figures = measured(tmp_path, ROWS)
    assert (figures["tier"], figures["model"], figures["uncited"]) == ("fast", "overlap-1", True)
    tasks = figures["sets"]["ragtruth"]["tasks"]
    assert list(tasks) == ["qa", "summary"]
    qa, summary = tasks["qa"], tasks["summary"]
    assert (qa["n"], qa["f1"], qa["precision"], qa["recall"]) == (2, 1.0, 1.0, 1.0)
    assert (qa["span_f1"], qa["false_withhold"], qa["verifier_f1"]) == (1.0, 0.0, 0.0)
    assert (summary["f1"], summary["recall"], summary["precision"]) == (0.0, 0.0, 0.0)
    assert (summary["false_withhold"], summary["span_f1"]) == (0.5, 0.0)
    assert figures["pooled"]["n"] == 5
    assert figures["pooled"]["actions"] == {"SERVE": 3, "WITHHOLD": 2}
    assert figures["run"]["data"].keys() == {"rows.jsonl"}


def test_who_spoke_against_what(tmp_path: Path) -> None:
    against = measured(tmp_path, ROWS)["pooled"]["against"]
    one = {"claims": 1, "answers": 1}
    assert against["supported"] == {"entailment unbacked": one, "literals changed": one}
    assert against["not supported"]["entailment unbacked"] == {"claims": 1, "answers": 1}


def test_spans_are_those_of_the_text_as_given(tmp_path: Path) -> None:
    said = f"\n\n  {GOOD} {BAD}\n"
    start = said.index(BAD)
    figures = measured(tmp_path, [row(said, "partial", spans=[[start, start + len(BAD)]])])
    assert figures["pooled"]["span_f1"] == 1.0


def test_without_spans_there_is_no_span_f1(tmp_path: Path) -> None:
    figures = measured(tmp_path, [row(GOOD), row(BAD, "neutral")])
    assert figures["pooled"]["span_f1"] is None
    assert figures["pooled"]["f1"] == 1.0


def test_which_rows(tmp_path: Path) -> None:
    assert len(chosen(ROWS, ("data2txt",))) == 1
    assert len(chosen(ROWS, ())) == 6
    plain = [{**one, "task": None} for one in ROWS]
    assert len(chosen(plain, ("qa",))) == 6


@pytest.mark.parametrize("spans", [3, [3], [["a", "b"]], [[1]]])
def test_wrong_spans_are_named_by_their_line(tmp_path: Path, spans: object) -> None:
    with pytest.raises(Unreadable, match=r"line 2: 'spans'"):
        measured(tmp_path, [row(GOOD), row(GOOD, spans=spans)])


def test_a_pair_is_judged_once() -> None:
    verifier = OverlapVerifier()
    once = MemoizedVerifier(verifier)
    pair, other = Pair("a", ("a",)), Pair("b", ("a",))
    assert [s.supported for s in once.support([pair, other, pair])] == [1.0, 0.0, 1.0]
    assert once.support([other]) == once.support([other])
    assert [len(call) for call in verifier.calls] == [2]


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("suffice.models.catalog.open_verifier", lambda *_: OverlapVerifier())
    monkeypatch.setattr("suffice.answers.open_embedder", lambda *_: HashEmbedder())
    monkeypatch.setattr("suffice.answers._embedder", lambda *_: HashEmbedder())
    monkeypatch.setenv("COLUMNS", "100")
    data = str(write(tmp_path / "rows.jsonl", ROWS))
    done = CliRunner().invoke(cli, ["bench", "answers", data, "--uncited", "--quiet"])
    assert done.exception is None, done.exception
    for said in ("  qa", "  summary", "pooled", "entailment unbacked", "against all passages"):
        assert said in done.output
    assert all(len(line) <= 100 for line in done.output.splitlines())
    args = ["bench", "answers", data, "--uncited", "--json", "--task", "all", "--limit", "100"]
    figures = json.loads(CliRunner().invoke(cli, args).stdout)
    assert figures["sets"]["ragtruth"]["n"] == 6
    assert figures["limit"] == 100
