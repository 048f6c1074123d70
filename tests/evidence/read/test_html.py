"""HTML: the visible text as Markdown."""

from __future__ import annotations

from datetime import date

import pytest

from suffice.errors import Unreadable
from suffice.evidence.read import read_bytes

PAGE = """<!DOCTYPE html><html><head><title> Leave
 policy</title><meta name="Version" content="2.10"><meta name="date" content="2025-03-01T08:00Z">
<meta name=kind content="q&amp;a"><meta name="access" content="hr, legal">
<style>p { color: red }</style><script>if (a < b) document.write("<p>no</p> <!-- ")</script></head>
<body><nav><ul><li>Home</li></ul><nav>inner</nav> still nav</nav>
<h1>Leave</h1><!-- <p>hidden</p> -->
<p>Parents get   <b>20</b>&nbsp;weeks &amp; more.</p><p>First<br>second<br/><br>third</p>
<ul><li>one<li><p>two</p><ol><li>nested</li></ol></ul>
<table><thead><tr><th>Name<th>Days</tr></thead>
<tr><td><p>Sick</p><p>leave</p></td><td></td><td>30</td></tr></table>
<pre>
# code
  x  = 1</pre><template>no</template><noscript>no</noscript>
<h3>End</h3>last words</body></html>"""


def text_of(source: str) -> str:
    return read_bytes(source.encode(), ".html", "a.html").text


def test_page() -> None:
    content = read_bytes(PAGE.encode(), ".html", "a.html")
    assert content.text == (
        "# Leave\n\nParents get 20 weeks & more.\n\nFirst\nsecond\n\nthird\n\n"
        "- one\n- two\n- nested\n\nName | Days\n--- | ---\nSick leave |  | 30\n\n"
        "```\n# code\n  x  = 1\n```\n\n### End\n\nlast words"
    )
    assert content.markdown
    front = content.front
    assert (front.title, front.version, front.kind) == ("Leave policy", "2.10", "qa")
    assert front.effective == date(2025, 3, 1)
    assert front.access == {"hr", "legal"}


def test_title_falls_back_to_the_first_heading() -> None:
    content = read_bytes(b"<pre># no</pre><h2>Sub</h2><h1>Main <i>one</i></h1>", ".htm", "a.htm")
    assert content.front.title == "Main one"


def test_effective_goes_before_date() -> None:
    source = b'<meta name="date" content="bad"><meta name="effective" content="2025-01-02">x'
    assert read_bytes(source, ".html", "a").front.effective == date(2025, 1, 2)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("<p>open <b>bold", "open bold"),
        ("a < b and <em>c</p></div></em> d", "a < b and c\n\nd"),
        ("<p>text <a href='x", "text"),
        ("<p>a<![foo[ x ]> b", "a b"),
        ("<p>a<!-- never closed <p>b", "a"),
        ("<p>a</p><script>never closed <p>b", "a"),
        ("<td>a<td>b<p>c", "a | b c"),
        ("<tr><td>a<table><tr><td>in</table><td>b</tr>after", "a\nin\nb\n\nafter"),
        ("<li></li><p>no mark</p>", "no mark"),
        ("<style-guide>kept</style-guide>", "kept"),
        ("&#0;&#xD800;x &bogus; &lt;p&gt;", "\ufffd\ufffdx &bogus; <p>"),
        ("<pre>a&#13;b", "```\na\nb\n```"),
        ("no markup at all", "no markup at all"),
    ],
)
def test_malformed_markup(source: str, text: str) -> None:
    assert text_of(source) == text


@pytest.mark.parametrize("piece", ["<", "<!--", "<a ", "<![", "<a b='", "<script>", "</", "&#"])
def test_time_is_linear_in_broken_markup(piece: str) -> None:
    """html.parser alone takes minutes on some of these."""
    assert text_of("start<p>" + piece * 30_000).startswith("start")


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("<html><script>x</script><nav>Home</nav></html>", "has no visible text"),
        ("<title>Only a title</title>", "has no visible text"),
        ("<meta name=expires content=never><p>a", "invalid date: expires is 'never'"),
        ("<meta name=kind content=widget><p>a", "unknown kind: 'widget'"),
        ("", "is empty"),
    ],
)
def test_refused(source: str, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        text_of(source)
