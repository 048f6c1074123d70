"""Reads PDF: the text layer of each page, as extracted by pdfium."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import closing
from itertools import accumulate
from threading import Lock
from typing import Any

from suffice.errors import Unreadable
from suffice.evidence.read.source import (
    Content,
    FrontMatter,
    check_elements,
    check_text,
    unix_lines,
)

_PDFIUM = Lock()  # pdfium is not thread-safe
_BREAK = "\n\n"
_TITLE = re.compile(r"[^.!?:;|]{3,119}[^.!?:;|,\s]")
_SPLIT_WORD = re.compile(r"(?<=[^\W\d_])[\ufffe\x02](?=[^\W\d_A-Z])")


def read(data: bytes) -> Content:
    """The text of all pages. `pages` holds the offset of each page."""
    with _PDFIUM:
        title, texts = _extract(data)
    if not any(text.strip() for text in texts):
        raise Unreadable("has no text layer", remedy="Run OCR on it first, then read the result.")
    starts = accumulate((len(text) + len(_BREAK) for text in texts[:-1]), initial=0)
    front = FrontMatter(title=" ".join(title.split()) or _first_line(texts) or None)
    return Content(text=_BREAK.join(texts), front=front, pages=tuple(starts))


def _first_line(texts: Sequence[str]) -> str:
    """The first line if it looks like a title, not like a sentence or form field. Few PDFs declare
    a title."""
    lines = (line.strip() for text in texts for line in text.splitlines())
    first = next(filter(None, lines), "")
    begins = first[:1].isupper() or first[:1].isdigit()
    return first if begins and _TITLE.fullmatch(first) else ""


def _extract(data: bytes) -> tuple[str, list[str]]:
    """Title and page texts. All handles are closed, because pdfium would keep their memory."""
    try:
        import pypdfium2  # takes 80 ms to load and is rarely needed
    except ImportError as problem:
        raise Unreadable(
            "is a PDF file, which requires the optional extra 'pdf'",
            remedy="Run: pip install 'suffice[pdf]'",
        ) from problem
    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        if "password" in str(error).lower():
            remedy = "Remove the password, then read it again."
            raise Unreadable("is encrypted", remedy=remedy) from error
        reason = str(error).rstrip(".")
        raise Unreadable(f"is damaged or not a PDF: {reason}") from error
    with closing(document):
        check_elements(len(document))
        texts, size = [], 0
        for index in range(len(document)):  # pages can share their content
            texts.append(_page_text(document, index))
            size += len(texts[-1])
            check_text(size)
        return document.get_metadata_value("Title"), texts


def _page_text(document: Any, index: int) -> str:
    with closing(document[index]) as page, closing(page.get_textpage()) as layer:
        return _rejoined(unix_lines(layer.get_text_range()))


def _rejoined(text: str) -> str:
    """Rejoin words split across lines, where pdfium puts U+FFFE or U+0002 instead of the hyphen.

    The hyphen is restored in a possible range or name (2024-2025, COVID-19).
    """
    return re.sub("[\ufffe\x02]", "-", _SPLIT_WORD.sub("", text))
