"""The monitor's thread, with what it runs: e-mails, deep checks and the index of decisions."""

from __future__ import annotations

import logging
import os
import smtplib
import ssl
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from email.message import EmailMessage
from functools import cache
from importlib.util import find_spec
from typing import Any

from suffice.errors import SettingsError, StoreError, SufficeError
from suffice.lab.monitor.metrics import DEEP_CHECK
from suffice.lab.monitor.monitor import MAIL, Job, Jobs, Monitor
from suffice.log.decision import about, decision_of
from suffice.log.log import Log
from suffice.log.record import Entry
from suffice.log.replay import Replay, stored_documents
from suffice.log.setup import setup_of
from suffice.models.catalog import FAST, open_verifier
from suffice.models.embedder import Embedder
from suffice.models.verifier import LLM, Verifier
from suffice.settings import MailSettings, Settings
from suffice.types import Verdict
from suffice.webhooks import ALARM


@dataclass(frozen=True, slots=True)
class Mailer:
    """Sends one message at a time. Blocking: call it from a thread."""

    settings: MailSettings
    password: str = field(default="", repr=False)
    context: ssl.SSLContext = field(default_factory=ssl.create_default_context, repr=False)

    @classmethod
    def of(cls, settings: MailSettings, environ: Mapping[str, str] | None = None) -> Mailer | None:
        """The configured mailer; `None` if no mail server is set."""
        environ = os.environ if environ is None else environ
        if not settings.host:
            return None
        if not settings.sender or not settings.to:
            raise SettingsError(
                "monitor.mail has a host, but no sender or no recipients.",
                remedy="Set monitor.mail.sender and monitor.mail.to.",
            )
        password = environ.get(settings.password_env, "").strip() if settings.password_env else ""
        if settings.password_env and not password:
            raise SettingsError(
                f"monitor.mail: the environment variable {settings.password_env} is not set.",
                remedy="Set it to the password, or remove 'password_env'.",
            )
        return cls(settings, password, _context(settings.ca_file))

    def send(self, entry: Entry) -> str:
        """Send the message about a recorded alarm. Return why it failed, or ""."""
        try:
            server = self._connected()
            try:
                server.send_message(self._message(entry))
            finally:
                with suppress(smtplib.SMTPException, OSError):  # the message has been sent already
                    server.quit()
        except (smtplib.SMTPException, OSError) as problem:
            return f"{type(problem).__name__}: {problem}"
        return ""

    def _connected(self) -> smtplib.SMTP:
        mail, context = self.settings, self.context
        server: smtplib.SMTP
        if mail.security == "tls":
            server = smtplib.SMTP_SSL(mail.host, mail.port, timeout=mail.timeout, context=context)
        else:
            server = smtplib.SMTP(mail.host, mail.port, timeout=mail.timeout)
        try:
            if mail.security == "starttls":
                server.starttls(context=context)
            if mail.user:
                server.login(mail.user, self.password)
        except BaseException:
            server.close()
            raise
        return server

    def _message(self, entry: Entry) -> EmailMessage:
        fields = entry.fields()
        metric = f" for {fields.get('about')}" if entry.kind == ALARM else ""
        message = EmailMessage()
        message["Subject"] = f"Suffice: {entry.kind} {fields.get('what')}{metric}"
        message["From"] = self.settings.sender
        message["To"] = ", ".join(self.settings.to)
        message["Message-ID"] = f"<{entry.id}@suffice>"  # the same for every attempt
        lines = (str(fields.get("text")), "", f"Time: {entry.time}", f"Record: {entry.id}")
        message.set_content("\n".join((*lines, "", "Details: suffice monitor")))
        return message


def _context(ca_file: str) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca_file or None)
    except OSError as problem:
        raise SettingsError(
            f"monitor.mail.ca_file: {ca_file} holds no certificate that can be read: {problem}.",
            remedy="Name a PEM file, or remove the key to trust the authorities of this machine.",
        ) from problem


def stronger_tier(settings: Settings) -> str:
    """The tier that deep checks use; empty if there is none above the configured one."""
    if settings.verifier.llm.on:
        return LLM
    return "strong" if _can_be_strong(settings) and not settings.verifier.strong else ""


def _can_be_strong(settings: Settings) -> bool:
    return settings.verifier.model == FAST and find_spec("suffice_strong") is not None


def open_deep_verifier(settings: Settings) -> Verifier:
    """The strongest available verifier. An LLM judges every claim, not only those in its band."""
    tier, verifier = stronger_tier(settings), settings.verifier
    verifier = replace(verifier, strong=verifier.strong or _can_be_strong(settings))
    if tier == LLM:
        verifier = replace(verifier, llm=replace(verifier.llm, ask="always"))
    return open_verifier(verifier, tier, settings.draft)


@dataclass(frozen=True, slots=True)
class DeepChecks:
    """Checks recorded drafts again. Blocking: call it from a thread."""

    log: Log
    embedder: Embedder
    verifier: Verifier

    def check(self, record: str) -> str:
        """Check a recorded answer again and record the result. Return the id of that record, or ""
        if there is no readable draft."""
        entry = self.log.entry(record)
        try:
            decision = decision_of(entry)
        except StoreError:  # parts were erased or are not stored: no later attempt would help
            return ""
        setup, _ = setup_of(self.log.entry(str(entry.fields()["setup"])))
        documents = stored_documents(self.log.database, decision)
        verdict = Replay(setup, self.embedder, self.verifier, documents).again(decision)
        if decision.verdict is None or verdict is None or verdict.draft is None:
            return ""
        result = {
            "verifier": self.verifier.id,
            "tier": self.verifier.tier,
            "was": _numbers(decision.verdict),
            "now": _numbers(verdict),
        }
        check = about(entry, DEEP_CHECK, result)
        self.log.append(check)
        return check.id


def _numbers(verdict: Verdict) -> dict[str, Any]:
    return {
        "action": verdict.action.value,
        "confidence": verdict.confidence,
        "faithfulness": verdict.faithfulness,
        "fact_score": verdict.fact_score,
    }


_LOG = logging.getLogger("suffice.monitor")
_JOIN = 1.0


class MonitorWorker:
    """Updates the monitor until it is closed. Every gateway process has a worker; the store decides
    which of them counts a record, checks an answer or sends a message."""

    def __init__(
        self,
        monitor: Monitor,
        open_deep: Callable[[], DeepChecks] | None = None,
        idle: Callable[[], bool] = lambda: True,
        updated: Callable[[Monitor], None] = lambda monitor: None,
    ) -> None:
        self._jobs = Jobs(monitor.log.database, monitor.seconds)
        # Opened when the first deep check is due, because the models are large.
        self._deep = None if open_deep is None else cache(open_deep)
        self._idle, self._updated = idle, updated
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None
        self.change(monitor)

    def change(self, monitor: Monitor) -> None:
        """Use another monitor from the next round on, after settings changed."""
        self._mailer = Mailer.of(monitor.settings.monitor.mail)
        self._monitor = monitor

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="monitor", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop after the current job, and wait only briefly for it."""
        self._closed.set()
        if self._thread is not None:
            self._thread.join(_JOIN)

    def _run(self) -> None:
        while not self._closed.is_set():
            try:
                self.round()
            except SufficeError as problem:
                _LOG.warning("Monitor: %s", problem)
            except Exception:  # the thread must not end: drift would go unnoticed
                _LOG.exception("Monitor: unexpected error.")
            self._closed.wait(self._monitor.settings.monitor.every_seconds)

    def round(self) -> None:
        """Read new records, draw the weekly sample, and do the jobs that are due."""
        monitor = self._monitor
        while not self._closed.is_set() and monitor.update():
            pass
        monitor.sample()
        self._updated(monitor)
        kinds = tuple(
            kind for kind, able in ((MAIL, self._mailer), (DEEP_CHECK, self._deep)) if able
        )
        while not self._closed.is_set() and (job := self._next(kinds)) is not None:
            self._do(job)

    def _next(self, kinds: tuple[str, ...]) -> Job | None:
        """The next job. Deep checks wait while requests need the models."""
        able = kinds if self._idle() else tuple(kind for kind in kinds if kind != DEEP_CHECK)
        return self._jobs.claim(able) if able else None

    def _do(self, job: Job) -> None:
        try:
            problem = self._done(job)
        except SufficeError as error:
            problem = str(error)
        if not problem:
            self._jobs.done(job)
        elif not self._jobs.failed(job, problem):
            _LOG.warning("Monitor: gave up on job %s: %s", job.id, problem)

    def _done(self, job: Job) -> str:
        """Run a job once. Return why it failed, or ""."""
        if job.kind == MAIL and self._mailer is not None:
            return self._mailer.send(self._monitor.log.entry(job.record))
        if job.kind == DEEP_CHECK and self._deep is not None:
            self._deep().check(job.record)
        return ""
