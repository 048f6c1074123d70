"""Files that are built to exhaust the reader: each ends with a text or an error within the limits,
and the process that asked for it does not grow."""

from __future__ import annotations

import io
import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from suffice.errors import Unreadable
from suffice.evidence.library import Library
from suffice.evidence.read import read_bytes
from suffice.evidence.read.process import Reader
from suffice.evidence.read.source import Content
from suffice.settings import ReadSettings, Settings
from tests.waiting import until

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
PARAGRAPH = "<w:p><w:r><w:t>a</w:t></w:r></w:p>"
STATUS = Path("/proc/self/status")
linux = pytest.mark.skipif(not STATUS.exists(), reason="memory is read from /proc")


def word(body: str, prolog: str = "") -> bytes:
    return packed(f"{prolog}<w:document {W}><w:body>{body}</w:body></w:document>".encode())


def packed(*pieces: bytes) -> bytes:
    file = io.BytesIO()
    with (
        ZipFile(file, "w", ZIP_DEFLATED, compresslevel=9) as archive,
        archive.open("word/document.xml", "w") as part,
    ):
        for piece in pieces:
            part.write(piece)
    return file.getvalue()


def entities() -> bytes:
    lines = ['<!ENTITY a "ha">']
    lines += [f'<!ENTITY {n} "{f"&{before};" * 10}">' for before, n in pairwise("abcdefghij")]
    return word("<w:p><w:r><w:t>&j;</w:t></w:r></w:p>", f"<!DOCTYPE a [{''.join(lines)}]>")


HOSTILE: dict[str, tuple[str, Callable[[], bytes], str]] = {
    "repetitive Word": (".docx", lambda: word(PARAGRAPH * 3_000_000), "2,000,000 elements"),
    "Word in 200 levels": (
        ".docx",
        lambda: word("<w:sdt>" * 200 + PARAGRAPH * 20_000 + "</w:sdt>" * 200),
        "",
    ),
    "deep Word": (".docx", lambda: word("<w:tbl><w:tr><w:tc>" * 50_000), "nested too deeply"),
    "empty elements": (".docx", lambda: word("<w:p/>" * 3_000_000), "2,000,000 elements"),
    "entities": (".docx", entities, "document type declaration"),
    "zip bomb": (".docx", lambda: packed(*[b"0" * 1_000_000] * 60), "unpacks to more than"),
    "19 MB of {},": (".json", lambda: b"[" + b"{}," * 6_300_000 + b"{}]", "2,000,000 elements"),
    "19 MB of lines": (".json", lambda: b"{}\n" * 6_300_000, "2,000,000 elements"),
    "deep JSON": (".json", lambda: b"[" * 1_000_000, "nested too deeply"),
    "open string": (".json", lambda: b'"' + b'\\"' * 2_000_000, "Unterminated string"),
    "many divs": (".html", lambda: b"<div>" * 100_000 + b"text", ""),
    "dropped tags": (".html", lambda: b"<nav>" * 100_000 + b"<b>" * 100_000, "no visible text"),
    "too many tags": (".html", lambda: b"<b>" * 2_100_000 + b"x", "2,000,000 elements"),
    "open comments": (".html", lambda: b"text" + b"<!--" * 1_000_000, ""),
    "quotes": (".md", lambda: b">" * 100_000, ""),
    "brackets": (".md", lambda: b"[" * 100_000, ""),
    "deep front matter": (".md", lambda: b"---\na: " + b"[" * 60_000 + b"\n---\nx", "nested"),
    "wide table": (".csv", lambda: b"a," * 1_000_000 + b"\n" + b"1," * 1_000_000, "16,384"),
    "many rows": (".csv", lambda: b"a\n" * 9_000_000, "2,000,000 elements"),
}


@pytest.fixture(scope="module")
def reader() -> Iterator[Reader]:
    opened = Reader(ReadSettings())
    yield opened
    opened.close()


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_ends_within_its_limits(reader: Reader, name: str) -> None:
    suffix, data, says = HOSTILE[name]
    made = data()
    before = memory()
    if says:
        with pytest.raises(Unreadable, match=re.escape(says)):
            reader.read(made, suffix, f"x{suffix}")
    else:
        content = reader.read(made, suffix, f"x{suffix}")
        assert 0 < len(content.text) <= reader.settings.max_characters
    assert memory() - before < 20_000_000


def test_a_page_tree_that_claims_too_many_pages(
    reader: Reader, pdf_of: Callable[..., bytes]
) -> None:
    for count in (10_000, 2_000_000_000):
        made = re.sub(rb"/Count \d+", b"/Count %d" % count, pdf_of(["first page"]))
        assert made != pdf_of(["first page"])
        with suppress(Unreadable):
            assert len(reader.read(made, ".pdf", "x.pdf").text) < 1_000


def memory() -> int:
    """The memory of this process in bytes; 0 where it cannot be known."""
    if not STATUS.exists():
        return 0
    found = re.search(r"^VmRSS:\s+(\d+) kB", STATUS.read_text(), re.MULTILINE)
    assert found is not None
    return int(found[1]) * 1024


def test_the_process_returns_what_the_readers_return(
    reader: Reader, pdf_of: Callable[..., bytes]
) -> None:
    front = "---\ntitle: A\nversion: 2.10\neffective: 2025-01-02\nexpires: 2026-01-02\n"
    front += "kind: faq\naccess: [b, a]\nid: x\nvalidity: soon\n---\n"
    for data, suffix in (
        ((front + "# Title\n\nText – ü.").encode(), ".md"),
        (pdf_of(["one", "two"]), ".pdf"),
        (b"a,b\n1,2\n", ".csv"),
    ):
        assert reader.read(data, suffix, "x") == read_bytes(data, suffix, "x")


def test_one_process_reads_many_files(reader: Reader) -> None:
    reader.read(b"text", ".md", "a.md")
    first = reader._process
    with pytest.raises(Unreadable, match="is empty"):
        reader.read(b"", ".md", "a.md")
    reader.read(b"text", ".md", "a.md")
    assert reader._process is first is not None


def test_a_file_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = Reader(ReadSettings(seconds=0.1, memory_bytes=1 << 40))
    with pytest.raises(Unreadable, match=r"takes longer than 0.1 s to read") as caught:
        reader.read(b"<b>x" * 1_900_000, ".html", "x.html")
    assert "read.seconds" in caught.value.remedy
    assert reader._process is None
    patient = Reader(ReadSettings())
    assert patient.read(b"text", ".md", "a.md").text == "text"
    patient.close()


@linux
def test_a_file_that_needs_too_much_memory_is_given_up() -> None:
    reader = Reader(ReadSettings(memory_bytes=1 << 27))
    with pytest.raises(Unreadable, match=r"memory|needed more than 134 MB") as caught:
        reader.read(b"[" + b'{"a":"b"},' * 600_000 + b"{}]", ".json", "x.json")
    assert "read.memory_bytes" in caught.value.remedy
    assert reader.read(b"text", ".md", "a.md").text == "text"
    reader.close()


def test_a_text_over_the_limit_is_refused() -> None:
    reader = Reader(ReadSettings(max_characters=1_000))
    with pytest.raises(Unreadable, match="2,000 characters, over the limit of 1,000") as caught:
        reader.read(b"x" * 2_000, ".md", "a.md")
    assert "read.max_characters" in caught.value.remedy
    reader.close()


def test_a_process_that_dies_is_replaced(reader: Reader) -> None:
    reader.read(b"text", ".md", "a.md")
    first = reader._process
    assert first is not None
    os.kill(first.pid, 9)
    first.wait()
    assert reader.read(b"text", ".md", "a.md") == Content("text", markdown=True)
    assert reader._process is not first


def test_closing_ends_a_file_in_progress() -> None:
    reader = Reader(ReadSettings())
    problems: list[Exception] = []

    def read() -> None:
        try:
            reader.read(b"<b>x" * 1_900_000, ".html", "x.html")
        except Unreadable as problem:
            problems.append(problem)

    thread = threading.Thread(target=read)
    thread.start()
    until(lambda: reader._process is not None)
    reader.close()
    thread.join()
    assert "its reader ended" in str(problems[0])


def test_an_index_run_goes_on_with_the_next_file(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.docx").write_bytes(word("<w:tbl><w:tr><w:tc>" * 50_000))
    (folder / "b.md").write_text("Leave is 30 days a year.")
    library = Library.open(tmp_path / "s.db", Settings(), create=True)
    report = library.add(folder)
    assert report.added == 1
    (failure,) = report.failures
    assert (failure.document, "nested too deeply" in failure.reason) == ("a.docx", True)
    library.store.close()


def test_only_links_inside_the_folder_are_followed(tmp_path: Path) -> None:
    folder, outside = tmp_path / "docs", tmp_path / "private"
    for path in (folder, outside):
        path.mkdir()
    (outside / "salaries.md").write_text("Ada earns 90,000 a year.")
    (folder / "leave.md").write_text("Leave is 30 days a year.")
    (folder / "inside.md").symlink_to("leave.md")
    (folder / "outside.md").symlink_to(outside / "salaries.md")
    (folder / "up.md").symlink_to("../private/salaries.md")
    (folder / "twice.md").symlink_to("outside.md")
    (folder / "folder").symlink_to(outside)
    library = Library.open(tmp_path / "s.db", Settings(), create=True)
    report = library.add(folder)
    assert {one.document for one in library.store.versions()} == {"leave.md", "inside.md"}
    skipped = {one.document for one in report.failures}
    assert skipped == {"outside.md", "up.md", "twice.md", "folder"}
    assert all("out of the folder" in one.reason for one in report.failures)
    library.store.close()
