"""`GET /v1/reviews/{record}`: what became of an answer that a person reviews."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from suffice import serialize as as_json
from suffice.access.keys import ALL, Principal, Role
from suffice.access.visibility import Reader
from suffice.errors import StoreError
from suffice.record.log import Log
from suffice.review.case import Case
from suffice.review.review import Review
from suffice.server.errors import ApiError
from suffice.server.request import RequestContext, as_response

NOT_QUEUED = "not_queued"


async def review(context: RequestContext) -> Response:
    """The state of the review, and the answer once a person released it."""
    name = context.request.path_params["record"]
    log = context.gateway.log
    if log is None:
        raise ApiError(404, "This gateway keeps no records.", "record_not_found", "record")
    try:
        case = await context.gateway.work.record(_case, log, context.caller, name)
    except StoreError as problem:
        if type(problem) is not StoreError:
            raise
        message = f"You have no record '{name}'."
        raise ApiError(404, message, "record_not_found", "record") from problem
    return as_response(_shown(case))


def _case(log: Log, caller: Principal, name: str) -> Case:
    """The case of the caller's own record, or of any that a reviewer may read. Others are reported
    as missing, and so is one with passages that the caller may no longer read."""
    return Review(log).case(name, reader_for(log, caller, name))


def reader_for(log: Log, caller: Principal, name: str) -> Reader:
    """The reader as which a caller sees a record: its own, or any as a reviewer. Raise if the
    record is neither."""
    entry = log.entry(name)
    mine = entry.caller == caller.name and caller.user in ("", entry.tag)
    if not mine and not caller.has(Role.REVIEWER):
        raise StoreError(f"You have no record '{name}' in the log.")
    # The collections of a caller's own record were checked when it asked.
    return Reader(caller.labels, frozenset({ALL})) if mine else Reader.of(caller)


def _shown(case: Case) -> dict[str, Any]:
    verdict, last = case.verdict, case.decided[-1] if case.decided else None
    out = verdict if verdict and verdict.served else None
    return {
        "object": "review",
        "record": case.entry.id,
        "state": case.state.value if case.queued or case.decided else NOT_QUEUED,
        "verdict": verdict.action.value if verdict else None,
        "decision": last.act.value if last else None,
        "answer": out.released if out else None,
        # The reasons of a withheld answer may quote the draft.
        "reason": out.reason if out else None,
        "sources": [as_json.citation(one) for one in out.citations] if out else [],
        "notes": [last.note] if out and last else [],
        "result": next((one.result for one in reversed(case.decided) if one.result), None),
        "queued": case.queued_at or None,
        "decided": last.time if last else None,
    }
