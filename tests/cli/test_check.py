"""`suffice check`: terminal, JSON and page, with parts that need no weights."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from suffice.cli import cli
from suffice.errors import AnswerError, SourceMissing, SufficeError, Unreadable
from tests.fakes import HashEmbedder
from tests.lab.eval.overlap import OverlapVerifier

EVIDENCE = [
    {"text": "Leave lasts 18 weeks. It is paid <b>in full</b> & early.", "title": "Leave <i>"},
    "The office in Berlin closes at six.",
]
ANSWER = (
    "Leave lasts 20 weeks [1]. The office in Berlin closes at six [2]. "
    "Penguins swim south in spring [2]. Latin is <script>alert()</script> odd [1]."
)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    monkeypatch.setattr("suffice.engine.open_verifier", lambda *_: OverlapVerifier())
    monkeypatch.setattr("suffice.engine.open_embedder", lambda *_: HashEmbedder())
    monkeypatch.setenv("COLUMNS", "100")
    answer, evidence = tmp_path / "answer.txt", tmp_path / "evidence.json"
    answer.write_text(ANSWER)
    evidence.write_text(json.dumps(EVIDENCE))
    return answer, evidence


def run(*args: object, stdin: str | None = None) -> Result:
    return CliRunner().invoke(cli, ["check", *map(str, args)], input=stdin, standalone_mode=False)


def found(*args: object, stdin: str | None = None) -> dict[str, Any]:
    done = run(*args, "--json", stdin=stdin)
    assert done.exception is None, done.exception
    value: dict[str, Any] = json.loads(done.stdout)
    return value


def test_json_has_the_promised_shape(files: tuple[Path, Path]) -> None:
    answer, evidence = files
    value = found("--answer", answer, "--evidence", evidence, "--question", "How long?")
    assert value["verdict"] == "WITHHOLD"
    assert value["reason"]
    assert (value["faithfulness"], value["fact_score"], value["share_read"]) != (None, None, None)
    assert [claim["support"] for claim in value["claims"]] == [
        "CONTRADICTED", "BACKED", "UNBACKED", "UNCHECKED",
    ]  # fmt: skip
    for claim in value["claims"]:
        start, end = claim["span"]
        assert claim["text"] == value["answer"][start:end]
        assert {finding["check"] for finding in claim["findings"]} >= {"literals", "entailment"}
    changed = next(f for f in value["claims"][0]["findings"] if f["check"] == "literals")
    assert (changed["code"], changed["kind"], changed["passage"]) == ("changed", "faithfulness", 1)
    start, end = changed["span"]
    assert value["passages"][0]["text"][start:end] == "18 weeks"


def test_exit_codes(files: tuple[Path, Path], tmp_path: Path) -> None:
    answer, evidence = files
    assert run("--answer", answer, "--evidence", evidence).return_value == 2
    answer.write_text("The office in Berlin closes at six [2].")
    assert run("--answer", answer, "--evidence", evidence).return_value == 0


def test_standard_input(files: tuple[Path, Path]) -> None:
    answer, evidence = files
    said = "The office in Berlin closes at six [2]."
    assert found("--answer", "-", "--evidence", evidence, stdin=said)["verdict"] == "SERVE"
    answer.write_text(said)
    piped = found("--answer", answer, "--evidence", "-", stdin=json.dumps(EVIDENCE))
    assert piped["verdict"] == "SERVE"
    text = found("--answer", answer, "--evidence", "-", "--uncited", stdin="\n".join(EVIDENCE[1:]))  # type: ignore[arg-type]
    assert text["verdict"] == "SERVE"
    done = run("--answer", "-", "--evidence", "-", stdin="x")
    assert isinstance(done.exception, AnswerError)


def test_uncited(files: tuple[Path, Path]) -> None:
    answer, evidence = files
    answer.write_text("The office in Berlin closes at six.")
    assert found("--answer", answer, "--evidence", evidence)["verdict"] == "WITHHOLD"
    assert found("--answer", answer, "--evidence", evidence, "--uncited")["verdict"] == "SERVE"


def test_the_terminal_shows_claim_reason_and_source(files: tuple[Path, Path]) -> None:
    done = run("--answer", files[0], "--evidence", files[1])
    for said in (
        "✗ contradicted", "✓ backed", "? not backed", "· not checked",
        "“20 weeks” is “18 weeks” in the source", "“Leave lasts 18 weeks.”", "[1] Leave <i>",
        "faithfulness 0.25", "WITHHOLD",
    ):  # fmt: skip
        assert said in done.output
    assert all(len(line) <= 100 for line in done.output.splitlines())


def test_the_terminal_is_not_driven_by_what_it_shows(files: tuple[Path, Path]) -> None:
    files[0].write_text("Leave \x1b[31mlasts [bold]18[/bold] weeks [1]. [/oops]")
    done = run("--answer", files[0], "--evidence", files[1])
    assert done.exception is None
    assert "\x1b[31m" not in done.output
    assert "[bold]18[/bold]" in done.output


class Page(HTMLParser):
    """The page as a browser parses it: tags with their attributes, and the text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_stands_alone_and_links_claims_to_evidence(
    files: tuple[Path, Path], tmp_path: Path
) -> None:
    out = tmp_path / "out.html"
    assert run("--answer", files[0], "--evidence", files[1], "--html", out).return_value == 2
    text = out.read_text(encoding="utf-8")
    page = Page(text)
    names = {tag for tag, _ in page.tags}
    assert not names & {"script", "link", "img", "iframe", "object", "b"}
    assert "Content-Security-Policy" in text
    assert not re.search(r"https?:|@import|url\(|\bon\w+=", text)
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    links = {str(attrs["href"]) for tag, attrs in page.tags if tag == "a"}
    assert len(ids) == len(set(ids))
    assert {link.removeprefix("#") for link in links} <= set(ids)
    assert {"#e1", "#e2"} <= links
    # All words are there, and as they were written.
    assert "Latin is alert() odd" in page.text
    assert "It is paid <b>in full</b> & early." in page.text
    assert '<mark class="contradicted"><a href="#a1" title="claim 1">18 weeks</a></mark>' in text
    assert "prefers-color-scheme:dark" in text


def test_words_that_decided_two_claims_are_marked_once_each(
    files: tuple[Path, Path], tmp_path: Path
) -> None:
    files[0].write_text("Leave lasts 20 weeks [1]. Leave lasts 18 weeks [1].")
    out = tmp_path / "out.html"
    run("--answer", files[0], "--evidence", files[1], "--html", out)
    page = Page(out.read_text(encoding="utf-8"))
    assert page.text.count("Leave lasts 18 weeks. It is paid <b>in full</b> & early.") == 1
    assert {"e1", "e2"} <= {attrs.get("id") for _, attrs in page.tags}


def test_wrong_input_is_an_error_with_a_remedy(files: tuple[Path, Path], tmp_path: Path) -> None:
    answer, evidence = files
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe\x00\x80")
    broken = tmp_path / "broken.json"
    broken.write_text('["a"')
    empty = tmp_path / "empty"
    empty.mkdir()
    cases: list[tuple[type[SufficeError], tuple[object, ...]]] = [
        (SourceMissing, ("--answer", tmp_path / "no", "--evidence", evidence)),
        (SourceMissing, ("--answer", empty, "--evidence", evidence)),
        (AnswerError, ("--answer", binary, "--evidence", evidence)),
        (SourceMissing, ("--answer", answer, "--evidence", tmp_path / "no")),
        (SourceMissing, ("--answer", answer, "--evidence", empty)),
        (Unreadable, ("--answer", answer, "--evidence", broken)),
        (SufficeError, ("--answer", answer, "--evidence", evidence, "--html", empty)),
    ]
    for kind, args in cases:
        done = run(*args)
        assert isinstance(done.exception, kind), (args, done.exception)
        assert done.exception.remedy


def test_an_empty_answer_is_judged(files: tuple[Path, Path], tmp_path: Path) -> None:
    files[0].write_text("")
    out = tmp_path / "out.html"
    value = found("--answer", files[0], "--evidence", files[1], "--html", out)
    assert (value["verdict"], value["claims"]) == ("WITHHOLD", [])
    assert value["reason"] == "The answer is empty."
    assert "<em>empty</em>" in out.read_text()
    assert run("--answer", files[0], "--evidence", files[1]).return_value == 2


def test_as_a_process_with_the_models_that_ship(tmp_path: Path) -> None:
    (tmp_path / "answer.txt").write_text("Leave lasts 20 weeks [1].")
    (tmp_path / "evidence.txt").write_text("Leave lasts 18 weeks.")
    code = "from suffice.cli import main; main()"
    args = ["check", "--answer", "answer.txt", "--evidence", "evidence.txt", "--json"]
    done = subprocess.run(
        [sys.executable, "-c", code, *args], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 2, done.stderr
    assert json.loads(done.stdout)["claims"][0]["support"] == "CONTRADICTED"
    args[2] = "none.txt"
    done = subprocess.run(
        [sys.executable, "-c", code, *args], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 1
    assert json.loads(done.stdout)["error"]["remedy"]
