"""Documents in, verdicts out, in one line."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

import suffice
from suffice.errors import SourceMissing
from suffice.lab.monitor.monitor import Monitor
from suffice.models.catalog import open_embedder, open_verifier
from suffice.settings import (
    EmbedderSettings,
    MonitorSettings,
    Settings,
    VerdictSettings,
    VerifierSettings,
)
from tests.lab.monitor.stream import answer, caught_up, certificate, write

DAYS = "You may work remotely 3 days per week."
QUESTION = "How many days per week may I work remotely?"


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "remote.md").write_text(f"# Remote work\n\n{DAYS}\n")
    (folder / "pay.md").write_text("---\naccess: hr\n---\n# Pay\n\nThe bonus is 900 euros.\n")
    return folder


def test_a_folder_answers_questions(docs: Path) -> None:
    with suffice.open(docs) as corpus:
        assert corpus.report.added == 2
        verdict = corpus.ask(QUESTION)
        assert verdict.action is suffice.Action.SERVE
        assert verdict.released == f"{DAYS} [1]"
        assert asyncio.run(corpus.aask(QUESTION)).released == verdict.released
        assert corpus.gate(QUESTION).open
        assert not corpus.gate("Who won the world cup in 1998?").open
        assert corpus.search(QUESTION).passages[0].document == "remote.md"
        place = Path(corpus.library.store.where)
    assert not place.exists()


def test_labels_and_settings_hold(docs: Path) -> None:
    question = "How high is the bonus?"
    withheld = Settings(verdict=VerdictSettings(routes=("else -> WITHHOLD",)))
    for labels, settings, served in (
        ((), Settings(), False),
        (("hr",), Settings(), True),
        (("hr",), withheld, False),
    ):
        with suffice.open(docs, labels=labels, settings=settings) as corpus:
            assert corpus.ask(question).served is served


def test_decisions_are_recorded_where_asked_for(docs: Path, tmp_path: Path) -> None:
    with suffice.open(docs, store=tmp_path / "s.db", record=True, caller="alice") as corpus:
        verdict = corpus.ask(QUESTION)
        assert corpus.log is not None
        assert corpus.log.entry(verdict.record).caller == "alice"
    with suffice.open(store=tmp_path / "s.db") as again:
        assert again.ask(QUESTION).released
        assert again.ask(QUESTION).record == ""


def test_a_search_decides_and_records_nothing(
    docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gate(*_: object) -> None:
        raise AssertionError("a search runs no gate")

    with suffice.open(docs, store=tmp_path / "s.db", record=True, caller="alice") as corpus:
        assert corpus.log is not None
        before = len(list(corpus.log.entries()))
        monkeypatch.setattr("suffice.gate.gate.Gate.apply", gate)
        assert corpus.search(QUESTION).passages[0].document == "remote.md"
        assert corpus.search("Who won the world cup in 1998?").question
        assert len(list(corpus.log.entries())) == before


def test_what_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(b"no pdf")
    with pytest.raises(SourceMissing, match="could be read"):
        suffice.open(tmp_path)


def test_one_call_gates_and_one_checks() -> None:
    assert suffice.gate(QUESTION, [DAYS]).open
    assert not suffice.gate(QUESTION, ["The canteen opens at noon."]).open
    assert suffice.check(f"{DAYS} [1]", [DAYS]).action is suffice.Action.SERVE
    for name in suffice.__all__:
        assert getattr(suffice, name) is not None


def test_a_suspension_in_the_store_applies(docs: Path, tmp_path: Path) -> None:
    """It is written by the monitor of another process, before or after the corpus is opened."""
    models = {
        "embedder": open_embedder(EmbedderSettings()).id,
        "verifier": open_verifier(VerifierSettings()).id,
    }
    reference = [0.9 + n / 4000 for n in range(300)]
    own = certificate(tmp_path / "t.json", reference, gate=0.5, confidence=0.3, models=models)
    settings, store = Settings(verdict=own), tmp_path / "s.db"

    def strict(corpus: suffice.Corpus) -> bool:
        rows = corpus.pipeline.verdict_settings.routes
        return not any("confidence >= 0.3" in row for row in rows)

    with suffice.open(docs, store=store, settings=settings, record=True) as corpus:
        first = corpus.ask(QUESTION)
        assert not strict(corpus)
        log = corpus.log
        assert log is not None
        write(log, [answer(confidence=0.5 + n / 400) for n in range(60)], own)
        assert caught_up(Monitor.of(log, settings)).suspended
        assert strict(corpus)
        held = corpus.ask(QUESTION)
        again = certificate(tmp_path / "t.json", [0.5], gate=0.5, confidence=0.4, models=models)
        assert again == own  # calibrated again: another certificate in the same file
        rows = corpus.pipeline.verdict_settings.routes
        assert any("confidence >= 0.4" in row for row in rows)
        certificate(tmp_path / "t.json", reference, gate=0.5, confidence=0.3, models=models)
        named = [
            log.entry(one.record).fields()["thresholds"]["certificate"] for one in (first, held)
        ]
    assert bool(named[0])
    assert not named[1]  # it does not hold
    with suffice.open(store=store, settings=settings) as later:
        assert strict(later)
    off = replace(settings, monitor=MonitorSettings(enabled=False))
    with suffice.open(store=store, settings=off) as unmonitored:
        assert not strict(unmonitored)
