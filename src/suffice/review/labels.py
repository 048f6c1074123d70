"""Labels from reviews: the sample that is drawn, its estimate, and rows for `suffice calibrate`.

Each row holds the probability with which it was drawn, so that answers that are always reviewed do
not count more than the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from suffice.access.visibility import Reader
from suffice.bounds import at_most
from suffice.errors import LabelsError, StoreError
from suffice.log.chain import parse
from suffice.log.decision import VERDICT, decision_of, role_of, subject_of
from suffice.log.log import SAMPLING
from suffice.log.record import SALT, Entry
from suffice.log.setup import setup_of
from suffice.log.stored import RecordFilter, all_about, find
from suffice.log.tables import RECORDS
from suffice.review.actions import JUDGEMENT, Judged
from suffice.review.case import DECIDED, Act
from suffice.sql import sa
from suffice.types import Action, Passage, Verdict
from suffice.verdict.assess import claim_statuses
from suffice.verdict.thresholds import SERVE_ONLY, WITH_CAVEAT, in_force


@dataclass(frozen=True, slots=True)
class Stratum:
    """Answers with the same sampling probability: how many there are, and how many were drawn,
    judged, and judged wrong."""

    probability: float
    population: int
    drawn: int
    judged: int
    wrong: int

    def __post_init__(self) -> None:
        counted = 0 <= self.wrong <= self.judged <= self.drawn <= self.population
        if not counted or not 0 <= self.probability <= 1 or (self.drawn and not self.probability):
            raise ValueError(f"inconsistent stratum: {self}")


@dataclass(frozen=True, slots=True)
class Estimate:
    """The share of wrong answers. `rate` is unbiased if all sampled answers were judged (otherwise
    unjudged answers are assumed to be like judged ones); it is `None` if too few were judged, and
    can exceed 1 by chance. The true share lies in [low, high] with the given confidence."""

    rate: float | None
    low: float
    high: float
    confidence: float
    population: int
    drawn: int
    judged: int
    wrong: int


def estimate(strata: Sequence[Stratum], confidence: float = 0.95) -> Estimate:
    """Combine the strata; the error probability of the interval is split among the sampled ones."""
    if not 0 < confidence < 1:
        raise ValueError("the confidence must be between 0 and 1")
    population = sum(item.population for item in strata)
    chance = [item for item in strata if item.probability < 1]
    risk = (1 - confidence) / max(1, len(chance)) / 2
    ends = [_interval(item, risk) for item in strata]
    seen = any(item.judged for item in strata)
    enough = seen and all(item.judged or (item.probability and not item.drawn) for item in strata)
    return Estimate(
        rate=sum(_total(item) for item in strata) / population if enough else None,
        low=sum(low for low, _ in ends) / population if population else 0.0,
        high=sum(high for _, high in ends) / population if population else 1.0,
        confidence=confidence,
        population=population,
        drawn=sum(item.drawn for item in strata),
        judged=sum(item.judged for item in strata),
        wrong=sum(item.wrong for item in strata),
    )


def _total(stratum: Stratum) -> float:
    """The Horvitz-Thompson estimate of the number of wrong answers."""
    if not stratum.wrong:
        return 0.0
    return stratum.wrong / stratum.probability * stratum.drawn / stratum.judged


def _interval(stratum: Stratum, risk: float) -> tuple[int, int]:
    """The least and greatest plausible number of wrong answers in a stratum."""
    wrong, right = stratum.wrong, stratum.judged - stratum.wrong
    most_wrong = wrong + stratum.drawn - stratum.judged
    if stratum.probability == 1:  # answers that were not drawn are unknown
        return wrong, stratum.population - right
    most = stratum.population - right
    if not stratum.probability:
        return 0, most
    p = stratum.probability
    few = _last(wrong, most, lambda all_: 1 - at_most(wrong - 1, all_, p) <= risk)
    many = _last(most_wrong, most, lambda all_: at_most(most_wrong, all_, p) > risk)
    least = wrong if few is None else min(few + 1, most)
    return least, most if many is None else many


def _last(low: int, high: int, holds: Callable[[int], bool]) -> int | None:
    """The last number in [low, high] for which a monotone condition holds, by bisection."""
    if low > high or not holds(low):
        return None
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low


_PORTION = 500


@dataclass(frozen=True, slots=True)
class Sampled:
    """A served answer and its sampling probability. `correct` is `None` if nobody judged it."""

    id: str
    probability: float
    drawn: bool
    correct: bool | None


def sampled(connection: sa.Connection, choice: RecordFilter) -> Iterator[Sampled]:
    """Each served answer, drawn for review or not, with its judgement."""
    acts = _acts(connection)
    for id, probability, drawn in _served(connection, choice):
        yield Sampled(id, probability, drawn, judgement(acts.get(id, ())))


def strata(connection: sa.Connection, choice: RecordFilter) -> list[Stratum]:
    """Counts of the selected served answers and their judgements, by sampling probability."""
    counts: dict[float, Counter[str]] = {}
    for answer in sampled(connection, choice):
        count = counts.setdefault(answer.probability, Counter())
        count["population"] += 1
        if answer.drawn:
            count["drawn"] += 1
            count["judged"] += answer.correct is not None
            count["wrong"] += answer.correct is False
    names = ("population", "drawn", "judged", "wrong")
    return [
        Stratum(probability, *(count[name] for name in names))
        for probability, count in sorted(counts.items())
    ]


def _acts(connection: sa.Connection) -> dict[str, list[str]]:
    """The decisions on each record, in order."""
    acts: dict[str, list[str]] = {}
    chosen = sa.select(RECORDS.c.id).where(RECORDS.c.kind.in_(DECIDED)).order_by(RECORDS.c.sequence)
    for id in connection.scalars(chosen):
        acts.setdefault(subject_of(id), []).append(role_of(id))
    return acts


def judgement(acts: Sequence[str]) -> bool | None:
    """Whether a served answer was right as it was served; `None` if unjudged. The last decision
    that judges it counts. A confirmation agrees with the decision before it: of a withdrawn or
    corrected answer, it says that it was wrong."""
    judgements = [_RIGHT[act] for act in acts if act in _RIGHT]
    if judgements:
        return judgements[-1]
    return True if Act.CONFIRM.value in acts else None


_RIGHT: dict[str, bool] = {
    Act.RELEASE.value: True,  # after a withdrawal: the answer as it was served is released again
    Act.WITHDRAW.value: False,
    Act.CORRECT.value: False,
}
"""What a decision says about the served answer, whatever was decided before."""


def _served(connection: sa.Connection, choice: RecordFilter) -> Iterator[tuple[str, float, bool]]:
    """The id, the sampling probability and whether it was drawn, for each served answer. Only one
    field is parsed, because records can be large and numerous."""
    last = 0
    columns = sa.select(RECORDS.c.sequence, RECORDS.c.id, RECORDS.c.payload)
    query = choice.narrowed(columns).where(RECORDS.c.kind == VERDICT)
    query = query.order_by(RECORDS.c.sequence).limit(_PORTION)
    while rows := connection.execute(query.where(RECORDS.c.sequence > last)).all():
        for _, id, payload in rows:
            sampling = _field(payload)
            if sampling is not None:
                yield subject_of(id), float(sampling["probability"]), bool(sampling["drawn"])
        last = rows[-1].sequence


def _field(payload: str) -> dict[str, float] | None:
    begin = f" {SAMPLING} "
    for line in reversed(payload.split("\n")):  # usually the last line
        if line.startswith(begin, SALT):
            sampling: dict[str, float] = parse(line[SALT + len(begin) :])
            return sampling
    return None


def labelled(
    connection: sa.Connection, choice: RecordFilter, rate: float = 0.0, reader: Reader | None = None
) -> list[dict[str, Any]]:
    """One row per drawn answer; `correct` is null if nobody judged it. Erased records and answers
    checked without a gate are left out. Each row states the smallest sampling probability of any
    served answer, including the configured `rate`. Raises `LabelsError` if a served answer could
    not be drawn. With a reader, answers that it may not read are left out, drawn or not, so the
    rows represent the answers that it may read."""

    @lru_cache(maxsize=256)
    def floors(setup: str) -> dict[str, Any]:
        settings = setup_of(find(connection, setup))[0].settings
        return {
            name: {"gate": thresholds.gate, "confidence": thresholds.confidence}
            for name, served in (("serve", SERVE_ONLY), ("caveat", WITH_CAVEAT))
            for thresholds in (in_force(settings, served),)
        }

    rows, least = [], rate or 1.0
    for answer in sampled(connection, choice):
        least = min(least, answer.probability or 1.0)
        if not answer.drawn and answer.probability > 0:
            continue
        entry = find(connection, answer.id)
        verdict = _covered(entry, reader)
        if verdict is None:
            continue
        if not answer.drawn:
            raise _never_drawn(entry)
        rows.append(
            {
                **_row(entry, verdict),
                "probability": answer.probability,
                **_judgement(connection, answer, verdict),
                "floor": floors(entry.fields()["setup"]),
            }
        )
    return [{**row, "least_probability": least} for row in rows]


def _never_drawn(entry: Entry) -> LabelsError:
    """The error for an answer that could not be drawn: other answers say nothing about it."""
    return LabelsError(
        f"The served answer {entry.id} of {entry.time} could not be drawn for review, so the drawn "
        "answers do not represent all served answers.",
        remedy="Set record.review_sample, for example to 0.1, and export only answers from that "
        "moment on: suffice review export --since TIME",
    )


def _judgement(connection: sa.Connection, answer: Sampled, verdict: Verdict) -> dict[str, Any]:
    """Whether the answer is correct, and the claims that a reviewer judged. An answer with a claim
    that a reviewer found unsupported is not correct."""
    if answer.correct is None:
        return {"correct": None}
    about = all_about(connection, answer.id)
    judgements = [Judged.of(e) for e in about if e.kind == JUDGEMENT and e.payload]
    last = {judged.claim: judged for judged in judgements}
    claims = [
        {
            "text": status.claim.text,
            "found": status.support.value,
            "correct": last[status.n].supported,
        }
        for status in claim_statuses(verdict)
        if status.n in last and verdict.action is not Action.CONFLICT  # its draft is not released
    ]
    correct = answer.correct and all(claim["correct"] for claim in claims)
    return {"correct": correct, **({"claims": claims} if claims else {})}


def _covered(entry: Entry, reader: Reader | None) -> Verdict | None:
    """The verdict, unless its content was erased, no gate decided or the reader may not read it."""
    try:
        decision = decision_of(entry)
    except StoreError:
        return None
    verdict = decision.verdict
    if verdict is None or verdict.gate.policy == "none":
        return None
    return verdict if reader is None or reader.may_know(entry) else None


def _row(entry: Entry, verdict: Verdict) -> dict[str, Any]:
    passages = verdict.evidence.passages
    confidence = 1.0 if verdict.confidence is None else verdict.confidence
    return {
        "record": entry.id,
        "question": verdict.question,
        "evidence": [dict(_passage(passage)) for passage in passages],
        "answer": verdict.released,
        "collection": next((passage.collection for passage in passages), "default"),
        "scores": {
            "gate": verdict.gate.score,
            "confidence": confidence,
            "action": verdict.action.value,
        },
    }


def _passage(passage: Passage) -> Iterator[tuple[str, str]]:
    yield "text", passage.text
    for name in ("document", "title", "version"):
        if value := getattr(passage, name):
            yield name, value
