"""The llm tier: asks the user's LLM where the cheaper tier is uncertain.

The LLM then has the last word, for and against, but only with a quote that occurs in the passages.
If the LLM fails or its judgement does not count, the cheaper tier's score is used, with a note that
gives the reason.
"""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Generic, TypeVar

from suffice.errors import SettingsError, SufficeError
from suffice.models.chat import chat_endpoint
from suffice.models.llm.ask import SUFFICIENCY, SUPPORT, Budget, ClaimToJudge, Cost, Llm, Prompt
from suffice.models.llm.replies import (
    Enough,
    NoWord,
    Verdict,
    Word,
    enough_word,
    read_assessment,
    read_rulings,
    support_word,
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

MOST_CLAIMS = 32
"""The claim limit of a call. With more claims, the last judgements become unreliable."""


@dataclass(frozen=True, slots=True)
class Case:
    """One call: its prompt, and the pairs (by number) that ask about its claims."""

    prompt: Prompt
    pairs: Mapping[int, int]

    def places(self, pair: Pair) -> dict[int, int]:
        """Maps the passage numbers of the prompt to positions in the pair's evidence."""
        held = {text: place for place, text in reversed(list(enumerate(pair.evidence)))}
        numbered = enumerate(self.prompt.passages, 1)
        return {n: held[text] for n, text in numbered if text in held}


def cases(pairs: Sequence[Pair], asked: Sequence[int]) -> Iterator[Case]:
    """Group the claims. Claims of an answer share a call even if they cite different passages: the
    prompt shows all passages and says which ones apply to each claim. Without an answer, claims
    with the same evidence share a call."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for n in asked:
        pair = pairs[n]
        groups.setdefault((pair.question, pair.answer or pair.evidence), []).append(n)
    for members in groups.values():
        for start in range(0, len(members), MOST_CLAIMS):
            yield _case(pairs, members[start : start + MOST_CLAIMS])


def _case(pairs: Sequence[Pair], members: Sequence[int]) -> Case:
    passages = tuple(dict.fromkeys(text for n in members for text in pairs[n].evidence))
    numbers = {text: number for number, text in enumerate(passages, 1)}
    claims: dict[ClaimToJudge, int] = {}
    places: dict[int, int] = {}
    for n in members:
        only = tuple(sorted({numbers[text] for text in pairs[n].evidence}))
        asked = ClaimToJudge(pairs[n].text, () if len(only) == len(passages) else only)
        places[n] = claims.setdefault(asked, len(claims))
    return Case(Prompt(passages, pairs[members[0]].question, tuple(claims)), places)


V = TypeVar("V")


class Cache(Generic[V]):
    """Holds at most `size` values and drops the least recently used."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._lock = Lock()
        self._held: OrderedDict[str, V] = OrderedDict()

    def get(self, key: str) -> V | None:
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
            return self._held.get(key)

    def put(self, key: str, value: V) -> None:
        with self._lock:
            self._held[key] = value
            self._held.move_to_end(key)
            while len(self._held) > self.size:
                self._held.popitem(last=False)

    def __len__(self) -> int:
        return len(self._held)


def cache_key(*parts: str | Sequence[str]) -> str:
    """A key unique to these parts: the sha256 of their JSON."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


# The LLM gives a category, not a probability. The value is above any threshold in use, but below 1,
# because an LLM can be wrong even with a genuine quote.
SURE = 0.95
_REST = (1 - SURE) / 2
_Key = tuple[str | tuple[str, ...], ...]


@dataclass(frozen=True)
class LlmVerifier:
    """The verifier `inner` with an LLM on top. Each call of a method has its own budget."""

    inner: Verifier
    llm: Llm
    settings: LlmSettings = field(default_factory=LlmSettings)
    cache: Cache[Word | Enough | NoWord] = field(
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
        return self.llm.meter.cost

    def sentences(self, text: str, sentences: Sequence[str]) -> list[float]:
        return sentence_scores(self.inner, text, sentences)

    def support(self, pairs: Sequence[Pair]) -> list[SupportScore]:
        scores = list(self.inner.support(pairs))
        asked = [
            n
            for n, (pair, score) in enumerate(zip(pairs, scores, strict=True))
            if self._asks(pair, score.supported, score.unchecked)
        ]
        budget, words = Budget(self.settings), dict[int, Word | NoWord]()
        for n in asked:
            held = self._cached(_support_key(pairs[n]))
            if isinstance(held, Word | NoWord):
                words[n] = held
        fresh = [n for n in asked if n not in words]
        for case in cases(pairs, fresh):
            words.update(self._judged(case, pairs, budget))
        for n, word in words.items():
            scores[n] = self._support(word, scores[n])
        return scores

    def sufficiency(self, pairs: Sequence[Pair]) -> list[SufficiencyScore]:
        scores = list(self.inner.sufficiency(pairs))
        budget = Budget(self.settings)
        for n, (pair, score) in enumerate(zip(pairs, scores, strict=True)):
            if self._asks(pair, score.enough, score.unchecked):
                scores[n] = self._enough(self._assessed(pair, budget), score)
        return scores

    def _asks(self, pair: Pair, chance: float, unchecked: str) -> bool:
        """Whether to ask the LLM. It may read what the inner tier cannot, but not empty text."""
        if self.settings.ask == "never" or not (
            _tells(pair.text) and any(map(_tells, pair.evidence))
        ):
            return False
        inside = self.settings.band_low <= chance <= self.settings.band_high
        return self.settings.ask == "always" or bool(unchecked) or inside

    def _judged(
        self, case: Case, pairs: Sequence[Pair], budget: Budget
    ) -> Iterator[tuple[int, Word | NoWord]]:
        """The result for each pair of a case, from one call."""
        try:
            rulings = read_rulings(self.llm.reply(case.prompt, budget), len(case.prompt.claims))
        except (SufficeError, ValueError) as problem:
            yield from ((n, NoWord(_why(problem))) for n in case.pairs)
            return
        for n, claim in case.pairs.items():
            word = support_word(rulings[claim], pairs[n], case.places(pairs[n]))
            self._keep(_support_key(pairs[n]), word)
            yield n, word

    def _assessed(self, pair: Pair, budget: Budget) -> Enough | NoWord:
        key = (SUFFICIENCY, pair.text, pair.evidence)
        held = self._cached(key)
        if isinstance(held, Enough | NoWord):
            return held
        try:
            reply = self.llm.reply(Prompt(pair.evidence, pair.text), budget)
            word = enough_word(read_assessment(reply), pair)
        except (SufficeError, ValueError) as problem:
            return NoWord(_why(problem))
        self._keep(key, word)
        return word

    def _support(self, word: Word | NoWord, score: SupportScore) -> SupportScore:
        if isinstance(word, NoWord):
            return replace(score, note=self._note(word, score.tier))
        shares = dict.fromkeys(Verdict, _REST) | {word.verdict: SURE}
        return SupportScore(
            shares[Verdict.SUPPORTED],
            shares[Verdict.CONTRADICTED],
            shares[Verdict.NOT_MENTIONED],
            word.passage,
            tier=LLM,
            quote=word.quote,
        )

    def _enough(self, word: Enough | NoWord, score: SufficiencyScore) -> SufficiencyScore:
        if isinstance(word, NoWord):
            return replace(score, note=self._note(word, score.tier))
        if word.enough:
            return SufficiencyScore(SURE, word.passage, tier=LLM)
        return SufficiencyScore(1 - SURE, score.passage, tier=LLM, missing=word.missing)

    def _note(self, word: NoWord, tier: str) -> str:
        return (
            f"The LLM could not judge this: {word.why}; the {tier or self.inner.tier} tier's "
            "score stands."
        )

    def _cached(self, key: _Key) -> Word | Enough | NoWord | None:
        held = self.cache.get(self._name(key))
        if held is not None:
            self.llm.meter.add(Cost(cached=1))
        return held

    def _keep(self, key: _Key, word: Word | Enough | NoWord) -> None:
        self.cache.put(self._name(key), word)

    def _name(self, key: _Key) -> str:
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


DRAFT = "draft"
_REMEDY = "Set verifier.llm.url to the base URL of an OpenAI-compatible endpoint."


def open_llm_verifier(
    inner: Verifier, settings: LlmSettings, draft: DraftSettings | None = None
) -> LlmVerifier:
    """The verifier `inner` with the configured LLM. Only the drafter's URL gets its key."""
    shared = draft if settings.url == DRAFT else None
    url = shared.llm if shared else settings.url
    if not url.startswith(("http://", "https://")):
        raise SettingsError(
            f"No LLM is configured for verification: verifier.llm.url is '{settings.url}'"
            + (f", and draft.llm is '{shared.llm}'." if shared else "."),
            remedy=_REMEDY,
        )
    key_env = settings.key_env or (shared.key_env if shared else "")
    model = settings.model or (shared.model if shared else "")
    endpoint = chat_endpoint(url, key_env, "verdict", settings.total_seconds, settings.retries)
    # Notes are shown to callers, who should not see the URL.
    llm = Llm(replace(endpoint, called="the endpoint"), model)
    return LlmVerifier(inner, llm, settings, Cache(settings.cache_size))
