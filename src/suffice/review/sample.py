"""The served answers that were drawn for review, with their judgements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from suffice.log.canonical import read
from suffice.log.entry import Choice
from suffice.log.payload import SALT
from suffice.log.tables import RECORDS
from suffice.record.about import role_of, subject_of
from suffice.record.decision import VERDICT
from suffice.record.sampling import SAMPLING
from suffice.review.case import DECIDED, Act
from suffice.review.estimate import Stratum
from suffice.sql.toolkit import Connection, select

_PORTION = 500


@dataclass(slots=True)
class _Count:
    population: int = 0
    drawn: int = 0
    judged: int = 0
    wrong: int = 0


@dataclass(slots=True)
class _Counts:
    strata: dict[float, _Count] = field(default_factory=dict)

    def of(self, probability: float) -> _Count:
        return self.strata.setdefault(probability, _Count())


def strata(connection: Connection, choice: Choice) -> list[Stratum]:
    """Counts of the selected served answers and their judgements, by sampling probability."""
    counts, acts = _Counts(), _acts(connection)
    for id, probability, drawn in _served(connection, choice):
        count = counts.of(probability)
        count.population += 1
        if not drawn:
            continue
        count.drawn += 1
        judged = judgement(acts.get(id, ()))
        count.judged += judged is not None
        count.wrong += judged is False
    return [
        Stratum(probability, count.population, count.drawn, count.judged, count.wrong)
        for probability, count in sorted(counts.strata.items())
    ]


@dataclass(frozen=True, slots=True)
class Sampled:
    """A served answer and its sampling probability. `correct` is `None` if nobody judged it."""

    id: str
    probability: float
    drawn: bool
    correct: bool | None


def sampled(connection: Connection, choice: Choice) -> Iterator[Sampled]:
    """Each served answer, drawn for review or not, with its judgement."""
    acts = _acts(connection)
    for id, probability, drawn in _served(connection, choice):
        yield Sampled(id, probability, drawn, judgement(acts.get(id, ())))


def _acts(connection: Connection) -> dict[str, list[str]]:
    """The decisions on each record, in order."""
    found: dict[str, list[str]] = {}
    chosen = select(RECORDS.c.id).where(RECORDS.c.kind.in_(DECIDED)).order_by(RECORDS.c.sequence)
    for id in connection.scalars(chosen):
        found.setdefault(subject_of(id), []).append(role_of(id))
    return found


def judgement(acts: Sequence[str]) -> bool | None:
    """Whether a served answer was right as it was served; `None` if unjudged. The last decision
    that judges it counts. A confirmation agrees with the decision before it: of a withdrawn or
    corrected answer, it says that it was wrong."""
    told = [_RIGHT[act] for act in acts if act in _RIGHT]
    if told:
        return told[-1]
    return True if Act.CONFIRM.value in acts else None


_RIGHT: dict[str, bool] = {
    Act.RELEASE.value: True,  # after a withdrawal: the answer as it was served is released again
    Act.WITHDRAW.value: False,
    Act.CORRECT.value: False,
}
"""What a decision says about the served answer, whatever was decided before."""


def _served(connection: Connection, choice: Choice) -> Iterator[tuple[str, float, bool]]:
    """The id, the sampling probability and whether it was drawn, for each served answer. Only one
    field is parsed, because records can be large and numerous."""
    last = 0
    columns = select(RECORDS.c.sequence, RECORDS.c.id, RECORDS.c.payload)
    asked = choice.narrowed(columns).where(RECORDS.c.kind == VERDICT)
    asked = asked.order_by(RECORDS.c.sequence).limit(_PORTION)
    while rows := connection.execute(asked.where(RECORDS.c.sequence > last)).all():
        for _, id, payload in rows:
            sampling = _field(payload)
            if sampling is not None:
                yield subject_of(id), float(sampling["probability"]), bool(sampling["drawn"])
        last = rows[-1].sequence


def _field(payload: str) -> dict[str, float] | None:
    begin = f" {SAMPLING} "
    for line in reversed(payload.split("\n")):  # usually the last line
        if line.startswith(begin, SALT):
            found: dict[str, float] = read(line[SALT + len(begin) :])
            return found
    return None
