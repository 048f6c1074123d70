"""A question is understood without the name of what the documents are about (`subject`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from suffice import Library, Pipeline
from suffice.engine import Engine
from suffice.gate.policies.learned import Learned
from suffice.log.decision import Filing, decision_of
from suffice.log.log import Log, Recorder
from suffice.log.replay import replay
from suffice.log.setup import Setup
from suffice.models.catalog import open_verifier
from suffice.models.verifier import mean_odds
from suffice.settings import CollectionSettings, Settings, VerifierSettings, read_settings
from suffice.text.question import unnamed
from suffice.types import Evidence, GateDecision, Passage, Retrieved

TEXT = "Frigate runs on Debian 12. Other systems are not supported."
QUESTION = "Which Debian versions are supported?"


@dataclass
class Shelf:
    """A retriever that remembers what it was asked."""

    asked: list[str] = field(default_factory=list)

    def __call__(self, question: str) -> Sequence[str]:
        self.asked.append(question)
        return [TEXT]


def pipeline(library: Library, shelf: Shelf, subject: str = "Frigate") -> Pipeline:
    return Engine(embedder=library.embedder).pipeline(
        settings=CollectionSettings(subject=subject), retriever=shelf
    )


def decided(library: Library, shelf: Shelf, question: str, subject: str = "") -> GateDecision:
    return pipeline(library, shelf, subject).retrieve_and_gate(question).decision


def test_search_and_gate_read_the_question_with_the_subject(library: Library) -> None:
    shelf = Shelf()
    with_it = decided(library, shelf, QUESTION, "Frigate")
    plain = decided(library, shelf, QUESTION)
    assert shelf.asked == [f"Frigate: {QUESTION}", QUESTION]
    assert with_it.score != pytest.approx(plain.score)


def test_the_gate_reads_the_question_with_and_without_the_subject() -> None:
    policy = Learned(open_verifier(VerifierSettings()))
    found = Evidence(QUESTION, (Retrieved(Passage("p", TEXT, "os.md"), 0.5),))
    plain = policy.decide(found).score
    named = policy.decide(replace(found, question=f"Frigate: {QUESTION}")).score
    assert abs(plain - named) > 0.01
    both = policy.decide(replace(found, subject="Frigate")).score
    assert both == pytest.approx(mean_odds([plain, named]))


def test_people_see_the_question_as_it_was_asked(library: Library) -> None:
    verdict = pipeline(library, Shelf()).answer("Which moons does it have?")
    assert verdict.question == "Which moons does it have?"
    assert "Frigate" not in " ".join(verdict.missing)


@pytest.mark.parametrize(
    ("question", "added"),
    [(QUESTION, "Frigate"), ("Does FRIGATE run?", ""), ("What is a Frigates?", "Frigate")],
)
def test_a_question_that_names_the_subject_is_left_alone(question: str, added: str) -> None:
    assert unnamed("Frigate", question) == added
    assert unnamed("", question) == ""


def test_each_of_several_questions_is_read_with_the_subject(library: Library) -> None:
    shelf = Shelf()
    asked = "Which Debian versions are supported, and how large is the moon?"
    decision = decided(library, shelf, asked, "Frigate")
    assert len(shelf.asked) > 1
    assert all(one.startswith("Frigate: ") for one in shelf.asked)
    assert not any("“Frigate:" in reason for reason in decision.reasons)


def test_a_record_has_the_subject_and_is_replayed_with_it(library: Library, tmp_path: Path) -> None:
    log = Log.open(tmp_path / "s.db", create=True)
    settings = CollectionSettings(subject="Frigate")
    models = {
        "embedder": library.embedder.id,
        "verifier": open_verifier(VerifierSettings()).id,
    }
    setup = Setup(settings, models=models)
    recorder = Recorder(log, Filing("alice", setup=setup.record()))
    verdict = replace(pipeline(library, Shelf()), record=recorder).answer(QUESTION)
    entry = log.entry(verdict.record)
    assert decision_of(entry).evidence.subject == "Frigate"
    other = Setup(CollectionSettings(), models=models).record()
    assert setup.record().id != other.id  # it is part of the key of the verdict cache
    assert replay(entry, log.entry(entry.fields()["setup"])).same
    log.close()
    log.database.close()


def test_a_collection_has_a_subject_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "suffice.yaml"
    file.write_text(
        "subject: Acme\ncollections: {nvr: {subject: Frigate}}\n"
        "server: {routes: {help: {subject: Traefik}}}\n"
    )
    settings = read_settings(file, {})
    assert settings.collection("nvr").subject == "Frigate"
    assert settings.collection("other").subject == "Acme"
    own = settings.server.routes["help"].own
    assert own is not None
    assert own.subject == "Traefik"
    assert Settings().subject == ""
