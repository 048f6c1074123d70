"""The attempts of a call, without I/O: what to send, when to wait and when to give up."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from random import uniform

from suffice.models.wire.endpoint import Body, Endpoint, Send
from suffice.models.wire.failures import AGAIN, CallFailed, retry_after

_FIRST_WAIT, _LONGEST_WAIT = 0.5, 8.0


@dataclass(frozen=True, slots=True)
class Head:
    """The status and headers of a reply."""

    status: int
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Read:
    """A step: read the whole body of the reply and close it."""


@dataclass(frozen=True, slots=True)
class Wait:
    """A step: wait before the next attempt, because the last attempt failed."""

    seconds: float
    failed: CallFailed


Step = Send | Read | Wait
Attempts = Generator[Step, Head | bytes | None, None]


def attempts(
    endpoint: Endpoint, body: Body | None, deadline: float, clock: Callable[[], float]
) -> Attempts:
    """Yield the steps of a call. The caller sends back a `Head` for `Send`, bytes for `Read` and
    nothing for `Wait`, and throws in exceptions of the HTTP client.

    Returns once a reply with a success status is open. Raises `CallFailed` when no attempt is left.
    """
    tries = 0
    while True:
        wait = uniform(0.5, 1) * min(_FIRST_WAIT * 2**tries, _LONGEST_WAIT)
        try:
            head = yield endpoint.request(body, deadline - clock())
            assert isinstance(head, Head)
            if 200 <= head.status < 300:
                return
            data = yield Read()
            assert isinstance(data, bytes)
            failed = endpoint.refusal(head.status, data, retry_after(head.headers))
            failed.again = head.status in AGAIN
            less = endpoint.spared(body, failed.detail) if head.status == 400 else None
        except Exception as problem:
            failed, less = endpoint.failure(problem), None
        if less is not None:
            body = less
            continue
        wait = wait if failed.wait is None else failed.wait
        left = min(deadline - clock(), endpoint.patience)
        if not failed.again or tries >= endpoint.retries or wait >= left:
            raise failed
        tries += 1
        yield Wait(wait, failed)
