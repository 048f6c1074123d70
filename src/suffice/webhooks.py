"""Webhooks: the event of each log record, the outbox, and the thread that delivers."""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import os
import random
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx2

from suffice.errors import SettingsError, StoreError
from suffice.log.decision import GAP, QUEUE, VERDICT, role_of, subject_of
from suffice.log.follower import Cursor, Follower, add_cursors
from suffice.log.record import Entry, lines
from suffice.log.stored import find
from suffice.review.case import DECIDED, FEEDBACK
from suffice.settings.record import WebhookSettings
from suffice.sql import sa
from suffice.sql.columns import number, real, text
from suffice.sql.database import Database, claim_due

ALARM, GUARANTEE = "alarm", "guarantee"
KINDS = (VERDICT, GAP, QUEUE, FEEDBACK, *DECIDED, ALARM, GUARANTEE)
"""The kinds of log records that are sent as events."""


def event_of(entry: Entry) -> str:
    """The name of the event, such as `verdict.withhold`."""
    if entry.kind == VERDICT:
        outcome = _field(entry, "outcome") or {}
        return f"{VERDICT}.{str(outcome.get('action', 'unknown')).lower()}"
    if entry.kind == QUEUE:
        return "review.queued"
    if entry.kind == FEEDBACK:
        return f"{FEEDBACK}.{_field(entry, 'rating') or 'unknown'}"
    if entry.kind in (ALARM, GUARANTEE):
        return f"{entry.kind}.{_field(entry, 'what') or 'unknown'}"
    return f"review.{role_of(entry.id)}" if entry.kind in DECIDED else entry.kind


def payload_of(entry: Entry, event: str, delivery: str, text: str) -> dict[str, Any]:
    """The body of a delivery. `text` selects the texts to include: none, released or all. Only with
    `all` does it contain reasons, which may quote a withheld draft, or the words of a reviewer.
    Fields that the log does not store, or that were erased, are missing."""
    about = {
        "id": delivery,
        "event": event,
        "time": entry.time,
        "record": subject_of(entry.id),
        "caller": entry.caller or None,
        "tag": entry.tag or None,
    }
    return {**about, **_SHAPES.get(entry.kind, _review)(entry, text)}


def _verdict(entry: Entry, text: str) -> dict[str, Any]:
    fields = entry.fields()
    outcome, gate = fields.get("outcome") or {}, fields.get("gate") or {}
    body = {
        "verdict": outcome.get("action"),
        "confidence": outcome.get("confidence"),
        "faithfulness": outcome.get("faithfulness"),
        "route": outcome.get("route"),
        "gate": {key: gate.get(key) for key in ("level", "score", "policy")},
    }
    if text != "none":
        body["question"] = fields.get("question")
        body["answer"] = fields.get("released") or None
    if text == "all":
        body["reason"] = outcome.get("reason")
        drafts = (fields.get("drafts") or {}).get("all", ())
        body["drafts"] = [draft.get("text") for draft in drafts]
    return body


def _gap(entry: Entry, text: str) -> dict[str, Any]:
    fields = entry.fields()
    near = [source.get("document") for source in fields.get("nearest") or ()]
    if text == "none":
        return {"nearest": near}
    reason = {"reason": fields.get("reason")} if text == "all" else {}
    missing = fields.get("missing")
    return {"question": fields.get("question"), "missing": missing, "nearest": near, **reason}


def _queued(entry: Entry, text: str) -> dict[str, Any]:
    return {"why": _field(entry, "why")}


def _feedback(entry: Entry, text: str) -> dict[str, Any]:
    comment = {"comment": _field(entry, "comment")} if text == "all" else {}
    return {"rating": _field(entry, "rating"), **comment}


def _monitored(entry: Entry, text: str) -> dict[str, Any]:
    """An alarm or a guarantee change. Its text quotes no answers, so it is always sent."""
    fields = entry.fields()
    names = ("about", "what", "text", "value", "baseline")
    certificate = {"certificate": fields["certificate"]} if "certificate" in fields else {}
    return {**{name: fields.get(name) for name in names}, **certificate}


def _review(entry: Entry, text: str) -> dict[str, Any]:
    """A reviewer's decision. The receiver gets the answer as it is now from `review_url`."""
    body = {
        "decision": role_of(entry.id),
        "result": _field(entry, "result"),
        "review_url": f"/v1/reviews/{subject_of(entry.id)}",
    }
    if text != "all":
        return body
    return {**body, "answer": _field(entry, "text"), "reason": _field(entry, "reason")}


_SHAPES: dict[str, Callable[[Entry, str], dict[str, Any]]] = {
    VERDICT: _verdict,
    GAP: _gap,
    QUEUE: _queued,
    FEEDBACK: _feedback,
    ALARM: _monitored,
    GUARANTEE: _monitored,
}


def setup_of_gap(entry: Entry) -> str:
    """The id of the setup that produced the gap."""
    return str(_field(entry, "setup") or "")


def _field(entry: Entry, name: str) -> Any:
    """Read one field without parsing the rest of a large record."""
    stored = (line for line in lines(entry.payload) if line.name == name and line.stored)
    return next((line.read() for line in stored), None)


HEADER = "Suffice-Signature"


def signature(secret: str, body: bytes, time: int) -> str:
    signed = hmac.new(secret.encode(), b"%d.%b" % (time, body), hashlib.sha256)
    return f"t={time},v1={signed.hexdigest()}"


_METADATA = sa.MetaData()

DELIVERIES = sa.Table(
    "deliveries",
    _METADATA,
    text("id", key=True),
    text("webhook"),
    text("event"),
    text("record"),
    text("state"),
    number("attempts"),
    real("due"),
    text("created"),
    text("problem"),
)


WAITING, DEAD = "waiting", "dead"
Wants = Callable[[str, Entry], bool]
"""Whether a webhook wants an event."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """An event to be sent to a webhook."""

    id: str
    webhook: str
    event: str
    record: str
    state: str
    attempts: int
    due: float
    created: str
    problem: str


@dataclass(frozen=True, slots=True)
class Subscription(Follower[list[dict[str, Any]]]):
    """Follows the log for one webhook and creates the deliveries of the events that it wants."""

    database: Database
    name: str
    wants: Wants
    clock: Callable[[], float]

    kinds = KINDS
    portion = 200

    def read(
        self, connection: sa.Connection, cursor: Cursor, entries: Sequence[Entry]
    ) -> list[dict[str, Any]] | None:
        events = [(entry, event_of(entry)) for entry in entries]
        rows = [self._row(entry, event) for entry, event in events if self.wants(event, entry)]
        return rows if entries else None

    def apply(self, connection: sa.Connection, change: list[dict[str, Any]]) -> None:
        if change:
            connection.execute(sa.insert(DELIVERIES), change)

    def _row(self, entry: Entry, event: str) -> dict[str, Any]:
        webhook = self.name.removeprefix("webhook ")
        return {
            "id": hashlib.sha256(f"{webhook}\n{entry.id}\n{event}".encode()).hexdigest()[:32],
            "webhook": webhook,
            "event": event,
            "record": entry.id,
            "state": WAITING,
            "attempts": 0,
            "due": self.clock(),
            "created": entry.time,
            "problem": "",
        }


class Outbox:
    """Stores the deliveries. Thread-safe."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock

    def gather(self, webhooks: Mapping[str, Wants]) -> bool:
        """Create deliveries from some new log records; return whether there may be more. A new
        webhook starts with the next record."""
        followers = [
            Subscription(self._database, f"webhook {name}", wants, self._clock)
            for name, wants in webhooks.items()
        ]
        add_cursors(self._database, [follower.name for follower in followers])
        more = [follower.update() for follower in followers]
        return any(more)

    def claim(self, webhooks: Collection[str], seconds: float) -> Delivery | None:
        """Claim the delivery that has been due the longest. If this process dies, another process
        can claim it after `seconds`."""
        table, now = DELIVERIES.c, self._clock()
        due = (table.state == WAITING, table.due <= now, table.webhook.in_(list(webhooks)))
        row = claim_due(self._database, DELIVERIES, due, now + seconds)
        return None if row is None else _delivery(row)

    def entry(self, delivery: Delivery) -> Entry:
        with self._database.reading() as connection:
            return find(connection, delivery.record)

    def delivered(self, delivery: Delivery) -> None:
        with self._database.writing() as connection:
            connection.execute(sa.delete(DELIVERIES).where(DELIVERIES.c.id == delivery.id))

    def failed(self, delivery: Delivery, problem: str, wait: float | None) -> None:
        """Schedule a retry in `wait` seconds, or mark the delivery as dead if `wait` is `None`."""
        values = {
            "attempts": delivery.attempts + 1,
            "problem": problem[:500],
            "state": DEAD if wait is None else WAITING,
            "due": self._clock() + (wait or 0),
        }
        with self._database.writing() as connection:
            changed = sa.update(DELIVERIES).where(DELIVERIES.c.id == delivery.id)
            connection.execute(changed.values(values))

    def list(self, state: str = "", most: int = 100) -> list[Delivery]:
        """Waiting and dead deliveries, oldest first."""
        chosen = sa.select(DELIVERIES).order_by(DELIVERIES.c.created).limit(most)
        if state:
            chosen = chosen.where(DELIVERIES.c.state == state)
        with self._database.reading() as connection:
            return [_delivery(row) for row in connection.execute(chosen)]

    def retry(self, ids: Collection[str] = ()) -> int:
        """Make the given dead deliveries, or all of them, due now. Return their number."""
        chosen = sa.update(DELIVERIES).where(DELIVERIES.c.state == DEAD)
        if ids:
            chosen = chosen.where(DELIVERIES.c.id.in_(list(ids)))
        values = {"state": WAITING, "attempts": 0, "due": self._clock()}
        with self._database.writing() as connection:
            done = connection.execute(chosen.values(values)).rowcount
            if ids and done < len(set(ids)):
                raise StoreError(
                    "Some of these ids are not ids of dead deliveries. Nothing was changed.",
                    remedy="To list them, run: suffice webhooks list --state dead",
                )
            return int(done)


def _delivery(row: sa.Row[Any]) -> Delivery:
    return Delivery(**row._mapping)


_LOG = logging.getLogger("suffice.webhooks")
_POLL = 1.0
"""Seconds between polls of the log, which other processes also write to."""
_LONGEST_WAIT = 3600.0
_CLAIM = 60.0


@dataclass(frozen=True, slots=True)
class Webhook:
    """A receiver of events. If `gaps_of` is set, it receives only gaps from these setups."""

    settings: WebhookSettings
    secret: str = field(default="", repr=False)
    gaps_of: frozenset[str] | None = None

    def wants(self, event: str, entry: Entry) -> bool:
        mine = self.gaps_of is None or setup_of_gap(entry) in self.gaps_of
        return self.settings.wants(event) and mine


def open_webhooks(
    settings: Mapping[str, WebhookSettings], environ: Mapping[str, str] | None = None
) -> dict[str, Webhook]:
    """The configured webhooks, with their secrets."""
    environ = os.environ if environ is None else environ
    webhooks = {}
    for name, webhook in settings.items():
        if not webhook.url.startswith(("http://", "https://")):
            raise SettingsError(
                f"server.webhooks.{name}.url is {webhook.url!r}.",
                remedy="Set it to an http:// or https:// URL.",
            )
        secret = environ.get(webhook.secret_env, "").strip() if webhook.secret_env else ""
        if webhook.secret_env and not secret:
            raise SettingsError(
                f"server.webhooks.{name}: the environment variable {webhook.secret_env} "
                "is not set.",
                remedy="Set it to the signing secret, or remove 'secret_env'.",
            )
        webhooks[name] = Webhook(webhook, secret)
    return webhooks


class WebhookWorker:
    """Delivers the events of a store until it is closed. Undelivered events stay in the store."""

    def __init__(self, outbox: Outbox, webhooks: Mapping[str, Webhook]) -> None:
        self._outbox = outbox
        self._webhooks = dict(webhooks)
        self._closed, self._wake = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None
        self._client = httpx2.Client(follow_redirects=False, trust_env=False)

    def start(self) -> None:
        """Start delivering. Events that are recorded from now on are not missed."""
        try:
            self._gather(self._webhooks)
        except StoreError as problem:  # the thread tries again
            _LOG.warning("Webhooks: store error: %s", problem.message)
        self._thread = threading.Thread(target=self._run, name="webhooks", daemon=True)
        self._thread.start()

    def change(self, webhooks: Mapping[str, Webhook]) -> None:
        self._webhooks = dict(webhooks)
        self.wake()

    def wake(self) -> None:
        """Poll the log now, because a decision was recorded."""
        if self._webhooks:
            self._wake.set()

    def close(self) -> None:
        """Stop after the delivery in progress, but wait at most one poll interval for it."""
        self._closed.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(_POLL)

    def _run(self) -> None:
        while not self._closed.is_set():
            try:
                busy = self.step()
            except StoreError as problem:
                _LOG.warning("Webhooks: store error: %s", problem.message)
                busy = False
            except Exception:  # keep the thread running, or events would pile up unnoticed
                _LOG.exception("Webhooks: unexpected error.")
                busy = False
            if not busy:
                self._wake.wait(_POLL)
                self._wake.clear()

    def step(self) -> bool:
        """Read new records and send one delivery. Return whether there may be more to do."""
        webhooks = self._webhooks
        if not webhooks:
            return False
        more = self._gather(webhooks)
        claim = max([_CLAIM, *(2 * one.settings.timeout for one in webhooks.values())])
        delivery = self._outbox.claim(webhooks, claim)
        if delivery is not None:
            self._deliver(delivery, webhooks[delivery.webhook])
        return more or delivery is not None

    def _gather(self, webhooks: Mapping[str, Webhook]) -> bool:
        return self._outbox.gather({name: one.wants for name, one in webhooks.items()})

    def _deliver(self, delivery: Delivery, webhook: Webhook) -> None:
        problem = self._sent(delivery, webhook)
        if not problem:
            self._outbox.delivered(delivery)
            return
        last = delivery.attempts + 1 >= webhook.settings.attempts
        wait = None if last else backoff(delivery.attempts, webhook.settings.backoff_seconds)
        self._outbox.failed(delivery, problem, wait)
        level = logging.WARNING if last else logging.INFO
        _LOG.log(level, "Webhook %s: %s failed: %s", delivery.webhook, delivery.id, problem)

    def _sent(self, delivery: Delivery, webhook: Webhook) -> str:
        """Send a delivery once. Return the error, without the URL and its secrets, or ""."""
        settings = webhook.settings
        entry = self._outbox.entry(delivery)
        tree = payload_of(entry, delivery.event, delivery.id, settings.text)
        body = json.dumps(tree, ensure_ascii=False).encode("utf-8", "replace")
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "suffice",
            "Suffice-Event": delivery.event,
            "Suffice-Delivery": delivery.id,
        }
        if webhook.secret:
            headers[HEADER] = signature(webhook.secret, body, int(time.time()))
        try:
            # Only the status matters, so the body is not read.
            with self._client.stream(
                "POST", settings.url, content=body, headers=headers, timeout=settings.timeout
            ) as reply:
                return "" if reply.is_success else f"status {reply.status_code}"
        except (httpx2.HTTPError, httpx2.InvalidURL) as problem:
            return type(problem).__name__


def backoff(attempts: int, first: float) -> float:
    """Exponential backoff with jitter, so that retries are spread out."""
    most = min(first * 2.0 ** min(attempts, 30), _LONGEST_WAIT)
    return random.uniform(most / 2, most)


def gap_webhooks(setups: Mapping[str, Collection[str]]) -> dict[str, Webhook]:
    """A webhook for each `verdict.gap_webhook` URL. `setups` maps each URL to the setups whose gaps
    it receives. Other processes, such as the CLI, send their gaps themselves."""
    return {
        f"gap_webhook {hashlib.sha256(url.encode()).hexdigest()[:8]}": Webhook(
            WebhookSettings(url=url, events=(GAP,)), gaps_of=frozenset(ids)
        )
        for url, ids in setups.items()
    }
