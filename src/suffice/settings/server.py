"""Settings of the gateway: address, routes, upstreams, texts, limits and load."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from string import Formatter
from typing import Annotated, Any, Literal

from msgspec import Meta

from suffice.errors import SettingsError
from suffice.settings.answer import CollectionSettings
from suffice.settings.checked import ABOUT, Checked, Count, bad_value, setting
from suffice.settings.identity import IdentitySettings, SiteSettings
from suffice.settings.reader import build
from suffice.settings.record import WebhookSettings


class Occasion(StrEnum):
    """Why a reader gets another text than an answer alone."""

    NOT_ANSWERED = "not_answered"
    """The documents do not answer the question."""
    NOT_VERIFIED = "not_verified"
    """An answer was written, but the checks did not confirm it."""
    REVIEW = "review"
    """A person has to look at it."""
    UNAVAILABLE = "unavailable"
    """The model or a check failed."""
    CONFLICT = "conflict"
    """The documents contradict each other; both sides follow."""
    PARTIAL = "partial"
    """The answer above is incomplete."""
    CAVEAT = "caveat"
    """The answer above is not certain."""
    SMALL_TALK = "small_talk"
    """The reply to a greeting was not released."""


CONTACT = "contact"
PLACEHOLDERS = frozenset({CONTACT, "record"})


def checked_texts(texts: Mapping[str, str]) -> None:
    """Raise an error if a text is for an unknown occasion or has an unknown placeholder."""
    for name, text in texts.items():
        if name not in tuple(Occasion):
            raise bad_value("RouteSettings", "texts", name, ", ".join(Occasion))
        try:
            unknown = sorted(set(placeholders(text)) - PLACEHOLDERS)
        except ValueError as problem:
            raise SettingsError(
                f"RouteSettings: 'texts.{name}' cannot be read: {problem}.",
                remedy="Write {{ and }} for braces that are no placeholder.",
            ) from None
        if unknown:
            allowed = ", ".join(f"{{{one}}}" for one in sorted(PLACEHOLDERS))
            raise bad_value("RouteSettings", f"texts.{name}", f"{{{unknown[0]}}}", allowed)


def placeholders(text: str) -> Iterator[str]:
    """The names of the placeholders in a text."""
    return (name for _, name, _, _ in Formatter().parse(text) if name is not None)


_URL = ("http://", "https://")


@dataclass(frozen=True, slots=True)
class UpstreamSettings(Checked):
    """One of the upstreams of a route."""

    url: str = setting("", "Base URL of the upstream.")
    key_env: str = setting(
        "", "Environment variable that holds the upstream's API key. Empty: no key is sent."
    )
    weight: Annotated[int, Meta(ge=0, le=1000)] = setting(
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
    first_token_seconds: Annotated[float, Meta(ge=0, le=86_400)] = setting(
        0,
        "Seconds to wait for the first token of a stream, or for a whole reply, before the next "
        "upstream is called. 0: as long as the route's `timeout` allows.",
    )


@dataclass(frozen=True, slots=True)
class BreakerSettings(Checked):
    """When a failing upstream is skipped. Applies to routes with `upstreams`."""

    faults: Annotated[int, Meta(ge=0, le=1000)] = setting(
        5, "Consecutive failures after which an upstream is skipped. 0: never."
    )
    seconds: Annotated[float, Meta(ge=0.01, le=86_400)] = setting(
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


Seconds = Annotated[float, Meta(ge=0.01, le=86_400)]


@dataclass(frozen=True, slots=True)
class LimitSettings(Checked):
    """Limits on requests and callers. The quotas of tokens, cost and requests per time apply to
    each key without its own quota and are counted in the store, across all processes; 0 sets no
    limit. Concurrent requests and connections are counted in each process."""

    head_seconds: Seconds = setting(
        20.0, "Seconds a caller has to send all request headers. A slower one gets 408."
    )
    body_seconds: Seconds = setting(
        60.0, "Seconds a caller has to send the whole request body. A slower one gets 408."
    )
    body_bytes: Annotated[int, Meta(ge=1_000, le=1 << 32)] = setting(
        20_000_000, "Maximum size of a request body, in bytes."
    )
    upload_bytes: Annotated[int, Meta(ge=1_000, le=1 << 32)] = setting(
        50_000_000,
        "Maximum size of a request that uploads documents, in bytes. `read.max_bytes` limits "
        "each file.",
    )
    upload_files: Count = setting(20, "Maximum number of files that one request may upload.")
    header_bytes: Annotated[int, Meta(ge=1_024, le=1 << 24)] = setting(
        65_536, "Maximum size of the request headers, in bytes."
    )
    evidence_characters: Annotated[int, Meta(ge=1, le=1 << 32)] = setting(
        1_000_000, "Maximum evidence in a request, in characters."
    )
    evidence_passages: Count = setting(200, "Maximum evidence in a request, in passages.")
    passage_characters: Annotated[int, Meta(ge=1_000, le=1 << 32)] = setting(
        100_000, "Maximum length of a passage in a request, in characters."
    )
    evidence_numbers: Count = setting(
        20_000, "Maximum evidence in a request, in numbers (runs of digits)."
    )
    draft_characters: Annotated[int, Meta(ge=1_000, le=1 << 24)] = setting(
        100_000,
        "Maximum length of a draft, in characters. A longer draft is withheld unchecked, and "
        "its stream ends at the limit.",
    )
    max_choices: Annotated[int, Meta(ge=1, le=128)] = setting(
        8, "Maximum value of `n`, the number of choices in a request."
    )
    requests_per_minute: Annotated[float, Meta(ge=0, le=1e9)] = setting(
        0, "Requests per minute for each key. 0: no limit."
    )
    requests_per_day: Annotated[float, Meta(ge=0, le=1e12)] = setting(
        0, "Requests per day (24 hours) for each key. 0: no limit."
    )
    requests_per_month: Annotated[float, Meta(ge=0, le=1e12)] = setting(
        0, "Requests per month (30 days) for each key. 0: no limit."
    )
    concurrent: Annotated[int, Meta(ge=0, le=1_000_000)] = setting(
        0,
        "Concurrent requests for each key, counted per process. 0: half of "
        "`server.capacity.max_requests`, so that no key can take all places.",
    )
    concurrent_per_address: Annotated[int, Meta(ge=0, le=1_000_000)] = setting(
        0,
        "Concurrent requests from each client address (IPv6: /64 network), counted per process. 0: "
        "half of `server.capacity.max_requests`. Behind a reverse proxy, all requests come from "
        "its address unless `server.site.behind_proxy` is set.",
    )
    waiting_connections: Count = setting(
        256,
        "Connections from each client address that wait for request headers, counted per process. "
        "Beyond it, the one that has waited the longest is closed.",
    )
    tokens_per_minute: Annotated[float, Meta(ge=0, le=1e12)] = setting(
        0, "Tokens per minute for each key. 0: no limit."
    )
    tokens_per_day: Annotated[float, Meta(ge=0, le=1e15)] = setting(
        0, "Tokens per day for each key. 0: no limit."
    )
    tokens_per_month: Annotated[float, Meta(ge=0, le=1e15)] = setting(
        0, "Tokens per month (30 days) for each key. 0: no limit."
    )
    cost_per_day: Annotated[float, Meta(ge=0, le=1e12)] = setting(
        0, "Cost per day for each key, at the prices of the routes. 0: no limit."
    )
    cost_per_month: Annotated[float, Meta(ge=0, le=1e12)] = setting(
        0, "Cost per month (30 days) for each key, at the prices of the routes. 0: no limit."
    )


@dataclass(frozen=True, slots=True)
class WorkSettings(Checked):
    """How much work a process accepts. Beyond these limits, a new request is refused with 429."""

    threads: Annotated[int, Meta(ge=0, le=256)] = setting(
        0, "Number of inference threads. 0: four per core, at most 16."
    )
    max_queued: Count = setting(64, "Maximum number of tasks that wait for an inference thread.")
    max_requests: Count = setting(512, "Maximum number of requests in progress.")

    @property
    def share(self) -> int:
        """The number of concurrent requests of a key or address without a limit of its own."""
        return (self.max_requests + 1) // 2


@dataclass(frozen=True, slots=True)
class CacheSettings(Checked):
    """The in-memory verdict cache of each process. A repeated verdict is recorded again."""

    enabled: bool = setting(
        False,
        "Reuse the verdict for a repeated request by a caller with the same rights, if no "
        "document, setting or review decision has changed since.",
    )
    entries: Count = setting(
        256, "Maximum number of cached verdicts. The least recently used is dropped first."
    )
    seconds: Seconds = setting(3_600.0, "Seconds after which a cached verdict expires.")


@dataclass(frozen=True, slots=True)
class CorsSettings(Checked):
    """Cross-origin requests from browsers."""

    origins: tuple[str, ...] = setting(
        (), "Origins from which a browser may call the gateway. Empty: none."
    )


@dataclass(frozen=True, slots=True)
class CouncilSettings(Checked):
    """The judges of `/v1/council/vote`."""

    judges: tuple[str, ...] = setting(
        (), "Routes whose upstreams vote. Empty: the built-in verifiers vote."
    )
    judge_seconds: Seconds = setting(
        60.0, "Time limit for a judge, in seconds. A judge that takes longer abstains."
    )


@dataclass(frozen=True, slots=True)
class RouteSettings(Checked):
    """A named route of the gateway. `own` holds the groups of settings that override those of the
    route's collection."""

    upstream: str = setting(
        "", "The drafter: `extractive` or the base URL of an upstream. Empty: `draft.llm`."
    )
    upstreams: Mapping[str, UpstreamSettings] = field(
        default_factory=dict,
        metadata={ABOUT: "Several named upstreams, instead of `upstream`."},
    )
    breaker: BreakerSettings = field(default_factory=BreakerSettings)
    key_env: str = setting("", "Environment variable that holds the upstream's API key.")
    model: str = setting("", "Model requested if the caller names none.")
    models: Mapping[str, str] = field(
        default_factory=dict,
        metadata={
            ABOUT: "Maps model names that callers use to the upstream's names. If set, other "
            "names are refused."
        },
    )
    collection: str = setting("default", "Collection to search.")
    policy: Literal[
        "", "learned", "tiers", "coverage", "bound", "checkpoint", "reranked", "none"
    ] = setting("", "Policy of the gate. Empty: the collection's policy.")
    evidence: Literal["index", "request", "both"] = setting(
        "both", "Where evidence comes from: the index, the request, or both."
    )
    user_evidence: Literal["auto", "never", "always"] = setting(
        "auto",
        "Whether context in user turns counts as evidence. `auto`: only if all evidence comes "
        "from the request. `always` trusts whoever writes the user turns.",
    )
    prompt: str = setting(
        "",
        "Template of your own RAG prompt, with `{context}` and `{question}`. The prompts of "
        "common frameworks and chat UIs are recognised without it.",
    )
    grounding: bool = setting(
        True,
        "Whether answers must be grounded in documents. `false`: nothing is searched or "
        "checked, and every answer is labelled as unverified.",
    )
    small_talk: bool = setting(
        True,
        "Let the upstream, if there is one, answer greetings and thanks without documents. "
        "Statements are removed from its reply. `false`: they are searched for like questions.",
    )
    wording: Literal["customer", "operator"] = setting(
        "customer",
        "For whom refusals and caveats in answers are written. `customer`: short, with the next "
        "step and `gate.contact`. `operator`: with the reason, figures and nearest documents. The "
        "reason is in `suffice`, in the log and on the site in any case.",
    )
    texts: Mapping[str, str] = field(
        default_factory=dict,
        metadata={
            ABOUT: "Own texts for customers by occasion: `not_answered`, `not_verified`, `review`, "
            "`unavailable`, `conflict`, `partial`, `caveat`, `small_talk`. `{contact}` stands for "
            "`gate.contact`, `{record}` for the id of the record."
        },
    )
    unverified_note: Literal["answer", "suffice"] = setting(
        "answer",
        "Where a route without grounding labels an answer as unverified: at its end, or only in "
        "`suffice`, for example for chat titles.",
    )
    streaming: Literal["buffer", "signal"] = setting(
        "buffer",
        "How streamed answers are sent. `buffer`: after the verdict. `signal`: as they arrive, "
        "before they are checked; text that fails is retracted.",
    )
    ask_for_citations: bool = setting(
        True,
        "Ask the model for citation marks. `false`: claims are checked against all passages.",
    )
    tools: Literal["check", "pass", "refuse"] = setting(
        "check",
        "How tool calls are handled. `check`: arguments that state something are checked like "
        "an answer. `pass`: calls are passed on unchecked. `refuse`: requests that offer tools "
        "are refused. Calls to tools that were not offered are always dropped.",
    )
    shadow: bool = setting(
        False,
        "Decide and record, but pass requests and answers through unchanged, for trials: clients "
        "receive unchecked text, and every field of the upstream as it is.",
    )
    on_check_failure: Literal["caveat", "review", "withhold"] = setting(
        "withhold",
        "The best possible verdict if a check fails or takes longer than `check_seconds`.",
    )
    show_withheld: bool = setting(
        False,
        "Send the truncated claims of a withheld draft to every caller. `false`: only to "
        "reviewers; other callers receive their spans and statuses.",
    )
    timeout: Seconds = setting(120.0, "Seconds to wait for the upstream's reply.")
    gate_seconds: Seconds = setting(60.0, "Seconds the search and the gate may take.")
    check_seconds: Seconds = setting(60.0, "Seconds the checks of an answer may take.")
    price_in: Annotated[float, Meta(ge=0, le=1e6)] = setting(
        0, "Price per million prompt tokens, for `cost_per_day`."
    )
    price_out: Annotated[float, Meta(ge=0, le=1e6)] = setting(
        0, "Price per million completion tokens, for `cost_per_day`."
    )
    own: CollectionSettings | None = setting(
        None, "Groups of settings that override those of the route's collection."
    )

    def __post_init__(self) -> None:
        Checked.__post_init__(self)
        checked_upstreams(self.upstream, self.upstreams)
        checked_texts(self.texts)


@dataclass(frozen=True, slots=True)
class ServerSettings(Checked):
    """How the gateway is reached and run."""

    host: str = setting("127.0.0.1", "Address to listen on.")
    port: Annotated[int, Meta(ge=0, le=65_535)] = setting(
        8080, "Port to listen on. 0: any free port."
    )
    keys: Literal["auto", "required"] = setting(
        "auto",
        "Whether callers need a key. `auto`: yes, unless the gateway is reachable only from "
        "this machine.",
    )
    keyless_forwarded: bool = setting(
        False,
        "Accept requests without a key that carry forwarded headers (`X-Forwarded-…`, `Forwarded`, "
        "`X-Real-IP`), because a reverse proxy authenticates the callers.",
    )
    ready_without_documents: Literal["auto", "always", "never"] = setting(
        "auto",
        "Whether `/readyz` returns 200 while a collection that a route searches has no "
        "documents. `auto`: if a key with the role `librarian` exists, so that documents can be "
        "uploaded.",
    )
    workers: Annotated[int, Meta(ge=1, le=256)] = setting(1, "Number of server processes.")
    timeout: Seconds = setting(600.0, "Time limit for a whole request, in seconds.")
    keep_alive_seconds: Seconds = setting(
        10.0, "Seconds between the comments that keep an idle stream open."
    )
    shutdown_seconds: Seconds = setting(30.0, "Seconds a shutdown waits for requests in progress.")
    log_text: bool = setting(
        False, "Allow the text of questions, documents and answers in the process log."
    )
    limits: LimitSettings = field(default_factory=LimitSettings)
    identity: IdentitySettings = field(default_factory=IdentitySettings)
    capacity: WorkSettings = field(default_factory=WorkSettings)
    cache: CacheSettings = field(default_factory=CacheSettings)
    cors: CorsSettings = field(default_factory=CorsSettings)
    council: CouncilSettings = field(default_factory=CouncilSettings)
    site: SiteSettings = field(default_factory=SiteSettings)
    webhooks: Mapping[str, WebhookSettings] = field(
        default_factory=dict, metadata={ABOUT: "Webhooks by name."}
    )
    routes: Mapping[str, RouteSettings] = field(
        default_factory=lambda: {"default": RouteSettings()}
    )


DEFAULT = "default"
_OURS, _ROUTE_URL = ("", "extractive"), ("http://", "https://")
_GROUPS = frozenset(group.name for group in fields(CollectionSettings))


def without_routes(tree: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
    """Split off the routes, which are read after the collections, from the rest of the tree."""
    server = tree.get("server")
    if not isinstance(server, dict) or "routes" not in server:
        return dict(tree), None
    rest = {key: value for key, value in server.items() if key != "routes"}
    return {**tree, "server": rest}, server["routes"]


def read_routes(
    server: ServerSettings,
    collection: Callable[[str], CollectionSettings],
    raw: Any,
    origin: str,
) -> ServerSettings:
    """Read the routes of a file and add the default route. A route may set any group that a
    collection may set (`gate`, `checks`, …), and overrides only the keys it names."""
    if not isinstance(raw, dict | None):
        raise bad_value(origin, "server.routes", raw, "a mapping of names to settings")
    named = {str(name): tree for name, tree in (raw or {}).items()}
    found = {name: _route(collection, tree, origin, name) for name, tree in named.items()}
    routes = {DEFAULT: RouteSettings(), **found} if found else server.routes
    for judge in server.council.judges:
        if judge not in routes:
            raise bad_value(origin, "server.council.judges", judge, f"routes: {', '.join(routes)}")
    return replace(server, routes=routes)


def _route(
    collection: Callable[[str], CollectionSettings], tree: Any, origin: str, name: str
) -> RouteSettings:
    where = f"server.routes.{name}"
    if not isinstance(tree, dict):
        raise bad_value(origin, where, tree, "a mapping of keys to values")
    if not name.replace("-", "").replace("_", "").isalnum() or name == "v1":
        raise bad_value(
            origin, "server.routes", name, "names made of letters, digits, - and _, except v1"
        )
    named = {key: value for key, value in tree.items() if key not in _GROUPS and key != "own"}
    route = build(RouteSettings, named, origin, where)
    if route.upstream not in _OURS and not route.upstream.startswith(_ROUTE_URL):
        raise bad_value(origin, f"{where}.upstream", route.upstream, "extractive or a base URL")
    groups = {key: value for key, value in tree.items() if key in _GROUPS}
    if not groups:
        return route
    own = build(CollectionSettings, groups, origin, where, base=collection(route.collection))
    return replace(route, own=own)
