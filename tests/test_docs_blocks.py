"""Every code block of the README and the docs runs, or is valid.

- python runs; the blocks of a page share their names, from top to bottom;
- sh: `suffice` commands run in one folder; `curl` reaches a running gateway. Commands that serve
  or need a server or a cluster are only parsed, and `pip install` must name extras that exist.
  A `curl` to `$URL` names a path of the API;
- yaml is read as a settings file, and json is parsed;
- text is output or a diagram, and is not tested.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import click
import httpx2
import pytest

from suffice import Library, Settings
from suffice.cli import cli, main
from suffice.server.openapi import document
from suffice.settings import RouteSettings, read_settings
from suffice.testing import ScriptedUpstream, says
from tests.server.gateway import routes, running
from tests.waiting import PATIENCE

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
SERVERS = {"serve", "mcp", "demo"}
ELSEWHERE = ("postgresql:", "s3:", "ray")
"""Commands with these words need a server or a cluster."""
ANSWER = "You may work remotely up to 3 days per week. [1]"
EVIDENCE = ["Employees may work remotely up to 3 days per week."]
CASE = {"question": "When is pay day?", "answerable": True, "answers_all": [["25th"]]}


def blocks(page: Path, *languages: str) -> list[str]:
    found = BLOCK.findall(page.read_text(encoding="utf-8"))
    return [code for _, language, code in found if language in languages]


def pages_with(*languages: str) -> list[object]:
    """Pages that hold blocks in these languages, as parameters of a test."""
    return [
        pytest.param(page, id=page.relative_to(ROOT).as_posix())
        for page in PAGES
        if blocks(page, *languages)
    ]


@pytest.fixture(scope="module")
def upstream() -> Iterator[ScriptedUpstream]:
    with ScriptedUpstream([says(ANSWER)]) as started:
        yield started


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the commands of the docs run: the handbook, a store with one decision, some cases."""
    folder = tmp_path_factory.mktemp("docs")
    (folder / "examples").symlink_to(ROOT / "examples")
    (folder / "src").symlink_to(ROOT / "src")
    (folder / "answer.txt").write_text(ANSWER, encoding="utf-8")
    (folder / "evidence.json").write_text(json.dumps(EVIDENCE), encoding="utf-8")
    row = {"id": 1, "question": "How often?", "evidence": EVIDENCE, "answer": ANSWER}
    (folder / "rows.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    (folder / "cases").mkdir()
    (folder / "cases" / "docs").mkdir()
    (folder / "cases" / "docs" / "pay.md").write_text("# Pay\n\nPay day is the 25th.\n")
    (folder / "cases" / "questions.jsonl").write_text(json.dumps(CASE) + "\n")
    (folder / "golden.jsonl").write_text(json.dumps(CASE) + "\n")
    labels = [
        {"correct": n > 30, "scores": {"gate": 0.9, "confidence": n / 200}} for n in range(200)
    ]
    (folder / "labels.jsonl").write_text("".join(json.dumps(row) + "\n" for row in labels))
    return folder


@pytest.fixture(scope="module")
def record(folder: Path) -> str:
    """The id of a recorded decision in the folder's store."""
    assert suffice(folder, "index", "src/suffice/handbook", "--quiet")[0] == 0
    asked = "How many days per week may I work remotely?"
    code, out = suffice(folder, "ask", asked, "--store", "suffice.db", "--json")
    assert code == 0
    return str(json.loads(out)["record"])


@pytest.fixture(scope="module")
def gateway(folder: Path, record: str) -> Iterator[str]:
    library = Library.open(folder / "suffice.db")
    with (
        contextlib.closing(library.store),
        running(library, routes(RouteSettings(upstream="extractive"))) as started,
    ):
        yield started.url


def suffice(folder: Path, *args: str) -> tuple[int, str]:
    """Run the command line in a folder, in this process: its exit code and its output."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    variables = {"XDG_CACHE_HOME": str(folder / "cache"), "COLUMNS": "100"}
    code: object = 0
    with (
        mock.patch.dict(os.environ, variables),
        mock.patch.multiple(sys, argv=["suffice", *args], stdout=out, stderr=out),
        contextlib.chdir(folder),
    ):
        try:
            main()
        except SystemExit as left:
            code = left.code or 0
    out.flush()
    return int(str(code)), out.detach().getvalue().decode()


@pytest.mark.parametrize("page", pages_with("python"))
def test_python_runs_and_prints_what_it_says(
    page: Path, folder: Path, gateway: str, capsys: pytest.CaptureFixture[str]
) -> None:
    names: dict[str, object] = {}
    for block in blocks(page, "python"):
        code = block.replace("http://127.0.0.1:8080", gateway)
        with contextlib.chdir(folder):
            exec(compile(code, page.name, "exec"), names)
        printed = capsys.readouterr().out
        for said in re.findall(r"print\(.*\)  # ([A-Z]{5,}|True|False)$", code, re.MULTILINE):
            assert said in printed, f"{page.name} says {said}, but it prints: {printed}"


@pytest.mark.parametrize("page", pages_with("sh", "bash"))
def test_commands_run(
    page: Path, folder: Path, record: str, gateway: str, upstream: ScriptedUpstream
) -> None:
    known = {"DIR": "src/suffice/handbook", "FOLDER": "cases", "URL": upstream.url, "ID": record}
    for block in blocks(page, "sh", "bash"):
        for line in block.replace("\\\n", " ").splitlines():
            for command in re.split(r" && ", line):
                words = [known.get(word, word) for word in shlex.split(command, comments=True)]
                if words:
                    TESTED[words[0].rpartition("/")[2]](words[1:], folder, gateway)


def _suffice(words: list[str], folder: Path, _: str) -> None:
    if words[0] in SERVERS or any(elsewhere in word for word in words for elsewhere in ELSEWHERE):
        _parse(words)
        return
    if words[:2] == ["accounts", "add"]:  # asks for a password
        _parse(words)
        return
    if words[:2] == ["review", "export"]:  # refused here: the store's answers were not sampled
        _parse(words)
        return
    if words[0] == "check":
        files = iter(["answer.txt", "evidence.json"])
        words = [next(files) if word == "FILE" else word for word in words]
    code, out = suffice(folder, *words)
    assert code in (0, 2), f"suffice {shlex.join(words)}: {out}"


def _parse(words: list[str]) -> None:
    command: click.Command = cli
    context = click.Context(cli, info_name="suffice", **cli.context_settings)
    while isinstance(command, click.Group):
        found = command.get_command(context, words[0])
        assert found is not None, words
        command, words = found, words[1:]
    with contextlib.chdir(ROOT):
        command.make_context(command.name, list(words), parent=context)


def _curl(words: list[str], _: Path, gateway: str) -> None:
    given = next(word for word in words if word.startswith(("http", "$URL")))
    if given.startswith("$URL"):  # with the reader's own key and files: the path must exist
        path = given.removeprefix("$URL").partition("?")[0]
        known = (re.sub(r"\{\w+(:path)?\}", ".+", known) for known in document()["paths"])
        assert any(re.fullmatch(known_path, path) for known_path in known), path
        return
    url = given.replace("http://127.0.0.1:8080", gateway)
    body = words[words.index("-d") + 1] if "-d" in words else None
    headers = {"content-type": "application/json"}
    method = "POST" if body else "GET"
    answer = httpx2.request(method, url, content=body, headers=headers, timeout=PATIENCE)
    assert answer.status_code == 200, answer.text


def _pip(words: list[str], _: Path, __: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert words[0] == "install"
    for word in words[1:]:
        named = re.fullmatch(r"(?:\.|suffice)(?:\[(\w+)\])?", word)
        if named is None:
            assert word == "-q" or (ROOT / word / "pyproject.toml").is_file(), word
        elif named[1]:
            assert named[1] in project["optional-dependencies"], f"no extra {named[1]}"


def _script(name: str) -> Callable[[list[str], Path, str], None]:
    def exists(words: list[str], folder: Path, gateway: str) -> None:
        assert (ROOT / name).is_file()

    return exists


def _python(words: list[str], _: Path, __: str) -> None:
    assert words[0] == "-m" or (ROOT / words[0]).is_file(), words


TESTED: dict[str, Callable[[list[str], Path, str], None]] = {
    "suffice": _suffice,
    "curl": _curl,
    "pip": _pip,
    "python": _python,
    "python3": _python,
    "test": _script("scripts/test"),
    ".": lambda words, folder, gateway: None,  # activates a virtual environment
}


@pytest.mark.parametrize("page", pages_with("yaml"))
def test_yaml_is_a_valid_settings_file(page: Path, tmp_path: Path) -> None:
    for number, block in enumerate(blocks(page, "yaml")):
        file = tmp_path / f"{number}.yaml"
        file.write_text(block, encoding="utf-8")
        assert read_settings(file, {}) != Settings()


@pytest.mark.parametrize("page", pages_with("json"))
def test_json_is_valid(page: Path) -> None:
    for block in blocks(page, "json"):
        json.loads(block)


def test_every_block_names_a_tested_language() -> None:
    for page in PAGES:
        for _, language, code in BLOCK.findall(page.read_text(encoding="utf-8")):
            assert language in {"python", "sh", "bash", "yaml", "json", "text"}, (page, code)
