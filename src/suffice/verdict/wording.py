"""The wording of refusals, caveats and reasons, in one place.

Code decides by the data of a reason (`types.Reason`), never by its words. What a reader may not see
is taken out of the data, and the words are made anew.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from suffice.errors import SettingsError
from suffice.gate.freshness import left_out
from suffice.models.llm.client import Cost
from suffice.settings.server import CONTACT, Occasion, placeholders
from suffice.text.marks import bare
from suffice.text.one_line import one_line
from suffice.text.readable import readable
from suffice.types import (
    Action,
    Claim,
    Code,
    Conflict,
    Finding,
    GateDecision,
    Level,
    Reason,
    ReasonCode,
    Support,
    Verdict,
)
from suffice.verdict.assess import QUOTED as ALL_QUOTED
from suffice.verdict.assess import UNVERIFIED, Assessment

_WORDS: Mapping[ReasonCode, str] = {
    ReasonCode.TEXT: "{0}",
    ReasonCode.UNKNOWN: "{0}",
    # An answer that is released
    ReasonCode.QUOTED: "Every statement is quoted from the document it cites.",
    ReasonCode.CHECKED: "Every statement was checked against the documents it is based on.",
    ReasonCode.LIMITED: "The available documents cover this question only in part.",
    ReasonCode.POSSIBLY_LIMITED: "The available documents may not answer this question in full.",
    ReasonCode.THIN: "The evidence was judged insufficient for an answer; read this with caution.",
    ReasonCode.NOT_VERIFIED: (
        "Part of this answer could not be verified against the documents{claims}."
    ),
    ReasonCode.UNREAD: "Part of this answer was not checked against the documents{listed}.",
    ReasonCode.BESIDE: "Part of what the model wrote was not checked; see the notes.",
    ReasonCode.LEFT_OPEN: "The documents leave a part of this question open{listed}.",
    ReasonCode.ANSWERED_IN_PART: "{0}.",
    ReasonCode.OTHER_KIND: "The answer does not give what the question asks for: {0}.",
    ReasonCode.MARKS_UNVERIFIED: (
        "Citation numbers were not verified: the citations check is switched off."
    ),
    ReasonCode.MARKED: (
        "Part of this answer rests only on a passage with words that look like an instruction."
    ),
    ReasonCode.VALUE_DOUBTED: (
        "A value in the answer does not stand in the documents in this form; compare it."
    ),
    ReasonCode.UNSURE: "The estimated probability that the answer is correct is {0}.",
    # A draft that a person must review
    ReasonCode.UNSURE_REVIEW: (
        "The estimated probability that the answer is correct is {0}; a person must review it."
    ),
    ReasonCode.WRONG_SOURCE: (
        "The draft cites a source that is out of date or does not support the claim; "
        "a person must review it."
    ),
    # A question without an answer
    ReasonCode.NOTHING_FOUND: "No document matches this question.",
    ReasonCode.ONLY_LEFT_OUT: (
        "The only matching documents do not apply to the time this question asks about: {all}."
    ),
    ReasonCode.NOT_ENOUGH: ("The documents do not contain enough to answer this question: {all}."),
    ReasonCode.NO_STATEMENT: (
        "Related documents were found, but no statement in them answers this question.{excluded}"
    ),
    ReasonCode.OTHER_QUESTION: "The draft does not address the question.",
    ReasonCode.CONTRADICTED: ("The draft makes a statement that the documents contradict{claims}."),
    ReasonCode.NO_SUCH_SOURCE: "The draft cites a source that does not exist{claims}.",
    ReasonCode.NO_SOURCE: "The draft cites no source, so it could not be verified{claims}.",
    ReasonCode.NOT_ANSWERED: (
        "This question could not be fully answered from the available documents{claims}."
    ),
    ReasonCode.NOT_BACKED: ("No support was found in the documents for part of the draft{claims}."),
    ReasonCode.OTHER_VALUE: ("A value in the draft does not stand in the documents in this form."),
    ReasonCode.UNLIKELY: (
        "The documents may not answer this question: "
        "the estimated probability that the answer is correct is {0}."
    ),
    ReasonCode.NOT_WRITTEN: "The model that writes answers could not be reached.",
    ReasonCode.CHECK_FAILED: ("Withheld: a check failed, so the answer could not be verified."),
    ReasonCode.CHECK_LATE: (
        "Withheld: the checks took longer than {0} s, so the answer could not be verified."
    ),
    ReasonCode.TOO_LONG: (
        "Withheld: the draft is longer than {0} characters, so it was not checked "
        "(server.limits.draft_characters)."
    ),
    ReasonCode.ABANDONED: "Withheld: the request ended before the answer was checked.",
    ReasonCode.DISAGREE: (
        "The documents contradict each other; both sides are quoted and neither was preferred."
    ),
    # What was changed so that an answer could be released
    ReasonCode.SHORTENED: "Statements that the documents do not support were removed{claims}.",
    ReasonCode.CITATION_CORRECTED: "A citation named the wrong passage and was corrected{claims}.",
    ReasonCode.QUOTED_INSTEAD: (
        "Quoted from the documents, because the model wrote no usable answer."
    ),
    ReasonCode.QUOTED_UNWRITTEN: "Quoted from the documents, because the model wrote no answer.",
    # What a person decided
    ReasonCode.OVERRIDDEN: "A person overrode the gate for this answer.",
    ReasonCode.RELEASED: "A person released this answer.",
    ReasonCode.CORRECTED: "A person corrected this answer; the words are the reviewer's.",
    ReasonCode.WITHDRAWN: "A person withdrew this answer.",
    # Notes
    ReasonCode.CONDITION_OMITTED: "{quoted}{0}.",
}
"""The words of each reason for operators. `{0}` takes in the first value, `{all}` all of them,
`{claims}` quotes the first claim and counts the others, and `{listed}` does so with the values."""
NOT_COVERED = "Not covered by the documents"
NOT_SHOWN = "The reason is not shown, because it may quote a draft that was withheld."
_LONGEST = 120
_SOURCES = frozenset(code.value for code in (Code.STALE, Code.EXPIRED, Code.MISATTRIBUTED))

NEXT_STEPS = ("Rephrase the question, name the document you have in mind, or ask its owner.",)


def render(reasons: Iterable[Reason]) -> str:
    """Reasons as one text for operators."""
    return " ".join(map(rendered_reason, reasons))


def rendered_reason(reason: Reason) -> str:
    """One reason or note as text for operators."""
    words, values = _WORDS[reason.code], reason.values
    quotes = [short(claim.text) for claim in reason.claims]
    return words.format(
        *values,
        all="; ".join(values),
        claims=_first_of(quotes) or _counted(reason.withheld),
        listed=_first_of([*map(short, values)]) if "{listed}" in words else "",
        quoted=f"“{quotes[0]}”: " if quotes else "",
        excluded=f" Excluded: {'; '.join(values)}." if values else "",
    )


def _first_of(texts: Sequence[str]) -> str:
    """A quotation of the first text, with the number of the others."""
    if not texts:
        return ""
    more = f" and {len(texts) - 1} more" if len(texts) > 1 else ""
    return f": “{texts[0]}”{more}"


def _counted(withheld: int) -> str:
    return f" ({withheld} statements)" if withheld > 1 else ""


def reasons_of(verdict: Verdict) -> tuple[Reason, ...]:
    """Why a verdict is as it is, as data."""
    if verdict.reasons or not verdict.reason:
        return verdict.reasons
    return (Reason(ReasonCode.UNKNOWN, values=(verdict.reason,)),)


def caveat(gate: GateDecision) -> Reason:
    """The caveat on an answer written from evidence that is not fully sufficient."""
    if gate.level is not Level.PARTIAL:
        return Reason(ReasonCode.THIN)
    return Reason(ReasonCode.LIMITED if gate.missing else ReasonCode.POSSIBLY_LIMITED)


def reasons_for(
    action: Action,
    gate: GateDecision,
    assessment: Assessment,
    *,
    quoted: bool,
    lacks: str = "",
    left: str = "",
    gaps: Sequence[str] = (),
) -> tuple[Reason, ...]:
    """The reasons for a verdict on a draft, with its weak claims. `lacks` is the kind of value
    (amount, date) that the question asks for and the draft does not give; `left` says which of
    several questions is unanswered; `gaps` are the draft's own statements of what the documents
    leave open."""
    if action is Action.REVIEW:
        return (_why_reviewed(assessment),)
    if action is Action.WITHHOLD:
        return (_why_withheld(assessment),)
    reasons = [] if gate.level is Level.SUFFICIENT else [caveat(gate)]
    if assessment.weak:
        reasons.append(Reason(ReasonCode.NOT_VERIFIED, assessment.weak))
    elif assessment.unread:
        reasons.append(Reason(ReasonCode.UNREAD, values=assessment.unread[:1]))
    if assessment.beside:
        reasons.append(Reason(ReasonCode.BESIDE))
    if gaps:
        reasons.append(Reason(ReasonCode.LEFT_OPEN, values=tuple(gaps)))
    elif left:
        reasons.append(Reason(ReasonCode.ANSWERED_IN_PART, values=(left,)))
    elif lacks:
        reasons.append(Reason(ReasonCode.OTHER_KIND, values=(lacks,)))
    reasons += [Reason(code) for flag, code in _FLAGGED if flag in assessment.flags]
    if action is Action.CAVEAT and not reasons and assessment.confidence is not None:
        reasons.append(Reason(ReasonCode.UNSURE, values=(_chance(assessment),)))
    plain = ReasonCode.QUOTED if quoted else ReasonCode.CHECKED
    return tuple(reasons) or (Reason(plain),)


_FLAGGED = (
    (UNVERIFIED, ReasonCode.MARKS_UNVERIFIED),
    (Code.MARKED.value, ReasonCode.MARKED),
    (Code.DOUBTED.value, ReasonCode.VALUE_DOUBTED),
)
"""Flags that a released answer discloses."""


def _why_reviewed(assessment: Assessment) -> Reason:
    if assessment.flags & _SOURCES:
        return Reason(ReasonCode.WRONG_SOURCE)
    return Reason(ReasonCode.UNSURE_REVIEW, values=(_chance(assessment),))


def _why_withheld(assessment: Assessment) -> Reason:
    invented = Code.FABRICATED.value in assessment.flags
    if Code.BESIDE.value in assessment.flags and not invented:
        return Reason(ReasonCode.OTHER_QUESTION)
    if against := assessment.claims_with(Support.CONTRADICTED):
        return Reason(ReasonCode.CONTRADICTED, against)
    if (
        not assessment.weak
        and assessment.flags <= {Code.FAR.value, ALL_QUOTED}
        and assessment.confidence
    ):
        return Reason(ReasonCode.UNLIKELY, values=(_chance(assessment),))
    if not assessment.weak and Code.DOUBTED.value in assessment.flags:
        return Reason(ReasonCode.OTHER_VALUE)
    if invented:
        return Reason(ReasonCode.NO_SUCH_SOURCE, assessment.weak)
    if Code.UNCITED.value in assessment.flags and not assessment.faithfulness:
        return Reason(ReasonCode.NO_SOURCE, assessment.weak)
    enough = assessment.faithfulness >= 0.4
    return Reason(ReasonCode.NOT_ANSWERED if enough else ReasonCode.NOT_BACKED, assessment.weak)


def _chance(assessment: Assessment) -> str:
    return f"{assessment.confidence or 0.0:.2f}"


def omissions(findings: Sequence[Finding]) -> tuple[Reason, ...]:
    """Notes on conditions of the source that the draft omits. They do not affect the verdict."""
    left_out = (f for f in findings if f.code is Code.OMITTED and f.support is Support.UNBACKED)
    notes = (Reason(ReasonCode.CONDITION_OMITTED, (f.claim,), (f.reason,)) for f in left_out)
    return tuple({rendered_reason(note): note for note in notes}.values())


def verified(cost: Cost) -> tuple[str, ...]:
    """A note on the calls to the LLM that verified an answer, if there were any."""
    if not cost.calls:
        return ()
    calls = "1 call" if cost.calls == 1 else f"{cost.calls:,} calls"
    return (
        f"The LLM verified what the fast verifier was unsure of: {calls}, {cost.tokens:,} tokens.",
    )


def plain_claim(claim: Claim) -> str:
    """The words of a claim, without citation marks and Markdown."""
    return _plain(claim.text)


def _plain(text: str) -> str:
    return bare(one_line(readable(text))).rstrip(".")


def short(text: str) -> str:
    """A text as one line without marks, at most as long as a message quotes."""
    plain = _plain(text)
    return plain if len(plain) <= _LONGEST else f"{plain[:_LONGEST].rstrip()}…"


def both_sides(conflicts: Sequence[Conflict], numbered: Mapping[str, int]) -> str:
    """The statements of both sides of each conflict, one line per side."""
    lines: list[str] = []
    for conflict in conflicts:
        for passage, quote in (
            (conflict.first, conflict.first_quote),
            (conflict.second, conflict.second_quote),
        ):
            dated = f", version {passage.declared}" if passage.declared else ""
            since = f", in force since {passage.effective}" if passage.effective else ""
            name = passage.title or passage.document
            lines.append(
                f"- {name}{dated}{since}: “{readable(quote).strip()}” [{numbered[passage.id]}]"
            )
    return "\n".join(dict.fromkeys(lines))


def gate_refusal(gate: GateDecision, passages: int) -> Reason:
    """The reason for a refusal by the gate; `passages` is the number of passages."""
    if not passages and not gate.excluded:
        return Reason(ReasonCode.NOTHING_FOUND)
    code = ReasonCode.NOT_ENOUGH if passages else ReasonCode.ONLY_LEFT_OUT
    return Reason(code, values=gate.reasons)


def unanswered(gate: GateDecision) -> Reason:
    """The reason for an empty draft although the gate was open. It lists the excluded passages,
    since the answer may be in one of them."""
    return Reason(ReasonCode.NO_STATEMENT, values=left_out(gate.excluded))


def steps(gate: GateDecision) -> tuple[str, ...]:
    """The gate's next steps, or the general advice if it has none."""
    return gate.next_steps or NEXT_STEPS


def refusal(verdict: Verdict) -> str:
    """A refusal as one text: the reason, what is not covered, the nearest sources, next steps."""
    return "\n\n".join(_refusal(verdict))


def _refusal(verdict: Verdict) -> Iterator[str]:
    yield verdict.reason
    if verdict.missing:
        yield f"{NOT_COVERED}: {'; '.join(verdict.missing)}."
    if verdict.nearest:
        named = (f"- {source.title or source.document}" for source in verdict.nearest)
        yield "\n".join(("Nearest sources:", *named))
    yield "\n".join(("Next steps:", *(f"- {step}" for step in steps(verdict.gate))))


_TEXTS = {
    Occasion.NOT_ANSWERED: (
        "I could not find an answer to this in our documents.",
        "Please try other words, or ask {contact}.",
        "Please try other words, or name the document you mean.",
    ),
    Occasion.NOT_VERIFIED: (
        "I could not confirm an answer to this in our documents, and I do not want to guess.",
        "Please try other words, or ask {contact}.",
        "Please try other words, or name the document you mean.",
    ),
    Occasion.REVIEW: (
        "I am not sure of the answer to this; a person has to look at it first.",
        "If you need it soon, please ask {contact}.",
        "Please try other words, or ask again later.",
    ),
    Occasion.UNAVAILABLE: (
        "I cannot answer this right now because of a technical problem.",
        "Please try again in a moment, or ask {contact}.",
        "Please try again in a moment.",
    ),
    Occasion.CONFLICT: (
        "Our documents do not agree on this, so here is what each of them says.",
        "Please ask {contact} which of them applies.",
        "Please check which of them applies to you.",
    ),
    Occasion.PARTIAL: (
        "Our documents may answer this only in part.",
        "For the rest, please ask {contact}.",
        "Please check the source before you rely on it.",
    ),
    Occasion.CAVEAT: (
        "Please check the source before you rely on this answer.",
        "If you are not sure, ask {contact}.",
        "",
    ),
    Occasion.SMALL_TALK: ("How can I help you?", "", ""),
}
"""For each occasion: what happened, then the next step with and without a contact."""


@dataclass(frozen=True, slots=True)
class CustomerTexts:
    """The texts of a route. `own` texts replace the built-in ones."""

    contact: str = ""
    own: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, text in self.own.items():
            if not self.contact and CONTACT in placeholders(text):
                raise SettingsError(
                    f"The text for '{name}' names a contact, but none is set.",
                    remedy="Set gate.contact, or remove {contact} from the text.",
                )

    def text(self, verdict: Verdict, occasion: Occasion | None = None) -> str:
        """The text for a verdict that does not release an answer as it stands."""
        occasion = occasion or occasion_of(verdict)
        said, asking, alone = _TEXTS[occasion]
        step = asking if self.contact else alone
        text = self.own.get(occasion.value, f"{said} {step}".strip())
        return text.format(contact=self.contact, record=verdict.record)


def occasion_of(verdict: Verdict) -> Occasion:
    """Why the verdict does not release an answer as it stands."""
    if verdict.action is Action.CAVEAT:
        return Occasion.PARTIAL if verdict.missing else Occasion.CAVEAT
    if verdict.action is Action.CONFLICT:
        return Occasion.CONFLICT
    if verdict.action is Action.REVIEW:
        return Occasion.REVIEW
    failed = any(finding.code is Code.FAILED for finding in verdict.findings)
    if failed or (verdict.gate.open and verdict.draft is None):
        return Occasion.UNAVAILABLE
    if verdict.draft is None or not verdict.draft.claims:
        return Occasion.NOT_ANSWERED
    return Occasion.NOT_VERIFIED


def render_text(verdict: Verdict, texts: CustomerTexts | None = None) -> str:
    """A verdict as text: an answer with its caveat, both sides of a conflict, or a refusal. With
    `texts`, it is for a customer; otherwise for an operator, with the reason."""
    if verdict.action is Action.SERVE:
        return verdict.released
    reason = texts.text(verdict) if texts else verdict.reason
    if verdict.action is Action.CAVEAT:
        return f"{verdict.released}\n\n{reason}"
    if verdict.action is Action.CONFLICT:
        return f"{reason}\n\n{verdict.released}"
    return reason if texts else refusal(verdict)


def releases_draft(verdict: Verdict) -> bool:
    """Whether the verdict's draft was released."""
    return verdict.action in (Action.SERVE, Action.CAVEAT)


def without_withheld(verdict: Verdict) -> Verdict:
    """Take the claims that were withheld out of the reason and the notes of a verdict."""
    drafts = [verdict.draft, *(attempt.draft for attempt in verdict.attempts)]
    released = verdict.draft.claims if verdict.draft and releases_draft(verdict) else ()
    shown = set(map(plain_claim, released))
    if all(_all_in(draft.claims, shown) for draft in drafts if draft):
        return verdict
    reasons = tuple(_without(reason, shown) for reason in reasons_of(verdict))
    return replace(
        verdict,
        reason=render(reasons),
        reasons=reasons,
        notes=_notes_without(verdict, shown),
        remarks=tuple(remark for remark in verdict.remarks if _all_in(remark.claims, shown)),
    )


def _all_in(claims: Iterable[Claim], shown: Collection[str]) -> bool:
    """Whether the words of all these claims are shown."""
    return all(plain_claim(claim) in shown for claim in claims)


def _without(reason: Reason, shown: Collection[str]) -> Reason:
    """A reason without its claims, unless all of them are shown."""
    if reason.code is ReasonCode.UNKNOWN:
        return Reason(ReasonCode.TEXT, values=(NOT_SHOWN,))
    if _all_in(reason.claims, shown):
        return reason
    return replace(reason, claims=(), withheld=len(reason.claims))


def _notes_without(verdict: Verdict, shown: Collection[str]) -> tuple[str, ...]:
    """The notes that quote only claims that are shown; none if one that quotes others cannot be
    told from the rest."""
    quoting = {rendered_reason(note) for note in verdict.remarks if not _all_in(note.claims, shown)}
    if not quoting <= set(verdict.notes):
        return ()
    return tuple(note for note in verdict.notes if note not in quoting)
