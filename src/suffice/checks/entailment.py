"""What the verifier says of a claim: by passage, read closely, and by the whole answer."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

from suffice.checks.claim_text import alone, cited_passages, different, readable_text, without_gaps
from suffice.deadline import watched
from suffice.evidence.split import context
from suffice.models.embedder import Embedder
from suffice.models.llm.verifier import LlmVerifier
from suffice.models.verifier import (
    FindsSentences,
    Pair,
    SupportScore,
    Verifier,
    chance_of,
    log_odds,
    mean_odds,
)
from suffice.settings import EntailmentSettings, GroundingSettings
from suffice.switch import rule
from suffice.text.conditions import facts
from suffice.text.sentences import Span, Statement, sentences, statements
from suffice.text.words import content_words, stem
from suffice.types import (
    Claim,
    Code,
    Draft,
    Evidence,
    Fact,
    Finding,
    Hallucination,
    Passage,
    Support,
)

FEW = (1, 3)
"""How many statements to verify against. The log-odds of the results are averaged."""


@dataclass(frozen=True, slots=True)
class Nearest:
    """The statements most likely to back a text, best first."""

    found: tuple[tuple[Passage, Statement], ...]

    @property
    def passage(self) -> Passage:
        return self.found[0][0]

    @property
    def span(self) -> Span:
        return self.found[0][1].slices[-1]

    def beside(self, count: int) -> str:
        """The best `count` statements under their headings, in document order."""
        order = list(dict.fromkeys(passage.id for passage, _ in self.found))
        chosen = sorted(self.found[:count], key=lambda one: (order.index(one[0].id), one[1].slices))
        lines: list[str] = []
        last = ""
        for passage, statement in chosen:
            above = context(passage.title, passage.heading)
            lines += [above] if above != last else []
            last = above
            lines.append("\n".join(passage.text[slice(*span)] for span in statement.slices))
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Second:
    """The score of the second verification, and the position of the nearest statement."""

    score: SupportScore
    passage: Passage
    span: Span


def nearest(verifier: FindsSentences, text: str, passages: Sequence[Passage]) -> Nearest | None:
    every = [(passage, one) for passage in passages for one in statements(passage.text)]
    if not every:
        return None
    scores = verifier.sentences(text, [one.wording for _, one in every])
    ranked = sorted(range(len(every)), key=lambda n: -scores[n]) if scores else []
    return Nearest(tuple(every[n] for n in ranked[: max(FEW)])) if ranked else None


@rule("closer reading", lambda verifier, pairs, passages: [None] * len(pairs))
def read_closely(
    verifier: Verifier, pairs: Sequence[Pair], passages: Sequence[Sequence[Passage]]
) -> list[Second | None]:
    """The second score of each pair. `None` if the verifier cannot rank statements, or is an LLM,
    whose first judgement is final."""
    if isinstance(verifier, LlmVerifier) or not isinstance(verifier, FindsSentences):
        return [None] * len(pairs)
    each = watched(zip(pairs, passages, strict=True))
    near = [nearest(verifier, pair.text, own) for pair, own in each]
    asked = [
        replace(pair, evidence=(one.beside(count),))
        for pair, one in zip(pairs, near, strict=True)
        if one
        for count in FEW
    ]
    scores = iter(verifier.support(asked) if asked else ())
    return [_second(one, [next(scores) for _ in FEW]) if one else None for one in near]


def _second(near: Nearest, scores: Sequence[SupportScore]) -> Second | None:
    if any(one.unchecked for one in scores):
        return None
    likely = mean_odds([one.supported for one in scores])
    score = SupportScore(likely, 0.0, 1 - likely, tier=scores[0].tier)
    return Second(score, near.passage, near.span)


_FAST = "fast"
_MANY = 3


def raised(scores: Sequence[SupportScore], draft: Draft, by: float) -> list[SupportScore]:
    """The scores, with `by` added to their log-odds of support if the draft has at least `_MANY`
    different claims. Scores of other tiers, which are calibrated otherwise, do not change."""
    if different(draft) < _MANY:
        return list(scores)
    return [_raised(score, by) if score.tier == _FAST else score for score in scores]


def _raised(score: SupportScore, by: float) -> SupportScore:
    if score.unchecked:
        return score
    supported = max(score.supported, chance_of(log_odds(score.supported) + by))
    rest = (1 - supported) / (1 - score.supported) if score.supported < 1 else 1.0
    return replace(
        score,
        supported=supported,
        contradicted=score.contradicted * rest,
        not_mentioned=score.not_mentioned * rest,
    )


@dataclass(frozen=True, slots=True)
class Grounding:
    """The highest cosine between a claim and the passages it cites (all, if it cites none)."""

    embedder: Embedder
    settings: GroundingSettings = field(default_factory=GroundingSettings)
    name: str = "grounding"

    def judge(self, draft: Draft, evidence: Evidence) -> list[Finding]:
        alone_texts = alone(draft)
        sources = [own or evidence.passages for own in cited_passages(draft, evidence)]
        texts = dict.fromkeys([*alone_texts, *(p.text for own in sources for p in own)])
        vectors = dict(zip(texts, self.embedder.embed(list(texts)), strict=True)) if texts else {}
        return [
            self._finding(claim, {p.id: float(vectors[text] @ vectors[p.text]) for p in own}, own)
            for claim, text, own in watched(zip(draft.claims, alone_texts, sources, strict=True))
        ]

    def _finding(
        self, claim: Claim, near: dict[str, float], sources: tuple[Passage, ...]
    ) -> Finding:
        if not sources:
            reason = "there is no passage to compare with"
            return Finding(claim, self.name, Support.UNCHECKED, reason=reason)
        best = max(near, key=lambda place: near[place])
        score = near[best]
        return Finding(
            claim,
            self.name,
            Support.UNCHECKED,
            score,
            best,
            reason=f"{self._word(score)} the cited passages ({score:.2f})",
            code=Code.CLEAR if score >= self.settings.near else Code.FAR,
        )

    def _word(self, score: float) -> str:
        if score >= self.settings.close:
            return "close to"
        return "near" if score >= self.settings.near else "far from"


_COMMON = 200
_FEW = 2
_DIGITS = re.compile(r"\d+")


def roots(text: str) -> frozenset[str]:
    """The stems of a text's content words, and its digit sequences."""
    return frozenset((*map(stem, content_words(text)), *_DIGITS.findall(text)))


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a passage: `passage.text[start:end] == text`."""

    passage: Passage
    start: int
    end: int
    roots: frozenset[str]

    @property
    def text(self) -> str:
        return self.passage.text[self.start : self.end]


@dataclass(frozen=True, slots=True)
class Sentences:
    """All sentences of the evidence, indexed by their words."""

    all: list[Sentence] = field(default_factory=list)
    _words: dict[str, frozenset[str]] = field(default_factory=dict)
    _holding: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def of(cls, passages: Iterable[Passage]) -> Sentences:
        made = cls()
        for passage in passages:
            made._words[passage.id] = roots(passage.text)
            for start, end in sentences(passage.text):
                number = len(made.all)
                one = Sentence(passage, start, end, roots(passage.text[start:end]))
                made.all.append(one)
                for root in one.roots:
                    made._holding[root].append(number)
        return made

    def _telling(self, roots: frozenset[str]) -> list[str]:
        """The words to search by. Very common words are slow and tell little, so they are used only
        if there is no rarer word."""
        known = sorted(
            (root for root in roots if root in self._holding),
            key=lambda r: (len(self._holding[r]), r),
        )
        rare = [root for root in known if len(self._holding[root]) <= _COMMON]
        return rare or known[:_FEW]

    def words(self, passage: Passage) -> frozenset[str]:
        """The words of a whole passage."""
        return self._words.get(passage.id, frozenset())

    def nearest(self, roots: frozenset[str], within: Sequence[Passage] = ()) -> Sentence | None:
        """The sentence that shares the most words with `roots`, weighted by rarity. With `within`,
        only those passages are searched."""
        ids = {passage.id for passage in within}
        near: dict[int, float] = defaultdict(float)
        for root in self._telling(roots):
            holding = self._holding[root]
            for number in holding:
                near[number] += 1 / len(holding)
        allowed = [n for n in near if not ids or self.all[n].passage.id in ids]
        best = max(
            allowed, key=lambda n: (near[n], -len(self.all[n].roots ^ roots), -n), default=None
        )
        return None if best is None else self.all[best]


# Another passage replaces the cited passage only if its score is at least this much higher.
_SURER = 0.2
_LIKELIER = 1.75
"""Log-odds added to the support of each claim of an answer with many claims: 93 % of the claims in
the answers and summaries of RAGTruth are right."""
_SKIPPED = "already decided by another check"
_REASONS = {
    Support.BACKED: "supported by the evidence",
    Support.CONTRADICTED: "contradicted by the evidence",
    Support.UNBACKED: "not supported by the evidence",
}
_KINDS = {
    Support.CONTRADICTED: Hallucination.FAITHFULNESS,
    Support.UNBACKED: Hallucination.FACTUALITY,
}


@dataclass(frozen=True, slots=True)
class _Reading:
    """A claim to verify: its self-contained text, its facts, and the passages to compare with."""

    claim: Claim
    text: str
    facts: tuple[str, ...]
    passages: tuple[Passage, ...]


@dataclass(frozen=True, slots=True)
class Entailment:
    """Verifies each claim against the passages it cites (all, if it cites none), and every fact of
    a claim with several facts. If only another passage supports a claim, that passage backs it: the
    citation is wrong, but the claim is not."""

    verifier: Verifier
    settings: EntailmentSettings = field(default_factory=EntailmentSettings)
    claims: frozenset[Claim] | None = None
    """The claims to verify; `None` for all."""
    name: str = "entailment"

    def only(self, claims: Collection[Claim]) -> Entailment:
        asked = frozenset(claims) if self.claims is None else self.claims.intersection(claims)
        return replace(self, claims=asked)

    def judge(self, draft: Draft, evidence: Evidence) -> list[Finding]:
        """Verify each claim against its cited passages, then against all passages, then against
        the statements nearest to it."""
        read = [one for one in _readings(draft, evidence) if self._asked(one.claim)]
        found = self._judged(read, draft, evidence)
        elsewhere = [
            replace(one, passages=evidence.passages)
            for one in read
            if _open(found[one.claim]) and len(one.passages) < len(evidence)
        ]
        for claim, second in self._judged(elsewhere, draft, evidence).items():
            surer = (second.score or 0.0) >= (found[claim].score or 0.0) + _SURER
            if second.support is Support.BACKED and surer:
                found[claim] = second
        still = [one for one in read if _open(found[one.claim])]
        found |= self._closer(still, found, draft, evidence.question)
        left = (
            Finding(claim, self.name, Support.UNCHECKED, reason=_SKIPPED) for claim in draft.claims
        )
        return [found.get(one.claim, one) for one in left]

    def _asked(self, claim: Claim) -> bool:
        return self.claims is None or claim in self.claims

    def _judged(
        self, read: Sequence[_Reading], draft: Draft, evidence: Evidence
    ) -> dict[Claim, Finding]:
        """The findings on the claims and their facts, from one verifier call."""
        pairs = [
            Pair(wording, tuple(map(readable_text, one.passages)), evidence.question, draft.text)
            for one in read
            for wording in (one.text, *one.facts)
        ]
        scores = iter(self._scores(pairs, draft))
        if not read:
            return {}
        sentences = Sentences.of(evidence.passages)
        found = {}
        for one in watched(read):
            finding = self._finding(one, next(scores), sentences)
            parts = tuple(Fact(text, self._support(next(scores))) for text in one.facts)
            found[one.claim] = replace(finding, facts=parts)
        return found

    def _closer(
        self, read: Sequence[_Reading], found: dict[Claim, Finding], draft: Draft, question: str
    ) -> dict[Claim, Finding]:
        """The findings of a second verification against the nearest statements, if they score
        higher."""
        pairs = [Pair(one.text, (), question, draft.text) for one in read]
        seconds = read_closely(self.verifier, pairs, [one.passages for one in read])
        again = [(one, second) for one, second in zip(read, seconds, strict=True) if second]
        scores = raised([second.score for _, second in again], draft, _LIKELIER)
        more: dict[Claim, Finding] = {}
        for (one, second), score in zip(again, scores, strict=True):
            first = found[one.claim]
            if score.supported <= (first.score or 0.0):
                continue
            support = self._support(score)
            backed = support is Support.BACKED
            more[one.claim] = replace(
                first,
                support=support,
                score=score.supported,
                passage_id=second.passage.id if backed else None,
                span=second.span if backed else None,
                reason=_reason(support, score),
                kind=_KINDS.get(support),
            )
        return more

    def _scores(self, pairs: Sequence[Pair], draft: Draft) -> list[SupportScore]:
        scores = self.verifier.support(pairs) if pairs else []
        return raised(scores, draft, _LIKELIER)

    def _finding(self, reading: _Reading, score: SupportScore, sentences: Sentences) -> Finding:
        support = self._support(score)
        if support is Support.UNCHECKED:
            reason = f"{score.unchecked} {score.note}".strip()
            return Finding(reading.claim, self.name, support, reason=reason)
        spoken = support is not Support.UNBACKED and score.passage is not None and reading.passages
        passage = reading.passages[score.passage or 0] if spoken else None
        words = roots(score.quote or reading.text)
        quoted = sentences.nearest(words, (passage,)) if passage else None
        reason = _reason(support, score)
        return Finding(
            reading.claim,
            self.name,
            support,
            score.supported,
            passage.id if passage else None,
            (quoted.start, quoted.end) if quoted else None,
            f"{reason}. {score.note}" if score.note else reason,
            kind=_KINDS.get(support),
        )

    def _support(self, score: SupportScore) -> Support:
        """Apply the thresholds of the tier that gave the score."""
        if score.unchecked:
            return Support.UNCHECKED
        if score.supported >= self.settings.backed:
            return Support.BACKED
        against = score.contradicted >= self.settings.contradicted
        return Support.CONTRADICTED if against else Support.UNBACKED


def _reason(support: Support, score: SupportScore) -> str:
    return f"{_REASONS[support]} ({score.supported:.2f}, {score.tier})"


def _open(finding: Finding) -> bool:
    return finding.support is Support.UNBACKED


def _readings(draft: Draft, evidence: Evidence) -> list[_Reading]:
    read = zip(draft.claims, alone(draft), cited_passages(draft, evidence), strict=True)
    return [
        _Reading(claim, text, _several(text), sources or evidence.passages)
        for claim, text, sources in watched(read)
    ]


@rule("facts", lambda text: ())
def _several(text: str) -> tuple[str, ...]:
    """The facts of a claim, if it has more than one."""
    found = facts(text)
    return tuple(found) if len(found) > 1 else ()


NAME = "whole"
_WHOLE_LIKELIER = 0.85
"""Log-odds added to the support of an answer with many claims: 70 % of the answers and summaries of
RAGTruth are right."""
_ONE_CLAIM = "the answer is a single claim"


@dataclass(frozen=True, slots=True)
class WholeAnswer:
    """Scores an answer of several claims against all passages. Every claim gets the score, and none
    is decided."""

    verifier: Verifier
    needed: bool = True
    name: str = NAME

    def only(self, claims: Collection[Claim]) -> WholeAnswer:
        return replace(self, needed=self.needed and bool(claims))

    def judge(self, draft: Draft, evidence: Evidence) -> list[Finding]:
        if not self.needed or len(draft.claims) < 2:
            return _findings(draft, _SKIPPED if draft.claims[1:] else _ONE_CLAIM)
        (score,) = raised([self._read(draft, evidence)], draft, _WHOLE_LIKELIER)
        if score.unchecked:
            return _findings(draft, score.unchecked)
        reason = f"the answer as a whole has a {score.supported:.0%} chance of being supported"
        return _findings(draft, f"{reason} ({score.tier})", score.supported)

    def _read(self, draft: Draft, evidence: Evidence) -> SupportScore:
        text = without_gaps(draft.text)
        passages = tuple(map(readable_text, evidence.passages))
        (score,) = self.verifier.support([Pair(text, passages, evidence.question, text)])
        return score


def _findings(draft: Draft, reason: str, score: float | None = None) -> list[Finding]:
    return [Finding(claim, NAME, Support.UNCHECKED, score, reason=reason) for claim in draft.claims]
