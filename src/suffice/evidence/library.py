"""The public entry point of this package: a store with its embedder and index."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from suffice.errors import LabelNotHeld
from suffice.evidence.edge import catch_up, current
from suffice.evidence.index import Filter, Index, today
from suffice.evidence.ingest import Ingest, Progress, Report
from suffice.evidence.qdrant import Server
from suffice.evidence.read import FrontMatter
from suffice.evidence.read.process import Reader
from suffice.evidence.search import Search, StoredDocuments, open_index
from suffice.evidence.sources import read_input, read_text, read_upload
from suffice.evidence.store import MayUse, Store, anything
from suffice.models.catalog import open_embedder, open_reader
from suffice.models.embedder import Embedder
from suffice.settings import CollectionSettings, Settings


def _silent(what: str, done: int, total: int) -> None:
    pass


@dataclass(frozen=True)
class Library:
    """A searchable set of documents. Only one process at a time may add to it."""

    store: Store
    embedder: Embedder
    settings: Settings

    @cached_property
    def reader(self) -> Reader:
        """Reads documents in a process of its own."""
        return Reader(self.settings.read)

    @cached_property
    def index(self) -> Index:
        """The search index, opened once. It follows the changes that are published to it."""
        return open_index(self.store, self.settings, self.embedder.id)

    @property
    def lags(self) -> bool:
        """Whether the index on this machine lags behind what other machines add to the store."""
        return self.settings.index_engine == "edge" and self.store.database.path is None

    @classmethod
    def open(
        cls, store: str | Path, settings: Settings | None = None, *, create: bool = False
    ) -> Library:
        settings = settings or Settings()
        opened = Store.open(
            store, create=create, wait=settings.store_wait_seconds, index=settings.index
        )
        return cls(opened, open_embedder(settings.embedder), settings)

    def add(
        self,
        source: str | Path,
        *,
        collection: str = "default",
        strict: bool = False,
        rebuild: bool = False,
        progress: Progress = _silent,
    ) -> Report:
        """Index a folder, a file or a URL such as `s3://bucket/folder` incrementally, and update
        the search index."""
        run = self._run(collection, strict, progress)
        with self.store.alone(self.settings.store_wait_seconds):
            report = run.folder(source, rebuild=rebuild)
            return replace(report, embedded=run.finish(rebuild=rebuild))

    def add_input(
        self,
        data: bytes,
        name: str,
        *,
        collection: str = "default",
        rebuild: bool = False,
        progress: Progress = _silent,
    ) -> Report:
        """Index one document that is not a file, under the given name."""
        run = self._run(collection, True, progress)
        with self.store.alone(self.settings.store_wait_seconds):
            version = read_input(data, name, collection, run.cutting, run.today, self.reader)
            report = run.document(version, rebuild=rebuild)
            return replace(report, embedded=run.finish(rebuild=rebuild))

    def add_upload(
        self,
        data: bytes,
        name: str,
        given: FrontMatter,
        *,
        collection: str = "default",
        labels: frozenset[str] | None = None,
        progress: Progress = _silent,
    ) -> tuple[Report, frozenset[str]]:
        """Index an uploaded file under the given name; return the report and the labels that the
        document got. `given` holds its declared fields. The file and the fields may declare only
        `labels`, if given. Documents of the same name with other labels stay as they are."""
        run = self._run(collection, True, progress)
        # Read before taking the lock, so that an unreadable file delays nobody.
        version = read_upload(data, name, given, collection, run.cutting, run.today, self.reader)
        if labels is not None and (foreign := version.access - labels):
            raise LabelNotHeld(
                f"{name} declares the access label '{min(foreign)}', which you do not hold.",
                remedy="Declare only labels that you hold.",
            )
        with self.store.alone(self.settings.store_wait_seconds):
            report = run.document(version)
            return replace(report, embedded=run.finish()), version.access

    def add_texts(
        self,
        texts: Iterable[tuple[str, str, str]],
        *,
        collection: str = "default",
        progress: Progress = _silent,
    ) -> Report:
        """Index many documents that are not files, given as (name, title, text)."""
        run = self._run(collection, True, progress)
        with self.store.alone(self.settings.store_wait_seconds):
            added = run.documents(
                read_text(name, title, text, collection, run.cutting, run.today)
                for name, title, text in texts
            )
            return Report(added=added, embedded=run.finish())

    def rebuild(self, progress: Progress = _silent) -> Report:
        """Rebuild the index from the store, and the vectors too if the embedder has changed."""
        run = self._run("default", False, progress)
        with self.store.alone(self.settings.store_wait_seconds):
            return Report(embedded=run.finish(rebuild=True))

    def retire(
        self, document: str, *, collection: str = "default", may_read: MayUse = anything
    ) -> None:
        """Retire a document from today until its content changes; if several have this name, those
        that `may_read` allows."""
        self.store.versions(collection=collection, document=document)
        run = self._run(collection, False, _silent)
        run.check_model()
        with self.store.alone(self.settings.store_wait_seconds):
            self.store.retire(collection, [document], run.today, by="person", may_read=may_read)
            run.finish()

    def search(
        self,
        allowed: Filter | None = None,
        *,
        top: int | None = None,
        settings: CollectionSettings | None = None,
        catch_up: bool = True,
    ) -> Search:
        """A retriever restricted by the filter (by default to public documents in force today).
        `settings` replace those of the collection. Without `catch_up`, the index is searched as it
        is, without what other machines added."""
        allowed = allowed or Filter()
        settings = settings or self.settings.collection(allowed.collection)
        search = settings.search
        if top is not None:
            candidates = max(top, search.candidates)
            search = replace(search, top_k=top, most=top, candidates=candidates)
        if catch_up:
            self.catch_up()
        reader = open_reader(self.settings.verifier) if search.rerank else None
        return Search(
            self.store,
            self.index,
            self.embedder,
            search,
            allowed,
            diversity=settings.gate.diversity,
            reader=reader,
        )

    def documents(self, allowed: Filter) -> StoredDocuments:
        """The stored documents that the filter allows, in force or not, for citation checks."""
        return StoredDocuments(self.store, allowed)

    def catch_up(self) -> None:
        """Update the index on this machine with what other machines added to the store."""
        if self.lags:
            model, wait = self.embedder, self.settings.store_wait_seconds
            catch_up(self.store, model.id, model.dimension, wait)

    def index_version(self) -> str:
        """Changes whenever the search index does. The index may lag behind the store."""
        if self.settings.index_engine == "qdrant":
            server = Server.of(self.store, self.settings.qdrant)
            return str(server.state(server.name(self.embedder.id, self.store.epoch)))
        return current(self.store.index)

    def _run(self, collection: str, strict: bool, progress: Progress) -> Ingest:
        return Ingest(
            self.store,
            self.embedder,
            self.settings,
            collection,
            today(),
            strict,
            progress,
            self.reader,
        )
