"""The high-level API: index documents, ask questions, get verdicts.

>>> import suffice
>>> suffice.open("src/suffice/handbook").ask("When is pay day?").released
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from suffice.evidence.index import Filter
from suffice.evidence.ingest import Report
from suffice.evidence.library import Library
from suffice.evidence.search import StoredDocuments
from suffice.log.log import Log, Recorder
from suffice.log.setup import Setup, settings_in_force, suspended_certificates
from suffice.models.catalog import open_verifier
from suffice.pipeline import Pipeline
from suffice.settings import CollectionSettings, Settings
from suffice.types import Evidence, GateDecision, Verdict


@dataclass(frozen=True, slots=True)
class Corpus:
    """An indexed collection that answers questions. Close it, or use it in a `with` block."""

    library: Library
    report: Report
    """The result of indexing, including files that could not be read."""
    _answering: _Answering
    log: Log | None = None
    """The log of all decisions; `None` if nothing is recorded."""
    _folder: TemporaryDirectory[str] | None = None

    @property
    def pipeline(self) -> Pipeline:
        """The pipeline with the thresholds in force: while the guarantee of certified ones is
        suspended, stricter ones apply."""
        return self._answering.pipeline()

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
    log = Log(library.store.database, settings.record) if record else None
    answering = _Answering(library, collection, allowed, log, caller)
    answering.pipeline()  # wrong settings are reported now, not with the first question
    return Corpus(library, report, answering, log, folder)


class _Answering:
    """Opens the pipelines of a corpus, each once."""

    def __init__(
        self, library: Library, collection: str, allowed: Filter, log: Log | None, caller: str
    ) -> None:
        self._library, self._log, self._caller = library, log, caller
        self._own = library.settings.collection(collection)
        self._verifier = open_verifier(library.settings.verifier, "", self._own.draft)
        self._search = library.search(allowed)
        self._documents = StoredDocuments(library.store, allowed)
        self._opened: dict[str, Pipeline] = {}

    def pipeline(self) -> Pipeline:
        """The pipeline for the next question: a suspension may begin or end at any time."""
        settings, database = self._library.settings, self._library.store.database
        held = suspended_certificates(self._own, settings, database)
        own = settings_in_force(self._own, held)
        key = own.verdict.thresholds_file  # empty while suspended
        known = self._opened.get(key)
        # The file may hold a new certificate since the pipeline was opened with a suspended one.
        if known is None or known.verdict_settings.certificate in held:
            known = self._opened[key] = self._open(own)
        return known

    def _open(self, own: CollectionSettings) -> Pipeline:
        embedder, verifier = self._library.embedder, self._verifier
        pipeline = Pipeline.of(self._search, embedder, own, verifier, self._documents)
        if self._log is None:
            return pipeline
        setup = Setup.of(self._library.settings, own, embedder.id, verifier.id)
        return replace(pipeline, record=Recorder(self._log, setup.filing(self._caller)))
