"""The core of a call, driven without I/O: what is sent, when it waits and when it gives up."""

from __future__ import annotations

import httpx2
import pytest

from suffice.models.wire.blocking import Attempts, Head, Read, Wait, attempts
from suffice.models.wire.endpoint import CallFailed, Endpoint, Kind, Send

PLACE = Endpoint("http://127.0.0.1/v1/chat/completions", "sk-secret", retries=2, patience=10)


def begun(endpoint: Endpoint = PLACE, deadline: float = 60.0) -> Attempts:
    steps = attempts(endpoint, {"model": "m"}, deadline, lambda: 0.0)
    sent = next(steps)
    assert isinstance(sent, Send)
    assert sent.headers["Authorization"] == "Bearer sk-secret"
    assert (sent.method, sent.content, sent.seconds) == ("POST", b'{"model": "m"}', deadline)
    return steps


def refused(steps: Attempts, status: int, **headers: str) -> object:
    """The step after a reply with this status."""
    assert steps.send(Head(status, headers)) == Read()
    return steps.send(b'{"error": {"message": "no sk-secret", "code": "c"}}')


def test_an_attempt_that_succeeds_ends_the_steps() -> None:
    with pytest.raises(StopIteration):
        begun().send(Head(200, {}))


def test_temporary_failures_are_tried_again_until_none_is_left() -> None:
    steps = begun()
    wait = refused(steps, 503)
    assert isinstance(wait, Wait)
    assert (wait.failed.kind, wait.failed.status) == (Kind.FAILED, 503)
    assert isinstance(next(steps), Send)
    wait = steps.throw(httpx2.ConnectError("nobody there"))
    assert isinstance(wait, Wait)
    assert wait.failed.kind is Kind.CONNECTION
    assert isinstance(next(steps), Send)
    with pytest.raises(CallFailed, match=r"(?s)503 Service Unavailable\..*says: no …"):
        refused(steps, 503)


@pytest.mark.parametrize(
    ("status", "kind"), [(400, Kind.REFUSED), (401, Kind.DENIED), (404, Kind.REFUSED)]
)
def test_what_will_not_change_is_not_tried_again(status: int, kind: Kind) -> None:
    with pytest.raises(CallFailed) as failed:
        refused(begun(), status)
    assert (failed.value.kind, failed.value.status, failed.value.code) == (kind, status, "c")


@pytest.mark.parametrize(("asked", "deadline"), [("11", 60.0), ("6", 5.0)])
def test_a_wait_beyond_patience_or_deadline_is_not_begun(asked: str, deadline: float) -> None:
    with pytest.raises(CallFailed) as failed:
        refused(begun(deadline=deadline), 429, **{"retry-after": asked})
    assert (failed.value.kind, failed.value.wait) == (Kind.RATE_LIMIT, float(asked))


def test_a_timeout_is_not_tried_again() -> None:
    with pytest.raises(CallFailed, match="took too long") as failed:
        begun().throw(httpx2.ReadTimeout("slow"))
    assert failed.value.kind is Kind.TIMEOUT


def test_a_bug_is_not_a_failure_of_the_server() -> None:
    with pytest.raises(KeyError):
        begun().throw(KeyError("bug"))
