"""Webhooks against a real receiver: signed, retried, kept, and sent again after a restart."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast

import pytest
from click.testing import CliRunner

from suffice.cli import cli
from suffice.errors import SettingsError
from suffice.evidence.library import Library
from suffice.log.decision import GAP, QUEUE, about
from suffice.log.log import Log
from suffice.log.record import Record
from suffice.review.case import FEEDBACK, Act, Rating
from suffice.review.review import Review
from suffice.settings import RouteSettings, Settings, VerdictSettings
from suffice.settings.record import EVENTS, WebhookSettings
from suffice.testing import ScriptedUpstream, says
from suffice.types import Action
from suffice.webhooks import (
    ALARM,
    GUARANTEE,
    Outbox,
    Webhook,
    WebhookWorker,
    backoff,
    event_of,
    payload_of,
    signature,
)
from tests.server.gateway import OFF_TOPIC, PASSAGE, WRONG, plays, routes, running
from tests.waiting import until

CARRIED = {"suffice": {"evidence": [PASSAGE], "from": "request"}}


@dataclass
class Receiver:
    """Keeps what it receives; answers with the statuses it is given, then with 200."""

    url: str = ""
    statuses: list[int] = field(default_factory=list)
    got: list[tuple[dict[str, str], bytes]] = field(default_factory=list)

    def events(self) -> list[dict[str, Any]]:
        return [json.loads(body) for _, body in self.got]


@contextmanager
def receiver(*statuses: int) -> Iterator[Receiver]:
    found = Receiver(statuses=list(statuses))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            status = found.statuses.pop(0) if found.statuses else 200
            found.got.append((dict(self.headers), body))
            self.send_response(status)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    found.url = f"http://127.0.0.1:{server.server_port}/hook"
    try:
        yield found
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    opened = Library.open(tmp_path / "s.db", Settings(), create=True)
    yield opened
    opened.store.close()


def hooked(upstream: ScriptedUpstream, hook: WebhookSettings) -> Settings:
    found = routes(RouteSettings(upstream=upstream.url), webhooks={"ops": hook})
    return replace(found, verdict=VerdictSettings(rescue=False))


def test_a_verdict_and_its_review_are_sent_signed_and_without_the_withheld_draft(
    library: Library, upstream: ScriptedUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOK_SECRET", "s3cret")
    plays(upstream, says(WRONG))
    with receiver(500) as other:
        hook = WebhookSettings(
            other.url,
            ("verdict", "review", "feedback.down"),
            secret_env="HOOK_SECRET",
            backoff_seconds=0.01,
        )
        with running(library, hooked(upstream, hook)) as gateway:
            record = gateway.chat(extra_body=CARRIED).model_extra["suffice"]["record"]
            until(lambda: len(other.got) == 2)  # the first attempt got 500
            log = Log(library.store.database)
            Review(log).feedback(record, Rating.UP)
            Review(log).decide(record, Act.CONFIRM, reason="Right so.", by="Ada")
            until(lambda: len(other.got) == 3)
            Review(log).decide(record, Act.CORRECT, text="Up to 3.", reason="It is 3.", by="Ada")
            until(lambda: len(other.got) == 4)
            until(lambda: not Outbox(library.store.database).list())
    first, again, decided, corrected = other.events()
    assert first == again
    assert (first["event"], first["verdict"]) == ("verdict.withhold", "WITHHOLD")
    assert first["record"] == record
    assert first["question"]
    assert "4 days" not in json.dumps(first)
    assert (decided["event"], corrected["event"]) == ("review.confirm", "review.correct")
    assert not [text for text in ("Right so.", "Up to 3.", "It is 3.") if text in str(other.got)]
    assert corrected["review_url"] == f"/v1/reviews/{record}"
    headers, body = other.got[1]
    assert headers["Suffice-Delivery"] == first["id"]
    sent = headers["Suffice-Signature"]
    at = int(sent.partition("t=")[2].partition(",")[0])
    assert sent == signature("s3cret", body, at)
    assert sent not in (signature("s3cret", body + b" ", at), signature("s3cret", body, at + 600))


WORDS = "only for reviewers"
"""The words of a reviewer, of a comment and of a withheld draft."""


def one_of_each_event() -> list[Record]:
    """A record for each event, with words in all fields that can hold them."""
    texts = {"reason": WORDS, "text": WORDS, "comment": WORDS, "notes": [WORDS], "why": ["sampled"]}
    found = []
    for action in Action:
        outcome = {"action": action.value, "reason": WORDS, "notes": [WORDS], "route": "else"}
        gate = {"level": "SUFFICIENT", "reasons": [WORDS]}
        drafts = {"all": [{"text": WORDS}]}
        shown = {"question": "Q?", "released": "A."}
        found.append(
            Record(
                "verdict", {**shown, **texts, "outcome": outcome, "gate": gate, "drafts": drafts}
            )
        )
    of = found[0]
    found += [about(of, act.kind, {"result": "", **texts}, role=act.value) for act in Act]
    found += [about(of, FEEDBACK, {"rating": rating.value, **texts}) for rating in Rating]
    found += [
        about(of, kind, {"question": "Q?", "missing": ["dogs"], **texts}) for kind in (QUEUE, GAP)
    ]
    measured = {**texts, "text": "too many"}
    found += [Record(ALARM, {"what": what, **measured}) for what in ("raised", "cleared")]
    found += [Record(GUARANTEE, {"what": what, **measured}) for what in ("active", "suspended")]
    return found


def test_no_event_has_a_reviewers_words_or_a_reason_unless_all_texts_are_sent(
    library: Library,
) -> None:
    log = Log(library.store.database)
    records = one_of_each_event()
    log.append(*records)
    entries = [log.entry(record.id) for record in records]
    assert {event_of(entry) for entry in entries} == {name for name in EVENTS if "." in name} | {
        GAP
    }

    def sent(text: str) -> dict[str, str]:
        bodies = {event_of(one): payload_of(one, event_of(one), "1", text) for one in entries}
        return {event: json.dumps(body) for event, body in bodies.items()}

    for text in ("none", "released"):
        assert not [event for event, body in sent(text).items() if WORDS in body]
    assert not [event for event, body in sent("none").items() if "Q?" in body or "A." in body]
    assert {event.partition(".")[0] for event, body in sent("all").items() if WORDS in body} == {
        *("verdict", "gap", "review", "feedback")
    }


def test_a_webhook_misses_no_record_after_its_start(
    library: Library, upstream: ScriptedUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    plays(upstream, says(WRONG))
    outbox = Outbox(library.store.database)
    monkeypatch.setattr(WebhookWorker, "_run", lambda self: None)  # the thread comes late
    late = Webhook(WebhookSettings("http://127.0.0.1:9/hook", ("verdict",)))
    WebhookWorker(outbox, {"late": late}).start()
    with running(library, routes(RouteSettings(upstream=upstream.url))) as gateway:
        gateway.chat(extra_body=CARRIED)
    outbox.gather({"late": late.wants})
    assert {one.webhook for one in outbox.list()} == {"late"}


def test_what_cannot_be_delivered_is_kept_retried_and_survives_a_restart(
    library: Library, upstream: ScriptedUpstream
) -> None:
    plays(upstream, says(WRONG))
    store = str(library.store.database.path)
    with receiver(*[503] * 2) as other:
        hook = WebhookSettings(
            other.url, ("verdict",), attempts=2, backoff_seconds=0.01, text="all"
        )
        with running(library, hooked(upstream, hook)) as gateway:
            gateway.chat(extra_body=CARRIED)
            until(lambda: [one.state for one in Outbox(library.store.database).list("dead")])
        listed = CliRunner().invoke(cli, ["webhooks", "list", "--store", store, "--json"])
        [dead] = json.loads(listed.stdout)
        assert (dead["state"], dead["problem"], dead["attempts"]) == ("dead", "status 503", 2)
        wrong = CliRunner().invoke(cli, ["webhooks", "retry", "nothing", "--store", store])
        assert wrong.exit_code == 1
        CliRunner().invoke(cli, ["webhooks", "retry", dead["id"], "--store", store])
        with running(library, hooked(upstream, hook)):
            until(lambda: not Outbox(library.store.database).list())
    assert {headers["Suffice-Delivery"] for headers, _ in other.got} == {dead["id"]}
    assert any("4 days" in draft for draft in other.events()[-1]["drafts"])


def test_a_gap_is_an_event_of_the_gateway(library: Library, upstream: ScriptedUpstream) -> None:
    with receiver(500) as other:
        plain = routes(RouteSettings(upstream=upstream.url))
        settings = replace(plain, verdict=VerdictSettings(gap_webhook=other.url))
        with running(library, settings) as gateway:
            asked = gateway.chat(OFF_TOPIC).model_extra["suffice"]["record"]
            log = Log(library.store.database)
            until(lambda: other.got)
            [waiting] = Outbox(library.store.database).list()
            assert (waiting.event, waiting.record) == ("gap", f"{asked}.gap")
            assert log.entry(waiting.record).fields()["setup"]
    assert other.events()[0]["question"] == OFF_TOPIC
    assert other.events()[0]["record"] == asked


def test_a_gateway_without_webhooks_does_not_query_the_store_for_them() -> None:
    class Queried(Exception):
        pass

    class Untouched:
        def gather(self, webhooks: object) -> int:
            raise Queried

    worker = WebhookWorker(cast(Outbox, Untouched()), {})
    worker.wake()
    assert not worker._wake.is_set()
    assert not worker.step()
    worker.change({"hook": Webhook(WebhookSettings("http://127.0.0.1:1/"))})
    assert worker._wake.is_set()
    with pytest.raises(Queried):
        worker.step()


def test_settings_that_cannot_work_are_refused(
    library: Library, upstream: ScriptedUpstream
) -> None:
    for hook, says_ in (
        (WebhookSettings("ftp://x"), "http"),
        (WebhookSettings("http://x", secret_env="NOT_SET_ANYWHERE"), "NOT_SET_ANYWHERE"),
    ):
        with pytest.raises(SettingsError, match=says_), running(library, hooked(upstream, hook)):
            pass
    with pytest.raises(SettingsError, match=r"verdict\.withhold"):
        WebhookSettings(events=("verdict.no",))
    assert signature("a", b"{}", 1) != signature("b", b"{}", 1)
    waits = [backoff(n, 1.0) for n in range(40)]
    assert all(low <= high for low, high in zip(waits[:10], waits[2:12], strict=True))
    assert max(waits) <= 3600
