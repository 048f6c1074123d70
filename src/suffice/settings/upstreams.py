"""Settings of a route with several upstreams: weights, model names and circuit breakers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from suffice.settings.checked import Checked, bad_value
from suffice.settings.limits import ABOUT, Range, setting

_URL = ("http://", "https://")


@dataclass(frozen=True, slots=True)
class UpstreamSettings(Checked):
    """One of the upstreams of a route."""

    url: str = setting("", "Base URL of the upstream.")
    key_env: str = setting(
        "", "Environment variable that holds the upstream's API key. Empty: no key is sent."
    )
    weight: Annotated[int, Range(0, 1000)] = setting(
        1,
        "Share of the requests, relative to the weights of the other upstreams. 0: only called if "
        "the others fail.",
    )
    model: str = setting(
        "",
        "Model requested from this upstream if `models` does not map the name. Empty: use the "
        "name.",
    )
    models: Mapping[str, str] = field(
        default_factory=dict,
        metadata={ABOUT: "Maps the model names of the route to those of this upstream."},
    )
    first_token_seconds: Annotated[float, Range(0, 86_400)] = setting(
        0,
        "Seconds to wait for the first token of a stream, or for a whole reply, before the next "
        "upstream is called. 0: as long as the route's `timeout` allows.",
    )


@dataclass(frozen=True, slots=True)
class BreakerSettings(Checked):
    """When a failing upstream is skipped. Applies to routes with `upstreams`."""

    faults: Annotated[int, Range(0, 1000)] = setting(
        5, "Consecutive failures after which an upstream is skipped. 0: never."
    )
    seconds: Annotated[float, Range(0.01, 86_400)] = setting(
        30.0, "Seconds before a single request tries the upstream again."
    )


def checked_upstreams(upstream: str, upstreams: Mapping[str, UpstreamSettings]) -> None:
    """Raise a `SettingsError` if the upstreams of a route contradict each other."""
    if not upstreams:
        return
    if upstream:
        raise bad_value("RouteSettings", "upstream", upstream, "either 'upstream' or 'upstreams'")
    for name, one in upstreams.items():
        if not one.url.startswith(_URL):
            raise bad_value("RouteSettings", f"upstreams.{name}.url", one.url, "a base URL")
    if not any(one.weight for one in upstreams.values()):
        raise bad_value(
            "RouteSettings", "upstreams", list(upstreams), "at least one 'weight' above 0"
        )
