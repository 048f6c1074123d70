"""Shadow mode: the upstream's answer is returned unchanged; the verdict on it is only recorded.

The answer is unchecked as a whole. So the fields around it (`id`, `model`, `system_fingerprint` and
others), which can carry text too, pass as they are: removing them would protect nobody. Error texts
of the upstream do not pass, as in every mode.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from suffice.errors import SufficeError
from suffice.server.errors import ApiError
from suffice.server.openai.answering import Answering
from suffice.server.openai.prompt import forwarded
from suffice.server.openai.upstream import UpstreamFault
from suffice.server.openai.upstream_drafts import Written, written
from suffice.server.telemetry.logs import description_of
from suffice.types import Verdict

log = logging.getLogger("suffice.server")


async def passed_through(answering: Answering) -> tuple[Mapping[str, Any], list[Verdict]]:
    """The upstream's reply, and the verdicts recorded on it."""
    route, asked = answering.route, answering.asked
    assert route.upstream is not None
    body = forwarded(asked.body, route.model(asked.body.get("model")))
    try:
        raw = await route.upstream.ask(body)
    except UpstreamFault as problem:
        raise problem.fault from None
    return raw, await judged(answering, raw)


def shadow_headers(verdicts: Sequence[Verdict] = ()) -> dict[str, str]:
    """Headers of a response in shadow mode: that it is unchecked, and its record and verdict, which
    a stream does not have yet when it begins."""
    headers = {"x-suffice-shadow": "true"}
    if verdicts:
        headers["x-suffice-record"] = verdicts[0].record
        headers["x-suffice-verdict"] = verdicts[0].action.value
    return headers


async def judged(answering: Answering, raw: Mapping[str, Any]) -> list[Verdict]:
    """Record the verdicts on a reply. A failure is logged and does not affect the reply."""
    try:
        pipeline, turn, closed = await answering.begun()
        if closed is not None:
            return [closed]
        passages, structured = turn.read.passages, answering.asked.structured
        most = answering.asked.most
        found: list[Written] = await answering.work.run(
            written, raw, passages, structured=structured, most=most
        )
        return [
            (await answering.judged(pipeline, turn, one))[0]
            for one in found
            if one.draft is not None
        ]
    except SufficeError as problem:
        log.warning("Shadow mode: could not reach a verdict: %s", description_of(problem))
        return []
    except ApiError as problem:  # the gate took too long
        log.warning("Shadow mode: could not reach a verdict: %s", problem.message)
        return []
