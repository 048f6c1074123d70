"""What the pages about records share."""

from __future__ import annotations

from suffice.access.keys import ALL
from suffice.log.record import Record
from suffice.record.log import Log
from suffice.server.ui.page import PageContext, PageError

EXPORT = "export"
"""The kind of records about exports."""
_SECONDS = 5.0
"""How long a download waits for the index."""


def log_of(context: PageContext) -> Log:
    """The log of the gateway; raise if it keeps none."""
    if context.gateway.log is None:
        raise PageError(
            404,
            "No records",
            "This gateway keeps no records, so there is nothing to show.",
            "Set record.enabled to auto in the settings and restart the gateway.",
        )
    return context.gateway.log


async def refreshed(context: PageContext) -> int:
    """Bring the index of decisions up to date; return how many records are still unread."""
    return await context.run(context.gateway.indexing.refresh)


async def record_export(context: PageContext, what: str, **details: object) -> None:
    """Record who takes which data away. The data may be sent only afterwards."""
    record = Record(EXPORT, {"what": what, **details}, caller=context.person.name)
    await context.run(log_of(context).append, record)


async def completed(context: PageContext) -> None:
    """Bring the index of decisions up to date for a download, which must be complete; raise if that
    takes too long."""
    left = await context.run(context.gateway.indexing.catch_up_within, _SECONDS)
    if left:
        raise PageError(
            503,
            "Still indexing",
            "Some records are still being indexed, so the download would be incomplete.",
            "Try again in a moment. If that does not help, the gateway's log says why.",
            {"Retry-After": "10"},
        )


def sees_all(context: PageContext) -> bool:
    """Whether the person may see what counts all records: figures of the whole log, numbers of
    records, and the state of the chain."""
    return context.person.reader.audits


def limits_of(context: PageContext) -> list[str]:
    """The collections that a person's figures are limited to; empty: to none."""
    own = context.person.reader.collections
    return [] if ALL in own else sorted(own)
