"""Knowledge gaps: a question that the documents cannot answer, told to whoever keeps them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from typing import Any

from suffice.types import Verdict

_SECONDS = 5.0
_LOG = logging.getLogger("suffice.verdict")


def document_request(verdict: Verdict) -> dict[str, Any]:
    """What is asked for: a document that answers this, and what the present ones lack."""
    return {
        "question": verdict.question,
        "reason": verdict.reason,
        "missing": list(verdict.missing),
        "nearest": [source.document for source in verdict.nearest],
        "record": verdict.record,
    }


def request_document(verdict: Verdict, webhook: str) -> threading.Thread:
    """Sends the request to a URL in a thread of its own: nobody waits for somebody else's server.
    A failure is logged and changes nothing else."""
    thread = threading.Thread(target=_send, args=(document_request(verdict), webhook))
    thread.start()
    return thread


def _send(request: Mapping[str, Any], webhook: str) -> None:
    import httpx2

    try:
        httpx2.post(webhook, json=request, timeout=_SECONDS).raise_for_status()
    except (httpx2.HTTPError, httpx2.InvalidURL) as problem:
        kind = type(problem).__name__  # the URL may hold a secret
        _LOG.warning("The document request could not be sent (%s); check verdict.webhook.", kind)
