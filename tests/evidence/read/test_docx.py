"""Word: text in order, headings, lists, tables, pages, and invalid files."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from suffice.errors import Unreadable
from suffice.evidence.read import Content, docx, read_bytes

Write = Callable[..., bytes]
STRICT = "http://purl.oclc.org/ooxml/wordprocessingml/main"
ASKED = '<w:r><w:br w:type="page"/></w:r>'
RENDERED = "<w:r><w:lastRenderedPageBreak/></w:r>"


def run(text: str) -> str:
    return f"<w:r><w:t>{text}</w:t></w:r>"


def para(text: str, style: str = "", numbering: str = "", before: str = "") -> str:
    style = f'<w:pStyle w:val="{style}"/>' if style else ""
    number = f'<w:numPr><w:numId w:val="{numbering}"/></w:numPr>' if numbering else ""
    properties = f'<w:pPr>{style}{number}<w:tabs><w:tab w:val="left"/></w:tabs></w:pPr>'
    return f"<w:p>{properties}{before}{run(text)}</w:p>"


def table(*rows: list[str]) -> str:
    def cells(row: list[str]) -> str:
        return "".join(f"<w:tc>{cell}</w:tc>" for cell in row)

    return f"<w:tbl>{''.join(f'<w:tr>{cells(row)}</w:tr>' for row in rows)}</w:tbl>"


def read(data: bytes) -> Content:
    return read_bytes(data, ".docx", "a.docx")


def test_headings_lists_and_tables(docx_of: Write) -> None:
    content = read(
        docx_of(
            para("Handbook", "Title")
            + para("Leave", "Heading1")
            + para("Parental", "berschrift2")
            + para("Twenty weeks.")
            + para("one", numbering="3")
            + para("two", "Aufzhlung")
            + para("no item", numbering="0")
            + table([para("Name"), para("Days")], [para("Sick") + para("leave"), para("30")])
            + "<w:sdt><w:sdtContent>"
            + para("controlled")
            + "</w:sdtContent></w:sdt>",
            title="The handbook",
        )
    )
    assert content.text == (
        "# Handbook\n\n# Leave\n\n## Parental\n\nTwenty weeks.\n\n- one\n- two\n\nno item\n\n"
        "Name | Days\n--- | ---\nSick leave | 30\n\ncontrolled"
    )
    assert content.front.title == "The handbook"
    assert content.pages == ()
    assert content.markdown


def test_title_falls_back_to_the_first_heading(docx_of: Write) -> None:
    assert read(docx_of(para("a") + para("Leave", "Heading1"))).front.title == "Leave"


def test_signs_within_a_paragraph(docx_of: Write) -> None:
    signs = "<w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t><w:noBreakHyphen/>"
    assert read(docx_of(f"<w:p><w:r>{signs}</w:r></w:p>")).text == "a\tb\nc-"


def test_deletions_are_left_out_and_insertions_kept(docx_of: Write) -> None:
    gone = "<w:del><w:r><w:delText>10</w:delText><w:t>10</w:t></w:r></w:del>"
    moved = f"<w:moveFrom>{run('moved')}</w:moveFrom>"
    body = f"<w:p>{run('Now ')}{gone}{moved}<w:ins>{run('20')}</w:ins></w:p>"
    assert read(docx_of(body)).text == "Now 20"


def test_text_boxes_are_read_once(docx_of: Write) -> None:
    box = f"<w:txbxContent>{para('boxed')}</w:txbxContent>"
    body = (
        f"<w:p>{run('before ')}<w:r><mc:AlternateContent><mc:Choice><w:drawing>{box}</w:drawing>"
        f"</mc:Choice><mc:Fallback><w:pict>{box}</w:pict></mc:Fallback></mc:AlternateContent></w:r>"
        f"{run('after')}</w:p>"
    )
    assert read(docx_of(body)).text == "before after\n\nboxed"
    assert read(docx_of(table([body, para("b")]))).text == "before after boxed | b"


def test_other_namespaces(docx_of: Write) -> None:
    assert read(docx_of(para("Strict", "Heading1"), namespace=STRICT)).text == "# Strict"
    foreign = '<w:p><x:t xmlns:x="urn:other">no</x:t><w:r><w:t>yes</w:t></w:r></w:p>'
    assert read(docx_of(foreign)).text == "yes"


def pages_of(content: Content) -> list[str]:
    ends = [*content.pages[1:], len(content.text)]
    return [content.text[a:b].strip() for a, b in zip(content.pages, ends, strict=True)]


@pytest.mark.parametrize(
    ("body", "pages"),
    [
        (para("one") + para("two", before=RENDERED), ["one", "two"]),
        (para("one") + para("two", "Heading2", before=RENDERED), ["one", "## two"]),
        (f"<w:p>{run('mid')}{RENDERED}{run('dle')}</w:p>", ["mid", "dle"]),
        (para("one") + f"<w:p>{ASKED}</w:p>" + para("two"), ["one", "two"]),
        (f"<w:p>{run('one')}{ASKED}</w:p>" + para("two", before=RENDERED), ["one", "two"]),
        (para("one") + f"<w:p>{ASKED}{RENDERED}{ASKED}</w:p>" + para("3"), ["one", "", "3"]),
        (
            para("one") + table([para("a", before=RENDERED), para("b", before=RENDERED)]),
            ["one", "a | b"],
        ),
    ],
)
def test_pages(docx_of: Write, body: str, pages: list[str]) -> None:
    assert pages_of(read(docx_of(body))) == pages


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "is damaged or not a Word file"),
        (b"plain text", "is damaged or not a Word file"),
        (b"PK\x03\x04 cut off", "is damaged or not a Word file"),
        (bytes.fromhex("D0CF11E0A1B11AE1") + b"\0" * 500, "is encrypted. Remove the password"),
        (bytes.fromhex("D0CF11E0") + "WordDocument".encode("utf-16-le"), "is an old Word file"),
    ],
)
def test_what_is_no_word_file(data: bytes, reason: str) -> None:
    with pytest.raises(Unreadable, match=f"a.docx {reason}"):
        read(data)


def test_bad_parts(zip_of: Write, docx_of: Write) -> None:
    with pytest.raises(Unreadable, match=r"no word/document\.xml"):
        read(zip_of({"xl/workbook.xml": "<a/>"}))
    with pytest.raises(Unreadable, match="contains damaged XML"):
        read(docx_of("<w:p><w:r>"))
    with pytest.raises(Unreadable, match="is empty"):
        read(docx_of(f"<w:p>{ASKED}</w:p>"))


def test_bombs(docx_of: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    laughs = '<!DOCTYPE a [<!ENTITY b "ha"><!ENTITY c "&b;&b;">]>'
    with pytest.raises(Unreadable, match="contains a document type"):
        read(docx_of(para("&c;"), prolog=laughs))
    with pytest.raises(Unreadable, match="nested too deeply"):
        read(docx_of("<w:sdt>" * 5000 + para("deep") + "</w:sdt>" * 5000))
    monkeypatch.setattr(docx, "_LARGEST_PART", 1_000_000)
    with pytest.raises(Unreadable, match=r"unpacks to more than 1 MB \(word/document.xml\)"):
        read(docx_of(para("0" * 1_000_000)))
