"""Logs: one line of JSON for each request and each thing worth telling, with the request's id.

No text of questions, documents or answers stands in them unless `server.log_text` asks for it.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, TextIO

from suffice.errors import StoreError, SufficeError
from suffice.server.telemetry.metrics import gates_of
from suffice.server.telemetry.stats import NOW, RequestStats, StatsListener

_ACCESS = logging.getLogger("suffice.access")
_FIELDS = "suffice"
_SECRET = re.compile(r"(sk-suffice-[0-9a-f]{16}-)[A-Za-z0-9_-]+")
_CHAIN = 5
"""So many causes of an error are told."""


class JsonLines(logging.Formatter):
    """A record as one line of JSON. `text`: whether the words of errors may stand in it, which may
    be those of a document."""

    def __init__(self, text: Callable[[], bool] = lambda: False) -> None:
        super().__init__()
        self._text = text

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC)
        line: dict[str, Any] = {
            "time": moment.isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if (stats := NOW.get()) is not None:
            line["request_id"] = stats.id
        fields = getattr(record, _FIELDS, None)
        if isinstance(fields, Mapping):
            line |= fields
        if record.exc_info and record.exc_info[1] is not None:
            text = self._text()
            whole = self.formatException(record.exc_info) if text else _places(record.exc_info[1])
            line["trace"] = whole
        return _SECRET.sub(r"\1…", json.dumps(line, ensure_ascii=False, default=str))


def _places(problem: BaseException) -> str:
    """Where an error came from: files, lines and names, without what it says."""
    found: list[str] = []
    left: BaseException | None = problem
    while left is not None and len(found) < _CHAIN:
        frames = "".join(traceback.format_tb(left.__traceback__))
        found.append(f"{frames}{type(left).__name__}")
        left = left.__cause__ or left.__context__
    return "\nfrom:\n".join(found)


def told_of(problem: SufficeError, *, with_text: bool = False) -> str:
    """An error of ours for a log. A store speaks of itself; others may quote what they read."""
    if with_text or isinstance(problem, StoreError):
        return str(problem)
    return " ".join(filter(None, (f"{type(problem).__name__}.", problem.remedy)))


def start_logs(stream: TextIO | None = None, text: Callable[[], bool] = lambda: False) -> None:
    """Everything that is logged under `suffice` goes to the stream, as lines of JSON."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines(text))
    logger = logging.getLogger("suffice")
    logger.handlers = [handler]
    logger.setLevel(logging.INFO)
    logger.propagate = False


def access_log(text: Callable[[], bool]) -> StatsListener:
    """Logs each request at its end; `text` says whether questions and answers are logged too."""

    def watch(stats: RequestStats) -> None:
        if _ACCESS.isEnabledFor(logging.INFO):
            fields = told(stats, with_text=text())
            _ACCESS.info("%s %s", stats.path, stats.status, extra={_FIELDS: fields})

    return watch


def told(stats: RequestStats, *, with_text: bool = False) -> dict[str, Any]:
    """What a log says of a request."""
    gates = gates_of(stats)
    line: dict[str, Any] = {
        "request_id": stats.id,
        "path": stats.path,
        "route": stats.route,
        "caller": stats.caller,
        "status": stats.status,
        "stream": stats.stream,
        "ms": round(1e3 * (time.perf_counter() - stats.began), 1),
        "tokens": stats.tokens,
        "upstream": list(stats.upstream),
        "stages_ms": {stage: round(1e3 * one, 1) for stage, one in stats.timings.items()},
        "gate": [{"level": one.level.value, "score": round(one.score, 4)} for one in gates],
        "verdicts": [one.action.value for one in stats.verdicts],
        "records": [one.record for one in stats.verdicts if one.record]
        or [one.record for one in gates if one.record],
    }
    if with_text and stats.verdicts:
        line["question"] = stats.verdicts[0].question
        line["answers"] = [one.released for one in stats.verdicts]
    return line
