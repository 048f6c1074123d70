"""Logs as JSON lines: one line for each request and each event, with the request id.

They contain no text from questions, documents or answers unless `server.log_text` is set.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TextIO

from suffice.errors import StoreError, SufficeError
from suffice.server.telemetry.metrics import gates_of
from suffice.server.telemetry.stats import CURRENT_STATS, FIELDS, TEXTS, RequestStats, StatsListener

_ACCESS = logging.getLogger("suffice.access")
_SECRET = re.compile(r"(sk-suffice-[0-9a-f]{16}-)[A-Za-z0-9_-]+")
_CHAIN = 5
"""Maximum number of chained exceptions that are logged."""


class JsonLines(logging.Formatter):
    """Formats log records as JSON lines. `text` includes error messages, which can quote
    documents."""

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
        if (stats := CURRENT_STATS.get()) is not None:
            line["request_id"] = stats.id
        for name in (FIELDS, TEXTS) if self._text() else (FIELDS,):
            fields = getattr(record, name, None)
            line |= fields if isinstance(fields, Mapping) else {}
        if record.exc_info and record.exc_info[1] is not None:
            line["trace"] = (
                self.formatException(record.exc_info)
                if self._text()
                else _places(record.exc_info[1])
            )
        return _SECRET.sub(r"\1…", json.dumps(line, ensure_ascii=False, default=str))


def _places(problem: BaseException) -> str:
    """A traceback without messages: files, lines, names and exception types."""
    parts: list[str] = []
    left: BaseException | None = problem
    while left is not None and len(parts) < _CHAIN:
        frames = "".join(traceback.format_tb(left.__traceback__))
        parts.append(f"{frames}{type(left).__name__}")
        left = left.__cause__ or left.__context__
    return "\nfrom:\n".join(parts)


def description_of(problem: SufficeError, *, with_text: bool = False) -> str:
    """The log text of an error. Store errors are logged in full. Other messages can quote a
    document, so only the type and the remedy are logged unless `with_text` is set."""
    if with_text or isinstance(problem, StoreError):
        return str(problem)
    return " ".join(filter(None, (f"{type(problem).__name__}.", problem.remedy)))


def start_logs(
    stream: TextIO | None = None,
    text: Callable[[], bool] = lambda: False,
    others: Sequence[str] = (),
) -> None:
    """Log `suffice` records, and warnings of other loggers, to the stream as JSON lines."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines(text))
    for name in ("suffice", *others):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(logging.WARNING if name in others else logging.INFO)
        logger.propagate = False


def access_log(text: Callable[[], bool]) -> StatsListener:
    """Log each request when it ends; `text` returns whether to log questions and answers too."""

    def watch(stats: RequestStats) -> None:
        if _ACCESS.isEnabledFor(logging.INFO):
            fields = log_fields(stats, with_text=text())
            _ACCESS.info("%s %s", stats.path, stats.status, extra={FIELDS: fields})

    return watch


def log_fields(stats: RequestStats, *, with_text: bool = False) -> dict[str, Any]:
    """The log fields of a request."""
    gates, stages = gates_of(stats), stats.stages
    line: dict[str, Any] = {
        "request_id": stats.id,
        "path": stats.path,
        "route": stats.route,
        "caller": stats.caller,
        **({"user": stats.user} if stats.user else {}),
        "status": stats.status,
        "stream": stats.stream,
        "ms": round(1e3 * stages.get("total", stats.seconds), 1),
        "tokens": stats.tokens,
        "upstream": list(stats.upstream),
        "stages_ms": {stage: round(1e3 * seconds, 1) for stage, seconds in stages.items()},
        "gate": [{"level": gate.level.value, "score": round(gate.score, 4)} for gate in gates],
        "verdicts": [verdict.action.value for verdict in stats.verdicts],
        "records": [verdict.record for verdict in stats.verdicts if verdict.record]
        or [gate.record for gate in gates if gate.record],
    }
    if with_text and stats.verdicts:
        line["question"] = stats.verdicts[0].question
        line["answers"] = [verdict.released for verdict in stats.verdicts]
    return line
