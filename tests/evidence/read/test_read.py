"""The entry points of the readers: files, limits, and properties for arbitrary bytes."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from suffice.errors import Unreadable
from suffice.evidence import read
from suffice.evidence.read import SUFFIXES, Content, load_file, read_bytes

Write = Callable[..., bytes]
MARKUP = st.lists(
    st.sampled_from(
        '--- \n # {} [] " : , ; | <p> </p> <td> <tr> <li> <br> <pre> <nav> <!-- --> <h1> <title>'
        " <script> &amp; &# title: access: kind: expires: 2025-01-01 a 1 \\u0000 \\ud800 é".split(
            " "
        )
    )
).map(lambda pieces: "".join(pieces).encode())


def check(data: bytes, suffix: str) -> None:
    """Either a content that holds what it promises, or `Unreadable`."""
    try:
        content = read_bytes(data, suffix, "a file")
    except Unreadable as flaw:
        message = flaw.message
    else:
        check_content(content)
        return
    assert message.startswith("a file ")
    assert message.endswith(".")


def check_content(content: Content) -> None:
    size = len(content.text)
    assert content.text.strip()
    assert content.text.encode()
    assert "\r" not in content.text
    assert "\0" not in content.text
    assert 0 <= content.body <= size
    assert list(content.pages) == sorted(content.pages)
    assert all(0 <= start <= size for start in content.pages)


@settings(max_examples=400, deadline=None)
@given(
    data=st.binary() | st.text().map(str.encode) | MARKUP, suffix=st.sampled_from(sorted(SUFFIXES))
)
@example(data=b"<", suffix=".html")
def test_any_bytes(data: bytes, suffix: str) -> None:
    check(data, suffix)


@settings(max_examples=200, deadline=None)
@given(cut=st.integers(0, 3000), place=st.integers(0, 3000), junk=st.binary(max_size=8))
def test_damaged_files(pdf_of: Write, docx_of: Write, cut: int, place: int, junk: bytes) -> None:
    body = "<w:p><w:r><w:t>one</w:t><w:lastRenderedPageBreak/><w:t>two</w:t></w:r></w:p>"
    for data, suffix in ((pdf_of(["one", "two"]), ".pdf"), (docx_of(body), ".docx")):
        start = place % len(data)
        check(data[:start] + junk + data[start + len(junk) :], suffix)
        check(data[: cut % len(data)], suffix)


def test_file_comes_with_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "a.MD"
    path.write_bytes(b"# Leave\r\n")
    data = load_file(path, max_bytes=9)
    content = read_bytes(data, path.suffix, path.name)
    assert data == b"# Leave\r\n"
    assert content.text == "# Leave\n"


def test_file_over_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "big.txt"
    with path.open("wb") as file:
        file.truncate(50_000_000)
    with pytest.raises(Unreadable) as caught:
        load_file(path, max_bytes=20_000_000)
    assert caught.value.message == "big.txt is 50.0 MB, over the limit of 20.0 MB."
    assert caught.value.remedy == "Split the file, or raise read.max_bytes in the settings."


def test_file_that_grows_after_the_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log.txt"
    path.write_text("x" * 11)
    looks = iter([lambda size, limit: None, read.check_size])
    monkeypatch.setattr(read, "check_size", lambda size, limit: next(looks)(size, limit))
    with pytest.raises(Unreadable, match="11 bytes, over the limit of 10 bytes"):
        load_file(path, max_bytes=10)


def test_what_is_no_readable_file(tmp_path: Path) -> None:
    (tmp_path / "folder.md").mkdir()
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "loop.md").symlink_to(tmp_path / "loop.md")
    for name, reason in [
        ("folder.md", "is a folder"),
        ("pipe.md", "is not a regular file"),
        ("gone.md", "no longer exists"),
        ("loop.md", "could not be read"),
        ("nul\0.md", "could not be read"),
    ]:
        with pytest.raises(Unreadable, match=reason):
            load_file(tmp_path / name, 100)


def test_file_without_the_right_to_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulated: the superuser may read everything."""

    def refuse(self: Path, mode: str) -> None:
        raise PermissionError(13, "Permission denied")

    (tmp_path / "a.md").write_text("secret")
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(Unreadable, match=r"cannot be read: permission denied\. Give the user"):
        load_file(tmp_path / "a.md", 100)


@pytest.mark.parametrize("suffix", ["", ".exe"])
def test_unknown_suffix(suffix: str) -> None:
    with pytest.raises(
        Unreadable, match=f"unsupported suffix \\('{suffix}'\\). Supported suffixes: .csv, .docx"
    ):
        read_bytes(b"text", suffix, "a")
