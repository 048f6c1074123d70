"""Markdown and plain text, and the decoding that all text formats share."""

from __future__ import annotations

import pytest

from suffice.errors import Unreadable
from suffice.evidence.read import read_bytes


def test_whole_file_is_the_text_and_body_stands_after_the_front_matter() -> None:
    source = "---\ntitle: Leave\nversion: 2.10\n---\n# Parental\n\nTwenty weeks.\n"
    content = read_bytes(source.encode(), ".md", "leave.md")
    assert content.text == source
    assert content.text[content.body :] == "# Parental\n\nTwenty weeks.\n"
    assert (content.front.title, content.front.version) == ("Leave", "2.10")
    assert content.markdown


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ("Intro\n\n# Leave #\n\ntext", "Leave"),
        ("```\n# a comment\n```\n# Real\n", "Real"),
        ("~~~\n```\n# a comment\n~~~\n# Real\n", "Real"),
        ("# \n# C# guide\n", "C# guide"),
        ("## Only a second level\n#hashtag\n", None),
    ],
)
def test_title_is_the_first_heading(source: str, title: str | None) -> None:
    assert read_bytes(source.encode(), ".markdown", "a").front.title == title


def test_plain_text_has_front_matter_but_no_headings() -> None:
    content = read_bytes(b"---\nkind: faq\n---\n# not a heading", ".TXT", "a.txt")
    assert content.front.kind == "qa"
    assert content.front.title is None
    assert not content.markdown


@pytest.mark.parametrize(
    "data",
    [b"\xef\xbb\xbfCaf\xc3\xa9\r\nopen\r", "Café\r\nopen\n".encode("utf-16")],
    ids=["utf-8 with mark", "utf-16 with mark"],
)
def test_decoding_drops_the_mark_and_unifies_line_ends(data: bytes) -> None:
    assert read_bytes(data, ".txt", "a.txt").text == "Café\nopen\n"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"Caf\xe9 open", r"is not valid UTF-8 \(byte 0xe9 at offset 3\)\. Save it as UTF-8\."),
        (b"\xff\xfea\x00\x00\xd8", r"is not valid UTF-16 \(byte 0x00 at offset 4\)"),
        (b"PK\x00\x03 abc", "looks like binary data, not text"),
        (b"\x01\x02\x03\xff\xfe\x04 some text", "looks like binary data, not text"),
        (b"\x01\x02\x03 valid utf-8", "looks like binary data, not text"),
        (b"", "is empty"),
        (b"\xef\xbb\xbf \r\n\t\n", "is empty"),
        (b"---\ntitle: A\n---\n \n", "is empty after its front matter"),
    ],
)
def test_what_is_not_text_is_refused(data: bytes, reason: str) -> None:
    for suffix in (".txt", ".md"):
        with pytest.raises(Unreadable, match=rf"^a\.md {reason}"):
            read_bytes(data, suffix, "a.md")


def shown_as(source: str) -> str:
    return read_bytes(source.encode(), ".md", "a.md").text.strip()


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("<h2>Fees</h2>\n<p>Paid\nmonthly.</p>", "## Fees\n\nPaid monthly."),
        (
            "<p>Either:</p><ul><li><p>a form</p></li><li>a call</li></ul>",
            "Either:\n\n- a form\n\n- a call",
        ),
        (
            "See <a href='https://example.org'>the form</a>&nbsp;&amp; pay.",
            "See the form\xa0& pay.",
        ),
        (
            "import Tabs from '@theme/Tabs';\n\n# Setup\n\n<Tabs>\n\nRun it.\n\n</Tabs>",
            "# Setup\n\nRun it.",
        ),
        ('Open <Path to="Settings > Cameras" /> first.', "Open Settings > Cameras first."),
        (":::warning[Mind this]\n\nIt is slow.\n\n:::", "Mind this\n\nIt is slow."),
        ("{% include note.html %}\nIt is free.{{< br >}}", "It is free."),
        ("Before.<!-- hidden\n\ntext -->\n\nAfter.", "Before.\n\nAfter."),
        ("{/* hidden */}It is free.", "It is free."),
        ("Replace <your-name> in x < 5.", "Replace <your-name> in x < 5."),
        (
            "Use `<div>` and\n\n```html\n<p>text</p>\n```",
            "Use `<div>` and\n\n```html\n<p>text</p>\n```",
        ),
        ("<script>alert(1)</script>Text.", "Text."),
        (
            "Import duty is 7 %.\n\nimport permits are free.",
            "Import duty is 7 %.\n\nimport permits are free.",
        ),
    ],
)
def test_markup_in_markdown_is_read_as_the_text_that_it_shows(source: str, text: str) -> None:
    assert shown_as(source) == text


def test_a_table_in_html_becomes_rows_that_repeat_what_covers_them() -> None:
    source = """<table><tr><th>Goods</th><th colspan="2">Duty</th></tr>
    <tr><td rowspan="2">Beer | ale</td><td>import</td><td><p>16</p></td></tr>

    <tr><td>excise</td><td>60</td></tr></table>"""
    assert shown_as(source).split("\n") == [
        "| Goods | Duty |  |",
        "| --- | --- | --- |",
        "| Beer \\| ale | import | 16 |",
        "| Beer \\| ale | excise | 60 |",
    ]


@pytest.mark.parametrize(
    "item",
    [
        '<Faq id="a" question="Is it free of charge?">\n\nYes.\n\n</Faq>',
        "<details>\n<summary>Is it free of charge?</summary>\n\nYes.\n\n</details>",
    ],
)
def test_the_question_of_a_component_heads_its_answer_alone(item: str) -> None:
    text = shown_as(f"## Fees\n\nSome.\n\n{item}\n\nMore on fees.")
    assert text == (
        "## Fees\n\nSome.\n\n### Is it free of charge?\n\nYes.\n\n## Fees\n\nMore on fees."
    )
