"""PDF: the text layer and its pages."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from suffice.errors import Unreadable
from suffice.evidence.read import read_bytes
from suffice.evidence.read.pdf import _rejoined

Write = Callable[..., bytes]


def test_pages_and_title(pdf_of: Write) -> None:
    data = pdf_of(["Parental leave\nis 20 weeks.", "", "Third page"], title="Leave  policy")
    content = read_bytes(data, ".pdf", "a.pdf")
    assert content.text == "Parental leave\nis 20 weeks.\n\n\n\nThird page"
    assert content.text[content.pages[2] :] == "Third page"
    assert content.pages == (0, 29, 31)
    assert content.front.title == "Leave policy"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        (
            "Group Life Insurance (SGLI)\nIf you serve, you are covered.",
            "Group Life Insurance (SGLI)",
        ),
        ("text", None),
        ("You are covered from the first day.", None),
        ("Order: 7\nSomething", None),
    ],
)
def test_without_a_title_the_first_line_is_one_if_it_reads_so(
    pdf_of: Write, text: str, title: str | None
) -> None:
    assert read_bytes(pdf_of([text]), ".pdf", "a.pdf").front.title == title


def test_word_split_at_a_line_end(pdf_of: Write) -> None:
    text = read_bytes(pdf_of(["the para-\nmeter of COVID-\n19"]), ".pdf", "a.pdf").text
    assert "\ufffe" not in text
    assert "\x02" not in text
    assert text.replace("-\n", "-") in ("the parameter of COVID-19", "the para-meter of COVID-19")


@pytest.mark.parametrize(
    ("extracted", "mended"),
    [
        ("para\ufffemeter", "parameter"),
        ("schön\x02ste", "schönste"),
        ("2024\ufffe2025", "2024-2025"),
        ("COVID\ufffe19", "COVID-19"),
        ("Anna\ufffeMaria", "Anna-Maria"),
    ],
)
def test_soft_hyphens(extracted: str, mended: str) -> None:
    assert _rejoined(extracted) == mended


def test_encrypted(locked_pdf: bytes) -> None:
    with pytest.raises(Unreadable, match=r"^a\.pdf is encrypted\. Remove the password"):
        read_bytes(locked_pdf, ".pdf", "a.pdf")


def test_scan_without_text(pdf_of: Write) -> None:
    with pytest.raises(Unreadable, match=r"has no text layer\. Run OCR"):
        read_bytes(pdf_of(["", ""]), ".pdf", "a.pdf")


@pytest.mark.parametrize("data", [b"", b"%PDF-1.4 junk", b"plain text", b"\x00" * 100])
def test_damaged(data: bytes) -> None:
    with pytest.raises(Unreadable, match="is damaged or not a PDF"):
        read_bytes(data, ".pdf", "a.pdf")


def test_many_threads(pdf_of: Write) -> None:
    files = [pdf_of([f"page {n}" for n in range(start, start + 20)]) for start in range(16)]
    with ThreadPoolExecutor(8) as pool:
        contents = list(pool.map(lambda data: read_bytes(data, ".pdf", "a"), files))
    assert all(c.text.startswith(f"page {n}\n") for n, c in enumerate(contents))


def test_pdfium_is_loaded_only_for_a_pdf() -> None:
    code = "import sys, suffice.evidence.read; sys.exit('pypdfium2' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
