"""Settings of the review site that the gateway serves under `/ui`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from suffice.settings.checked import Checked
from suffice.settings.limits import Range, setting


@dataclass(frozen=True, slots=True)
class SiteSettings(Checked):
    """The review site under `/ui`, and how long people stay signed in."""

    enabled: bool = setting(True, "Serve the review site under `/ui`.")
    idle_minutes: Annotated[float, Range(1, 43_200)] = setting(
        60.0, "Minutes without a request after which a person must sign in again."
    )
    session_hours: Annotated[float, Range(0.1, 2_160)] = setting(
        12.0, "Hours after which a person must sign in again in any case."
    )
    sign_in_attempts: Annotated[int, Range(1, 100)] = setting(
        5,
        "Failed attempts for an account from one address before further attempts must wait, twice "
        "as long each time, up to 15 minutes. If an account fails as often from all addresses "
        "together, the wait is at most 30 seconds, so that nobody can lock a person out. An "
        "address may fail four times as often; an IPv6 address counts as its /64 network.",
    )
    behind_proxy: bool = setting(
        False,
        "Trust `X-Forwarded-For` and `X-Forwarded-Proto` for a client's address, also in "
        "`server.limits`, and whether the connection is encrypted. Set it only behind a "
        "reverse proxy that sets these headers, because anybody could send them.",
    )
    local_role: Literal["viewer", "reviewer", "admin"] = setting(
        "reviewer",
        "The role of people who have not signed in, on a gateway that requires no keys. With "
        "`admin`, everybody who reaches the gateway from this machine can create keys, also "
        "through a proxy that adds no forwarded headers.",
    )
    guide: bool = setting(
        False, "Show the guided tour of `suffice demo`. The command sets it.", read_only=True
    )
