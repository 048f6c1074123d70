"""Send webhook deliveries from a background thread, so that requests never wait for them."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import random
import threading
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import httpx2

from suffice.errors import SettingsError, StoreError
from suffice.log.entry import Entry
from suffice.record.decision import GAP
from suffice.settings.webhooks import WebhookSettings
from suffice.webhooks.events import payload_of, setup_of_gap
from suffice.webhooks.outbox import Delivery, Outbox
from suffice.webhooks.signing import HEADER, signature

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
    found = {}
    for name, one in settings.items():
        if not one.url.startswith(("http://", "https://")):
            raise SettingsError(
                f"server.webhooks.{name}.url is {one.url!r}.",
                remedy="Set it to an http:// or https:// URL.",
            )
        secret = environ.get(one.secret_env, "").strip() if one.secret_env else ""
        if one.secret_env and not secret:
            raise SettingsError(
                f"server.webhooks.{name}: the environment variable {one.secret_env} is not set.",
                remedy="Set it to the signing secret, or remove 'secret_env'.",
            )
        found[name] = Webhook(one, secret)
    return found


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
        read = self._gather(webhooks)
        claim = max([_CLAIM, *(2 * one.settings.timeout for one in webhooks.values())])
        delivery = self._outbox.claim(webhooks, claim)
        if delivery is not None:
            self._deliver(delivery, webhooks[delivery.webhook])
        return bool(read or delivery)

    def _gather(self, webhooks: Mapping[str, Webhook]) -> int:
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
