"""Chat without documents (`grounding: false`): every answer is marked as unverified."""

from __future__ import annotations

from dataclasses import replace

from suffice.access.keys import Principal
from suffice.answers import NOT_GATED
from suffice.draft.reading import read_draft
from suffice.record.trace import Trace
from suffice.server.inference_pool import InferencePool
from suffice.server.offload import offload
from suffice.server.openai.answering import Answered
from suffice.server.openai.completion import UNVERIFIED, Choice, decided, noted, passed_on
from suffice.server.openai.prompt import forwarded
from suffice.server.openai.request import ChatRequest
from suffice.server.openai.tool_calls import DROPPED, only_offered
from suffice.server.openai.upstream import EMPTY, UpstreamFault
from suffice.server.openai.upstream_drafts import (
    Written,
    added,
    content_of,
    structured_of,
    written,
)
from suffice.server.route import Route
from suffice.types import Action, Draft, Evidence, Level, Verdict
from suffice.verdict.fail_closed import too_long

WITHOUT_DOCUMENTS = replace(
    NOT_GATED,
    level=Level.INSUFFICIENT,
    score=0.0,
    reasons=("no documents are searched for this turn",),
)


async def ungrounded(
    route: Route, caller: Principal, asked: ChatRequest, work: InferencePool
) -> Answered:
    """The upstream's answer, marked as unverified."""
    assert route.upstream is not None
    body = forwarded(asked.body, route.model(asked.body.get("model")))
    try:
        raw, dropped = only_offered(await route.upstream.ask(body), asked.offer)
    except UpstreamFault as problem:
        raise problem.fault from None
    size = sum(len(content_of(one)) for one in raw.get("choices") or () if isinstance(one, dict))
    drafts = await offload(
        size, written, raw, (), structured=asked.structured, n=asked.n, most=asked.most
    )
    if not drafts or any(one.draft is not None and not one.draft.text for one in drafts):
        raise UpstreamFault(EMPTY).fault
    choices = [await marked(route, caller, asked, one, work) for one in drafts]
    choices = [noted(one, DROPPED) for one in choices] if dropped else choices
    return Answered(choices, raw, added(raw))


async def marked(
    route: Route, caller: Principal, asked: ChatRequest, one: Written, work: InferencePool
) -> Choice:
    if one.draft is None:
        text = read_draft(content_of(one.choice), ()).text
        return passed_on(one.choice, text or None, UNVERIFIED if text else "")
    text = structured_of(one.choice) if asked.structured else one.draft.text
    verdict = (
        too_long(Evidence(asked.question), WITHOUT_DOCUMENTS, one.draft, asked.most)
        if one.long
        else unverified(asked.question, text, one.draft)
    )
    if route.recorder:
        verdict = await work.record(recorded, route, caller, asked, verdict)
    texts = None if verdict.served else route.texts  # the note on a served answer says enough
    choice = decided(verdict, one.choice, structured=asked.structured, texts=texts)
    plain = route.settings.unverified_note == "suffice" and verdict.served
    return replace(choice, content=verdict.released) if plain else choice


def unverified(question: str, text: str, draft: Draft) -> Verdict:
    """The verdict on an unchecked answer, which the route releases with a caveat."""
    evidence = Evidence(question)
    released = text.strip()
    return Verdict(
        question, Action.CAVEAT, UNVERIFIED, WITHOUT_DOCUMENTS, evidence, draft, released
    )


def recorded(route: Route, caller: Principal, asked: ChatRequest, verdict: Verdict) -> Verdict:
    recorder = route.recording(caller, asked.tag)
    assert recorder is not None
    return replace(verdict, record=recorder.verdict(verdict, Trace(verdict.evidence)))
