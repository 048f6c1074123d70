"""Knowledge gaps by topic: withheld questions that one missing document would answer.

Questions are grouped by the mean similarity of their embeddings (average linkage). A question that
the documents now answer is not a gap, whatever the reason it was withheld.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from suffice.evidence.rows import Vectors
from suffice.log.chain import timestamp
from suffice.models.embedder import Embedder
from suffice.review.gaps import Gap
from suffice.types import Source

SIMILAR = 0.40
"""The mean similarity at which questions count as one topic. On 753 labelled questions about 126
documents, this cut-off gives the best agreement between pairs in one group and pairs about one
document (F1, built-in embedder)."""
MOST_WORDINGS = 2_000
_WEEK = timedelta(days=7)
_NEAREST = 3
Answered = Callable[[str], tuple[bool, tuple[Source, ...]]]
"""Whether the documents answer a question now, and the documents nearest to it."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A knowledge gap. `question` is its most frequent wording and `wordings` are all of them.
    `recent` counts the last seven days, `before` the seven days before, and `new` says that it was
    first asked in the last seven days."""

    question: str
    wordings: tuple[str, ...]
    count: int
    first: str
    last: str
    recent: int
    before: int
    new: bool
    missing: tuple[str, ...]
    nearest: tuple[Source, ...]
    records: tuple[str, ...]

    @property
    def trend(self) -> str:
        if self.new or self.recent == self.before:
            return "new" if self.new else "steady"
        return "rising" if self.recent > self.before else "falling"


def backlog(
    gaps: Sequence[Gap], embedder: Embedder, answered: Answered, now: datetime
) -> list[Topic]:
    """The topics, most frequent first."""
    open_, nearest = [], {}
    for gap in gaps[:MOST_WORDINGS]:
        if gap.question:  # an erased question has no topic
            closed, near = answered(gap.question)
            nearest[gap.question] = near or gap.nearest
            open_ += [] if closed else [gap]
    if not open_:
        return []
    groups = clusters(embedder.embed([gap.question for gap in open_]))
    found = [_topic([open_[n] for n in group], nearest, now) for group in groups]
    return sorted(found, key=lambda topic: (-topic.count, topic.question))


def clusters(vectors: Vectors, similar: float = SIMILAR) -> list[list[int]]:
    """Groups of rows with a high mean similarity, by average linkage. The mean similarity of two
    groups of unit vectors is the dot product of their mean vectors."""
    means = np.array(vectors, dtype=np.float64)
    groups = [[n] for n in range(len(means))]
    table = means @ means.T
    np.fill_diagonal(table, -np.inf)
    best = table.max(axis=1, initial=-np.inf)
    while groups:
        one = int(best.argmax())
        if best[one] < similar:
            break
        other = int(table[one].argmax())
        sizes = len(groups[one]), len(groups[other])
        means[one] = (sizes[0] * means[one] + sizes[1] * means[other]) / sum(sizes)
        groups[one], groups[other] = groups[one] + groups[other], []
        gone = np.array([not group for group in groups])
        row = means @ means[one]
        row[one], row[gone] = -np.inf, -np.inf
        stale = (best == table[:, one]) | (best == table[:, other])
        table[one], table[:, one] = row, row
        table[other], table[:, other] = -np.inf, -np.inf
        best = np.maximum(best, row)
        best[stale] = table[stale].max(axis=1)
        best[one], best[other] = row.max(), -np.inf
    return [group for group in groups if group]


def _topic(gaps: Sequence[Gap], nearest: dict[str, tuple[Source, ...]], now: datetime) -> Topic:
    week, fortnight = timestamp(now - _WEEK), timestamp(now - 2 * _WEEK)
    times = sorted((time for gap in gaps for time in gap.times), reverse=True)
    main = max(gaps, key=lambda gap: (gap.count, gap.last))
    return Topic(
        question=main.question,
        wordings=tuple(gap.question for gap in gaps),
        count=sum(gap.count for gap in gaps),
        first=min(gap.first for gap in gaps),
        last=max(gap.last for gap in gaps),
        recent=sum(time >= week for time in times),
        before=sum(fortnight <= time < week for time in times),
        new=min(gap.first for gap in gaps) >= week,
        missing=tuple(dict.fromkeys(what for gap in gaps for what in gap.missing)),
        nearest=_nearest([source for gap in gaps for source in nearest[gap.question]]),
        records=tuple(record for gap in gaps for record in gap.records),
    )


def _nearest(sources: Sequence[Source]) -> tuple[Source, ...]:
    """The documents nearest to any wording, without duplicates."""
    ranked = sorted(sources, key=lambda one: -(one.relevance or 0.0))
    each = {(one.carried, one.document): one for one in reversed(ranked)}
    return tuple(sorted(each.values(), key=lambda one: -(one.relevance or 0.0)))[:_NEAREST]
