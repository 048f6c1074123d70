"""Changes to documents, each with two records in the log: the request, written before the work, and
the result, written after it. A change that a crash interrupts leaves only the first.

>>> Librarian(library, log, by="ada").retire("handbook/leave.md")
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

from suffice.errors import SufficeError
from suffice.evidence.ingest import Progress, Report
from suffice.evidence.library import Library
from suffice.evidence.read import FrontMatter
from suffice.evidence.store import MayUse, anything
from suffice.log.log import Log
from suffice.log.record import Record

DOCUMENT = "document"
"""The kind of both records."""
T = TypeVar("T")


def _silent(what: str, done: int, total: int) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Librarian:
    """Changes the documents of a library for the caller `by`, on behalf of `person` if the caller
    named one. Without a log, nothing is recorded."""

    library: Library
    log: Log | None
    by: str = ""
    person: str = ""

    def upload(
        self,
        data: bytes,
        name: str,
        given: FrontMatter,
        *,
        collection: str,
        labels: frozenset[str] | None = None,
        progress: Progress = _silent,
    ) -> tuple[Report, frozenset[str]]:
        """Index an uploaded file under the given name. It may declare only `labels`, if given.
        Return the report and the labels that the document got."""
        declared = {key: _text(value) for key, value in asdict(given).items() if value}
        fields = {"bytes": len(data), "content_hash": hashlib.sha256(data).hexdigest()}
        return self._recorded(
            {"act": "upload", "document": name, "collection": collection, **fields, **declared},
            lambda: self.library.add_upload(
                data, name, given, collection=collection, labels=labels, progress=progress
            ),
        )

    def read(
        self,
        data: bytes,
        name: str,
        *,
        collection: str,
        rebuild: bool = False,
        progress: Progress = _silent,
    ) -> Report:
        """Index standard input under a name."""
        fields = {"bytes": len(data), "content_hash": hashlib.sha256(data).hexdigest()}
        return self._recorded(
            {"act": "index", "document": name, "collection": collection, **fields},
            lambda: self.library.add_input(
                data, name, collection=collection, rebuild=rebuild, progress=progress
            ),
        )

    def index(
        self,
        source: str | Path,
        *,
        collection: str,
        strict: bool = False,
        rebuild: bool = False,
        progress: Progress = _silent,
    ) -> Report:
        """Index a folder or file on this machine."""
        return self._recorded(
            {"act": "index", "source": str(source), "collection": collection},
            lambda: self.library.add(
                source, collection=collection, strict=strict, rebuild=rebuild, progress=progress
            ),
        )

    def reindex(self, progress: Progress = _silent) -> Report:
        """Rebuild the search index from the store."""
        return self._recorded({"act": "reindex"}, lambda: self.library.rebuild(progress))

    def retire(self, document: str, *, collection: str, may_read: MayUse = anything) -> None:
        """Retire a document from today on; if several have this name, those that `may_read`
        allows."""
        # Raises if the document does not exist.
        self.library.store.versions(collection=collection, document=document)
        self._recorded(
            {"act": "retire", "document": document, "collection": collection},
            lambda: self.library.retire(document, collection=collection, may_read=may_read),
        )

    def _recorded(self, fields: Mapping[str, object], work: Callable[[], T]) -> T:
        request = Record(DOCUMENT, fields, self.by, self.person)
        self._append(request)
        try:
            done = work()
        except SufficeError as problem:
            self._append(_done(request, {"done": False, "reason": problem.message}))
            raise
        report = done[0] if isinstance(done, tuple) else done
        result = _counts(report) if isinstance(report, Report) else {}
        self._append(_done(request, {"done": True, **result}))
        return done

    def _append(self, record: Record) -> None:
        if self.log is not None:
            self.log.append(record)


def _done(request: Record, fields: Mapping[str, object]) -> Record:
    """The record of the result; its id begins with that of the request."""
    fields = {"record": request.id, **fields}
    return Record(DOCUMENT, fields, request.caller, request.tag, id=f"{request.id}.done")


def _text(value: object) -> object:
    return sorted(map(str, value)) if isinstance(value, frozenset | tuple) else str(value)


def _counts(report: Report) -> dict[str, object]:
    names = ("added", "changed", "unchanged", "retired", "embedded")
    failures = [{"document": one.document, "reason": one.reason} for one in report.failures]
    return {**{name: getattr(report, name) for name in names}, "failures": failures}
