"""Small files made by hand: a PDF and a Word file writer, enough for these tests."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Sequence

import pytest

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
MC = "http://schemas.openxmlformats.org/markup-compatibility/2006"
LOCKED = f"/Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <{'ab' * 32}> /U <{'cd' * 32}> >>"
STYLES = f"""<w:styles xmlns:w="{W}">
<w:style w:styleId="berschrift2"><w:name w:val="heading 2"/></w:style>
<w:style w:styleId="Aufzhlung"><w:name w:val="List Bullet"/></w:style>
</w:styles>"""


def write_pdf(pages: Sequence[str], title: str = "", trailer: str = "") -> bytes:
    """A PDF with the given text on each page, one line of text a line."""
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Count {len(pages)} /Kids [{kids}] >>",
        f"<< /Title ({title}) >>",
    ]
    font = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
    for n, text in enumerate(pages):
        shown = " ".join(f"({line}) Tj 0 -14 Td" for line in text.split("\n") if line)
        stream = f"BT /F1 12 Tf 72 720 Td {shown} ET" if shown else ""
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * n} 0 R"
            f" /Resources << /Font << /F1 {font} >> >> >>"
        )
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    out, places = "%PDF-1.4\n", []
    for number, body in enumerate(objects, start=1):
        places.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    return (
        f"{out}xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer\n"
        f"<< /Size {len(objects) + 1} /Root 1 0 R /Info 3 0 R /ID [<01> <01>] {trailer} >>\n"
        f"startxref\n{len(out)}\n%%EOF\n"
    ).encode()


def write_docx(body: str, title: str = "", namespace: str = W, prolog: str = "") -> bytes:
    """A Word file with the given XML in its body."""
    core = f'<c xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{title}</dc:title></c>'
    document = (
        f'{prolog}<w:document xmlns:w="{namespace}" xmlns:mc="{MC}">'
        f"<w:body>{body}</w:body></w:document>"
    )
    return write_zip(
        {"word/document.xml": document, "word/styles.xml": STYLES, "docProps/core.xml": core}
    )


def write_zip(parts: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return buffer.getvalue()


@pytest.fixture(scope="session")
def pdf_of() -> Callable[..., bytes]:
    return write_pdf


@pytest.fixture(scope="session")
def locked_pdf() -> bytes:
    """A PDF that asks for a password."""
    return write_pdf(["Secret"], trailer=LOCKED)


@pytest.fixture(scope="session")
def docx_of() -> Callable[..., bytes]:
    return write_docx


@pytest.fixture(scope="session")
def zip_of() -> Callable[..., bytes]:
    return write_zip
