"""Indexes documents: reads, splits and stores them, embeds new passages, and publishes the index.

Each step starts from what was last committed, so the next run completes an interrupted run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import islice
from pathlib import Path

from suffice.errors import ModelMismatch, SourceMissing, Unreadable
from suffice.evidence.edge import index_model, publish
from suffice.evidence.qdrant import upload, uploaded_model
from suffice.evidence.read import SUFFIXES
from suffice.evidence.read.process import Reader
from suffice.evidence.rows import Known, NewVersion
from suffice.evidence.sources import (
    Cutting,
    Failure,
    File,
    Listing,
    files,
    is_url,
    read_version,
    remote_files,
)
from suffice.evidence.split import embedded_text
from suffice.evidence.store import Store
from suffice.models.embedder import Embedder
from suffice.settings import Settings

Progress = Callable[[str, int, int], None]
"""Called with the step ("documents", "passages", "index"), the number done and the total."""

_DOCUMENTS_A_COMMIT = 32
_PASSAGES_A_COMMIT = 1024


@dataclass(frozen=True, slots=True)
class Report:
    """The result of one indexing run."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    retired: int = 0
    embedded: int = 0
    failures: tuple[Failure, ...] = ()
    unread: tuple[tuple[str, str], ...] = ()
    """Documents with front matter keys that look related to validity but are not used."""

    def require_any(self, source: str | Path) -> None:
        """Raise an error if files failed and none was read."""
        if self.failures and not self.added + self.changed + self.unchanged:
            reason = self.failures[0].reason
            raise SourceMissing(f"No document in {source} could be read.", remedy=reason)


@dataclass(frozen=True, slots=True)
class Ingest:
    """One indexing run for one collection. The caller must hold the writer lock."""

    store: Store
    embedder: Embedder
    settings: Settings
    collection: str
    today: date
    strict: bool
    progress: Progress
    reader: Reader

    @property
    def cutting(self) -> Cutting:
        wanted = self.settings.collection(self.collection).passages.max_tokens
        return Cutting(self.embedder, min(wanted, self.embedder.window))

    def folder(self, source: str | Path, *, rebuild: bool = False) -> Report:
        """Index a folder, a file or a URL: add new and changed files, and retire deleted files."""
        if not rebuild:
            self.check_model()
        listing = remote_files(str(source)) if is_url(source) else files(Path(source))
        known = self.store.known(self.collection)
        gone = _gone(listing, known)
        if not listing.files and not gone and not listing.failures:
            raise SourceMissing(
                f"{source} contains no supported document.",
                remedy=f"Suffice reads {', '.join(sorted(SUFFIXES))}.",
            )
        report = self._read_all(listing.files, known)
        if gone:
            self.store.retire(self.collection, gone, self.today)
        failures = (*listing.failures, *report.failures)
        return replace(report, retired=len(gone), failures=failures)

    def document(self, version: NewVersion, *, rebuild: bool = False) -> Report:
        """Index one document that has already been read, such as standard input."""
        if not rebuild:
            self.check_model()
        known = self.store.known(self.collection, version.access).get(version.document)
        self.store.save([version], self.today)
        return _counted(Report(), known, version)

    def documents(self, versions: Iterable[NewVersion]) -> int:
        """Index documents that have already been read, in several commits. Return their number."""
        self.check_model()
        done = 0
        for group in _groups(versions, _DOCUMENTS_A_COMMIT):
            self.store.save(group, self.today)
            done += len(group)
        return done

    def finish(self, *, rebuild: bool = False) -> int:
        """Embed passages without a vector and publish the index. Return the number embedded."""
        embedded = self._embed()
        self._publish(rebuild)
        return embedded

    def _publish(self, rebuild: bool) -> None:
        total = self.store.count_changes(0)

        def progress(done: int) -> None:
            self.progress("index", done, total)

        model, size = self.embedder.id, self.embedder.dimension
        if self.settings.index_engine == "edge":
            publish(self.store, model, size, rebuild=rebuild, progress=progress)
        elif self.settings.index_engine == "qdrant":
            upload(
                self.store, model, size, self.settings.qdrant, rebuild=rebuild, progress=progress
            )

    def check_model(self) -> None:
        """Raise an error if the index was built with another embedder."""
        if self.settings.index_engine == "qdrant":
            made_with = uploaded_model(self.store, self.embedder.id, self.settings.qdrant)
        else:
            made_with = index_model(self.store)
        if made_with not in ("", self.embedder.id):
            raise ModelMismatch(
                f"The index was built with {made_with}; the embedder is {self.embedder.id}.",
                remedy="Run: suffice index --rebuild, or restore the previous embedder.model.",
            )

    def _read_all(self, found: Sequence[File], known: dict[str, Known]) -> Report:
        report = Report()
        waiting: list[NewVersion] = []
        unchanged: dict[str, tuple[str, str]] = {}
        for done, file in enumerate(found):
            self.progress("documents", done, len(found))
            before = known.get(file.name)
            marked = replace(file, stamp=f"{file.stamp}:{self.cutting.budget}:{self.embedder.id}")
            try:
                version = None if _unchanged(marked, before) else self._read(marked, before)
            except Unreadable as problem:
                if self.strict:
                    raise
                failure = Failure(file.name, str(problem))
                report = replace(report, failures=(*report.failures, failure))
                continue
            # A manually retired document stays retired until its content changes.
            if version is None or (before and before.by_person and before.key == version.key):
                report = replace(report, unchanged=report.unchanged + 1)
                unchanged[file.name] = (file.root, marked.stamp)
                continue
            waiting.append(version)
            report = _counted(report, before, version)
            if len(waiting) >= _DOCUMENTS_A_COMMIT:
                self.store.save(waiting, self.today)
                waiting = []
        self.store.save(waiting, self.today)
        self.store.touch(self.collection, unchanged)
        self.progress("documents", len(found), len(found))
        return report

    def _read(self, file: File, before: Known | None) -> NewVersion:
        if before and not before.retired and _other_file(before, file):
            raise Unreadable(
                f"{file.name}: the store already has this document, from {before.root}.",
                remedy="Index this folder into a separate --collection or --store.",
            )
        return read_version(file, self.collection, self.cutting, self.reader)

    def _embed(self) -> int:
        total, done = self.store.count_unembedded(self.embedder.id), 0
        for batch in self.store.unembedded(self.embedder.id, _PASSAGES_A_COMMIT):
            inputs = {digest: embedded_text(passage) for digest, passage in batch}
            vectors = self.embedder.embed(list(inputs.values()))
            self.store.put_vectors(list(inputs), vectors, self.embedder.id)
            done += len(batch)
            self.progress("passages", done, total)
        return done


def _groups(versions: Iterable[NewVersion], size: int) -> Iterator[list[NewVersion]]:
    rest = iter(versions)
    while group := list(islice(rest, size)):
        yield group


def _gone(listing: Listing, known: dict[str, Known]) -> list[str]:
    """Documents of this source that no longer exist, except in folders that cannot be read."""
    present = {file.name for file in listing.files}
    unread = tuple(f"{failure.document}/".removeprefix("./") for failure in listing.failures)
    return [
        name
        for name, document in known.items()
        if document.root == listing.root
        and not document.retired
        and name not in present
        and not name.startswith(unread)
    ]


def _unchanged(file: File, before: Known | None) -> bool:
    return before is not None and not before.retired and before.stamp == file.stamp


def _counted(report: Report, before: Known | None, version: NewVersion) -> Report:
    unread = ((version.document, key) for key in version.unread)
    report = replace(report, unread=(*report.unread, *unread))
    if before is None:
        return replace(report, added=report.added + 1)
    if before.key == version.key and not before.retired:
        return replace(report, unchanged=report.unchanged + 1)
    return replace(report, changed=report.changed + 1)


def _other_file(before: Known, file: File) -> bool:
    """Whether the stored document of this name still exists at another path. A URL is not asked."""
    if is_url(before.root) or is_url(file.root):
        return before.root != file.root
    root = Path(before.root)
    old = root if root.is_file() else root / file.name
    return old.is_file() and not old.samefile(file.path)
