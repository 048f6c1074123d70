"""Decides how much of a draft is released, from its findings and the routing table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from suffice.checks.check import share_read
from suffice.settings import ROUTES, RouteSettings
from suffice.text.claims import Statement, StatementKind, claims, declines, left_open
from suffice.text.marks import bare, citations
from suffice.text.question import lacking
from suffice.text.released import rendered
from suffice.text.sentences import sentences
from suffice.text.words import content_words
from suffice.types import (
    Action,
    Attempt,
    Citation,
    Claim,
    Code,
    Draft,
    Evidence,
    Finding,
    GateDecision,
    Level,
    Passage,
    Reason,
    ReasonCode,
    Retrieved,
    Source,
    Support,
    Verdict,
)
from suffice.verdict import wording
from suffice.verdict.assess import UNVERIFIED, Assessment, assess
from suffice.verdict.confidence import confidence
from suffice.verdict.route import RoutingRow, first_match, read_routes


def served_answers(earlier: Sequence[Verdict]) -> tuple[Retrieved, ...]:
    """The verified answers of earlier turns, as passages."""
    served = (verdict for verdict in earlier if verdict.action is Action.SERVE)
    return tuple(
        Retrieved(Passage(f"turn-{n}", bare(verdict.released), "earlier answer"), None)
        for n, verdict in enumerate(served, 1)
    )


Span = tuple[int, int]


def citations_of(
    draft: Draft, evidence: Evidence, findings: Sequence[Finding]
) -> tuple[Citation, ...]:
    """Each passage that the answer cites, with its deciding sentences, regardless of what the draft
    claims to quote. For an answer without citations, the passages that back it."""
    retrieved = {passage.id: passage for passage in evidence.passages}
    if any(claim.cites for claim in draft.claims):
        named = {
            citation.n: ([c for c in draft.claims if citation.n in c.cites], citation.passage.id)
            for citation in draft.citations
        }
    else:
        named = _backing(evidence, findings)
    return tuple(
        Citation(n, retrieved[id], _quoted(retrieved[id], claims, findings))
        for n, (claims, id) in named.items()
        if claims and id in retrieved
    )


def _backing(evidence: Evidence, findings: Sequence[Finding]) -> dict[int, tuple[list[Claim], str]]:
    backing: dict[int, tuple[list[Claim], str]] = {}
    for n, passage in enumerate(evidence.passages, 1):
        claims = [
            finding.claim
            for finding in findings
            if finding.passage_id == passage.id
            and finding.support is Support.BACKED
            and finding.span
        ]
        if claims:
            backing[n] = list(dict.fromkeys(claims)), passage.id
    return backing


def _quoted(passage: Passage, claims: Sequence[Claim], findings: Sequence[Finding]) -> str:
    text = passage.text
    places = {span for claim in claims if (span := _place(passage, claim, findings))}
    parts: list[Span] = []
    for a, b in sentences(text):
        if any(a < end and start < b for start, end in places):
            apart = not parts or text[parts[-1][1] : a].strip()
            parts = [*parts, (a, b)] if apart else [*parts[:-1], (parts[-1][0], b)]
    return " … ".join(text[start:end].strip() for start, end in parts)


def _place(passage: Passage, claim: Claim, findings: Sequence[Finding]) -> Span | None:
    """The span of the passage that a check found to support the claim; otherwise the sentence that
    shares most words with it."""
    about_it = [
        finding
        for finding in findings
        if finding.claim == claim and finding.passage_id == passage.id
    ]
    located = [finding for finding in about_it if finding.span]
    if located:
        backing = [finding for finding in located if finding.support is Support.BACKED]
        return (backing or located)[0].span
    words = set(content_words(claim.text))
    shared = [
        (len(words & set(content_words(passage.text[start:end]))), -start, end)
        for start, end in sentences(passage.text)
    ]
    most, start, end = max(shared, default=(0, 0, 0))
    return (-start, end) if most else None


DEFAULT = read_routes(ROUTES)
_NEVER = frozenset({Code.FABRICATED.value, "contradicted", "mismatch"})
"""Flags that withhold a draft, regardless of the routing table."""
_DOUBTED = frozenset(
    {
        UNVERIFIED,
        *(code.value for code in (Code.NOT_RETRIEVED, Code.STALE, Code.EXPIRED)),
        *(code.value for code in (Code.MISATTRIBUTED, Code.FAILED, Code.MARKED)),
        *(code.value for code in (Code.DOUBTED, Code.UNANSWERED)),
    }
)
"""Flags that allow CAVEAT at best, regardless of the routing table."""
_WORD = re.compile(r"\w")


def withhold(
    evidence: Evidence,
    gate: GateDecision,
    reason: Reason | str,
    draft: Draft | None = None,
    findings: Sequence[Finding] = (),
    action: Action = Action.WITHHOLD,
) -> Verdict:
    """A verdict without an answer: the reason, what is not covered, and the nearest sources. A
    reason in words must quote no draft."""
    if isinstance(reason, str):
        reason = Reason(ReasonCode.TEXT, values=(reason,))
    return Verdict(
        question=evidence.question,
        action=action,
        reason=wording.render((reason,)),
        reasons=(reason,),
        gate=gate,
        evidence=evidence,
        draft=draft,
        findings=tuple(findings),
        missing=gate.missing,
        nearest=nearest(evidence),
        share_read=share_read(draft, findings, draft.unread) if draft else 0.0,
        notes=evidence.notes,
    )


def refused_by_gate(evidence: Evidence, gate: GateDecision) -> Verdict:
    """The verdict if the gate is closed: WITHHOLD, or REVIEW if the gate could not decide."""
    action = Action.REVIEW if gate.level is Level.REVIEW else Action.WITHHOLD
    return withhold(evidence, gate, wording.gate_refusal(gate, len(evidence)), action=action)


def unwritten(evidence: Evidence, gate: GateDecision, problem: str) -> Verdict:
    """The verdict if no draft could be written: WITHHOLD, with the problem in the notes."""
    withheld = withhold(evidence, gate, Reason(ReasonCode.NOT_WRITTEN))
    return replace(withheld, notes=(*withheld.notes, problem))


def disagree(evidence: Evidence, gate: GateDecision) -> Verdict:
    """The verdict if the documents contradict each other: both sides are quoted, without
    preference."""
    opposed = [conflict for conflict in gate.conflicts if not conflict.ambiguous]
    sides = [
        side
        for conflict in opposed
        for side in (
            (conflict.first, conflict.first_quote),
            (conflict.second, conflict.second_quote),
        )
    ]
    numbered = {passage.id: n for n, (passage, _) in enumerate(dict(sides).items(), 1)}
    reasons = (Reason(ReasonCode.DISAGREE),)
    return Verdict(
        question=evidence.question,
        action=Action.CONFLICT,
        reason=wording.render(reasons),
        reasons=reasons,
        gate=gate,
        evidence=evidence,
        released=wording.both_sides(opposed, numbered),
        citations=tuple(
            Citation(numbered[passage.id], passage, quote) for passage, quote in dict(sides).items()
        ),
        missing=gate.missing,
        share_read=0.0,
        notes=evidence.notes,
    )


def assessed(
    evidence: Evidence, gate: GateDecision, draft: Draft, findings: Sequence[Finding]
) -> Assessment:
    """The assessment of a draft, with the probability that it is correct."""
    return replace(assess(draft, findings, evidence), confidence=confidence(gate, draft, findings))


def matching_route(
    gate: GateDecision, draft: Draft, assessment: Assessment, routes: Sequence[RoutingRow]
) -> RoutingRow | None:
    """The first row of the routing table that a draft matches; `None` if it makes no claim."""
    opposed = _opposed(gate)
    return first_match(routes, assessment, conflict=opposed) if draft.claims else None


def route_text(
    gate: GateDecision, draft: Draft, assessment: Assessment, routes: Sequence[RoutingRow]
) -> str:
    """The row of the routing table that decides about a draft; empty if none does: the draft makes
    no claim, or both sides of a conflict are shown instead of it."""
    route = matching_route(gate, draft, assessment, routes)
    if route is None or (route.action is Action.CONFLICT and _opposed(gate)):
        return ""
    return route.text


def _opposed(gate: GateDecision) -> bool:
    """Whether passages contradict each other."""
    return any(not conflict.ambiguous for conflict in gate.conflicts)


def decide(
    evidence: Evidence,
    gate: GateDecision,
    draft: Draft,
    findings: Sequence[Finding],
    routes: Sequence[RoutingRow] = DEFAULT,
    assessment: Assessment | None = None,
) -> Verdict:
    """Decide what to release: the first matching row of the routing table wins. Regardless of the
    table, a contradicted draft is never released, and unchecked text only with a caveat.
    `assessment` is that of the draft, if the caller has it."""
    left_out = [statement for statement in claims(draft.text) if _leaves_open(statement)]
    missing = tuple(dict.fromkeys((*gate.missing, *_left_open(left_out))))
    assessment = assessment or assessed(evidence, gate, draft, findings)
    route = matching_route(gate, draft, assessment, routes)
    if route is None:
        declined = withhold(evidence, gate, wording.unanswered(gate), draft)
        return replace(declined, missing=missing)
    if route.action is Action.CONFLICT and _opposed(gate):
        return disagree(evidence, gate)
    action = _bounded(route.action, assessment, gate, draft)
    lacks = lacking(evidence.question, draft.text)
    action = Action.CAVEAT if (lacks or left_out) and action is Action.SERVE else action
    left = next((finding.reason for finding in findings if finding.code is Code.UNANSWERED), "")
    reasons = wording.reasons_for(
        action,
        gate,
        assessment,
        quoted=_all_quoted(findings, assessment),
        lacks=lacks,
        left=left,
        gaps=[gap.words for gap in left_out],
    )
    if action in (Action.SERVE, Action.CAVEAT):
        omissions = wording.omissions(findings)
        verdict = Verdict(
            question=evidence.question,
            action=action,
            reason=wording.render(reasons),
            reasons=reasons,
            gate=gate,
            evidence=evidence,
            draft=draft,
            released=draft.text,
            findings=tuple(findings),
            citations=citations_of(draft, evidence, findings),
            notes=(*evidence.notes, *draft.notes, *map(wording.rendered_reason, omissions)),
            remarks=omissions,
        )
    else:
        (reason,) = reasons
        verdict = withhold(evidence, gate, reason, draft, findings, action)
    return replace(
        verdict,
        missing=missing,
        confidence=assessment.confidence,
        faithfulness=assessment.faithfulness,
        fact_score=assessment.facts,
        share_read=assessment.share_read,
        grade=assessment.grade,
        route=route.text,
        notes=(*verdict.notes, route.note) if route.note else verdict.notes,
    )


def _leaves_open(statement: Statement) -> bool:
    """Whether a sentence says what the documents leave open; it may be a claim as well."""
    return statement.kind is StatementKind.REFUSAL or declines(statement.words)


def _left_open(gaps: Sequence[Statement]) -> Iterator[str]:
    """What the draft itself says that the documents leave open, as short phrases."""
    yield from filter(None, (wording.short(left_open(gap.words)) for gap in gaps))


def _bounded(action: Action, assessment: Assessment, gate: GateDecision, draft: Draft) -> Action:
    """Apply the limits that no routing table can relax."""
    if action is Action.CONFLICT:  # the row matched although there is no conflict
        return Action.WITHHOLD
    if action not in (Action.SERVE, Action.CAVEAT):
        return action
    against = assessment.claims_with(Support.CONTRADICTED) or assessment.flags & _NEVER
    if against or not assessment.claims_with(Support.BACKED) or not _all_claimed(draft):
        return Action.WITHHOLD
    doubted = (
        assessment.claims_with(Support.UNCHECKED, Support.UNBACKED) or assessment.flags & _DOUBTED
    )
    sure = gate.level is Level.SUFFICIENT and not doubted
    all_read = not draft.cut and not draft.unread and not assessment.unread
    return action if sure and all_read else Action.CAVEAT


def _all_claimed(draft: Draft) -> bool:
    """Whether the claims cover the text: a reader sees it as it stands, their spans are exact and
    no statement is outside them."""
    exact = all(draft.text[claim.start : claim.end] == claim.text for claim in draft.claims)
    exact = exact and rendered(draft.text).text == draft.text
    left = list(draft.text)
    for claim in draft.claims:
        left[claim.start : claim.end] = " " * (claim.end - claim.start)
    outside = "".join(left)
    stated = (outside[part.start : part.end] for part in claims(draft.text) if part.checkable)
    return exact and not any(_WORD.search(bare(text)) for text in stated)


def _all_quoted(findings: Sequence[Finding], assessment: Assessment) -> bool:
    quoted = {f.claim for f in findings if f.check == "verbatim" and f.support is Support.BACKED}
    return quoted.issuperset(assessment.claims)


def nearest(evidence: Evidence, most: int = 3) -> tuple[Source, ...]:
    """The documents in the evidence, best first, without duplicates."""
    sources: dict[tuple[bool, str], Source] = {}
    for item in evidence:
        passage = item.passage
        source = Source(
            passage.document,
            passage.title,
            passage.version,
            passage.headings,
            item.relevance,
            passage.carried,
        )
        sources.setdefault((passage.carried, passage.document), source)
    return tuple(sources.values())[:most]


_ACTIONS = {"review": Action.REVIEW, "withhold": Action.WITHHOLD, "caveat": Action.WITHHOLD}


def bounded(verdict: Verdict, route: RouteSettings) -> Verdict:
    """Limit the verdict to what the route allows for a draft with a failed check."""
    failed = any(finding.code is Code.FAILED for finding in verdict.findings)
    if not failed or not verdict.served or route.on_check_failure == "caveat":
        return verdict
    held = withhold(
        verdict.evidence,
        verdict.gate,
        Reason(ReasonCode.CHECK_FAILED),
        verdict.draft,
        verdict.findings,
        _ACTIONS[route.on_check_failure],
    )
    return replace(held, attempts=verdict.attempts, faithfulness=verdict.faithfulness)


def unchecked(
    evidence: Evidence, gate: GateDecision, draft: Draft, route: RouteSettings
) -> Verdict:
    """The verdict if the checks did not finish in time: nothing is released."""
    reason = f"the checks took longer than {route.check_seconds:g} s"
    findings = [
        Finding(claim, "checks", Support.UNCHECKED, reason=reason, code=Code.FAILED)
        for claim in draft.claims
    ]
    held = withhold(
        evidence,
        gate,
        Reason(ReasonCode.CHECK_LATE, values=(f"{route.check_seconds:g}",)),
        draft,
        findings,
        _ACTIONS[route.on_check_failure],
    )
    return replace(held, attempts=(Attempt(draft, tuple(findings)),))


def too_long(evidence: Evidence, gate: GateDecision, draft: Draft, most: int) -> Verdict:
    """The verdict on a draft longer than the limit; `draft` holds its beginning."""
    held = withhold(evidence, gate, Reason(ReasonCode.TOO_LONG, values=(f"{most:,}",)), draft)
    return replace(held, attempts=(Attempt(draft, ()),))


def abandoned(evidence: Evidence, gate: GateDecision, draft: Draft) -> Verdict:
    """The verdict if the caller disconnected or the request timed out before the checks ended."""
    held = withhold(evidence, gate, Reason(ReasonCode.ABANDONED), draft)
    return replace(held, attempts=(Attempt(draft, ()),))


def overridden(verdict: Verdict, note: str) -> Verdict:
    """The verdict on a draft written after a person overrode the gate."""
    action = Action.CAVEAT if verdict.action is Action.SERVE else verdict.action
    opened = (Reason(ReasonCode.OVERRIDDEN),) if verdict.served else ()
    reasons = (*opened, *wording.reasons_of(verdict))
    return replace(
        verdict,
        action=action,
        reason=wording.render(reasons),
        reasons=reasons,
        notes=(*verdict.notes, note),
    )


def released(verdict: Verdict, note: str) -> Verdict:
    """The answer as drafted, after a person released it."""
    draft = verdict.draft
    if draft is None or verdict.released:  # served before, or quotes both sides of a conflict
        text, citations = verdict.released, verdict.citations
    else:
        text, citations = draft.text, citations_of(draft, verdict.evidence, verdict.findings)
    reasons = (Reason(ReasonCode.RELEASED), *wording.reasons_of(verdict))
    return replace(
        verdict,
        action=Action.CAVEAT,
        reason=wording.render(reasons),
        reasons=reasons,
        released=text,
        citations=citations,
        notes=(*verdict.notes, note),
    )


def corrected(verdict: Verdict, text: str, note: str) -> Verdict:
    """The answer in a person's words. Its sources are those that it cites by number."""
    sources = enumerate(verdict.evidence.sources, 1)
    cited = {n for _, numbers in citations(text) for n in numbers}
    draft = verdict.draft or Draft("")
    cited_before = {
        citation.n: citation for citation in citations_of(draft, verdict.evidence, verdict.findings)
    }
    reasons = (Reason(ReasonCode.CORRECTED),)
    return replace(
        verdict,
        action=Action.CAVEAT,
        reason=wording.render(reasons),
        reasons=reasons,
        released=text,
        citations=tuple(
            cited_before.get(n, Citation(n, passage, "")) for n, passage in sources if n in cited
        ),
        notes=(*verdict.notes, note),
    )


def withdrawn(verdict: Verdict, note: str) -> Verdict:
    """The verdict after a person withdrew an answer."""
    reasons = (Reason(ReasonCode.WITHDRAWN),)
    return replace(
        verdict,
        action=Action.WITHHOLD,
        reason=wording.render(reasons),
        reasons=reasons,
        released="",
        citations=(),
        notes=(*verdict.notes, note),
    )
