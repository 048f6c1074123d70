"""Who calls: by which key, with which rights; and whether a caller asks for too much."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from suffice.record.principals import Principal, Principals
from suffice.server.fault import Fault, busy
from suffice.settings import LimitSettings

ANYONE = Principal("", "anyone")
"""Whoever calls a gateway that asks for no key: public documents, no limits but the settings'."""
_LOCAL = frozenset({"127.0.0.1", "localhost", "::1"})
_OURS = "sk-suffice-"
_UNKNOWN = "The API key is not known, or was revoked."
_NO_KEY = "No API key was sent. Send one as 'Authorization: Bearer sk-suffice-…'."
_DAY, _MINUTE = 86_400.0, 60.0


def is_local(host: str) -> bool:
    """Whether an address is reached from this machine alone."""
    return host.strip("[]") in _LOCAL


@dataclass(frozen=True, slots=True)
class Door:
    """Lets callers in by their keys; `open`: also without one, which is for this machine alone."""

    principals: Principals
    open: bool = False

    def enter(self, authorization: str, host: str) -> Principal:
        """Whose key this is. A hash is compared, in constant time (see `Principals`)."""
        kind, _, secret = authorization.partition(" ")
        secret = secret.strip() if kind.lower() == "bearer" else ""
        if secret.isascii() and (found := self.principals.authenticate(secret)):
            return found
        if not self.open or secret.startswith(_OURS):
            raise Fault(401, _UNKNOWN if secret else _NO_KEY, "invalid_api_key")
        # A page in a browser can send a request to this machine under a name of its own.
        if not is_local(host.rpartition(":")[0] if host.count(":") == 1 else host.split("]")[0]):
            raise Fault(403, f"This gateway answers on this machine only, not as '{host}'.")
        return ANYONE


@dataclass(slots=True)
class _Account:
    """What one caller did lately."""

    requests: deque[float] = field(default_factory=deque)
    spent: deque[tuple[float, int, float]] = field(default_factory=deque)
    under_way: int = 0


class Limits:
    """Requests, tokens and cost of each caller, over the last minute and the last day."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._accounts: dict[str, _Account] = {}

    @contextmanager
    def counted(self, caller: Principal, general: LimitSettings) -> Iterator[None]:
        """One request of a caller; refused, with a time to come again, where it is one too many."""
        account = self._accounts.setdefault(caller.id, _Account())
        now = self._clock()
        _forget(account, now)

        def limit(name: str) -> float:
            return caller.limits.get(name, 0) or getattr(general, name)

        if limit("concurrent") and account.under_way >= limit("concurrent"):
            raise busy(f"At most {limit('concurrent'):g} requests at once with this key.", 1)
        if 0 < limit("requests_per_minute") <= len(account.requests):
            wait = account.requests[0] + _MINUTE - now
            allowed = limit("requests_per_minute")
            raise busy(f"At most {allowed:g} requests a minute with this key.", wait)
        minute = [entry for entry in account.spent if entry[0] > now - _MINUTE]
        if 0 < limit("tokens_per_minute") <= sum(tokens for _, tokens, _ in minute):
            allowed = limit("tokens_per_minute")
            raise busy(f"At most {allowed:g} tokens a minute with this key.", _MINUTE)
        if 0 < limit("tokens_per_day") <= sum(tokens for _, tokens, _ in account.spent):
            wait = account.spent[0][0] + _DAY - now
            raise busy(f"At most {limit('tokens_per_day'):g} tokens a day with this key.", wait)
        if 0 < limit("cost_per_day") <= sum(cost for *_, cost in account.spent):
            wait = account.spent[0][0] + _DAY - now
            raise busy(f"At most a cost of {limit('cost_per_day'):g} a day with this key.", wait)
        account.requests.append(now)
        account.under_way += 1
        try:
            yield
        finally:
            account.under_way -= 1

    def spent(self, caller: Principal, tokens: int, cost: float) -> None:
        """Adds what a request of a caller used."""
        if tokens or cost:
            account = self._accounts.setdefault(caller.id, _Account())
            account.spent.append((self._clock(), tokens, cost))


def _forget(account: _Account, now: float) -> None:
    while account.requests and account.requests[0] <= now - _MINUTE:
        account.requests.popleft()
    while account.spent and account.spent[0][0] <= now - _DAY:
        account.spent.popleft()
