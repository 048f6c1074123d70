"""The high-level API: index documents, ask questions, get verdicts.

>>> import suffice
>>> suffice.open("examples/handbook").ask("When is pay day?").released
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from suffice.evidence.documents import StoredDocuments
from suffice.evidence.index import Filter
from suffice.evidence.ingest import Report
from suffice.evidence.library import Library
from suffice.models.catalog import open_verifier
from suffice.pipeline import Pipeline
from suffice.record.log import Log
from suffice.record.setup import Setup
from suffice.record.sink import Recorder
from suffice.settings import Settings
from suffice.types import Evidence, GateDecision, Verdict


@dataclass(frozen=True, slots=True)
class Corpus:
    """An indexed collection that answers questions. Close it, or use it in a `with` block."""

    library: Library
    pipeline: Pipeline
    report: Report
    """The result of indexing, including files that could not be read."""
    log: Log | None = None
    """The log of all decisions; `None` if nothing is recorded."""
    _folder: TemporaryDirectory[str] | None = None

    def ask(self, question: str, earlier: Sequence[Verdict] = ()) -> Verdict:
        """Answer a question from the documents; `earlier` holds the verdicts of previous turns."""
        return self.pipeline.answer(question, earlier)

    async def aask(self, question: str, earlier: Sequence[Verdict] = ()) -> Verdict:
        """`ask` without blocking the event loop."""
        return await self.pipeline.aanswer(question, earlier)

    def gate(self, question: str) -> GateDecision:
        """Whether the evidence is sufficient; no answer is drafted."""
        return self.pipeline.retrieve_and_gate(question).decision

    def search(self, question: str) -> Evidence:
        """The passages found for a question."""
        return self.pipeline.retrieve_and_gate(question).evidence

    def close(self) -> None:
        if self.log is not None:
            self.log.close()
        self.library.store.close()
        if self._folder is not None:
            self._folder.cleanup()

    def __enter__(self) -> Corpus:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()


def open_corpus(
    docs: str | Path | None = None,
    *,
    store: str | Path | None = None,
    settings: Settings | None = None,
    collection: str = "default",
    labels: Iterable[str] = (),
    record: bool = False,
    caller: str = "",
) -> Corpus:
    """Index a folder or a file and open it for questions.

    Without a `store` the index is temporary and deleted on close. `labels` are the access labels of
    the caller. `record` writes every decision to the store's log under the name of the `caller`.
    """
    settings = settings or Settings()
    folder = TemporaryDirectory(prefix="suffice-") if store is None else None
    place = store if folder is None else Path(folder.name) / "suffice.db"
    library = Library.open(place or "", settings, create=True)
    report = Report()
    if docs is not None:
        report = library.add(docs, collection=collection)
        report.require_any(docs)
    allowed = Filter(collection=collection, labels=frozenset(labels))
    own = settings.collection(collection)
    verifier = open_verifier(settings.verifier, "", own.draft)
    documents = StoredDocuments(library.store, allowed)
    pipeline = Pipeline.of(library.search(allowed), library.embedder, own, verifier, documents)
    if not record:
        return Corpus(library, pipeline, report, _folder=folder)
    log = Log(library.store.database, settings.record)
    setup = Setup.of(settings, own, library.embedder.id, verifier.id)
    recorder = Recorder(log, setup.filing(caller))
    return Corpus(library, replace(pipeline, record=recorder), report, log, folder)
