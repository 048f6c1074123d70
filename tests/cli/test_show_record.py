"""`suffice show`: a recorded decision, also as Markdown that hostile text cannot break."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from suffice.cli import cli
from suffice.cli.show_record import block, span
from suffice.errors import StoreError
from tests.fakes import HashEmbedder
from tests.lab.eval.overlap import OverlapVerifier

HOSTILE = "Leave lasts 20 weeks [1]. Ping @everyone ![x](http://evil/x.png) <img src=x> ``` # Pwned"

HONEST = "Leave lasts 18 weeks [1]."


def run(*arguments: object) -> str:
    done = CliRunner().invoke(cli, [str(one) for one in arguments], standalone_mode=False)
    if done.exception is not None:
        raise done.exception
    return done.stdout


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """A store with a verdict on a hostile answer, and the text of one on an honest answer."""
    folder = tmp_path_factory.mktemp("show")
    store, answer, evidence = (folder / name for name in ("s.db", "a.txt", "e.json"))
    passage = {"text": "Leave lasts 18 weeks. `@all`", "title": "Leave | *rules*", "version": "2"}
    evidence.write_text(json.dumps([passage]))
    ids = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("suffice.engine.open_verifier", lambda *_: OverlapVerifier())
        patched.setattr("suffice.engine.open_embedder", lambda *_: HashEmbedder())
        for text, asked in ((HOSTILE, ["--question", "How long?"]), (HONEST, [])):
            answer.write_text(text)
            given = ("--answer", answer, "--evidence", evidence, "--store", store)
            done = run("check", *given, *asked, "--json")
            ids.append(json.loads(done)["record"])
    return store, ids[0], ids[1]


def outside_code(markdown: str) -> str:
    """What a Markdown reader would format."""
    text = re.sub(r"^(`{3,})text\n.*?^\1$", "", markdown, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)", "", text)


def test_a_ticket_says_what_was_decided_and_why(recorded: tuple[Path, str, str]) -> None:
    store, bad, good = recorded
    said = run("show", bad, "--md", "--store", store)
    assert said.startswith("## Suffice: WITHHOLD\n")
    assert "### Draft, not released" in said
    assert "- **CONTRADICTED** `Leave lasts 20 weeks [1].`" in said
    assert f"suffice audit replay {bad}" in said
    assert "version `2`" in said
    served = run("show", good, "--md", "--store", store)
    assert served.startswith("## Suffice: SERVE\n")
    assert "### Answer\n\n```text\nLeave lasts 18 weeks [1].\n```" in served
    assert "not released" not in served


def test_hostile_text_stays_in_code(recorded: tuple[Path, str, str]) -> None:
    store, bad, _ = recorded
    said = run("show", bad, "--md", "--store", store)
    assert "@everyone" in said
    left = outside_code(said)
    for part in ("@", "<img", "![", "# Pwned", "*rules*"):
        assert part not in left
    assert "### Claims" in left  # the check looks at something


@pytest.mark.parametrize(
    "text", ["`", "a`b", "``x``", "", "  ", "a\nb", "\x1b[31mred", "\u202eabc"]
)
def test_spans_and_blocks_hold_any_text(text: str) -> None:
    made = span(text)
    assert "\n" not in made
    assert outside_code(made).strip() == ""
    assert outside_code(block(text)).strip() == ""
    assert "\x1b" not in made + block(text)
    assert "\u202e" not in made + block(text)


def test_terminal_and_json(recorded: tuple[Path, str, str]) -> None:
    store, bad, _ = recorded
    assert "WITHHOLD" in run("show", bad, "--store", store)
    value = json.loads(run("show", bad, "--json", "--store", store))
    assert (value["record"], value["verdict"]) == (bad, "WITHHOLD")


def test_records_without_a_decision_are_refused(recorded: tuple[Path, str, str]) -> None:
    store, _, _ = recorded
    setup = json.loads(run("audit", "show", "--kind", "setup", "--store", store, "--json"))[0]
    with pytest.raises(StoreError, match="no decision"):
        run("show", setup["id"], "--store", store)
