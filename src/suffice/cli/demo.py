"""`suffice demo`: the gateway, the review site and a sample handbook, in one command."""

from __future__ import annotations

import sys
import threading
import webbrowser
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from suffice.cli.progress import bars
from suffice.draft.reading import PLAIN, Brief, read_draft
from suffice.engine import Caller, Engine
from suffice.errors import ExtraMissing, SettingsError
from suffice.evidence.library import Library
from suffice.log.chain import now
from suffice.log.log import Log
from suffice.pipeline import Pipeline
from suffice.review.case import Rating
from suffice.review.review import Review
from suffice.settings import RouteSettings, ServerSettings, Settings, SiteSettings
from suffice.types import Draft, Evidence

HOST = "127.0.0.1"


@click.command()
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=8090,
    show_default=True,
    help="Port on this machine. If it is in use, another one is chosen.",
)
@click.option("--no-browser", is_flag=True, help="Print the address only.")
@click.option("--empty", is_flag=True, help="Leave out the sample decisions.")
def demo(port: int, no_browser: bool, empty: bool) -> int:
    """Try Suffice in the browser: gateway, review site and a sample handbook.

    Needs no key, no model and no settings, and accepts connections of this machine only. The store
    is temporary: it is deleted when the command ends (Ctrl+C).
    """
    try:
        pass
        from suffice.server.gateway import Gateway
        from suffice.server.run import Listening, bound, serve
    except ImportError as problem:
        raise ExtraMissing("The demo", "server") from problem
    try:
        listening = Listening(bound(HOST, port))
    except SettingsError:
        listening = Listening(bound(HOST, 0))
    settings = demo_settings()
    with TemporaryDirectory(prefix="suffice-demo-", ignore_cleanup_errors=True) as folder:
        library = Library.open(Path(folder) / "demo.db", settings, create=True)
        with bars(quiet=False) as progress:
            library.add(handbook(), progress=progress)
            if not empty:
                seed(library, settings, lambda done, total: progress("decisions", done, total))

        def started(gateway: Gateway) -> None:
            url = f"{listening.url}/ui/try"
            print(
                f"The demo runs at {url}\n"
                f"Its API is at {listening.url}/v1 and needs no key. Stop it with Ctrl+C.",
                file=sys.stderr,
                flush=True,
            )
            if not no_browser:  # in a thread: some browsers block until they are closed
                threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()

        serve(settings, library, listening.socket, started)
    return 0


def demo_settings() -> Settings:
    """The defaults, whatever settings file lies here: the demo must not touch a real store."""
    route = RouteSettings(upstream="extractive")
    site = SiteSettings(guide=True, local_role="admin")  # its store is temporary
    server = replace(ServerSettings(), host=HOST, routes={"default": route}, site=site)
    return Settings(server=server)


def handbook() -> Path:
    """The sample handbook, which the package brings."""
    return Path(str(resources.files("suffice"))) / "handbook"


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
    engine = Engine(settings, library, log)
    try:
        for n, (asked, moment) in enumerate(_at_times(now())):
            told(n, len(WEEK))
            current[0] = moment
            verdict = _pipeline(engine, asked).answer(asked.question)
            if asked.rating:
                current[0] = moment + timedelta(minutes=2)
                Review(log).feedback(verdict.record, Rating(asked.rating), "", asked.caller)
    finally:
        log.close()
    told(len(WEEK), len(WEEK))


def _at_times(end: datetime) -> Iterator[tuple[PastQuestion, datetime]]:
    for asked in WEEK:
        yield asked, end - timedelta(days=asked.days)


def _pipeline(engine: Engine, asked: PastQuestion) -> Pipeline:
    pipeline = engine.pipeline(Caller(name=asked.caller))
    if not asked.draft:
        return pipeline
    return replace(
        pipeline,
        drafter=_Careless(asked.draft),
        quotes=pipeline.drafter,
        verdict_settings=replace(pipeline.verdict_settings, rescue=asked.rescue),
    )


@dataclass(frozen=True, slots=True)
class _Careless:
    """A drafter that writes the same text, whatever the evidence says."""

    text: str

    def write(self, evidence: Evidence, brief: Brief = PLAIN) -> Draft:
        return read_draft(self.text, evidence.passages, drafter="careless model")
