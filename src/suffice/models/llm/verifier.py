"""The llm tier: asks the user's LLM where the cheaper tier is uncertain.

The LLM then has the last word, for and against, but only with a quote that occurs in the passages.
If the LLM fails or its judgement does not count, the cheaper tier's score is used, with a note that
gives the reason.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from suffice.errors import SufficeError
from suffice.models.cache import Cache, cache_key
from suffice.models.chat import fence, fenced
from suffice.models.llm.client import Budget, Cost, Llm, LlmUse, Meter, open_llm
from suffice.models.llm.prompts import Prompt, build_prompt
from suffice.models.llm.rulings import (
    Judgement,
    NoRuling,
    SufficiencyReply,
    SufficiencyRuling,
    SupportReply,
    SupportRuling,
    read_sufficiency,
    read_support,
    sufficiency_ruling,
    support_ruling,
)
from suffice.models.verifier import (
    LLM,
    Pair,
    SufficiencyScore,
    SupportScore,
    Thresholds,
    Verifier,
    sentence_scores,
)
from suffice.models.wire.endpoint import endpoint_url
from suffice.settings import DraftSettings, LlmSettings

SUPPORT = "support-3"
SUFFICIENCY = "sufficiency-2"
VERIFYING = LlmUse("verdict", "verifier.llm.url", "verifier.llm.max_tokens")
DRAFT = "draft"
"""The URL that means the drafter's."""
MOST_CLAIMS = 32
"""The claim limit of a call. With more claims, the last judgements become unreliable."""


@dataclass(frozen=True, slots=True)
class ClaimToJudge:
    """A claim, and the passages (counted from 1) it is judged by; all if empty."""

    claim: str
    passages: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class SupportRequest:
    """The claims of one call with their passages, and the claim of each pair (both by number)."""

    passages: tuple[str, ...]
    question: str
    claims: tuple[ClaimToJudge, ...]
    claim_of: Mapping[int, int]

    @property
    def prompt(self) -> Prompt[SupportReply]:
        blocks = _blocks(self.passages, self.question, self.claims)
        return build_prompt(SUPPORT, blocks, SupportReply)

    def places(self, pair: Pair) -> dict[int, int]:
        """Maps the passage numbers of the prompt to positions in the pair's evidence."""
        positions = {text: place for place, text in reversed(list(enumerate(pair.evidence)))}
        numbered = enumerate(self.passages, 1)
        return {n: positions[text] for n, text in numbered if text in positions}


def support_requests(pairs: Sequence[Pair], undecided: Sequence[int]) -> Iterator[SupportRequest]:
    """Group the claims of these pairs. Claims of an answer share a call even if they cite different
    passages: the prompt shows all passages and says which ones apply to each claim. Without an
    answer, claims with the same evidence share a call."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for n in undecided:
        pair = pairs[n]
        groups.setdefault((pair.question, pair.answer or pair.evidence), []).append(n)
    for members in groups.values():
        for start in range(0, len(members), MOST_CLAIMS):
            yield _support_request(pairs, members[start : start + MOST_CLAIMS])


def _support_request(pairs: Sequence[Pair], members: Sequence[int]) -> SupportRequest:
    passages = tuple(dict.fromkeys(text for n in members for text in pairs[n].evidence))
    numbers = {text: number for number, text in enumerate(passages, 1)}
    claims: dict[ClaimToJudge, int] = {}
    claim_of: dict[int, int] = {}
    for n in members:
        only = tuple(sorted({numbers[text] for text in pairs[n].evidence}))
        claim = ClaimToJudge(pairs[n].text, () if len(only) == len(passages) else only)
        claim_of[n] = claims.setdefault(claim, len(claims))
    return SupportRequest(passages, pairs[members[0]].question, tuple(claims), claim_of)


def sufficiency_prompt(pair: Pair) -> Prompt[SufficiencyReply]:
    return build_prompt(SUFFICIENCY, _blocks(pair.evidence, pair.text), SufficiencyReply)


def _blocks(
    passages: Sequence[str], question: str, claims: Sequence[ClaimToJudge] = ()
) -> Iterator[str]:
    """The fenced passages, question and claims."""
    shown = [visible(text) for text in passages]
    question, *texts = visible(question), *(visible(claim.claim) for claim in claims)
    last = fence([*shown, question, *texts])
    # The mark depends only on the passages, so that prompts for other claims start with the
    # same text.
    first = fence(shown)
    first = last if any(first in text for text in (question, *texts)) else first
    for n, text in enumerate(shown, 1):
        yield fenced(first, f"passage {n}", text)
    if question:
        yield fenced(last, "question", question)
    if claims:
        yield fenced(last, "claims", "\n".join(_lines(claims, texts)))


def _lines(claims: Sequence[ClaimToJudge], texts: Sequence[str]) -> Iterator[str]:
    """One line per claim, quoted as JSON so that a claim cannot forge another line."""
    for n, (claim, text) in enumerate(zip(claims, texts, strict=True), 1):
        only = ", ".join(map(str, claim.passages))
        limit = f" (judge by passages {only} only)" if only else ""
        yield f"claim {n}{limit}: {json.dumps(' '.join(text.split()), ensure_ascii=False)}"


def visible(text: str) -> str:
    """The text without invisible characters, which can hide instructions."""
    return "".join(char for char in text if unicodedata.category(char) != "Cf")


# The LLM gives a category, not a probability. The value is above any threshold in use, but below 1,
# because an LLM can be wrong even with a genuine quote.
SURE = 0.95
_REST = (1 - SURE) / 2
_Key = tuple[str | tuple[str, ...], ...]
_Ruling = SupportRuling | SufficiencyRuling | NoRuling


@dataclass(frozen=True)
class LlmVerifier:
    """The verifier `inner` with an LLM on top. Each call of a method has its own budget."""

    inner: Verifier
    llm: Llm
    settings: LlmSettings = field(default_factory=LlmSettings)
    cache: Cache[str, _Ruling] = field(
        default_factory=lambda: Cache(LlmSettings().cache_size), compare=False
    )
    tier: str = LLM

    @property
    def id(self) -> str:
        return f"{self.inner.id}+{self.llm.name}+{SUPPORT}+{SUFFICIENCY}"

    @property
    def thresholds(self) -> Thresholds:
        """The thresholds of the inner tier for its scores, and one half for the LLM's scores."""
        inner = self.inner.thresholds
        tiers = {**inner.tiers, self.inner.tier: inner, LLM: Thresholds()}
        return replace(inner, tiers=tiers)

    def always(self) -> LlmVerifier | None:
        """The same verifier, asked about every pair; `None` if it is never asked."""
        never = self.settings.ask == "never"
        return None if never else replace(self, settings=replace(self.settings, ask="always"))

    def asking(self, model: str) -> LlmVerifier:
        """The same verifier, asking this model if none is configured."""
        if self.llm.model or not model:
            return self
        return replace(self, llm=replace(self.llm, model=model))

    @property
    def cost(self) -> Cost:
        """The cost of all calls so far."""
        return self.llm.meter.cost if self.llm.meter else Cost()

    def sentences(self, text: str, sentences: Sequence[str]) -> list[float]:
        return sentence_scores(self.inner, text, sentences)

    def support(self, pairs: Sequence[Pair]) -> list[SupportScore]:
        scores = list(self.inner.support(pairs))
        undecided = [
            n
            for n, (pair, score) in enumerate(zip(pairs, scores, strict=True))
            if self._asks(pair, score.supported, score.unchecked)
        ]
        budget, rulings = self._budget(), dict[int, SupportRuling | NoRuling]()
        for n in undecided:
            cached = self._cached(_support_key(pairs[n]))
            if isinstance(cached, SupportRuling | NoRuling):
                rulings[n] = cached
        fresh = [n for n in undecided if n not in rulings]
        for request in support_requests(pairs, fresh):
            rulings.update(self._judged(request, pairs, budget))
        for n, ruling in rulings.items():
            scores[n] = self._support(ruling, scores[n])
        return scores

    def sufficiency(self, pairs: Sequence[Pair]) -> list[SufficiencyScore]:
        scores = list(self.inner.sufficiency(pairs))
        budget = self._budget()
        for n, (pair, score) in enumerate(zip(pairs, scores, strict=True)):
            if self._asks(pair, score.enough, score.unchecked):
                scores[n] = self._enough(self._assessed(pair, budget), score)
        return scores

    def _budget(self) -> Budget:
        limits = self.settings
        return Budget(
            limits.total_seconds,
            "verifier.llm.total_seconds",
            limits.total_calls,
            limits.total_tokens,
        )

    def _asks(self, pair: Pair, chance: float, unchecked: str) -> bool:
        """Whether to ask the LLM. It may read what the inner tier cannot, but not empty text."""
        if self.settings.ask == "never" or not (
            _tells(pair.text) and any(map(_tells, pair.evidence))
        ):
            return False
        inside = self.settings.band_low <= chance <= self.settings.band_high
        return self.settings.ask == "always" or bool(unchecked) or inside

    def _judged(
        self, request: SupportRequest, pairs: Sequence[Pair], budget: Budget
    ) -> Iterator[tuple[int, SupportRuling | NoRuling]]:
        """The ruling for each pair of a request, from one call."""
        try:
            reply = self.llm.reply(request.prompt, budget)
            judged = read_support(reply, len(request.claims))
        except (SufficeError, ValueError) as problem:
            yield from ((n, NoRuling(_why(problem))) for n in request.claim_of)
            return
        for n, claim in request.claim_of.items():
            ruling = support_ruling(judged[claim], pairs[n], request.places(pairs[n]))
            self.cache.put(self._cache_key(_support_key(pairs[n])), ruling)
            yield n, ruling

    def _assessed(self, pair: Pair, budget: Budget) -> SufficiencyRuling | NoRuling:
        key = (SUFFICIENCY, pair.text, pair.evidence)
        cached = self._cached(key)
        if isinstance(cached, SufficiencyRuling | NoRuling):
            return cached
        try:
            reply = read_sufficiency(self.llm.reply(sufficiency_prompt(pair), budget))
        except (SufficeError, ValueError) as problem:
            return NoRuling(_why(problem))
        ruling = sufficiency_ruling(reply, pair)
        self.cache.put(self._cache_key(key), ruling)
        return ruling

    def _support(self, ruling: SupportRuling | NoRuling, score: SupportScore) -> SupportScore:
        if isinstance(ruling, NoRuling):
            return replace(score, note=self._note(ruling, score.tier))
        shares = dict.fromkeys(Judgement, _REST) | {ruling.judgement: SURE}
        return SupportScore(
            shares[Judgement.SUPPORTED],
            shares[Judgement.CONTRADICTED],
            shares[Judgement.NOT_MENTIONED],
            ruling.passage,
            tier=LLM,
            quote=ruling.quote,
        )

    def _enough(
        self, ruling: SufficiencyRuling | NoRuling, score: SufficiencyScore
    ) -> SufficiencyScore:
        if isinstance(ruling, NoRuling):
            return replace(score, note=self._note(ruling, score.tier))
        if ruling.enough:
            return SufficiencyScore(SURE, ruling.passage, tier=LLM)
        return SufficiencyScore(1 - SURE, score.passage, tier=LLM, missing=ruling.missing)

    def _note(self, ruling: NoRuling, tier: str) -> str:
        return (
            f"The LLM could not judge this: {ruling.why}; the {tier or self.inner.tier} tier's "
            "score stands."
        )

    def _cached(self, key: _Key) -> _Ruling | None:
        ruling = self.cache.get(self._cache_key(key))
        if ruling is not None and self.llm.meter is not None:
            self.llm.meter.add(Cost(cached=1))
        return ruling

    def _cache_key(self, key: _Key) -> str:
        """The cache key, from the model, prompt version and content."""
        return cache_key(self.llm.endpoint.url, self.llm.model, *key)


def below_llm(verifier: Verifier) -> Verifier:
    """The tier below an LLM, for many small pairs that would each be a separate call. Any other
    verifier is returned unchanged."""
    return verifier.inner if isinstance(verifier, LlmVerifier) else verifier


def for_gate(verifier: Verifier, draft: DraftSettings) -> Verifier:
    """The verifier of the gate: without an LLM that also drafts, unless it is always asked. Such an
    LLM says with its draft whether the passages are enough."""
    if not isinstance(verifier, LlmVerifier) or verifier.settings.ask == "always":
        return verifier
    drafts = verifier.llm.endpoint.url == endpoint_url(draft.llm, "chat/completions")
    return verifier.inner if drafts else verifier


def _support_key(pair: Pair) -> _Key:
    return (SUPPORT, pair.text, pair.question, pair.evidence)


def _tells(text: str) -> bool:
    return any(map(str.isalnum, text))


def _why(problem: SufficeError | ValueError) -> str:
    """The error, phrased as part of a sentence."""
    if isinstance(problem, SufficeError):
        reason = problem.message.rstrip(".")
        return f"{reason[:1].lower()}{reason[1:]}"
    return f"its reply does not match the schema ({problem})"


def open_llm_verifier(
    inner: Verifier, settings: LlmSettings, draft: DraftSettings | None = None
) -> LlmVerifier:
    """The verifier `inner` with the configured LLM."""
    llm = open_llm(
        VERIFYING,
        url=settings.url,
        model=settings.model,
        key_env=settings.key_env,
        timeout=settings.total_seconds,
        retries=settings.retries,
        max_tokens=settings.max_tokens,
        drafter=draft if settings.url == DRAFT else None,
    )
    # Notes are shown to callers, who should not see the URL.
    endpoint = replace(llm.endpoint, called="the endpoint")
    llm = replace(llm, endpoint=endpoint, meter=Meter())
    return LlmVerifier(inner, llm, settings, Cache(settings.cache_size))
