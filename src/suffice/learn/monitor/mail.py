"""E-mail about alarms and a suspended guarantee."""

from __future__ import annotations

import os
import smtplib
import ssl
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from email.message import EmailMessage

from suffice.errors import SettingsError
from suffice.log.entry import Entry
from suffice.settings import MailSettings
from suffice.webhooks.events import ALARM


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
        own, context = self.settings, self.context
        server: smtplib.SMTP
        if own.security == "tls":
            server = smtplib.SMTP_SSL(own.host, own.port, timeout=own.timeout, context=context)
        else:
            server = smtplib.SMTP(own.host, own.port, timeout=own.timeout)
        try:
            if own.security == "starttls":
                server.starttls(context=context)
            if own.user:
                server.login(own.user, self.password)
        except BaseException:
            server.close()
            raise
        return server

    def _message(self, entry: Entry) -> EmailMessage:
        found = entry.fields()
        metric = f" for {found.get('about')}" if entry.kind == ALARM else ""
        message = EmailMessage()
        message["Subject"] = f"Suffice: {entry.kind} {found.get('what')}{metric}"
        message["From"] = self.settings.sender
        message["To"] = ", ".join(self.settings.to)
        message["Message-ID"] = f"<{entry.id}@suffice>"  # the same for every attempt
        lines = (str(found.get("text")), "", f"Time: {entry.time}", f"Record: {entry.id}")
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
