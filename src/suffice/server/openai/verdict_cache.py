"""A cache of verdicts for repeated requests.

The key contains everything a verdict depends on: the request and its question (only whitespace is
normalised), the caller's rights, the version of the documents and the index, the settings and
models, the date, and the last review decision.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from suffice.access.keys import Principal
from suffice.evidence.index import today
from suffice.evidence.library import Library
from suffice.log.chain import canonical
from suffice.log.decision import plain
from suffice.log.tables import RECORDS
from suffice.log.trace import Trace
from suffice.review.case import DECIDED
from suffice.server.openai.completion import Answer, ReleasedChoice
from suffice.server.openai.request import ChatRequest
from suffice.server.route import Route
from suffice.settings.server import CacheSettings
from suffice.sql import sa
from suffice.types import Code, Verdict

_NOT_ASKED = (
    "stream stream_options user metadata store safety_identifier prompt_cache_key suffice".split()
)
"""Request fields that do not affect the answer."""
_PERSONS = (*DECIDED, "erasure")
"""Kinds of records that invalidate the cache: a person judged or erased an answer."""


@dataclass(frozen=True, slots=True)
class _Kept:
    choices: tuple[ReleasedChoice, ...]
    trace: Trace
    until: float


class VerdictCache:
    """A thread-safe cache. `find` reads the store, so do not call it on the event loop."""

    def __init__(self, library: Library, clock: Callable[[], float] = time.monotonic) -> None:
        self._library = library
        self._clock = clock
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._lock = threading.Lock()

    def find(
        self, route: Route, caller: Principal, request: ChatRequest
    ) -> tuple[str, Answer | None]:
        """The cache key of a request, and the cached answer, if any, recorded for this caller."""
        key = self._key(route, caller, request)
        with self._lock:
            entry = self._kept.get(key)
            if entry is not None and entry.until <= self._clock():
                del self._kept[key]
                entry = None
            if entry is None:
                return key, None
            self._kept.move_to_end(key)
        return key, _repeated(entry, route, caller, request.tag)

    def keep(self, key: str, answer: Answer, limits: CacheSettings) -> None:
        """Cache an answer, unless a failure affected it."""
        if answer.trace is None or not all(_complete(choice.verdict) for choice in answer.choices):
            return
        entry = _Kept(tuple(answer.choices), answer.trace, self._clock() + limits.seconds)
        with self._lock:
            self._kept[key] = entry
            while len(self._kept) > limits.entries:
                self._kept.popitem(last=False)

    def _key(self, route: Route, caller: Principal, request: ChatRequest) -> str:
        setup = route.recorder.filing.setup if route.recorder else None
        parts = {
            "asked": _normalised(request),
            "given": plain(request.given),
            "indexed": request.indexed,
            "n": request.n,
            "labels": sorted(caller.labels),
            "roles": sorted(caller.roles),
            "route": [route.name, repr(route.settings), setup.id if setup else ""],
            "day": today().isoformat(),
            "documents": self._documents(),
        }
        return hashlib.sha256(canonical(parts).encode()).hexdigest()

    def _documents(self) -> list[object]:
        """The version of the evidence: that of the store and, as it may lag, that of the index."""
        store = self._library.store
        decided = sa.select(sa.func.max(RECORDS.c.sequence)).where(RECORDS.c.kind.in_(_PERSONS))
        with store.database.reading() as connection:
            judged = connection.execute(decided).scalar()
        versions = (store.id, store.epoch, store.last_change(), store.last_vector())
        return [*versions, self._library.index_version(), judged or 0]


def _normalised(request: ChatRequest) -> dict[str, Any]:
    body = {key: value for key, value in request.body.items() if key not in _NOT_ASKED}
    messages = list(body.get("messages") or ())
    for n in reversed(range(len(messages))):
        message = messages[n]
        if isinstance(message, Mapping) and message.get("role") == "user":
            if isinstance(message.get("content"), str):
                messages[n] = {**message, "content": " ".join(message["content"].split())}
            break
    return {**body, "messages": messages, "question": " ".join(request.question.split())}


def _complete(verdict: Verdict | None) -> bool:
    if verdict is None or not verdict.record:
        return False
    failed = any(finding.code is Code.FAILED for finding in verdict.findings)
    return not failed and not verdict.evidence.without_vectors


def _repeated(entry: _Kept, route: Route, caller: Principal, tag: str) -> Answer:
    """The cached answer with new records that refer to the originals, without timings or tokens."""
    sink = route.recording(caller, tag)
    assert sink is not None
    recorded: dict[str, Verdict] = {}
    choices = []
    for choice in entry.choices:
        verdict = choice.verdict
        assert verdict is not None
        if verdict.record not in recorded:
            again = replace(verdict, repeats=verdict.record)
            record = sink.verdict(again, replace(entry.trace, timings=()))
            recorded[verdict.record] = replace(again, record=record)
        choices.append(replace(choice, verdict=recorded[verdict.record]))
    return Answer(choices)
