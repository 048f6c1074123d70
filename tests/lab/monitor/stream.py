"""A log with a stream of decisions, and a clock that the test moves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from suffice.lab.calibrate.certificate import Certificate
from suffice.lab.monitor.monitor import Monitor
from suffice.lab.monitor.state import State, stored
from suffice.log.chain import Clock
from suffice.log.decision import Filing, of_verdict
from suffice.log.follower import Cursor, write_cursor
from suffice.log.log import Log
from suffice.settings import CollectionSettings, RecordSettings, VerdictSettings
from suffice.sql.database import Database
from suffice.types import (
    Action,
    Claim,
    Code,
    Draft,
    Evidence,
    Finding,
    GateDecision,
    Level,
    Passage,
    Retrieved,
    Support,
    Verdict,
)
from suffice.verdict.thresholds import policy_of

START = datetime(2026, 1, 5, 12, tzinfo=UTC)
PASSAGE = Passage("leave@1#0-30", "Parental leave lasts 18 weeks.", "leave.md", "1", "Leave")
CLAIM = Claim("Leave lasts 18 weeks [1].", 0, 25, (1,))
SHUT = GateDecision(Level.INSUFFICIENT, 0.1, "learned", missing=("leave",))


class MovingClock:
    def __init__(self, start: datetime = START) -> None:
        self.now = start

    def __call__(self) -> datetime:
        return self.now

    def later(self, **span: float) -> None:
        self.now += timedelta(**span)


def caught_up(monitor: Monitor) -> State:
    """The state after all records of the log were read."""
    monitor.catch_up()
    monitor.sample()
    return monitor.state


def write_state(log: Log, state: State) -> None:
    """Store this state of the monitor."""
    with log.database.writing() as connection:
        write_cursor(connection, "monitor", Cursor(state.sequence, stored(state)))


def evidence(question: str, similarity: float = 0.7) -> Evidence:
    return Evidence(question, (Retrieved(PASSAGE, similarity, 1.0, similarity),))


def answer(
    question: str = "How long is leave?",
    *,
    action: Action = Action.SERVE,
    faithfulness: float | None = 1.0,
    confidence: float | None = 0.9,
    similarity: float = 0.7,
    fabricated: bool = False,
) -> Verdict:
    draft = Draft(CLAIM.text, (CLAIM,), drafter="m")
    gone = Finding(CLAIM, "citations", Support.UNBACKED, code=Code.FABRICATED)
    return Verdict(
        question,
        action,
        "",
        GateDecision(Level.SUFFICIENT, 0.9, "learned"),
        evidence(question, similarity),
        draft,
        CLAIM.text if action is Action.SERVE else "",
        (gone,) if fabricated else (),
        faithfulness=faithfulness,
        fact_score=faithfulness,
        confidence=confidence,
    )


def refusal(question: str = "Who is king?", similarity: float = 0.7) -> Verdict:
    found = evidence(question, similarity)
    return Verdict(question, Action.WITHHOLD, "", SHUT, found, missing=SHUT.missing)


def open_log(place: str | Path, clock: Clock, settings: RecordSettings | None = None) -> Log:
    database = Database.open(place, create=True)
    return Log(database, replace(settings or RecordSettings(), review_borderline=0.0), clock)


def write(log: Log, verdicts: Iterable[Verdict], under: VerdictSettings | None = None) -> None:
    """Record many verdicts in one transaction, `under` the certificate of these settings."""
    path = under.thresholds_file if under else ""
    filing = Filing(certificate=Certificate.read(Path(path)).id if path else "")
    log.append(*(record for one in verdicts for record in of_verdict(one, None, filing)))


def certificate(
    path: Path,
    reference: list[float],
    *,
    gate: float = 0.6,
    confidence: float = 0.8,
    models: Mapping[str, str] | None = None,
) -> VerdictSettings:
    """Settings with a certificate in a file, made for these models and the default policy."""
    Certificate(
        alpha=0.05,
        delta=0.05,
        thresholds={"gate": gate, "confidence": confidence},
        models=models or {},
        policy=policy_of(CollectionSettings()),
        reference=tuple(reference),
    ).write(path)
    return VerdictSettings(thresholds_file=str(path))
