"""Small talk ("Hello!", "thanks"): the upstream answers without evidence, if the route has one.

A turn is small talk if there is nothing to search for: it has only greetings, or no content words
at all. Statements are removed from the reply, because no evidence supports them. A reply that
consists only of statements is withheld.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from suffice.access.keys import Principal
from suffice.draft.reading import read_draft
from suffice.server.inference_pool import InferencePool
from suffice.server.openai.answering import Answered
from suffice.server.openai.carried_evidence import text_of
from suffice.server.openai.completion import Choice, decided
from suffice.server.openai.disclosure import disclosure
from suffice.server.openai.prompt import forwarded
from suffice.server.openai.request import ChatRequest
from suffice.server.openai.tool_calls import Offer, only_offered
from suffice.server.openai.ungrounded import WITHOUT_DOCUMENTS, recorded
from suffice.server.openai.upstream import EMPTY, UpstreamFault
from suffice.server.openai.upstream_drafts import Written, added, written
from suffice.server.route import Route
from suffice.settings.texts import Occasion
from suffice.text.claims import StatementKind, claims
from suffice.text.words import content_words
from suffice.types import Action, Attempt, Draft, Evidence, Rescue, Verdict
from suffice.verdict.decide import withhold
from suffice.verdict.fail_closed import too_long

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
        verdict = await work.run(judged, asked, one)
        if route.recorder:
            verdict = await work.record(recorded, route, caller, asked, verdict)
        choices.append(_choice(verdict, one, route, caller))
    return Answered(choices, raw, added(raw))


def judged(asked: ChatRequest, one: Written) -> Verdict:
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
