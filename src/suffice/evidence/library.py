"""The public entry point of this package: a store with its embedder and index."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from suffice.errors import LabelNotHeld
from suffice.evidence.edge import catch_up, current
from suffice.evidence.index import Filter, today
from suffice.evidence.ingest import Ingest, Progress, Report
from suffice.evidence.qdrant import Server
from suffice.evidence.read import FrontMatter
from suffice.evidence.read.process import Reader
from suffice.evidence.search import Search, open_index
from suffice.evidence.sources import read_input, read_text, read_upload
from suffice.evidence.store import MayUse, Store, anything
from suffice.models.catalog import open_embedder, open_reader
from suffice.models.embedder import Embedder
from suffice.settings import Settings


def _silent(what: str, done: int, total: int) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Library:
    """A searchable set of documents. Only one process at a time may add to it."""

    store: Store
    embedder: Embedder
    settings: Settings
    reader: Reader = field(init=False, repr=False, compare=False)
    """Reads documents in a process of its own."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "reader", Reader(self.settings.read))

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

    def search(self, allowed: Filter | None = None, *, top: int | None = None) -> Search:
        """A retriever restricted by the filter (by default to public documents in force today)."""
        allowed = allowed or Filter()
        own = self.settings.collection(allowed.collection)
        settings = own.search
        if top is not None:
            candidates = max(top, settings.candidates)
            settings = replace(settings, top_k=top, most=top, candidates=candidates)
        if self.settings.index_engine == "edge" and self.store.database.path is None:
            model = self.embedder
            catch_up(self.store, model.id, model.dimension, self.settings.store_wait_seconds)
        index = open_index(self.store, self.settings, self.embedder.id)
        reader = open_reader(self.settings.verifier) if settings.rerank else None
        return Search(self.store, index, self.embedder, settings, allowed, own=own, reader=reader)

    def index_version(self) -> str:
        """Changes whenever the search index does. The index may lag behind the store."""
        if self.settings.index_engine == "qdrant":
            server = Server.of(self.store, self.settings.qdrant)
            return str(server.state(server.name(self.embedder.id, self.store.epoch)))
        return current(self.store.index)

    def _run(self, collection: str, strict: bool, progress: Progress) -> Ingest:
        made_of = (self.store, self.embedder, self.settings)
        return Ingest(*made_of, collection, today(), strict, progress, self.reader)
