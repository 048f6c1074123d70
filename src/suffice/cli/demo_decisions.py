"""Decisions for the demo: a week of questions to the sample handbook, some with careless drafts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from suffice.draft.brief import PLAIN, Brief
from suffice.draft.reading import read_draft
from suffice.evidence.library import Library
from suffice.log.moment import now
from suffice.models.catalog import open_verifier
from suffice.pipeline import Pipeline
from suffice.record.log import Log
from suffice.record.setup import Setup
from suffice.record.sink import Recorder
from suffice.review.case import Rating
from suffice.review.review import Review
from suffice.settings import Settings
from suffice.types import Draft, Evidence


@dataclass(frozen=True, slots=True)
class PastQuestion:
    """A question of the past week. `draft` is what a careless model wrote; without one, the answer
    is quoted from the documents. `days`: how long ago."""

    question: str
    days: float
    caller: str = "intranet"
    draft: str = ""
    rating: str = ""
    rescue: bool = True


WEEK = (
    PastQuestion("How many days per week may I work remotely?", 6.6),
    PastQuestion("How many days of paid holiday do I have per year?", 6.1, rating="up"),
    PastQuestion(
        "After how many minutes do screens lock?",
        5.7,
        "helpdesk-bot",
        "Screens lock after 15 minutes without activity [1].",
        rescue=False,
    ),
    PastQuestion("Which printer is on the second floor?", 5.2, "helpdesk-bot", rating="down"),
    PastQuestion("Above which amount do I need a receipt for a taxi on a business trip?", 4.4),
    PastQuestion(
        "How long is parental leave for the parent who gives birth?",
        3.9,
        "intranet",
        "The parent who gives birth is entitled to 20 weeks of leave on full pay [1]. The company "
        "also pays for a midwife of your choice [1].",
    ),
    PastQuestion("When is my salary paid?", 3.1, rating="up"),
    PastQuestion("Who won the world cup in 1998?", 2.7),
    PastQuestion(
        "How long are invoices kept?",
        2.5,
        "helpdesk-bot",
        "Invoices and accounting records are kept for 10 years [9].",
        rescue=False,
    ),
    PastQuestion(
        "From which day of sickness on do I need a doctor's certificate?",
        2.2,
        "helpdesk-bot",
        "A doctor's certificate is required from the first day of absence [1].",
        rescue=False,
    ),
    PastQuestion("How many quotations are needed for orders above 8,000 euros?", 1.6),
    PastQuestion(
        "How much may a hotel room in Paris cost?",
        1.3,
        "intranet",
        "In Paris, London, Zurich and Copenhagen the ceiling is 190 euros [2].",
        rescue=False,
    ),
    PastQuestion("How long are recorded support calls kept?", 1.1),
    PastQuestion("May I bring my dog to the office?", 0.6, rating="down"),
    PastQuestion("How many additional days of holiday may I buy?", 0.3),
)


def seed(library: Library, settings: Settings, told: Callable[[int, int], None]) -> None:
    """Answer the questions of the week and record them, each at its time; `told` gets how many of
    how many are done."""
    current = [now()]
    log = Log(library.store.database, settings.record, clock=lambda: current[0])
    verifier = open_verifier(settings.verifier)
    pipeline = Pipeline.of(library.search(), library.embedder, verifier=verifier)
    own = settings.collection("default")
    recorder = Recorder(log, Setup.of(settings, own, library.embedder.id, verifier.id).filing())
    try:
        for n, (asked, moment) in enumerate(_at_times(now())):
            told(n, len(WEEK))
            current[0] = moment
            verdict = _pipeline(pipeline, asked, recorder).answer(asked.question)
            if asked.rating:
                current[0] = moment + timedelta(minutes=2)
                Review(log).feedback(verdict.record, Rating(asked.rating), "", asked.caller)
    finally:
        log.close()
    told(len(WEEK), len(WEEK))


def _at_times(end: datetime) -> Iterator[tuple[PastQuestion, datetime]]:
    for asked in WEEK:
        yield asked, end - timedelta(days=asked.days)


def _pipeline(base: Pipeline, asked: PastQuestion, recorder: Recorder) -> Pipeline:
    own = replace(base, record=recorder.by(asked.caller))
    if not asked.draft:
        return own
    verdict = replace(base.verdict_settings, rescue=asked.rescue)
    return replace(
        own, drafter=_Careless(asked.draft), quotes=base.drafter, verdict_settings=verdict
    )


@dataclass(frozen=True, slots=True)
class _Careless:
    """A drafter that writes the same text, whatever the evidence says."""

    text: str

    def write(self, evidence: Evidence, brief: Brief = PLAIN) -> Draft:
        return read_draft(self.text, evidence.passages, drafter="careless model")
