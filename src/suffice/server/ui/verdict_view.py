"""A verdict as pages show it: the draft cut into claims, the evidence cut into lit sentences.

A claim and the words that decide on it carry the same number, so that a page can connect them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from suffice.server.openai.completion import Disclosure, disclosed
from suffice.text.sentences import sentences
from suffice.types import (
    Action,
    Attempt,
    Citation,
    Evidence,
    Finding,
    Passage,
    Source,
    Support,
    Verdict,
)
from suffice.verdict.assess import ClaimStatus, claim_statuses, overall_support

Span = tuple[int, int]
_RESCUES = {
    "revised": "The model was told what is wrong and wrote a new draft.",
    "reattributed": "Wrong citations were replaced by the passages that back the claims.",
    "trimmed": "The draft was cut down to the claims that the evidence backs.",
    "extractive": "The draft was replaced by quotations from the evidence.",
}


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text. `claims`: whose words these are, or whom they decide; `near`: claims that
    are decided elsewhere in the same sentence."""

    text: str
    claims: tuple[int, ...] = ()
    near: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ClaimView:
    """A claim with its judgement; `passage` is the number of its source."""

    n: int
    text: str
    support: str
    reason: str
    passage: int | None
    quote: tuple[str, str, str]
    nearest: bool
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class PassageView:
    n: int
    passage: Passage
    relevance: float | None
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class DraftStep:
    """One draft on the way to the verdict."""

    n: int
    text: str
    drafter: str
    route: str
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class VerdictView:
    """Everything that a page shows of a verdict. `hidden`: the words of the draft are withheld from
    this person."""

    verdict: Verdict
    answer: tuple[Piece, ...]
    claims: tuple[ClaimView, ...]
    passages: tuple[PassageView, ...]
    steps: tuple[DraftStep, ...]
    rescue: str
    hidden: bool

    @property
    def counts(self) -> dict[str, int]:
        return _counted(claim.support for claim in self.claims)

    @property
    def nearest(self) -> tuple[Source, ...]:
        return self.verdict.nearest

    @property
    def citations(self) -> tuple[Citation, ...]:
        return self.verdict.citations


def view_of(verdict: Verdict, shown: Disclosure) -> VerdictView:
    """The view of a verdict for a person who may see this much of a withheld draft."""
    released = verdict.action in (Action.SERVE, Action.CAVEAT)
    hidden = shown is Disclosure.RELEASED and not released
    verdict = disclosed(verdict, shown)
    statuses = claim_statuses(verdict)
    return VerdictView(
        verdict,
        () if hidden else _answer(verdict, statuses),
        tuple(_claim(status, hidden=hidden) for status in statuses),
        tuple(_passages(verdict.evidence, statuses)),
        () if shown is Disclosure.RELEASED else tuple(_steps(verdict.attempts)),
        _RESCUES.get(verdict.rescue.value, "") if verdict.rescue else "",
        hidden,
    )


def _answer(verdict: Verdict, statuses: Sequence[ClaimStatus]) -> tuple[Piece, ...]:
    if verdict.draft is None:
        return ()
    spans = {status.n: (status.claim.start, status.claim.end) for status in statuses}
    return _cut(verdict.draft.text, spans, {})


def _claim(status: ClaimStatus, *, hidden: bool) -> ClaimView:
    return ClaimView(
        status.n,
        "" if hidden else status.claim.text,
        status.support.value,
        "" if hidden else status.reason,
        status.passage[0] if status.passage else None,
        status.quote,
        status.nearest,
        () if hidden else tuple(sorted(status.findings, key=_undecided)),
    )


def _undecided(finding: Finding) -> bool:
    """Findings that decide nothing come last."""
    return finding.support is Support.UNCHECKED


def _passages(evidence: Evidence, statuses: Sequence[ClaimStatus]) -> Iterable[PassageView]:
    for n, item in enumerate(evidence, 1):
        text = item.passage.text
        spans = {
            status.n: status.span
            for status in statuses
            if status.passage and status.passage[0] == n and status.span
        }
        around = {claim: _sentences(text, span) for claim, span in spans.items()}
        yield PassageView(n, item.passage, item.relevance, _cut(text, spans, around))


def _sentences(text: str, span: Span) -> Span:
    """The sentences that a span touches."""
    start, end = span
    touched = [(a, b) for a, b in sentences(text) if a < end and start < b]
    return min([start, *(a for a, _ in touched)]), max([end, *(b for _, b in touched)])


def _cut(text: str, spans: Mapping[int, Span], around: Mapping[int, Span]) -> tuple[Piece, ...]:
    """The text in pieces that do not overlap, each with the claims that cover it."""
    every = (*spans.values(), *around.values())
    ends = sorted({0, len(text), *(min(max(end, 0), len(text)) for span in every for end in span)})
    pieces = []
    for start, end in pairwise(ends):
        covering = tuple(n for n, (a, b) in spans.items() if a <= start and end <= b)
        near = tuple(
            n for n, (a, b) in around.items() if a <= start and end <= b and n not in covering
        )
        pieces.append(Piece(text[start:end], covering, near))
    return tuple(pieces)


def _steps(attempts: Sequence[Attempt]) -> Iterable[DraftStep]:
    for n, attempt in enumerate(attempts, 1):
        by_claim: dict[int, list[Finding]] = {}
        for finding in attempt.findings:
            by_claim.setdefault(finding.claim.start, []).append(finding)
        counts = _counted(overall_support(findings).value for findings in by_claim.values())
        draft = attempt.draft
        yield DraftStep(n, draft.text, draft.drafter, attempt.route, counts)


def _counted(supports: Iterable[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for support in supports:
        counts[support] = counts.get(support, 0) + 1
    return counts
