"""A reviewer opens a gate that was wrongly closed: an answer is written, checked and recorded."""

from __future__ import annotations

from dataclasses import replace

from suffice.errors import ReviewError
from suffice.gate.gate import GateResult
from suffice.record.decision import Decision
from suffice.record.trace import Trace
from suffice.review.case import Case
from suffice.review.review import Review
from suffice.server.route import Route as GatewayRoute
from suffice.server.ui.page import PageContext
from suffice.types import Verdict


async def open_gate(
    context: PageContext, review: Review, case: Case, reason: str, seen: int
) -> str:
    """The id of the record of the new verdict. It belongs to the caller of the question. Models
    are at work, so it waits in the same queue as the requests of the gateway."""
    route, entry, person = _route(context, case), case.entry, context.person
    labels = frozenset(
        label for one in entry.fields().get("passages", ()) for label in one.get("access", ())
    )
    pipeline = replace(route.base, checks=route.checks(labels, marks=True))
    assert route.recorder is not None  # there is a log, so every route has one
    filing = route.recorder.by(entry.caller, entry.tag).filing

    def write(decision: Decision, note: str) -> tuple[Verdict, Trace]:
        return pipeline.override(GateResult(decision.evidence, decision.gate), decision.trace, note)

    def opened() -> str:
        return review.open(
            entry.id,
            write,
            reason=reason,
            by=person.name,
            filing=filing,
            reader=person.reader,
            seen=seen,
        )[1]

    return await context.gateway.work.run(opened)


def _route(context: PageContext, case: Case) -> GatewayRoute:
    """A route for the collection that the passages of the case are from."""
    passages = case.entry.fields().get("passages", ())
    collection = next((one.get("collection", "default") for one in passages), "default")
    routes = context.gateway.state.routes.values()
    found = [one for one in routes if one.settings.collection == collection]
    if not found:
        raise ReviewError(
            f"No route of this gateway searches the collection '{collection}'.",
            remedy=f"Run: suffice review decide {case.entry.id} open --reason REASON",
        )
    return found[0]
