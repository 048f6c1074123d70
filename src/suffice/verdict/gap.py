"""Knowledge gaps: reports questions that the documents cannot answer to a webhook."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from typing import Any

from suffice.types import Verdict

_SECONDS = 5.0
_LOG = logging.getLogger("suffice.verdict")


def document_request(verdict: Verdict) -> dict[str, Any]:
    """The webhook payload: the question, and what the documents do not cover. The verdict's reason
    is left out, because it may quote a withheld draft."""
    return {
        "question": verdict.question,
        "missing": list(verdict.missing),
        "nearest": [source.document for source in verdict.nearest],
        "record": verdict.record,
    }


def request_document(verdict: Verdict, webhook: str) -> threading.Thread:
    """Send the request in a separate thread, so that a slow webhook does not delay the answer.
    Failures are only logged."""
    thread = threading.Thread(target=_send, args=(document_request(verdict), webhook))
    thread.start()
    return thread


def _send(request: Mapping[str, Any], webhook: str) -> None:
    import httpx2

    try:
        httpx2.post(webhook, json=request, timeout=_SECONDS).raise_for_status()
    except (httpx2.HTTPError, httpx2.InvalidURL) as problem:
        kind = type(problem).__name__  # the message may contain the URL, which may hold a secret
        _LOG.warning(
            "The document request could not be sent (%s); check verdict.gap_webhook.", kind
        )
