"""A gateway route: its upstream, its search, its checks and its recorder."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial
from typing import Any

import httpx2

from suffice.access.keys import Principal
from suffice.checks.check import Check
from suffice.checks.judge import open_judge
from suffice.checks.registry import open_checks
from suffice.draft.extractive import Extractive
from suffice.errors import SettingsError, StoreMissing
from suffice.evidence.index import Filter, Retriever, gather
from suffice.evidence.library import Library
from suffice.evidence.search import Search, StoredDocuments
from suffice.log.log import Recorder
from suffice.models.embedder import Embedder
from suffice.models.llm.verifier import LlmVerifier
from suffice.models.verifier import Verifier
from suffice.pipeline import Pipeline
from suffice.server.errors import ApiError
from suffice.server.openai.carried_evidence import read_shape
from suffice.server.openai.upstream import Breaker, Target, Upstream, UpstreamClient, Upstreams
from suffice.settings import CollectionSettings, RouteSettings, SearchSettings, Settings
from suffice.text.when import When
from suffice.types import Code, Evidence, Retrieved
from suffice.verdict.wording import CustomerTexts

_FOLLOW = 30.0
"""Seconds before the index of a store on a database server is reopened, to see documents that other
processes added."""


@dataclass
class Parts:
    """The library and the models, opened once and shared between threads."""

    library: Library
    embedder: Embedder
    verifier: Verifier
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _opened: Search | None = None
    _when: float = 0.0

    def search(self, allowed: Filter, settings: SearchSettings) -> Search | None:
        """A search over the documents that the filter allows; `None` if nothing is indexed yet."""
        opened = self._search()
        return replace(opened, allowed=allowed, settings=settings) if opened else None

    def _search(self) -> Search | None:
        with self._lock:
            remote = self.library.store.database.path is None
            if self._opened and not (remote and time.monotonic() - self._when > _FOLLOW):
                return self._opened
            try:
                self._opened = replace(self.library.search(), embedder=self.embedder)
            except StoreMissing:  # nothing is indexed yet
                return None
            self._when = time.monotonic()
            return self._opened


_URL = ("http://", "https://")
Adjusts = Callable[[CollectionSettings], CollectionSettings]
"""Adjusts the settings of a route, for example to stricter thresholds."""


@dataclass(frozen=True, slots=True)
class Way:
    """How to answer a request: the passages it carries, whether to search the index too, and
    whether to expect citation marks. With `as_drafted`, a draft is released unchanged or not at
    all. What a program reads, such as the arguments of a tool call, has nobody who compares a
    doubted value: with `for_program`, it is withheld."""

    given: tuple[Retrieved, ...] = ()
    indexed: bool = True
    marks: bool = True
    as_drafted: bool = False
    for_program: bool = False


_DOUBTED = f"{Code.DOUBTED} -> WITHHOLD"
_LABEL_SETS = 1_000
"""Number of label sets whose checks are cached. Users in many groups produce many sets."""


@dataclass(frozen=True, slots=True)
class Route:
    """A route, reopened when the settings change. `pipeline` returns the pipeline for a request."""

    name: str
    settings: RouteSettings
    own: CollectionSettings
    parts: Parts
    base: Pipeline
    upstream: UpstreamClient | None
    recorder: Recorder | None
    checking: Mapping[bool, Recorder] = field(default_factory=dict)
    """The recorders of `/v1/check`, by `uncited`: without a gate, no certificate applies, so these
    decisions have a setup of their own."""
    texts: CustomerTexts | None = None
    """What customers read instead of a reason; `None`: operators read the reason."""
    _checks: dict[tuple[frozenset[str], bool, str], Sequence[Check]] = field(default_factory=dict)

    @property
    def url(self) -> bool:
        """Whether an upstream, not a built-in drafter, writes the drafts."""
        return self.upstream is not None

    @property
    def states(self) -> dict[str, str]:
        """The circuit breaker state of each upstream, if the route has several."""
        return self.upstream.states if isinstance(self.upstream, Upstreams) else {}

    def model(self, asked: Any) -> str:
        """The upstream's name for the model that the caller requested."""
        name = asked if isinstance(asked, str) else ""
        if not self.settings.models:
            return self.settings.model or name
        if not name and self.settings.model:
            return self.settings.model
        if name not in self.settings.models:
            raise ApiError(
                404, f"The model '{name}' does not exist on this route.", "model_not_found", "model"
            )
        return self.settings.models[name]

    def pipeline(self, caller: Principal, way: Way, tag: str = "", model: str = "") -> Pipeline:
        """The pipeline for a request. It sees only passages that the caller may read. `model` is
        the requested one, for an LLM verifier without a model of its own."""
        allowed = Filter(collection=self.settings.collection, labels=caller.labels)
        rescue = self.own.verdict.rescue and not way.as_drafted
        drafts, verdict = self.base.draft_settings, self.base.verdict_settings
        routes = (_DOUBTED, *verdict.routes) if way.for_program else verdict.routes
        return replace(
            self.base,
            retriever=self._retriever(allowed, way),
            checks=self.checks(caller.labels, marks=way.marks, model=model),
            draft_settings=replace(drafts, revisions=0) if way.as_drafted else drafts,
            verdict_settings=replace(verdict, rescue=rescue, routes=routes),
            record=self.recording(caller, tag),
        )

    def recording(self, caller: Principal, tag: str = "") -> Recorder | None:
        """The recorder for a caller's decisions. A verified user replaces the client's tag."""
        return self.recorder.by(caller.name, caller.user or tag) if self.recorder else None

    def recording_checks(self, caller: Principal, *, uncited: bool) -> Recorder | None:
        """The recorder for a caller's answers from elsewhere."""
        recorder = self.checking.get(uncited)
        return recorder.by(caller.name, caller.user) if recorder else None

    def checks(self, labels: frozenset[str], *, marks: bool, model: str = "") -> Sequence[Check]:
        own, parts = self.own, self.parts
        verifier = parts.verifier
        named = isinstance(verifier, LlmVerifier) and not verifier.llm.model
        if isinstance(verifier, LlmVerifier):
            verifier = verifier.asking(model)
        key = (labels, marks, model if named else "")
        known = self._checks.get(key)
        if known is None:
            allowed = Filter(collection=self.settings.collection, labels=labels)
            known = open_checks(
                own.checks,
                verifier,
                parts.embedder,
                StoredDocuments(parts.library.store, allowed),
                open_judge(own.judge, own.draft) if own.checks.judge else None,
                uncited=not marks,
            )
            if len(self._checks) >= _LABEL_SETS:
                self._checks.clear()
            self._checks[key] = known
        return known

    def _retriever(self, allowed: Filter, way: Way) -> Retriever:
        carried = partial(carry, way.given, self.parts.embedder)
        search = self.parts.search(allowed, self.own.search) if way.indexed else None
        if search is None:
            return carried
        return Beside(search, way.given, self.parts.embedder) if way.given else search

    @property
    def rank(self) -> Any:
        return Extractive(self.parts.embedder, self.own.draft, self.parts.verifier).rank


def carry(given: tuple[Retrieved, ...], embedder: Embedder, question: str) -> Evidence:
    """The passages that a request carries, as evidence for its question."""
    return gather(question, list(given), embedder)


@dataclass(frozen=True, slots=True)
class Beside:
    """A search that puts the passages of the request before those it finds."""

    search: Search
    given: tuple[Retrieved, ...]
    embedder: Embedder

    def __call__(self, question: str) -> Evidence:
        found, carried = self.search(question), carry(self.given, self.embedder, question)
        return replace(found, items=(*carried.items, *found.items))

    @property
    def chosen(self) -> When | None:
        return self.search.chosen

    def at(self, when: When, today: date) -> Beside:
        return replace(self, search=self.search.at(when, today))

    def again(self, question: str, queries: Sequence[str]) -> Evidence:
        return self.search.again(question, queries)

    def widened(self, found: Evidence, queries: Sequence[str]) -> Evidence:
        carried = found.items[: len(self.given)]
        found = self.search.widened(found, queries)
        return replace(found, items=(*carried, *found.items))


def open_route(
    name: str,
    route: RouteSettings,
    settings: Settings,
    parts: Parts,
    client: httpx2.AsyncClient,
    environ: Mapping[str, str] | None = None,
    adjusted: Adjusts = lambda own: own,
) -> Route:
    """Open the route that the settings describe; its upstream is not called yet."""
    environ = os.environ if environ is None else environ
    own = adjusted(settings_of_route(route, settings))
    if route.prompt:
        read_shape(route.prompt)  # report an invalid template before the first request
    base = Pipeline.of(_nothing, parts.embedder, own, parts.verifier)
    upstream = _upstream(route, own, client, environ)
    if upstream is None and (route.shadow or not route.grounding):
        raise SettingsError(
            f"server.routes.{name} has no upstream.",
            remedy="With 'grounding: false' or 'shadow: true', set 'upstream' to a URL.",
        )
    customers = route.wording == "customer"
    texts = CustomerTexts(own.gate.contact, route.texts) if customers else None
    return Route(name, route, own, parts, base, upstream, None, texts=texts)


def _upstream(
    route: RouteSettings,
    own: CollectionSettings,
    client: httpx2.AsyncClient,
    environ: Mapping[str, str],
) -> UpstreamClient | None:
    def opened(url: str, key_env: str) -> Upstream:
        key = environ.get(key_env, "").strip() if key_env else ""
        return Upstream(url.rstrip("/"), key, client, route.timeout, own.draft.retries)

    if not route.upstreams:
        draft = own.draft
        return opened(draft.llm, draft.key_env) if draft.llm.startswith(_URL) else None
    return Upstreams(
        [
            Target(
                name,
                opened(one.url, one.key_env),
                one.weight,
                one.model,
                one.models,
                one.first_token_seconds,
                Breaker(route.breaker),
            )
            for name, one in route.upstreams.items()
        ],
        route.timeout,
    )


def settings_of_route(route: RouteSettings, settings: Settings) -> CollectionSettings:
    """The settings of the route's collection, overridden by those of the route."""
    own = route.own or settings.collection(route.collection)
    draft = own.draft
    if route.upstreams:
        # For other users of the drafter's endpoint, such as the judge.
        main = max(route.upstreams.values(), key=lambda one: one.weight)
        model = route.model or main.model
        draft = replace(draft, llm=main.url, key_env=main.key_env, model=model)
    else:
        draft = replace(
            draft,
            llm=route.upstream or draft.llm,
            key_env=route.key_env or draft.key_env,
            model=route.model or draft.model,
        )
    gate = replace(own.gate, policy=route.policy) if route.policy else own.gate
    return replace(own, draft=draft, gate=gate)


def _nothing(question: str) -> Evidence:
    return Evidence(question)
