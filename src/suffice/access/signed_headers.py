"""Identity in signed headers: an app names its user and signs the headers with a shared secret.

The signature is HMAC-SHA256 over `v1`, timestamp, user and groups, one per line, with the values as
sent in the headers. Values are percent-encoded UTF-8; groups are separated by commas.

>>> signed_headers("ada@example.org", ["hr"], secret)
{'X-Suffice-User': 'ada@example.org', 'X-Suffice-Groups': 'hr', 'X-Suffice-Timestamp': …}
"""

from __future__ import annotations

import hashlib
import hmac
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote, unquote

from suffice.errors import IdentityError

USER, GROUPS = "X-Suffice-User", "X-Suffice-Groups"
TIMESTAMP, SIGNATURE = "X-Suffice-Timestamp", "X-Suffice-Signature"
HEADERS = (USER, GROUPS, TIMESTAMP, SIGNATURE)
_VERSION = "v1"
_SAFE = "@.+ -_:/="
_SECONDS = re.compile(r"[0-9]{1,12}", re.ASCII)
_HOW = "See docs/how-to/identity.md for how to sign them."


@dataclass(frozen=True, slots=True)
class EndUser:
    """A person on whose behalf a key is used, and the person's groups."""

    name: str
    groups: frozenset[str] = frozenset()


def signed_headers(
    user: str, groups: Iterable[str], secret: str, moment: float | None = None
) -> dict[str, str]:
    """The signed headers that name a user. `moment` is the time of signing, by default now."""
    name = quote(user, safe=_SAFE)
    listed = ",".join(quote(group, safe=_SAFE) for group in groups)
    seconds = str(int(time.time() if moment is None else moment))
    proof = _signature(secret.encode(), seconds, name, listed)
    return {USER: name, GROUPS: listed, TIMESTAMP: seconds, SIGNATURE: f"{_VERSION}={proof}"}


@dataclass(frozen=True, slots=True)
class SignedHeaders:
    """Reads and verifies signed headers. Any of the `secrets` may have signed them."""

    secrets: Sequence[bytes]
    window: float
    clock: Callable[[], float] = time.time

    def read(self, headers: Mapping[str, str]) -> EndUser:
        """The user that the headers name. Raises if they are incomplete, stale or forged."""
        for name in (USER, TIMESTAMP, SIGNATURE):
            if not headers.get(name):
                raise IdentityError(
                    f"The forwarded user is not signed: the header {name} is missing.", remedy=_HOW
                )
        user, groups, seconds = headers[USER], headers.get(GROUPS, ""), headers[TIMESTAMP]
        self._authentic(headers[SIGNATURE], seconds, user, groups)
        self._fresh(seconds)
        return EndUser(unquote(user), frozenset(_listed(groups)))

    def _authentic(self, signature: str, seconds: str, user: str, groups: str) -> None:
        version, _, proof = signature.partition("=")
        if version != _VERSION or not proof.isascii():
            raise IdentityError(
                f"The header {SIGNATURE} must be '{_VERSION}=' followed by 64 hex digits.",
                remedy=_HOW,
            )
        known = [_signature(secret, seconds, user, groups) for secret in self.secrets]
        if not any(hmac.compare_digest(one, proof.lower()) for one in known):
            raise IdentityError(
                "The signature does not match the forwarded user, groups and timestamp.",
                remedy=f"Sign the values as they are sent, with the shared secret. {_HOW}",
            )

    def _fresh(self, seconds: str) -> None:
        if not _SECONDS.fullmatch(seconds):
            raise IdentityError(
                f"The header {TIMESTAMP} must be a number of seconds since 1970.", remedy=_HOW
            )
        age = self.clock() - int(seconds)
        if abs(age) > self.window:
            when = f"{age:,.0f} seconds old" if age > 0 else f"{-age:,.0f} seconds in the future"
            raise IdentityError(
                f"The signature is {when}; the limit is {self.window:g} seconds.",
                remedy="Sign each request anew, and check the clocks of both machines.",
            )


def _signature(secret: bytes, seconds: str, user: str, groups: str) -> str:
    # Header values contain no line breaks, so the parts are unambiguous.
    text = "\n".join((_VERSION, seconds, user, groups))
    return hmac.new(secret, text.encode("utf-8", "surrogateescape"), hashlib.sha256).hexdigest()


def _listed(groups: str) -> list[str]:
    return [name for part in groups.split(",") if (name := unquote(part.strip()))]
