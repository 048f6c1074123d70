"""Detects conflicts: passages that answer the question differently.

passages → candidate answers → pairs that differ in value → verifier → score

The comparison of values and the verifier decide together. A conflict is reported with quotes from
both sides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from suffice.evidence.split import placed
from suffice.gate.conflict.answers import Reading, Span
from suffice.gate.conflict.aspect import Aspect, Stated, candidate_statements, stated
from suffice.gate.conflict.candidates import View, views
from suffice.models.llm.verifier import LlmVerifier, below_llm
from suffice.models.verifier import LLM, Pair, SufficiencyScore, SupportScore, Verifier
from suffice.settings import ConflictSettings
from suffice.switch import rule
from suffice.types import Conflict, Evidence, Passage

EVEN = 0.5


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verifier's judgement of a pair. `own` is how certainly each statement gives its own
    answer, `apart` how much more certainly than the other's answer (one half means equally), and
    `agreed` how certainly the answer in both passages is right. The defaults are neutral."""

    own: float = 0.0
    apart: float = EVEN
    agreed: float = 0.0
    unchecked: str = "not asked"


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Two passages, and how certainly they answer differently. If `ambiguous`, they seem to be
    about different things."""

    view: View
    judgement: Judgement
    score: float
    ambiguous: bool


def reported(disagreement: Disagreement, passages: Sequence[Passage]) -> Conflict:
    """The conflict with quotes from both sides."""
    view = disagreement.view
    first, second = passages[view.first], passages[view.second]
    return Conflict(
        first,
        second,
        _quote(first, view.statements[0]),
        _quote(second, view.statements[1]),
        disagreement.score,
        _reason(disagreement, first, second),
        disagreement.ambiguous,
    )


def crossed(view: View, passages: Sequence[Passage]) -> Iterator[tuple[str, Passage]]:
    """Each side's statement with the passage of the other side."""
    first, second = passages[view.first], passages[view.second]
    yield _quote(first, view.statements[0]), second
    yield _quote(second, view.statements[1]), first


def _quote(passage: Passage, span: Span) -> str:
    return passage.text[slice(*span)].strip()


def _reason(disagreement: Disagreement, first: Passage, second: Passage) -> str:
    mine, theirs = (answer.text for answer in disagreement.view.answers)
    reason = f"“{mine}” in {_source(first)} against “{theirs}” in {_source(second)}"
    if disagreement.judgement.unchecked:
        reason += "; found by comparing values only: the verifier did not judge it"
    if disagreement.ambiguous:
        return f"{reason}; they seem to be about different things with the same name"
    if first.document and first.edition[:2] == second.edition[:2]:
        return f"{reason}; these are two versions of the same document"
    return reason


def _source(passage: Passage) -> str:
    """The document with its version and dates, if known."""
    parts = [f"version {passage.declared}"] if passage.declared else []
    if passage.effective:
        parts.append(f"effective {passage.effective.isoformat()}")
    if passage.expires:
        parts.append(f"expires {passage.expires.isoformat()}")
    name = passage.title or passage.document or passage.id
    return f"{name} ({', '.join(parts)})" if parts else name


def pairs_to_judge(view: View, readings: Sequence[Reading], question: str) -> tuple[Pair, ...]:
    """Each answer with its own statement, then with the other's, then the answer that both give."""
    mine, theirs = (one.text for one in view.answers)
    first = readings[view.first]
    here = first.text[slice(*view.statements[0])]
    there = readings[view.second].text[slice(*view.statements[1])]
    pairs = [(mine, here), (theirs, there), (mine, there), (theirs, here)]
    if view.agreed and view.near < 1:
        pairs.append((view.agreed.text, first.text[slice(*first.sentence(view.agreed.start))]))
    return tuple(Pair(answer, (text,), question) for answer, text in pairs)


def judgement_of(pairs: Sequence[Pair], scores: Mapping[Pair, SupportScore]) -> Judgement:
    """The verifier's judgement of two passages, from its scores for those pairs."""
    if not pairs:
        return Judgement()
    found = [scores[pair] for pair in pairs]
    unchecked = next((score.unchecked for score in found if score.unchecked), "")
    if unchecked:
        return Judgement(unchecked=unchecked)
    mine, theirs, mine_there, theirs_here, *agreed = (score.supported for score in found)
    apart = min(_more(mine, theirs_here), _more(theirs, mine_there))
    return Judgement(min(mine, theirs), apart, max(agreed, default=0.0), "")


def _more(own: float, other: float) -> float:
    """The odds of the first score as a share of both odds."""
    ours, theirs = own * (1 - other), other * (1 - own)
    return ours / (ours + theirs) if ours + theirs else EVEN


# A pair with a smaller difference in value cannot become a conflict, so the verifier is not asked.
_WORTH = 0.5
_RIVALS = 5
_SURE = 0.8
# A statement with this share of the question's words clearly answers it.
_COVERED = 0.75
# A statement without any of these words does not answer the question if its score is below this
# share of the verifier's threshold.
_HARDLY = 0.6
# A statement answers on its own from this share of the threshold. Statements under different
# headings are usually about different things, so they need more on average.
_ALONE, _ALONE_APART = 0.2, 1.7
# Passages contradict each other if the verifier gives this probability on average. It reads them
# without the question, which makes a difference between values look like a gap.
_OPPOSED = 0.2


@dataclass(frozen=True)
class Conflicts:
    """Finds contradictions between passages. The work is linear in the number of passages, because
    each is compared only with the few that differ most. An LLM verifier is only asked to confirm
    conflicts before they are reported, because every comparison is a call."""

    verifier: Verifier
    settings: ConflictSettings = field(default_factory=ConflictSettings)
    llm: LlmVerifier | None = None

    def __post_init__(self) -> None:
        if isinstance(self.verifier, LlmVerifier):
            object.__setattr__(self, "llm", self.verifier.always())
        object.__setattr__(self, "verifier", below_llm(self.verifier))

    def find(self, evidence: Evidence) -> tuple[Conflict, ...]:
        """The conflicts, most certain first, followed by the ambiguous pairs."""
        if not self.settings.enabled:
            return ()
        found = [one for one in self.compare(evidence) if self._reported(one)]
        found.sort(key=lambda one: (one.ambiguous, -one.score, one.view.first, one.view.second))
        conflicts = tuple(reported(one, evidence.passages) for one in found)
        return tuple(
            one for one in conflicts if one.ambiguous or self._confirmed(one, evidence.question)
        )

    def _confirmed(self, conflict: Conflict, question: str) -> bool:
        """Whether the LLM, if it is available, finds that one side contradicts the other."""
        if self.llm is None:
            return True
        sides = (conflict.first_quote, conflict.second), (conflict.second_quote, conflict.first)
        pairs = [Pair(quote, (placed(other),), question) for quote, other in sides]
        scores = [score for score in self.llm.support(pairs) if score.tier == LLM]
        return not scores or any(score.contradicted >= EVEN for score in scores)

    def compare(self, evidence: Evidence) -> list[Disagreement]:
        """All pairs of passages that both answer the question, each with its score."""
        passages = evidence.passages[: self.settings.max_passages]
        readings = [Reading.of(passage.text, evidence.question) for passage in passages]
        open_views = [
            view
            for view in views(readings, evidence.question)
            if _can_conflict(passages, view, evidence.then)
        ]
        best: dict[tuple[int, int], Disagreement] = {}
        judged = self._judged(open_views, readings, evidence.question)
        aspect = Aspect(evidence.question)
        for one in self._answering(judged, readings, passages, aspect):
            pair = one.view.first, one.view.second
            if pair not in best or self._rank(one) > self._rank(best[pair]):
                best[pair] = one
        return self._opposed(self._both_answer(list(best.values()), evidence), evidence)

    @rule("both answer", lambda self, found, evidence: found)
    def _both_answer(self, found: Sequence[Disagreement], evidence: Evidence) -> list[Disagreement]:
        """Halve the score of a pair if a statement does not answer the question on its own: answers
        to different questions do not contradict each other."""
        sides = {
            n: list(zip(one.view.passages, one.view.statements, strict=True))
            for n, one in enumerate(found)
            if self._reported(one)
        }
        every = list(dict.fromkeys(side for both in sides.values() for side in both))
        if not every or not evidence.question:
            return list(found)
        pairs = [Pair(evidence.question, (_statement(evidence, *side),)) for side in every]
        scores = dict(zip(every, self.verifier.sufficiency(pairs), strict=True))
        return [
            replace(one, score=one.score / 2)
            if n in sides
            and not self._answered(
                [scores[side] for side in sides[n]],
                apart=_headed_apart(one.view, evidence.passages),
            )
            else one
            for n, one in enumerate(found)
        ]

    @rule("opposed", lambda self, found, evidence: found)
    def _opposed(self, found: Sequence[Disagreement], evidence: Evidence) -> list[Disagreement]:
        """Halve the score of a pair if the verifier does not find that each passage contradicts the
        other's statement: values of different things differ without a contradiction."""
        pairs = {
            n: [
                Pair(quote, (placed(passage),))
                for quote, passage in crossed(one.view, evidence.passages)
            ]
            for n, one in enumerate(found)
            if self._reported(one) and not one.ambiguous
        }
        every = list(dict.fromkeys(pair for both in pairs.values() for pair in both))
        scores = dict(zip(every, self.verifier.support(every) if every else (), strict=True))
        return [
            replace(one, score=one.score / 2)
            if n in pairs and not _contradict([scores[pair] for pair in pairs[n]])
            else one
            for n, one in enumerate(found)
        ]

    def _answered(self, scores: Sequence[SufficiencyScore], *, apart: bool) -> bool:
        """Whether both statements answer the question. Under different headings, they must score
        higher."""
        if any(self._falls_short(score, _ALONE) for score in scores):
            return False
        read = [score for score in scores if not score.unchecked]
        if not apart or not read:
            return True
        threshold = self.verifier.thresholds.of(read[0].tier).sufficiency
        return sum(score.enough for score in read) >= _ALONE_APART * threshold * len(read)

    def _reported(self, disagreement: Disagreement) -> bool:
        return disagreement.score >= self.settings.threshold

    def _rank(self, disagreement: Disagreement) -> tuple[bool, float]:
        return self._reported(disagreement) and not disagreement.ambiguous, disagreement.score

    def _judged(
        self, found: Sequence[View], readings: Sequence[Reading], question: str
    ) -> list[Disagreement]:
        """Score all pairs in one verifier call."""
        asked = self._worth_asking(found)
        pairs = {n: pairs_to_judge(found[n], readings, question) for n in asked}
        every = list(dict.fromkeys(pair for some in pairs.values() for pair in some))
        scores = dict(zip(every, self.verifier.support(every) if every else (), strict=True))
        return [
            self._scored(view, judgement_of(pairs.get(n, ()), scores))
            for n, view in enumerate(found)
        ]

    def _answering(
        self,
        found: Sequence[Disagreement],
        readings: Sequence[Reading],
        passages: Sequence[Passage],
        aspect: Aspect,
    ) -> list[Disagreement]:
        """Halve the score of a reportable pair if its statements are about different aspects, or if
        one of them does not answer on its own. A statement with nearly all of the question's words
        is not checked again."""
        every, side = candidate_statements(passages, readings), aspect.side
        most, asked_of = aspect.most(every), side.most(every)
        doubtful = {
            n: stated(one.view, passages) for n, one in enumerate(found) if self._doubtful(one)
        }
        apart = {n for n, both in doubtful.items() if not side.of_one(both, asked_of)}
        apart |= {n for n, one in enumerate(found) if self._unasked(one, passages, aspect, most)}
        asked = {
            n: [(one, 1.0) for one in both]
            for n, both in doubtful.items()
            if n not in apart and min(map(side.covered, both)) < _COVERED
        }
        if asked_of >= _COVERED:
            asked |= {
                n: [(one, _HARDLY) for one in stated(found[n].view, passages) if aspect.silent(one)]
                for n in range(len(found))
                if self._of_one_name(found[n])
            }
        return self._halved(found, apart, asked, aspect.question)

    def _halved(
        self,
        found: Sequence[Disagreement],
        apart: Collection[int],
        asked: Mapping[int, Sequence[tuple[Stated, float]]],
        question: str,
    ) -> list[Disagreement]:
        """Halve the score of pairs in `apart`, and of pairs with a statement whose score is below
        the required share of the verifier's threshold."""
        texts = dict.fromkeys(one.text for some in asked.values() for one, _ in some)
        pairs = [Pair(question, (text,)) for text in texts]
        scores = dict(zip(texts, self.verifier.sufficiency(pairs) if pairs else (), strict=True))
        return [
            replace(one, score=one.score / 2)
            if n in apart
            or any(
                self._falls_short(scores[answer.text], least) for answer, least in asked.get(n, ())
            )
            else one
            for n, one in enumerate(found)
        ]

    def _falls_short(self, score: SufficiencyScore, least: float) -> bool:
        """Whether a statement was judged and scores below this share of the threshold."""
        threshold = self.verifier.thresholds.of(score.tier).sufficiency
        return not score.unchecked and score.enough < least * threshold

    def _of_one_name(self, disagreement: Disagreement) -> bool:
        """Whether the pair would be reported as different things with the same name."""
        return (
            self._reported(disagreement) and disagreement.ambiguous and not disagreement.view.copied
        )

    def _doubtful(self, disagreement: Disagreement) -> bool:
        """Whether the pair would be reported although only its names show that the subject is the
        same."""
        return (
            self._reported(disagreement)
            and not disagreement.view.copied
            and disagreement.view.same == 1
        )

    def _unasked(
        self, disagreement: Disagreement, passages: Sequence[Passage], aspect: Aspect, most: float
    ) -> bool:
        """Whether two versions of a text differ in a sentence without any of the question's words,
        while another sentence contains nearly all of them."""
        if not disagreement.view.copied or not self._reported(disagreement) or most < _COVERED:
            return False
        return not any(map(aspect.named, stated(disagreement.view, passages)))

    def _worth_asking(self, found: Sequence[View]) -> list[int]:
        """The pairs that may become conflicts, at most a few for each passage. Pairs that are most
        likely about the same subject come first."""
        taken: Counter[int] = Counter()
        kept = []
        ranked = sorted(
            range(len(found)),
            key=lambda n: (self._ambiguous(found[n]), -found[n].literal * found[n].near),
        )
        for number in ranked:
            view = found[number]
            if view.literal >= _WORTH and taken[view.second] < _RIVALS:
                kept.append(number)
                taken[view.second] += 1
        return kept

    def _ambiguous(self, view: View) -> bool:
        return view.same < (
            self.settings.same_text_overlap if view.copied else self.settings.statement_overlap
        )

    def _scored(self, view: View, judgement: Judgement) -> Disagreement:
        """The score of a pair. For versions of the same text, the difference in value counts twice
        as much as the verifier; for two statements, both count the same."""
        if view.copied:
            likely = judgement.own >= judgement.agreed
            asked_for = max(view.near, min(1.0, judgement.own / _SURE) if likely else 0.0)
            score = (2 * view.literal * asked_for + judgement.apart) / 3
        else:
            score = (view.literal * view.near + judgement.apart) / 2
        return Disagreement(view, judgement, score, self._ambiguous(view))


def _contradict(scores: Sequence[SupportScore]) -> bool:
    """Whether two passages contradict each other; true if they were not judged."""
    read = [score.contradicted for score in scores if not score.unchecked]
    return not read or sum(read) >= _OPPOSED * len(read)


def _statement(evidence: Evidence, number: int, span: Span) -> str:
    passage = evidence.passages[number]
    return placed(replace(passage, text=passage.text[slice(*span)]))


def _headed_apart(view: View, passages: Sequence[Passage]) -> bool:
    first, second = passages[view.first], passages[view.second]
    return (first.title, *first.heading) != (second.title, *second.heading)


def _can_conflict(passages: Sequence[Passage], view: View, then: bool) -> bool:
    """Whether two passages can conflict. Different values in one document belong to different
    things. If the question is about another time, versions of a document are its history."""
    first, second = passages[view.first], passages[view.second]
    if then and first.family and first.family == second.family:
        return False
    if first.heading != second.heading and _are_rows(view, first, second):
        return False  # the heading, not the row, says what a table is about
    return not (first.edition == second.edition and first.document)


def _are_rows(view: View, first: Passage, second: Passage) -> bool:
    mine, theirs = view.statements
    return "|" in first.text[slice(*mine)] and "|" in second.text[slice(*theirs)]
