"""The high-level API: index documents, ask questions, get verdicts.

>>> import suffice
>>> suffice.open("src/suffice/handbook").ask("When is pay day?").released
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from suffice.engine import Caller, Engine
from suffice.evidence.index import Filter
from suffice.evidence.ingest import Report
from suffice.evidence.library import Library
from suffice.log.log import Log
from suffice.models.catalog import open_verifier
from suffice.pipeline import Pipeline
from suffice.settings import Settings
from suffice.types import Evidence, GateDecision, Verdict


@dataclass(frozen=True, slots=True)
class Corpus:
    """An indexed collection that answers questions. Close it, or use it in a `with` block."""

    engine: Engine
    library: Library
    report: Report
    """The result of indexing, including files that could not be read."""
    caller: Caller
    folder: TemporaryDirectory[str] | None = None
    """Holds a temporary store."""

    @property
    def log(self) -> Log | None:
        """The log of all decisions; `None` if nothing is recorded."""
        return self.engine.log

    @property
    def pipeline(self) -> Pipeline:
        """The pipeline with the thresholds in force: while the guarantee of certified ones is
        suspended, stricter ones apply."""
        return self.engine.pipeline(self.caller)

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
        """The passages found for a question. Nothing is decided or recorded."""
        return self.pipeline.search(question)

    def close(self) -> None:
        if self.log is not None:
            self.log.close()
        self.library.store.close()
        if self.folder is not None:
            self.folder.cleanup()

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
    where = store if folder is None else Path(folder.name) / "suffice.db"
    library = Library.open(where or "", settings, create=True)
    report = Report()
    if docs is not None:
        report = library.add(docs, collection=collection)
        report.require_any(docs)
    log = Log(library.store.database, settings.record) if record else None
    drafted_by = settings.collection(collection).draft
    verifier = open_verifier(settings.verifier, "", drafted_by)
    engine = Engine(settings, library, log, verifier=verifier)
    asking = Caller(Filter(collection=collection, labels=frozenset(labels)), caller)
    corpus = Corpus(engine, library, report, asking, folder)
    _ = corpus.pipeline  # wrong settings are reported now, not with the first question
    return corpus
