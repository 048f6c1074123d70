"""A folder of another file system is indexed in place: new, changed and deleted objects."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import fsspec
import pytest
from click.testing import CliRunner

from suffice.cli import cli
from suffice.cli.options import cached_store
from suffice.errors import ExtraMissing, SourceMissing, Unreadable
from suffice.evidence.library import Library
from suffice.evidence.sources import RemoteObject, remote_files
from suffice.settings import ReadSettings
from tests.evidence.indexing import opened

URL = "memory://handbook"


@pytest.fixture
def memory() -> Iterator[Any]:
    system = fsspec.filesystem("memory")
    system.pipe("/handbook/leave.md", b"# Leave\n\nLeave is 18 weeks.\n")
    system.pipe("/handbook/more/office.md", b"# Office\n\nLunch is at noon.\n")
    system.pipe("/handbook/.hidden/x.md", b"# Hidden\n\nNobody reads this.\n")
    system.pipe("/handbook/picture.png", b"no document")
    yield system
    system.rm("/handbook", recursive=True)


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return opened(str(tmp_path / "s.db"))


@pytest.mark.usefixtures("memory")
def test_new_changed_and_deleted_objects(library: Library, memory: Any) -> None:
    first = library.add(URL)
    assert (first.added, first.failures) == (2, ())
    known = library.store.known("default")
    assert set(known) == {"leave.md", "more/office.md"}
    assert library.add(f"{URL}/").unchanged == 2
    memory.pipe("/handbook/leave.md", b"# Leave\n\nLeave is 20 weeks.\n")
    memory.rm("/handbook/more/office.md")
    again = library.add(URL)
    assert (again.changed, again.retired, again.unchanged) == (1, 1, 0)
    assert library.store.known("default")["more/office.md"].retired


def test_an_object_is_compared_by_its_etag(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    tags = {"/handbook/leave.md": '"aa"', "/handbook/more/office.md": '"bb"'}
    find = type(memory).find

    def tagged(self: Any, path: str, **more: Any) -> dict[str, Any]:
        listed = find(self, path, **more)
        changed = datetime(2025, 3, 1, tzinfo=UTC)
        return {
            key: {**info, "ETag": tags.get(key, ""), "LastModified": changed}
            for key, info in listed.items()
        }

    with monkeypatch.context() as patched:
        patched.setattr(type(memory), "find", tagged)
        files = remote_files(URL).files
    assert [one.stamp for one in files] == ["etag:aa", "etag:bb"]
    assert [one.remote.day.isoformat() for one in files if one.remote] == ["2025-03-01"] * 2


@pytest.mark.usefixtures("memory")
def test_one_object(library: Library) -> None:
    assert library.add(f"{URL}/more/office.md").added == 1
    assert set(library.store.known("default")) == {"office.md"}


@pytest.mark.usefixtures("memory")
def test_a_document_of_another_folder_is_not_replaced(library: Library, tmp_path: Path) -> None:
    (tmp_path / "leave.md").write_text("# Leave\n\nLeave is 3 weeks.\n")
    library.add(tmp_path / "leave.md")
    report = library.add(URL)
    assert report.added == 1
    assert "already has this document" in report.failures[0].reason


def test_what_cannot_be_read_is_told(library: Library, memory: Any) -> None:
    with pytest.raises(SourceMissing, match="no supported document"):
        library.add("memory://nothing")
    with pytest.raises(SourceMissing, match="Protocol not known"):
        library.add("nonsense://handbook")
    short = replace(library, settings=replace(library.settings, read=ReadSettings(max_bytes=20)))
    assert "over the limit of 20 bytes" in short.add(URL).failures[0].reason
    gone = RemoteObject(memory, "/handbook/gone.md", "gone.md", date(2025, 3, 1), 1)
    with pytest.raises(Unreadable, match="no longer exists"):
        gone.read(100)


def test_without_the_package_the_extra_is_named(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(url: str) -> Any:
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr(fsspec.core, "url_to_fs", missing)
    with pytest.raises(ExtraMissing, match=r"suffice\[s3\]"):
        library.add("s3://bucket/handbook")


@pytest.mark.usefixtures("memory")
def test_the_command_line_takes_a_url(tmp_path: Path) -> None:
    words = ["index", URL, "--store", str(tmp_path / "s.db"), "--quiet"]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 0, done.output
    assert cached_store(URL) != cached_store("memory://other")
