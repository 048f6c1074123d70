"""Knowledge gaps: a question that the documents cannot answer, told to whoever keeps them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from suffice.types import Verdict

_SECONDS = 5.0


def document_request(verdict: Verdict) -> dict[str, Any]:
    """What is asked for: a document that answers this, and what the present ones lack."""
    return {
        "question": verdict.question,
        "reason": verdict.reason,
        "missing": list(verdict.missing),
        "nearest": [source.document for source in verdict.nearest],
    }


def asked_for(verdict: Verdict, webhook: str) -> Verdict:
    """Sends the request to a URL. Its failure is noted and changes nothing else."""
    import httpx2

    try:
        reply = httpx2.post(webhook, json=document_request(verdict), timeout=_SECONDS)
        reply.raise_for_status()
    except (httpx2.HTTPError, httpx2.InvalidURL) as problem:
        kind = type(problem).__name__
        note = f"The document request could not be sent ({kind}); check verdict.webhook."
        return replace(verdict, notes=(*verdict.notes, note))
    return verdict
