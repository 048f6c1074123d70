"""A log as a busy gateway leaves it: many decisions over many days, for the pages of the site.

The records go through the recorder and the chain, so the log verifies. Only the clock is set."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from benchmarks.record_sample import VERDICT
from suffice.log.decision import Filing, about, of_gate, of_verdict
from suffice.log.record import Record, new_id
from suffice.log.setup import Setup
from suffice.log.trace import Trace, added_up
from suffice.log.writer import Prepare, Prepared, seal
from suffice.settings import RecordSettings
from suffice.sql.database import Database
from suffice.types import Action, Citation, Code, Evidence, Level, Passage, Retrieved, Verdict

_QUESTIONS = (
    "How long is parental leave?",
    "May I work from abroad for a week?",
    "Who approves travel above 500 euros?",
    "What is the notice period during probation?",
    "How do I report a lost laptop?",
    "When is the expense report due?",
    "Can I carry over holidays into the next year?",
    "What does the company pay for home office equipment?",
)
_UNKNOWN = (
    "Is there a budget for language courses?",
    "Do we pay for language courses?",
    "Who won the world cup in 1998?",
    "Is there a car park at the Lisbon office?",
    "May I bring my dog to the office?",
)
_DISTINCT = 1_000
_CALLERS = ("website", "intranet", "slack-bot", "ada")
_ACTIONS = (
    *((Action.SERVE,) * 64),
    *((Action.CAVEAT,) * 14),
    *((Action.CONFLICT,) * 4),
    *((Action.WITHHOLD,) * 12),
    *((Action.REVIEW,) * 6),
)


def fill(
    database: Database,
    count: int,
    until: datetime,
    days: int = 60,
    passages: Sequence[Passage] = (),
    group: int = 500,
    seed: int = 0,
) -> None:
    """Write `count` decisions over the days before a moment. `passages` are those of real
    documents, if there are any. Records of one group have the same time."""
    chance = random.Random(seed)
    known = tuple(passages) or VERDICT.evidence.passages
    filing = [Filing(name, "", Setup().record()) for name in _CALLERS]
    prepare = Prepare.of(RecordSettings())
    groups = max(count // group, 1)
    made: list[list[Prepared]] = []
    for n in range(groups):
        age = timedelta(days=days) * (1 - n / groups)
        size = count // groups if n < groups - 1 else count - (groups - 1) * (count // groups)
        if len(made) < _DISTINCT:  # the content is repeated after that: writing it takes long
            found = [_records(chance, known, chance.choice(filing), -age.days) for _ in range(size)]
            made += [[prepare(record) for record in records] for records in found]
            chosen = made[-size:]
        else:
            chosen = chance.choices(made, k=size)
        setup = filing[0].setup
        first = [prepare(setup)] if setup else []
        with database.writing() as connection:
            again = [one for records in chosen for one in _anew(records)]
            seal(connection, [*first, *again], until - age)


def _anew(records: Sequence[Prepared]) -> Iterator[Prepared]:
    """The records of a decision under new ids."""
    old, new = records[0].id, new_id()
    for one in records:
        yield replace(one, id=new + one.id.removeprefix(old))


def _records(
    chance: random.Random, known: Sequence[Passage], filing: Filing, age: int
) -> list[Record]:
    verdict = _verdict(chance, known, chance.choice(_ACTIONS))
    trace = Trace(verdict.evidence, timings=_timings(chance, age))
    if chance.random() < 0.05:
        return of_gate(verdict.evidence, verdict.gate, trace, filing)
    made = of_verdict(verdict, trace, filing)
    if chance.random() < 0.02:
        rating = {"rating": chance.choice(["up", "down"]), "comment": ""}
        made.append(about(made[0], "feedback", rating))
    return made


def _verdict(chance: random.Random, known: Sequence[Passage], action: Action) -> Verdict:
    gap = action is Action.WITHHOLD and chance.random() < 0.6
    question = chance.choice(_UNKNOWN if gap else _QUESTIONS)
    # Some documents are popular, most are not.
    places = {min(int(chance.expovariate(4 / len(known))), len(known) - 1) for _ in range(5)}
    near = chance.uniform(0.05, 0.35) if gap else chance.uniform(0.5, 0.9)
    items = tuple(
        Retrieved(known[place], max(near - n / 20, 0.0), 12.0 - n, near)
        for n, place in enumerate(sorted(places))
    )
    evidence = Evidence(question, items)
    faithful = 1.0 if action is Action.SERVE else chance.choice((0.5, 0.75, 0.9))
    own = replace(
        VERDICT,
        question=question,
        action=action,
        evidence=evidence,
        confidence=chance.uniform(0.86, 0.99) if faithful == 1 else chance.uniform(0.3, 0.85),
        faithfulness=faithful,
        fact_score=max(faithful - chance.choice((0, 0, 0.1)), 0.0),
        reason="Every statement is quoted from the document it cites.",
        citations=tuple(
            Citation(n, item.passage, item.passage.text[:60]) for n, item in enumerate(items[:2], 1)
        ),
    )
    if action in (Action.SERVE, Action.CAVEAT, Action.CONFLICT):
        return own
    if gap:
        gate = replace(VERDICT.gate, level=Level.INSUFFICIENT, score=near, missing=(question,))
        return replace(
            own, gate=gate, draft=None, released="", findings=(), citations=(), attempts=(),
            faithfulness=None, fact_score=None, grade=None, missing=(question,), confidence=None,
            reason="The documents do not answer the question.",
        )  # fmt: skip
    findings = own.findings
    if chance.random() < 0.1:
        findings = (replace(findings[0], code=Code.FABRICATED), *findings[1:])
    return replace(
        own, released="", findings=findings, citations=(), reason="A claim is not backed."
    )


def _timings(chance: random.Random, age: int) -> tuple[tuple[str, float], ...]:
    slow = 1.0 + max(age + 14, 0) / 40
    stages = {
        "search": chance.uniform(0.003, 0.009),
        "gate": chance.uniform(0.02, 0.05) * slow,
        "draft": chance.lognormvariate(-1.6, 0.5),
        "check": chance.uniform(0.05, 0.2) * slow,
    }
    return tuple(added_up(stages, sum(stages.values()) + chance.uniform(0.001, 0.01)).items())
