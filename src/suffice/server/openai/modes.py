"""Shadow mode: the upstream's answer is returned unchanged; the verdict on it is only recorded.

The answer is unchecked as a whole. So the fields around it (`id`, `model`, `system_fingerprint` and
others), which can carry text too, pass as they are: removing them would protect nobody. Error texts
of the upstream do not pass, as in every mode.
"""

from __future__ import annotations

import logging
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from suffice.access.keys import Principal
from suffice.answers import NOT_GATED
from suffice.draft.reading import read_draft
from suffice.errors import SufficeError
from suffice.log.trace import Trace
from suffice.server.errors import ApiError
from suffice.server.inference_pool import InferencePool
from suffice.server.openai.answering import Answered, Answering
from suffice.server.openai.carried_evidence import text_of
from suffice.server.openai.completion import (
    UNVERIFIED,
    Choice,
    decided,
    disclosure,
    noted,
    passed_on,
)
from suffice.server.openai.request import ChatRequest, forwarded
from suffice.server.openai.tool_calls import DROPPED, Offer, only_offered
from suffice.server.openai.upstream import EMPTY, UpstreamFault
from suffice.server.openai.upstream_drafts import (
    Written,
    added,
    content_of,
    structured_of,
    written,
)
from suffice.server.route import Route
from suffice.server.sending import offload
from suffice.server.telemetry.logs import description_of
from suffice.settings.server import Occasion
from suffice.text.claims import StatementKind, claims
from suffice.text.words import content_words
from suffice.types import (
    Action,
    Attempt,
    Draft,
    Evidence,
    Level,
    Reason,
    ReasonCode,
    Rescue,
    Verdict,
)
from suffice.verdict.decide import too_long, withhold

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
        question,
        Action.CAVEAT,
        UNVERIFIED,
        WITHOUT_DOCUMENTS,
        evidence,
        draft,
        released,
        reasons=(Reason(ReasonCode.TEXT, values=(UNVERIFIED,)),),
    )


def recorded(route: Route, caller: Principal, asked: ChatRequest, verdict: Verdict) -> Verdict:
    recorder = route.recording(caller, asked.tag)
    assert recorder is not None
    return replace(verdict, record=recorder.verdict(verdict, Trace(verdict.evidence)))


TURN = "small_talk"
ANSWERED = "Small talk: answered without documents."
TRIMMED = f"{ANSWERED} Statements that no document supports were removed."
STATED = "Withheld: the reply to small talk makes a statement that no document supports."
_LONGEST = 200
_TOOLS = ("tools", "tool_choice", "functions", "function_call", "parallel_tool_calls")


def is_small_talk(messages: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the last user turn contains nothing that documents could answer."""
    turns = [text_of(one.get("content")).strip() for one in messages if one.get("role") == "user"]
    if not turns or not turns[-1] or len(turns[-1]) > _LONGEST or not _latin(turns[-1]):
        return False
    if any(one.get("role") in ("tool", "function") for one in messages[-1:]):
        return False
    rest = [one.words for one in claims(turns[-1]) if one.kind is not StatementKind.GREETING]
    if not rest:
        return True
    # "Why?" after another turn asks about that turn.
    left = " ".join(rest)
    return len(turns) == 1 and not content_words(left) and not re.search(r"\d", left)


def is_small_talk_turn(route: Route, asked: ChatRequest) -> bool:
    """Whether the upstream answers this request as small talk."""
    may = route.settings.small_talk and route.settings.grounding and route.url
    return may and not asked.structured and is_small_talk(asked.body.get("messages") or ())


def _latin(text: str) -> bool:
    """Whether all letters of a text are Latin; a text in another script is never small talk."""
    letters = (char for char in text if char.isalpha())
    return all(unicodedata.name(char, "").startswith("LATIN") for char in letters)


async def small_talk_answer(
    route: Route, caller: Principal, asked: ChatRequest, work: InferencePool
) -> Answered:
    """The upstream's reply to small talk, without tools and marked as such."""
    assert route.upstream is not None
    body = forwarded(asked.body, route.model(asked.body.get("model")))
    body = {name: value for name, value in body.items() if name not in _TOOLS}
    try:
        raw, _ = only_offered(await route.upstream.ask(body), Offer())
    except UpstreamFault as problem:
        raise problem.fault from None
    drafts = await work.run(written, raw, (), n=asked.n, most=asked.most)
    if not drafts or any(one.draft is None or not one.draft.text for one in drafts):
        raise UpstreamFault(EMPTY).fault
    choices = []
    for one in drafts:
        verdict = await work.run(small_talk_verdict, asked, one)
        if route.recorder:
            verdict = await work.record(recorded, route, caller, asked, verdict)
        choices.append(_choice(verdict, one, route, caller))
    return Answered(choices, raw, added(raw))


def small_talk_verdict(asked: ChatRequest, one: Written) -> Verdict:
    """The verdict on a reply to small talk."""
    evidence, draft = Evidence(asked.question), one.draft or Draft("")
    if one.long:
        return too_long(evidence, WITHOUT_DOCUMENTS, draft, asked.most)
    left = _unstated(draft)
    if not left:
        return withhold(evidence, WITHOUT_DOCUMENTS, STATED, draft)
    kept = read_draft(left, (), drafter=draft.drafter)
    reason, rescue = (TRIMMED, Rescue.TRIMMED) if draft.claims else (ANSWERED, None)
    return Verdict(
        asked.question,
        Action.CAVEAT,
        reason,
        WITHOUT_DOCUMENTS,
        evidence,
        kept,
        kept.text,
        rescue=rescue,
        attempts=(Attempt(draft),),
        reasons=(Reason(ReasonCode.TEXT, values=(reason,)),),
    )


def _unstated(draft: Draft) -> str:
    """The text without its claims; empty if the rest could still contain a claim."""
    text = draft.text
    for claim in sorted(draft.claims, key=lambda one: one.start, reverse=True):
        text = f"{text[: claim.start]}{text[claim.end :]}"
    text = " ".join(text.split()) if draft.claims else text
    left = claims(text)
    return text.strip() if left and not any(one.checkable for one in left) else ""


def _choice(verdict: Verdict, one: Written, route: Route, caller: Principal) -> Choice:
    shown = disclosure(caller, route.settings)
    choice = decided(verdict, one.choice, shown=shown)
    told = route.texts.text(verdict, Occasion.SMALL_TALK) if route.texts else choice.content
    content = verdict.released if verdict.served else told
    return replace(choice, content=content, shaped={"turn": TURN})
