from __future__ import annotations

from collections.abc import Iterator

import pytest

from suffice.log.log import Log
from suffice.review.review import Review
from suffice.settings import RecordSettings


@pytest.fixture
def review(place: str) -> Iterator[Review]:
    """The review of an empty log in either database; nothing is sampled."""
    log = Log.open(place, RecordSettings(review_sample=0, review_borderline=0), create=True)
    yield Review(log)
    log.close()
    log.database.close()
