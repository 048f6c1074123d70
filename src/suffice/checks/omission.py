"""Finds conditions and exceptions that a claim omits from its source sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from suffice.checks.claim_text import alone, cited_passages
from suffice.checks.entailment import Sentence, Sentences, roots
from suffice.deadline import watched
from suffice.text.conditions import Condition, ConditionKind, conditions, leaning, parts
from suffice.text.language import unknown_language
from suffice.text.literals import Literal, literals, same_amount
from suffice.types import Claim, Code, Draft, Evidence, Finding, Hallucination, Passage, Support

_NEAR = 0.5
"""The source sentence of a claim contains at least this share of the claim's words."""
_KEPT = 0.5
"""A condition counts as kept if at least this share of it is stated."""
_ASSERTED = 0.6
"""A condition counts as omitted if at least this share of the rest of its clause is asserted…"""
_PARTLY = 0.34
"""…or this share, by a claim that states little else."""
_LITTLE_ELSE = 0.75
_BEFORE, _AFTER = 1, 2
_LONGEST = 1_500
_CLAUSE = re.compile(r"; |: |, (?:and|but|or|while|whereas) | but ")
_BOUND = re.compile(
    r"\b(?:limit\w*|maxim\w*|max|minim\w*|min|cap|capped|ceiling|exceed\w*|deadline|threshold|"
    r"at (?:the )?(?:most|least|latest)|up to|or (?:more|less)|"
    r"no (?:more|later|longer|less|fewer))\b",
    re.IGNORECASE,
)
_BOUND_BEFORE = re.compile(
    r"\b(?:until|till|by|before)\s+(?:\w+\s+)?$",
    re.IGNORECASE,
)
_BESIDE = 30
_AT_MOST = re.compile(r"up to|at most|no more|not more|limited|a maximum", re.IGNORECASE)
_EXCLUSIVE = re.compile(
    r"\b(?:only|exclusively|solely|just|limited|restricted|nobody|no|none|not|never|unless|must|"
    r"requir\w*|need\w*|if|except|alone)\b|n['’]t\b",
    re.IGNORECASE,
)
# A person or place is a condition only in a sentence that sets a rule.
_RULES = re.compile(
    r"\b(?:may|must|shall|entitled|entitlement|eligible|allowed|permitted|required|reimbursed|"
    r"granted|receives?|applies|apply|needs?|charged|covered|ceiling|limit\w*|rate|fee|allowance|"
    r"available|open to|free|pays?|price|(?:has|have|get|gets|is|are) (?:\w+ )?\d+)\b",
    re.IGNORECASE,
)
# "Comb it if it is long" is advice; "it is paid if there is a receipt" is a rule.
_SOFT_CUES = frozenset({"if", "when", "once", "in case of"})
_PASSIVE = re.compile(
    r"\b(?:is|are|be|was|were) (?:\w+ly |not )?(?:\w+ed|paid|made|given|taken|kept|sent|drawn)\b",
    re.IGNORECASE,
)
_GRANTS = re.compile(
    r"\b(?:may|can|could|entitled|eligible|allowed|permitted|reimburse\w*|refund\w*|granted|"
    r"covered|receives?|accepted|free|must|have to|has to)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _ClaimInContext:
    """A claim with its neighbours, since a condition may be stated in a separate sentence."""

    text: str
    roots: frozenset[str]
    around: str
    around_roots: frozenset[str]


@dataclass(frozen=True, slots=True)
class Omission:
    """Marks a claim UNBACKED if it asserts a source sentence without its condition.

    `score` is the share of the rest of the clause that the claim asserts.
    """

    name: str = "omission"

    def judge(self, draft: Draft, evidence: Evidence) -> list[Finding]:
        source = Sentences.of(evidence.passages)
        contexts = _with_neighbours(alone(draft))
        read = zip(draft.claims, contexts, cited_passages(draft, evidence), strict=True)
        return [self._judge(claim, one, source, within) for claim, one, within in watched(read)]

    def _judge(
        self, claim: Claim, context: _ClaimInContext, source: Sentences, within: Sequence[Passage]
    ) -> Finding:
        sentence = source.nearest(context.roots, within)
        if sentence is None or len(context.roots & sentence.roots) < _NEAR * len(context.roots):
            return self._open(claim, None, "no sentence of the source is similar enough")
        if len(sentence.text) > _LONGEST:
            return self._open(claim, None, "the source sentence is too long for this check")
        row = "|" in sentence.text  # table cells are not conditions
        found = [] if row else [*conditions(sentence.text), *_leaning(sentence)]
        if not found:
            return self._open(claim, Code.CLEAR, "the source sentence has no condition", sentence)
        missing = [one for one in found if not _kept(one, sentence.text, context)]
        if not missing:
            return self._open(
                claim, Code.CLEAR, "the claim keeps its source's conditions", sentence
            )
        if language := unknown_language(context.text):
            return self._open(claim, None, f"conditions are not recognised in {language}")
        return self._missed(claim, missing, found, sentence, context)

    def _missed(
        self,
        claim: Claim,
        missing: Sequence[Condition],
        found: Sequence[Condition],
        sentence: Sentence,
        context: _ClaimInContext,
    ) -> Finding:
        """The finding about the most important omitted condition."""
        asserted = {one: _asserted(one, found, sentence, context) for one in missing}
        matters = {one: _material(one, asserted[one], sentence, context) for one in missing}
        one = max(missing, key=lambda one: (matters[one], asserted[one]))
        material, start = matters[one], sentence.start
        return Finding(
            claim,
            self.name,
            Support.UNBACKED if material else Support.UNCHECKED,
            round(asserted[one], 4),
            sentence.passage.id,
            (start + one.start, start + one.end),
            f"the source adds “{one.text.strip()}”",
            Code.OMITTED,
            Hallucination.OMISSION if material else None,
        )

    def _open(
        self, claim: Claim, code: Code | None, reason: str, sentence: Sentence | None = None
    ) -> Finding:
        return Finding(
            claim,
            self.name,
            Support.UNCHECKED,
            passage_id=sentence.passage.id if sentence else None,
            span=(sentence.start, sentence.end) if sentence else None,
            reason=reason,
            code=code,
        )


@lru_cache(maxsize=256)
def _values(text: str) -> tuple[Literal, ...]:
    """The literals of a text, cached because each condition needs those of claim and source."""
    return tuple(literals(text))


def _with_neighbours(texts: Sequence[str]) -> list[_ClaimInContext]:
    found = [roots(one) for one in texts]
    around = [slice(max(0, n - _BEFORE), n + _AFTER + 1) for n in range(len(texts))]
    return [
        _ClaimInContext(one, own, " ".join(texts[near]), frozenset[str]().union(*found[near]))
        for one, own, near in zip(texts, found, around, strict=True)
    ]


def _leaning(sentence: Sentence) -> Iterator[Condition]:
    """The condition that the next sentence adds: "This needs the consent of …"."""
    behind = sentence.passage.text[sentence.end : sentence.end + _LONGEST]
    gap = len(behind) - len(behind.lstrip(" \n"))
    if "\n\n" not in behind[:gap] and (one := leaning(behind[gap:])):
        offset = len(sentence.text) + gap
        yield replace(one, start=one.start + offset, end=one.end + offset)


def _kept(condition: Condition, sentence: str, context: _ClaimInContext) -> bool:
    """Whether the claim or its neighbours state the condition in some form."""
    if condition.kind is ConditionKind.LIMIT:
        return _bound_kept(condition, sentence, context)
    if condition.text == condition.cue:  # "only"
        return bool(_EXCLUSIVE.search(context.text))
    beside = roots(sentence[: condition.start] + " " + sentence[condition.end :])
    return all(_is_stated(part, beside, context) for part in parts(condition))


def _is_stated(part: str, beside: frozenset[str], context: _ClaimInContext) -> bool:
    """Whether most of a part is stated. Words found elsewhere in the sentence do not count."""
    wanted = roots(part) - beside or roots(part)
    values = _values(part)
    found = len(wanted & context.around_roots)
    found += sum(_gives(value, context.around) for value in values)
    return found >= _KEPT * (len(wanted) + len(values))


def _bound_kept(condition: Condition, sentence: str, context: _ClaimInContext) -> bool:
    """Whether a limit such as "up to 5 days" is kept. Any bound next to the value keeps it. A claim
    that says "5 days", or omits the value, does not."""
    value = _bounded(condition, sentence)
    if value is None:
        return True
    given = [mine for mine in _values(context.text) if same_amount(mine, value)]
    if given:
        bound = any(_bounds(mine, context.text) for mine in given)
        return bound or bool(_BOUND.search(context.text))
    # A different limit is not an omission. The literals check reports it as a changed value.
    other = any(v.kind is value.kind and v.comparator.direction for v in _values(context.text))
    return other or _gives(value, context.around)


def _bounds(value: Literal, text: str) -> bool:
    """Whether a value has a bound directly before it: "until 48 hours before"."""
    before = text[max(0, value.start - _BESIDE) : value.start]
    return bool(value.comparator.direction or _BOUND_BEFORE.search(before))


def _bounded(condition: Condition, sentence: str) -> Literal | None:
    """The value that a limit applies to."""
    for value in _values(sentence):
        if condition.start <= value.start < condition.end and value.comparator.direction:
            return value
    return None


def _gives(value: Literal, text: str) -> bool:
    return any(same_amount(mine, value) for mine in _values(text))


def _clause(condition: Condition, found: Sequence[Condition], sentence: str) -> frozenset[str]:
    """The words of the condition's clause (or sentence) outside all conditions."""
    cuts = [0, *(m.start() for m in _CLAUSE.finditer(sentence)), len(sentence)]
    left = max(cut for cut in cuts[:-1] if cut <= condition.start)
    right = min(cut for cut in cuts[1:] if cut >= min(condition.end, len(sentence)))
    for first, last in ((left, right), (0, len(sentence))):
        kept = list(sentence[first:last])
        for other in found:
            start, end = max(other.start, first) - first, min(other.end, last) - first
            if start < end:
                kept[start:end] = " " * (end - start)
        rest = roots("".join(kept))
        if len(rest) >= 2:
            return rest
    return rest


def _asserted(
    condition: Condition, found: Sequence[Condition], sentence: Sentence, context: _ClaimInContext
) -> float:
    rest = _clause(condition, found, sentence.text)
    return len(rest & context.roots) / len(rest) if rest else 0.0


def _material(
    condition: Condition, asserted: float, sentence: Sentence, context: _ClaimInContext
) -> bool:
    """Whether the claim asserts the rest as if there were no condition. A condition in the next
    sentence is noted but never material, because every quotation must end somewhere."""
    if condition.start >= len(sentence.text):
        return False
    shared = context.roots & sentence.roots
    rule = bool(_RULES.search(sentence.text))
    close = (
        asserted >= _PARTLY and len(shared) >= max(2, _LITTLE_ELSE * len(context.roots)) and rule
    )
    if asserted < _ASSERTED and not close:
        return False
    if condition.cue and (condition.kind is ConditionKind.SCOPE or condition.text == condition.cue):
        return rule
    if condition.cue.lower() in _SOFT_CUES:
        return rule or bool(_PASSIVE.search(f"{sentence.text} {context.text}"))
    if condition.kind is not ConditionKind.LIMIT:
        return True
    value = _bounded(condition, sentence.text)
    if value is not None and _gives(value, context.text):
        return True
    # An omitted limit matters if the claim grants something: "staff may return goods".
    whole = asserted >= _LITTLE_ELSE and (rule or bool(_AT_MOST.match(condition.text)))
    return whole or bool(_GRANTS.search(context.text))
