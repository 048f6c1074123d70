"""The wording of refusals, caveats and reasons, in one place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from suffice.errors import SettingsError
from suffice.gate.freshness import left_out
from suffice.models.llm.ask import Cost
from suffice.settings.server import CONTACT, Occasion, placeholders
from suffice.text.marks import bare
from suffice.text.readable import readable
from suffice.types import (
    Action,
    Claim,
    Code,
    Conflict,
    Finding,
    GateDecision,
    Level,
    Support,
    Verdict,
)
from suffice.verdict.assess import QUOTED as ALL_QUOTED
from suffice.verdict.assess import UNVERIFIED, Assessment

DISAGREE = "The documents contradict each other; both sides are quoted and neither was preferred."
QUOTED = "Every statement is quoted from the document it cites."
LIMITED = "The available documents cover this question only in part."
DOUBTED = "The available documents may not answer this question in full."
THIN = "The evidence was judged insufficient for an answer; read this with caution."
NOTHING_FOUND = "No document matches this question."
ONLY_LEFT_OUT = "The only matching documents do not apply to the time this question asks about"
NOT_ENOUGH = "The documents do not contain enough to answer this question"
NO_STATEMENT = "Related documents were found, but no statement in them answers this question."
CHECKED = "Every statement was checked against the documents it is based on."
NOT_BACKED = "No support was found in the documents for part of the draft"
NOT_ANSWERED = "This question could not be fully answered from the available documents"
SAYS_OTHERWISE = "The draft makes a statement that the documents contradict"
NO_SOURCE = "The draft cites no source, so it could not be verified"
NO_SUCH_SOURCE = "The draft cites a source that does not exist"
WRONG_SOURCE = (
    "The draft cites a source that is out of date or does not support the claim; "
    "a person must review it"
)
UNSURE = "The estimated probability that the answer is correct is {:.2f}"
UNLIKELY = "The documents may not answer this question"
OF_ANOTHER_SORT = "The answer does not give what the question asks for: {}."
ANOTHER_QUESTION = "The draft does not address the question."
NOT_VERIFIED = "Part of this answer could not be verified against the documents"
UNREAD = "Part of this answer was not checked against the documents"
LEFT_OPEN = "The documents leave a part of this question open"
MARKS = "Citation numbers were not verified: the citations check is switched off."
VALUES = "A value in the answer does not stand in the documents in this form; compare it."
ANOTHER_VALUE = "A value in the draft does not stand in the documents in this form."
MARKED = "Part of this answer rests only on a passage with words that look like an instruction."
NOT_WRITTEN = "The model that writes answers could not be reached."
SHORTENED = "Statements that the documents do not support were removed"
CORRECTED = "A citation named the wrong passage and was corrected"
REPLACED = "Quoted from the documents, because the model wrote no usable answer."
UNWRITTEN = "Quoted from the documents, because the model wrote no answer."
OPENED = "A person overrode the gate for this answer."
RELEASED = "A person released this answer."
CORRECTED_BY_PERSON = "A person corrected this answer; the words are the reviewer's."
WITHDRAWN = "A person withdrew this answer."
NOT_COVERED = "Not covered by the documents"
BESIDE = "Part of what the model wrote was not checked; see the notes."
_LONGEST = 120
_SOURCES = frozenset(code.value for code in (Code.STALE, Code.EXPIRED, Code.MISATTRIBUTED))

NEXT_STEPS = ("Rephrase the question, name the document you have in mind, or ask its owner.",)


def caveat(gate: GateDecision) -> str:
    """The caveat on an answer written from evidence that is not fully sufficient."""
    if gate.level is Level.PARTIAL:
        return LIMITED if gate.missing else DOUBTED
    return THIN


def reason_for(
    action: Action,
    gate: GateDecision,
    found: Assessment,
    *,
    quoted: bool,
    lacks: str = "",
    left: str = "",
    gaps: Sequence[str] = (),
) -> str:
    """The reason for a verdict on a draft, quoting the first weak claim. `lacks` is the kind of
    value (amount, date) that the question asks for and the draft does not give; `left` says which
    of several questions is unanswered; `gaps` are the draft's own statements of what the documents
    leave open."""
    against = found.claims_with(Support.CONTRADICTED)
    weak = found.weak
    if action is Action.REVIEW and found.flags & _SOURCES:
        return f"{WRONG_SOURCE}."
    if action is Action.REVIEW:
        return f"{unsure(found)}; a person must review it."
    invented = Code.FABRICATED.value in found.flags
    if action is Action.WITHHOLD and Code.BESIDE.value in found.flags and not invented:
        return ANOTHER_QUESTION
    if action is Action.WITHHOLD and against:
        return naming(SAYS_OTHERWISE, against)
    if (
        action is Action.WITHHOLD
        and not weak
        and found.flags <= {Code.FAR.value, ALL_QUOTED}
        and found.confidence
    ):
        return f"{UNLIKELY}: {_lower(unsure(found))}."
    if action is Action.WITHHOLD and not weak and Code.DOUBTED.value in found.flags:
        return ANOTHER_VALUE
    if action is Action.WITHHOLD:
        return naming(_lack(found), weak)
    parts = [] if gate.level is Level.SUFFICIENT else [caveat(gate)]
    if weak:
        parts.append(naming(NOT_VERIFIED, weak))
    elif found.unread:
        parts.append(f"{UNREAD}: “{short(found.unread[0])}”.")
    if found.beside:
        parts.append(BESIDE)
    if gaps:
        more = f" and {len(gaps) - 1} more" if len(gaps) > 1 else ""
        parts.append(f"{LEFT_OPEN}: “{short(gaps[0])}”{more}.")
    elif left:
        parts.append(f"{left}.")
    elif lacks:
        parts.append(OF_ANOTHER_SORT.format(lacks))
    if UNVERIFIED in found.flags:
        parts.append(MARKS)
    if Code.MARKED.value in found.flags:
        parts.append(MARKED)
    if Code.DOUBTED.value in found.flags:
        parts.append(VALUES)
    if action is Action.CAVEAT and not parts and found.confidence is not None:
        parts.append(f"{unsure(found)}.")
    return " ".join(parts) or (QUOTED if quoted else CHECKED)


def unsure(found: Assessment) -> str:
    return UNSURE.format(found.confidence or 0.0)


def _lower(text: str) -> str:
    return f"{text[:1].lower()}{text[1:]}"


def adds(findings: Sequence[Finding]) -> list[str]:
    """Notes on conditions of the source that the draft omits. They do not affect the verdict."""
    left_out = (f for f in findings if f.code is Code.OMITTED and f.support is Support.UNBACKED)
    return list(dict.fromkeys(f"“{short(one.claim.text)}”: {one.reason}." for one in left_out))


def verified(cost: Cost) -> tuple[str, ...]:
    """A note on the calls to the LLM that verified an answer, if there were any."""
    if not cost.calls:
        return ()
    calls = "1 call" if cost.calls == 1 else f"{cost.calls:,} calls"
    return (
        f"The LLM verified what the fast verifier was unsure of: {calls}, {cost.tokens:,} tokens.",
    )


def _lack(found: Assessment) -> str:
    """The reason for withholding a draft that no evidence contradicts."""
    if Code.FABRICATED.value in found.flags:
        return NO_SUCH_SOURCE
    if Code.UNCITED.value in found.flags and not found.faithfulness:
        return NO_SOURCE
    return NOT_ANSWERED if found.faithfulness >= 0.4 else NOT_BACKED


def naming(message: str, claims: Sequence[Claim]) -> str:
    """The message, followed by a quote of the first claim and the number of further claims."""
    if not claims:
        return f"{message}."
    more = f" and {len(claims) - 1} more" if len(claims) > 1 else ""
    return f"{message}: “{short(claims[0].text)}”{more}."


def unquoted(text: str, claims: Sequence[Claim]) -> str:
    """A reason with its quotes of these claims replaced by their number."""
    for claim in claims:
        quote = re.escape(f": “{short(claim.text)}”")
        text = re.sub(rf"{quote}(?: and (\d+) more)?", _counted, text)
    return text


def _counted(quoted: re.Match[str]) -> str:
    return f" ({int(quoted[1]) + 1} statements)" if quoted[1] else ""


def quotes(text: str, claims: Sequence[Claim]) -> bool:
    """Whether a note quotes one of these claims."""
    return any(f"“{short(claim.text)}”" in text for claim in claims)


def plain_claim(claim: Claim) -> str:
    """The words of a claim, without citation marks and Markdown."""
    return bare(" ".join(readable(claim.text).split())).rstrip(".")


def short(text: str) -> str:
    """A text as one line without marks, at most as long as a message quotes."""
    plain = bare(" ".join(readable(text).split())).rstrip(".")
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


def gate_refusal(gate: GateDecision, found: int) -> str:
    """The reason for a refusal by the gate; `found` is the number of passages."""
    if not found and not gate.excluded:
        return NOTHING_FOUND
    # An ambiguous conflict does not close the gate: there was too little evidence anyway.
    apart = {conflict.reason for conflict in gate.conflicts if conflict.ambiguous}
    reasons = [one for one in gate.reasons if one not in apart]
    return f"{NOT_ENOUGH if found else ONLY_LEFT_OUT}: {'; '.join(reasons)}."


def unanswered(gate: GateDecision) -> str:
    """The reason for an empty draft although the gate was open. It lists the excluded passages,
    since the answer may be in one of them."""
    lines = left_out(gate.excluded)
    return f"{NO_STATEMENT} Excluded: {'; '.join(lines)}." if lines else NO_STATEMENT


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
    """Remove quotations of withheld claims from the reason and notes of a verdict."""
    hidden = tuple(dict.fromkeys(_withheld(verdict)))
    if not hidden:
        return verdict
    kept = tuple(note for note in verdict.notes if not quotes(note, hidden))
    return replace(verdict, reason=unquoted(verdict.reason, hidden), notes=kept)


def _withheld(verdict: Verdict) -> Iterator[Claim]:
    """The claims of all drafts that are not part of the released text."""
    drafts = [verdict.draft, *(one.draft for one in verdict.attempts)]
    kept = verdict.draft.claims if verdict.draft and releases_draft(verdict) else ()
    released = set(kept)
    others = [claim for draft in drafts if draft for claim in draft.claims if claim not in released]
    if not others:
        return
    texts = {plain_claim(claim) for claim in kept}
    yield from (claim for claim in others if plain_claim(claim) not in texts)
