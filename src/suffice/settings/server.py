"""How the gateway serves: its routes, its limits, who may call it from where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from suffice.settings.checked import Checked
from suffice.settings.collection import CollectionSettings
from suffice.settings.limits import Count, Range

Seconds = Annotated[float, Range(0.01, 86_400)]


@dataclass(frozen=True, slots=True)
class LimitSettings(Checked):
    """What a request may bring, and what a caller may ask for; 0: no limit. The `_per_` limits and
    `concurrent` hold for each key that names none of its own. The `_per_` limits are counted in the
    store, by all processes together; `concurrent` by each process for itself. `head_seconds` and
    `body_seconds` are how long a caller may take to send either."""

    head_seconds: Seconds = 20.0
    body_seconds: Seconds = 60.0
    body_bytes: Annotated[int, Range(1_000, 1 << 32)] = 20_000_000
    header_bytes: Annotated[int, Range(1_024, 1 << 24)] = 65_536
    evidence_characters: Annotated[int, Range(1, 1 << 32)] = 1_000_000
    evidence_passages: Count = 200
    choices: Annotated[int, Range(1, 128)] = 8
    requests_per_minute: Annotated[float, Range(0, 1e9)] = 0
    concurrent: Annotated[int, Range(0, 1_000_000)] = 0
    tokens_per_minute: Annotated[float, Range(0, 1e12)] = 0
    tokens_per_day: Annotated[float, Range(0, 1e15)] = 0
    cost_per_day: Annotated[float, Range(0, 1e12)] = 0


@dataclass(frozen=True, slots=True)
class WorkSettings(Checked):
    """Inference in `threads` (0: four for each core, at most 16); where more than `queue` wait for
    one, or more than `requests` are under way, a new request is told to come again."""

    threads: Annotated[int, Range(0, 256)] = 0
    queue: Count = 64
    requests: Count = 512


@dataclass(frozen=True, slots=True)
class CorsSettings(Checked):
    """From which origins a browser may call; none by default."""

    origins: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CouncilSettings(Checked):
    """`judges` are routes whose upstreams vote; without any, our own verifiers do. One that takes
    longer than `seconds` abstains."""

    judges: tuple[str, ...] = ()
    seconds: Seconds = 60.0


@dataclass(frozen=True, slots=True)
class RouteSettings(Checked):
    """One way through the gateway.

    `upstream` writes: `extractive` or a base URL (empty: `draft.llm`), with the key that
    the variable `key_env` holds. `models` maps the names that callers use to the upstream's; where
    there are any, no other is let through. `model` is asked for where a caller names none.
    `evidence`: from the `index`, from what the `request` carries, or `both`. `grounding` off: chat
    without documents, and every answer says that it is unverified. `mode`: how a stream goes out.
    `marks` off: no citation marks are asked of the model, and claims are held against all passages.
    `shadow`: decide and record, change nothing. `failed`: what at best leaves where a check failed
    or took longer than `check_seconds`. `own` are groups of settings over those of the collection.
    Prices are for a million tokens.
    """

    upstream: str = ""
    key_env: str = ""
    model: str = ""
    models: Mapping[str, str] = field(default_factory=dict)
    collection: str = "default"
    policy: Literal[
        "", "learned", "tiers", "coverage", "bound", "checkpoint", "reranked", "none"
    ] = ""
    evidence: Literal["index", "request", "both"] = "both"
    grounding: bool = True
    mode: Literal["buffer", "signal"] = "buffer"
    marks: bool = True
    shadow: bool = False
    failed: Literal["caveat", "review", "withhold"] = "withhold"
    timeout: Seconds = 120.0
    check_seconds: Seconds = 60.0
    price_in: Annotated[float, Range(0, 1e6)] = 0
    price_out: Annotated[float, Range(0, 1e6)] = 0
    own: CollectionSettings | None = None


@dataclass(frozen=True, slots=True)
class ServerSettings(Checked):
    """`keys`: `auto` asks for a key unless the server is bound to this machine alone; `required`
    asks always. `workers`: processes that serve. `timeout`: seconds that a request may take in all,
    whatever it waits for. `keep_alive`: seconds between the comments that keep a waiting stream
    open, and `stop` how long a shutdown waits for requests under way. `log_text`: texts may stand
    in logs."""

    host: str = "127.0.0.1"
    port: Annotated[int, Range(0, 65_535)] = 8080
    keys: Literal["auto", "required"] = "auto"
    workers: Annotated[int, Range(1, 256)] = 1
    timeout: Seconds = 600.0
    keep_alive: Seconds = 10.0
    stop: Seconds = 30.0
    log_text: bool = False
    limits: LimitSettings = field(default_factory=LimitSettings)
    work: WorkSettings = field(default_factory=WorkSettings)
    cors: CorsSettings = field(default_factory=CorsSettings)
    council: CouncilSettings = field(default_factory=CouncilSettings)
    routes: Mapping[str, RouteSettings] = field(
        default_factory=lambda: {"default": RouteSettings()}
    )
