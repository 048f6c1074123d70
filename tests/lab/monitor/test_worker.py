"""The background work: the weekly sample, deep checks, e-mail, and a worker that does not end."""

from __future__ import annotations

import base64
import random
import socketserver
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from suffice.errors import SettingsError
from suffice.lab.monitor.metrics import DEEP_CHECK
from suffice.lab.monitor.monitor import (
    MAIL,
    SAMPLE,
    Job,
    Jobs,
    Monitor,
    Stratum,
    Weekly,
    add_jobs,
)
from suffice.lab.monitor.worker import DeepChecks, Mailer, MonitorWorker, stronger_tier
from suffice.log.decision import Filing
from suffice.log.log import Log, Why
from suffice.log.record import Record
from suffice.log.setup import Setup
from suffice.log.stored import RecordFilter
from suffice.models.verifier import Pair, SufficiencyScore, SupportScore, Thresholds
from suffice.review.queue import CaseFilter
from suffice.review.review import Review
from suffice.settings import (
    LlmSettings,
    MailSettings,
    MonitorSettings,
    RecordSettings,
    Settings,
    VerifierSettings,
)
from suffice.types import Action
from tests.fakes import HashEmbedder
from tests.lab.monitor.stream import MovingClock, answer, open_log, refusal, write


def monitor(log: Log, clock: MovingClock, settings: Settings) -> Monitor:
    return replace(Monitor.of(log, settings), clock=clock)


# The weekly sample


def test_served_and_withheld_answers_are_sampled_each_week(log: Log, clock: MovingClock) -> None:
    own = Settings(monitor=MonitorSettings(weekly_served=5, weekly_withheld=3))
    watch = monitor(log, clock, own)
    assert watch.sample() == 0  # the first week begins
    write(log, [answer() for _ in range(20)] + [refusal() for _ in range(12)])
    log.write(replace(answer(), action=Action.REVIEW, released=""))  # queued in any case
    clock.later(days=6)
    assert watch.sample() == 0
    clock.later(days=1)
    assert [one.sample() for one in (watch, watch)] == [8, 0]
    drawn = Review(log).queue(CaseFilter(why=Why.WEEKLY), 100)
    served = [one for one in drawn if one.verdict is not None and one.verdict.served]
    withheld = [one for one in drawn if one not in served]
    assert (len(served), len(withheld)) == (5, 3)
    assert {one.probability for one in served} == {5 / 20}
    assert {one.probability for one in withheld} == {3 / 12}
    (summary,) = log.entries(RecordFilter(kind=SAMPLE))
    assert summary.fields()["withheld"] == {"population": 12, "drawn": 3}


def test_every_answer_is_drawn_equally_often(log: Log) -> None:
    write(log, [refusal(f"Question {n}?") for n in range(4)])
    names = {one.fields()["question"] for one in log.entries(RecordFilter(kind="verdict"))}
    counts: Counter[str] = Counter()
    for seed in range(200):
        weekly = Weekly(log, Settings(), random.Random(seed))
        with log.database.reading() as connection:
            strata = {True: Stratum(1, weekly.random), False: Stratum(2, weekly.random)}
            weekly.offer(connection, RecordFilter(), strata)
        counts.update(log.entry(id).fields()["question"] for id in strata[False].held)
        assert strata[False].probability == 0.5
    assert counts.keys() == names
    assert all(70 < count < 130 for count in counts.values())


def test_served_answers_that_are_sampled_already_are_not_sampled_twice(
    tmp_path: Path, clock: MovingClock
) -> None:
    record = RecordSettings(review_sample=0.5)
    log = open_log(tmp_path / "s.db", clock, record)
    watch = monitor(log, clock, Settings(record=record))
    watch.sample()
    write(log, [answer() for _ in range(5)] + [refusal() for _ in range(5)])
    clock.later(days=7)
    assert watch.sample() == 5
    weekly = Review(log).queue(CaseFilter(why=Why.WEEKLY), 100)
    assert not any(one.verdict is not None and one.verdict.served for one in weekly)
    log.close()
    log.database.close()


# Deep checks


@dataclass(frozen=True)
class Doubtful:
    """A verifier that supports nothing."""

    id: str = "doubtful"
    tier: str = "strong"
    thresholds: Thresholds = field(default_factory=Thresholds)

    def support(self, pairs: Sequence[Pair]) -> list[SupportScore]:
        return [SupportScore(0.01, 0.0, 0.99, tier=self.tier) for _ in pairs]

    def sufficiency(self, pairs: Sequence[Pair]) -> list[SufficiencyScore]:
        return [SufficiencyScore(0.5) for _ in pairs]


def test_a_deep_check_is_recorded_and_changes_no_verdict(log: Log, clock: MovingClock) -> None:
    setup = Setup.of(Settings(), Settings().collection(""), "e", "v").record()
    id = log.write(answer("How long does leave last?"), filing=Filing(setup=setup))
    watch = replace(monitor(log, clock, Settings()), deep=True, chance=lambda: 0.0)
    opened: list[int] = []

    def open_deep() -> DeepChecks:
        opened.append(1)
        return DeepChecks(log, HashEmbedder(), Doubtful())

    worker = MonitorWorker(watch, open_deep)
    worker.round()
    worker.round()  # counts the record of the deep check
    (made,) = log.entries(RecordFilter(kind=DEEP_CHECK))
    found = made.fields()
    assert made.id.startswith(f"{id}.deep_check.")
    assert found["was"]["action"] == "SERVE"
    assert found["now"]["action"] == "WITHHOLD"
    assert found["now"]["faithfulness"] == 0
    assert found["tier"] == "strong"
    assert (watch.state.deep.count, watch.state.deep.changed) == (1, 1)
    assert opened == [1]
    assert Jobs(log.database).waiting() == {}
    verdict = Review(log).case(id).verdict
    assert verdict is not None
    assert verdict.action is Action.SERVE


def test_deep_checks_wait_while_requests_need_the_models(log: Log, clock: MovingClock) -> None:
    log.write(answer())
    watch = replace(monitor(log, clock, Settings()), deep=True, chance=lambda: 0.0)
    MonitorWorker(watch, lambda: pytest.fail("opened"), idle=lambda: False).round()
    assert Jobs(log.database).waiting() == {DEEP_CHECK: 1}


def test_the_tier_of_deep_checks() -> None:
    strong = Settings(verifier=VerifierSettings(strong=True))
    assert stronger_tier(strong) == ""
    llm = replace(strong.verifier, llm=LlmSettings(url="http://127.0.0.1:1/v1"))
    assert stronger_tier(Settings(verifier=llm)) == "llm"
    assert stronger_tier(Settings(verifier=VerifierSettings(model="other"))) == ""


# E-mail


@dataclass
class Mailbox:
    port: int = 0
    lines: list[str] = field(default_factory=list)
    refuse: bool = False


@contextmanager
def smtp() -> Iterator[Mailbox]:
    """A small SMTP server on loopback that keeps what it receives."""
    box = Mailbox()

    class Session(socketserver.StreamRequestHandler):
        def say(self, text: str) -> None:
            self.wfile.write(f"{text}\r\n".encode())

        def handle(self) -> None:
            self.say("220 here")
            while line := self.rfile.readline().decode().rstrip("\r\n"):
                box.lines.append(line)
                verb = line.split()[0].upper()
                if verb == "EHLO":
                    self.say("250-here\r\n250 AUTH PLAIN")
                elif verb == "AUTH":
                    self.say("235 welcome")
                elif verb == "DATA" and not box.refuse:
                    self.say("354 go on")
                    while (text := self.rfile.readline().decode().rstrip("\r\n")) != ".":
                        box.lines.append(text)
                    self.say("250 kept")
                else:
                    self.say("451 later" if verb == "DATA" else "250 fine")  # also to QUIT
                if verb == "QUIT":
                    return

    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Session)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    box.port = server.server_address[1]
    try:
        yield box
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def mail(box: Mailbox, **more: object) -> MailSettings:
    own = MailSettings(
        "127.0.0.1", box.port, "none", sender="suffice@example.org", to=("a@b.c", "d@e.f")
    )
    return replace(own, **more)  # type: ignore[arg-type]


def test_an_alarm_is_sent_by_mail_once(log: Log, clock: MovingClock) -> None:
    with smtp() as box:
        own = Settings(monitor=MonitorSettings(mail=mail(box)))
        worker = MonitorWorker(monitor(log, clock, own))
        log.write(answer(fabricated=True))
        worker.round()
        worker.round()
    assert box.lines.count("Subject: Suffice: alarm raised for fabricated_citation_rate") == 1
    assert "To: a@b.c, d@e.f" in box.lines
    assert any(line.startswith("fabricated_citation_rate: any.") for line in box.lines)


def test_a_server_that_refuses_is_tried_again(log: Log, clock: MovingClock) -> None:
    seconds = [1000.0]
    with smtp() as box:
        box.refuse = True
        own = Settings(monitor=MonitorSettings(mail=mail(box)))
        watch = replace(monitor(log, clock, own), seconds=lambda: seconds[0])
        worker = MonitorWorker(watch)
        log.write(answer(fabricated=True))
        worker.round()
        assert Jobs(log.database).waiting() == {MAIL: 1}
        box.refuse = False
        worker.round()
        assert Jobs(log.database).waiting() == {MAIL: 1}  # it waits before the second attempt
        seconds[0] += 120
        worker.round()
    assert Jobs(log.database).waiting() == {}


def test_the_mailer_logs_in_and_names_what_is_missing(log: Log) -> None:
    log.append(Record("alarm", {"about": "x", "what": "raised", "text": "T."}, id="alarm-x"))
    with smtp() as box:
        own = mail(box, user="ada", password_env="MAIL")
        mailer = Mailer.of(own, {"MAIL": "secret"})
        assert mailer is not None
        assert mailer.send(log.entry("alarm-x")) == ""
        assert "secret" not in repr(mailer)
    plain = base64.b64encode(b"\0ada\0secret").decode()
    assert f"AUTH PLAIN {plain}" in box.lines
    assert "Error" in mailer.send(log.entry("alarm-x"))  # the server is gone
    with pytest.raises(SettingsError, match="MAIL is not set"):
        Mailer.of(own, {})
    with pytest.raises(SettingsError, match="sender"):
        Mailer.of(replace(own, to=()), {})
    assert Mailer.of(MailSettings(), {}) is None


# The thread


def test_the_worker_survives_a_failing_round(log: Log, clock: MovingClock) -> None:
    rounds: list[int] = []
    enough = threading.Event()

    def updated(monitor: Monitor) -> None:
        rounds.append(1)
        if len(rounds) == 1:
            raise ValueError("a bug")
        enough.set()

    own = Settings(monitor=MonitorSettings(every_seconds=0.1))
    worker = MonitorWorker(monitor(log, clock, own), updated=updated)
    worker.start()
    assert enough.wait(60)
    worker.close()


def test_a_job_that_cannot_be_done_is_given_up(log: Log, clock: MovingClock) -> None:
    seconds = [0.0]
    watch = replace(monitor(log, clock, Settings()), seconds=lambda: seconds[0])
    with log.database.writing() as connection:
        add_jobs(connection, [Job(DEEP_CHECK, "gone")], due=0.0)
    worker = MonitorWorker(watch, lambda: DeepChecks(log, HashEmbedder(), Doubtful()))
    for _ in range(5):
        worker.round()
        seconds[0] += 10_000
    assert Jobs(log.database).waiting() == {}
