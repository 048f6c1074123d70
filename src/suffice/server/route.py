"""A gateway route: its upstream, its search, its checks and its recorder."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from typing import Any

import httpx2

from suffice.access.keys import Principal
from suffice.checker import Checker
from suffice.draft.extractive import Extractive
from suffice.engine import ANYONE, Assembly, Caller, Engine
from suffice.errors import SettingsError, StoreMissing
from suffice.evidence.index import Filter, Retriever, gather
from suffice.evidence.search import Search
from suffice.log.log import Recorder
from suffice.models.embedder import Embedder
from suffice.pipeline import Pipeline
from suffice.server.errors import ApiError
from suffice.server.openai.carried_evidence import read_shape
from suffice.server.openai.upstream import Breaker, Target, Upstream, UpstreamClient, Upstreams
from suffice.settings import CollectionSettings, RouteSettings, Settings
from suffice.text.when import When
from suffice.types import Code, Evidence, Retrieved
from suffice.verdict.wording import CustomerTexts

_URL = ("http://", "https://")


@dataclass(frozen=True, slots=True)
class AnswerOptions:
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


@dataclass(frozen=True, slots=True)
class Route:
    """A route, reopened when the settings change. `pipeline` returns the pipeline for a request."""

    name: str
    settings: RouteSettings
    assembly: Assembly
    upstream: UpstreamClient | None
    texts: CustomerTexts | None = None
    """What customers read instead of a reason; `None`: operators read the reason."""

    @property
    def engine(self) -> Engine:
        return self.assembly.engine

    @property
    def own(self) -> CollectionSettings:
        """The settings of the collection, with those of the route and the thresholds in force."""
        return self.assembly.settings

    @property
    def base(self) -> Pipeline:
        """The pipeline without a caller. With a log, the webhook worker reports the gaps."""
        base = self.assembly.base
        if self.engine.log is None:
            return base
        return replace(base, verdict_settings=replace(base.verdict_settings, gap_webhook=""))

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

    def pipeline(
        self, caller: Principal, options: AnswerOptions, tag: str = "", model: str = ""
    ) -> Pipeline:
        """The pipeline for a request. It sees only passages that the caller may read. `model` is
        the requested one, for an LLM verifier without a model of its own."""
        asking, base = self.caller(caller, tag), self.base
        retriever = self._retriever(asking.allowed, options)
        pipeline = self.assembly.pipeline(asking, retriever, uncited=not options.marks, model=model)
        drafts, verdict = base.draft_settings, base.verdict_settings
        rescue = self.own.verdict.rescue and not options.as_drafted
        routes = (_DOUBTED, *verdict.routes) if options.for_program else verdict.routes
        return replace(
            pipeline,
            draft_settings=replace(drafts, revisions=0) if options.as_drafted else drafts,
            verdict_settings=replace(verdict, rescue=rescue, routes=routes),
        )

    def checker(self, caller: Principal, *, uncited: bool) -> Checker:
        """The checker for an answer that was written elsewhere."""
        return self.assembly.checker(self.caller(caller), uncited=uncited)

    def caller(self, caller: Principal, tag: str = "") -> Caller:
        """The caller of a request. A verified user replaces the client's tag."""
        allowed = Filter(collection=self.settings.collection, labels=caller.labels)
        return Caller(allowed, caller.name, caller.user or tag)

    @property
    def recorder(self) -> Recorder | None:
        """The recorder of the route's decisions; `None` if nothing is recorded."""
        return self.assembly.recorder(ANYONE)

    def recording(self, caller: Principal, tag: str = "") -> Recorder | None:
        """The recorder for a caller's decisions."""
        return self.assembly.recorder(self.caller(caller, tag))

    def _retriever(self, allowed: Filter, options: AnswerOptions) -> Retriever:
        embedder = self.engine.embedder
        carried = partial(carry, options.given, embedder)
        if not options.indexed:
            return carried
        try:
            search = self.engine.search(allowed, self.own)
        except StoreMissing:  # nothing is indexed yet
            return carried
        return CombinedRetriever(search, options.given, embedder) if options.given else search

    @property
    def rank(self) -> Any:
        engine = self.engine
        return Extractive(engine.embedder, self.own.draft, engine.verifier).rank


def carry(given: tuple[Retrieved, ...], embedder: Embedder, question: str) -> Evidence:
    """The passages that a request carries, as evidence for its question."""
    return gather(question, list(given), embedder)


@dataclass(frozen=True, slots=True)
class CombinedRetriever:
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

    def at(self, when: When, today: date) -> CombinedRetriever:
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
    engine: Engine,
    client: httpx2.AsyncClient,
    environ: Mapping[str, str] | None = None,
) -> Route:
    """Open the route that the settings describe; its upstream is not called yet."""
    environ = os.environ if environ is None else environ
    if route.prompt:
        read_shape(route.prompt)  # report an invalid template before the first request
    assembly = engine.assemble(settings_of_route(route, settings))
    upstream = _upstream(route, assembly.settings, client, environ)
    if upstream is None and (route.shadow or not route.grounding):
        raise SettingsError(
            f"server.routes.{name} has no upstream.",
            remedy="With 'grounding: false' or 'shadow: true', set 'upstream' to a URL.",
        )
    customers = route.wording == "customer"
    texts = CustomerTexts(assembly.settings.gate.contact, route.texts) if customers else None
    return Route(name, route, assembly, upstream, texts)


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
