"""The engine: store, models, settings, log and search index, opened once and shared by threads.

Library, command line, MCP server, gateway and site get their pipelines and checkers from it:

>>> engine = Engine(library=Library.open("suffice.db"))
>>> engine.pipeline(Caller(Filter(labels=frozenset({"hr"})), "ada")).answer("How long is leave?")
>>> engine.checker().check("Leave is 18 weeks [1].", ["Leave is 16 weeks."])
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from suffice.checker import Checker
from suffice.checks.check import Check
from suffice.checks.judge import open_judge
from suffice.checks.registry import open_checks
from suffice.draft.drafter import open_drafter
from suffice.draft.extractive import Extractive
from suffice.errors import SufficeError
from suffice.evidence.filter import Helpful
from suffice.evidence.index import Filter, Retriever
from suffice.evidence.retrieve import Rewriter
from suffice.evidence.sanitize import InstructionReader
from suffice.gate.conflict.detect import Conflicts
from suffice.gate.gate import Gate
from suffice.models.batching import Lanes, SharedEmbedder, shared_verifier
from suffice.models.catalog import open_embedder, open_verifier
from suffice.models.embedder import Embedder
from suffice.models.llm.verifier import LlmVerifier
from suffice.models.verifier import CachedEmbedder, Verifier
from suffice.pipeline import Pipeline
from suffice.settings import CollectionSettings, Settings
from suffice.types import Evidence
from suffice.verdict.route import read_routes
from suffice.verdict.thresholds import certified

if TYPE_CHECKING:  # an engine without a library needs no database
    from suffice.evidence.library import Library
    from suffice.evidence.search import Search, StoredDocuments
    from suffice.log.decision import Filing
    from suffice.log.log import Log, Recorder
    from suffice.log.setup import Setup

PIPELINE, ANSWERS = "pipeline", "answers"
_LOG = logging.getLogger("suffice.engine")
_FOLLOW = 30.0
"""Seconds after which the index looks for documents that other machines added to the store."""
_ASSEMBLIES = 64
"""Number of settings whose assemblies are cached."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: the documents that they may read, and the name and tag under which their decisions
    are recorded."""

    allowed: Filter = field(default_factory=Filter)
    name: str = ""
    tag: str = ""


ANYONE = Caller()


def nothing(question: str) -> Evidence:
    """A retriever that finds nothing."""
    return Evidence(question)


class Engine:
    """Opens each part once, on first use; safe to share between threads.

    Without a `library`, it answers from the passages of other retrievers. With `shared`, the model
    runs of concurrent callers are batched. `tier` names a tier of the verifier to use instead of
    the configured one; `embedder` and `verifier` replace the configured models.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        library: Library | None = None,
        log: Log | None = None,
        *,
        embedder: Embedder | None = None,
        verifier: Verifier | None = None,
        tier: str = "",
        shared: bool = False,
    ) -> None:
        self.settings = settings or (library.settings if library else Settings())
        self._library = library
        self.log = log
        self.tier = tier
        self._embedder = embedder or (library.embedder if library else None)
        self._verifier = verifier
        self._lanes = Lanes() if shared else None
        self._assemblies: dict[CollectionSettings, Assembly] = {}
        self._assembling = threading.Lock()
        self._opening = threading.Lock()
        self._following = threading.Lock()
        self._followed: float | None = None

    @property
    def library(self) -> Library:
        if self._library is None:
            raise SufficeError(
                "This engine has no library to search.",
                remedy="Pass a library to the engine, or a retriever to its pipeline.",
            )
        return self._library

    def documents(self, allowed: Filter) -> StoredDocuments | None:
        """The stored documents that the filter allows, for citation checks."""
        return self._library.documents(allowed) if self._library else None

    @cached_property
    def embedder(self) -> Embedder:
        """The embedder. Search, filter, drafter and checks embed the same texts, so it caches."""
        embedder = self._embedder or open_embedder(self.settings.embedder)
        if self._lanes is not None:
            embedder = SharedEmbedder(embedder, self._lanes)
        return embedder if isinstance(embedder, CachedEmbedder) else CachedEmbedder(embedder)

    @cached_property
    def verifier(self) -> Verifier:
        settings = self.settings
        verifier = self._verifier or open_verifier(settings.verifier, self.tier, settings.draft)
        return verifier if self._lanes is None else shared_verifier(verifier, self._lanes)

    @cached_property
    def reader(self) -> InstructionReader:
        """Finds instructions to the model in passages."""
        return InstructionReader(self.settings.verifier.threads, self._lanes)

    def search(
        self,
        allowed: Filter | None = None,
        settings: CollectionSettings | None = None,
        *,
        top: int | None = None,
    ) -> Search:
        """A search over the documents that the filter allows. Raises `StoreMissing` if nothing is
        indexed yet. `settings` replace those of the collection."""
        library = self.library
        self._follow(library)
        search = library.search(allowed, top=top, settings=settings, catch_up=False)
        return replace(search, embedder=self.embedder)

    def pipeline(
        self,
        caller: Caller = ANYONE,
        settings: CollectionSettings | None = None,
        retriever: Retriever | None = None,
    ) -> Pipeline:
        """The pipeline for a caller, with the thresholds in force: a suspension of their guarantee
        may begin or end at any time. `settings` replace those of the collection, `retriever` the
        search over the library."""
        settings = settings or self._settings_for(caller)
        assembly = self._in_force(settings)
        return assembly.pipeline(caller, retriever or self.search(caller.allowed, settings))

    def checker(
        self,
        caller: Caller = ANYONE,
        settings: CollectionSettings | None = None,
        *,
        uncited: bool = False,
    ) -> Checker:
        """The checker of answers from elsewhere. `uncited`: they have no citations and are checked
        against all passages. Certified thresholds do not apply: they cover only answers that
        passed the gate."""
        with self._assembling:
            assembly = self._cached(settings or self._settings_for(caller))
        return assembly.checker(caller, uncited=uncited)

    def assemble(self, settings: CollectionSettings) -> Assembly:
        """The parts for these settings, opened anew, with the thresholds in force now. Invalid
        settings are reported at once."""
        in_force, _ = self._thresholds(settings)
        assembly = Assembly(self, in_force)
        _ = assembly.base
        with self._assembling:
            self._assemblies[assembly.settings] = assembly
        return assembly

    def _settings_for(self, caller: Caller) -> CollectionSettings:
        return self.settings.collection(caller.allowed.collection)

    def _in_force(self, settings: CollectionSettings) -> Assembly:
        """The parts for these settings. While the guarantee of certified thresholds is suspended,
        stricter ones apply."""
        settings, suspended = self._thresholds(settings)
        with self._assembling:
            assembly = self._cached(settings)
            # The file may hold a new certificate since it was read with a suspended one.
            if suspended and assembly.base.verdict_settings.certificate in suspended:
                del self._assemblies[settings]
                assembly = self._cached(settings)
        return assembly

    def _cached(self, settings: CollectionSettings) -> Assembly:
        assembly = self._assemblies.get(settings)
        if assembly is None:
            if len(self._assemblies) >= _ASSEMBLIES:
                self._assemblies.clear()
            assembly = self._assemblies[settings] = Assembly(self, settings)
        return assembly

    def _thresholds(
        self, settings: CollectionSettings
    ) -> tuple[CollectionSettings, frozenset[str]]:
        """The settings with the thresholds in force, and the certificates that are suspended."""
        if self._library is None:
            return settings, frozenset()
        from suffice.log.suspension import settings_in_force, suspended_certificates

        database = self._library.store.database
        suspended = suspended_certificates(settings, self.settings, database)
        return settings_in_force(settings, suspended), suspended

    def _follow(self, library: Library) -> None:
        """Keep the index up to date with other machines. Only the first search waits for it; later
        ones use the index as it is while one thread catches up."""
        if not library.lags:
            return
        with self._opening:
            if self._followed is None:
                library.catch_up()
                _ = (
                    library.index
                )  # raises if nothing is indexed yet, so that the next one tries again
                self._followed = time.monotonic()
            if time.monotonic() - self._followed < _FOLLOW:
                return
            if not self._following.acquire(blocking=False):
                return
        threading.Thread(target=self._catch_up, args=(library,), daemon=True).start()

    def _catch_up(self, library: Library) -> None:
        try:
            library.catch_up()
        except Exception:  # searches go on with the index as it is, and the next one tries again
            _LOG.exception("The search index could not be updated with the changes of the store.")
        finally:
            self._followed = time.monotonic()
            self._following.release()


class Assembly:
    """What an engine opens for one set of settings, whoever asks."""

    def __init__(self, engine: Engine, settings: CollectionSettings) -> None:
        self.engine = engine
        self.settings = settings
        self._filings: dict[tuple[str, bool], Filing] = {}

    @cached_property
    def base(self) -> Pipeline:
        """The pipeline without a caller: it searches nothing and records nothing. An invalid
        routing table and stale thresholds are reported here, before the first question."""
        engine = self.engine
        embedder, verifier = engine.embedder, engine.verifier
        read_routes(self.settings.verdict.routes)
        models = {"embedder": embedder.id, "verifier": verifier.id}
        settings = certified(self.settings, models)
        draft = settings.draft
        return Pipeline(
            nothing,
            Gate.of(settings, embedder, verifier, engine.reader),
            open_drafter(draft, embedder, verifier),
            embedder=embedder,
            filter=Helpful(embedder, settings.filter) if settings.filter.enabled else None,
            quotes=Extractive(embedder, draft, verifier) if settings.written else None,
            draft_settings=draft if settings.written else replace(draft, revisions=0),
            verdict_settings=settings.verdict,
            rewriter=Rewriter.open(settings.search, draft),
            subject=settings.subject,
            reader=engine.reader,
        )

    def pipeline(
        self,
        caller: Caller = ANYONE,
        retriever: Retriever = nothing,
        *,
        uncited: bool = False,
        model: str = "",
    ) -> Pipeline:
        """The pipeline for a caller. `uncited`: drafts have no citations. `model` is the requested
        one, for an LLM that verifies or rewrites queries and has no model of its own."""
        rewriter = self.base.rewriter
        return replace(
            self.base,
            retriever=retriever,
            checks=self.checks(caller.allowed, uncited=uncited, model=model),
            rewriter=rewriter and rewriter.asking(model),
            record=self.recorder(caller),
        )

    def checker(self, caller: Caller = ANYONE, *, uncited: bool = False) -> Checker:
        """The checker of answers from elsewhere."""
        return Checker(
            self.checks(caller.allowed, uncited=uncited),
            read_routes(self.settings.verdict.routes),
            uncited,
            Conflicts(self.engine.verifier, self.settings.gate.conflict),
            reader=self.engine.reader,
            record=self.recorder(caller, ANSWERS, uncited=uncited),
        )

    def checks(
        self, allowed: Filter, *, uncited: bool = False, model: str = ""
    ) -> tuple[Check, ...]:
        """The checks for a caller who may read these documents."""
        engine, verifier = self.engine, self.engine.verifier
        return open_checks(
            self.settings.checks,
            verifier.asking(model) if isinstance(verifier, LlmVerifier) else verifier,
            engine.embedder,
            engine.documents(allowed),
            self._judge,
            uncited=uncited,
        )

    def recorder(
        self, caller: Caller, entry_point: str = PIPELINE, *, uncited: bool = False
    ) -> Recorder | None:
        """The recorder of a caller's decisions; `None` if the engine has no log."""
        if self.engine.log is None:
            return None
        return self.engine.log.recorder(self.filing(caller, entry_point, uncited=uncited))

    def filing(
        self, caller: Caller = ANYONE, entry_point: str = PIPELINE, *, uncited: bool = False
    ) -> Filing:
        """The metadata of a caller's decisions: their setup is a record of its own."""
        filing = self._filings.get((entry_point, uncited))
        if filing is None:
            filing = self.setup(entry_point, uncited=uncited).filing()
            self._filings[entry_point, uncited] = filing
        return replace(filing, caller=caller.name, tag=caller.tag)

    def setup(self, entry_point: str = PIPELINE, *, uncited: bool = False) -> Setup:
        """The settings, models and options that decisions are made with."""
        from suffice.log.setup import Setup

        engine = self.engine
        options: Mapping[str, str] = {}
        if entry_point == ANSWERS:
            options = {"uncited": str(uncited), "tier": engine.tier}
        return Setup.of(
            engine.settings,
            self.settings,
            engine.embedder.id,
            engine.verifier.id,
            door=entry_point,
            options=options,
        )

    @cached_property
    def _judge(self) -> Check | None:
        settings = self.settings
        return open_judge(settings.judge, settings.draft) if settings.checks.judge else None
