"""A rendered text shows what it says: no other Markdown parser finds anything else in it."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from benchmarks.hidden import PIECES
from suffice.text.released import Renderer, rendered, rendered_json, without_invisible

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
MARKUP = {"html_inline", "html_block", "link_open", "image"}


@pytest.mark.parametrize(
    ("source", "text", "removed"),
    [
        ("3 days [1].<!-- 17 days -->", "3 days [1].", (" 17 days ",)),
        ('<b title="17 days">3 days</b>', "3 days", ('title="17 days"',)),
        ("<img src=x onerror=alert(1)>3 days", "3 days", ("src=x onerror=alert(1)",)),
        ("<script>alert(1)</script>", "alert(1)", ()),
        ("[1](https://a.org/17-days) yes", "[1] yes", ("https://a.org/17-days",)),
        ("[the handbook](javascript:x)", "the handbook", ("javascript:x",)),
        ('![a chart](https://a.org/?q=1 "17")', "a chart", ('https://a.org/?q=1 "17"',)),
        ("[[1]](a) [![b](c)](d)", "[1] b", ("a", "c", "d")),
        ("[1]: https://a.org\n[2]: Handbook", "[1]\n[2] Handbook", ("https://a.org",)),
        ("【4:0†17 days are fine】", "【4】", ("17 days are fine",)),
        ("3\U000e0031\U000e0037 days", "3 days", ("\U000e0031\U000e0037",)),
        ("3 days\ufe00\ufe01\u202e\x07", "3 days", ("\ufe00\ufe01\u202e\x07",)),
        ("```python title=17\nx\n```", "```python\nx\n```", ("title=17",)),
        ("&#49;7 days", "17 days", ()),
        ("10<sup>6</sup>", "10^6", ()),
        ("a<br>b", "a\nb", ()),
        ("<https://a.org/?b=1&c=2>", "https://a.org/?b=1&c=2", ()),
        ("&lt;script&gt;", "&lt;script>", ()),
        ("<your-name>, List<int>, a<b", "&lt;your-name>, List&lt;int>, a&lt;b", ()),
        ("<scr<b>ipt>", "&lt;script>", ()),
        ("&#4<b>9;7 days", "&amp;#49;7 days", ()),
        ("`a\nb` <img src=x> `c`", "\\`a\nb` <img src=x> `c\\`", ()),
        ("`a | <img src=x>`\n---|---", "`a | <img src=x>`\n\n---|---", ()),
        ("| `a | <img src=x>` |", "| \\`a | \\` |", ("src=x",)),
        ("> ```\n> x\n<b>", "> \n> x\n", ()),
        ("<!-- open", "&lt;!-- open", ()),
        ("[text](no address here)", "[text] (no address here)", ()),
    ],
)
def test_what_is_shown_stays_and_the_rest_is_removed(
    source: str, text: str, removed: tuple[str, ...]
) -> None:
    assert (rendered(source).text, rendered(source).removed) == (text, removed)


@pytest.mark.parametrize(
    "text",
    [
        "# Leave\n\n**18 weeks** [1], [2, 3] *or* _more_ ~~no~~.\n\n- a\n  - b\n1. c\n\n> quoted",
        "| Plan | Price |\n|---|---|\n| Basic | $10 |",
        "Run `ls -l | grep <name>` or `a[1](x)`:\n\n```bash\ncurl -X POST <url> <!-- x -->\n```",
        "1. First:\n\n   ```html\n   <img src=x>\n   ```\n2. Second",
        "x < 5, 3 <= 4, AT&T, R&D, 5 & 6, a_b_c, $x$, https://a.org/?a=1&b=2 me@x.org",
        "⚠️ 👨\u200d👩\u200d👧 naïve 日本語 18\xa0weeks “quoted” – [x] [ ] f(x) (see [1])",
        "نمی\u200cخواهم",
    ],
)
def test_ordinary_markdown_stays_as_it_is(text: str) -> None:
    assert rendered(text).text == text
    assert rendered(text).removed == ()


DRAFTS = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=14).map("".join),
    st.text(alphabet="<>!-[]()`~&#;x1\\|:\n\r \t*\"'=/>.†【】\u200d\ufe0f\u202e", max_size=60),
)


@given(DRAFTS, st.lists(st.integers(0, 200), max_size=6))
@settings(max_examples=300, deadline=None)
def test_another_parser_finds_no_more_in_a_rendered_text(source: str, cuts: list[int]) -> None:
    done = rendered(source)
    environment: dict[str, object] = {}
    tokens = PARSER.parse(done.text, environment)
    kinds = {token.type for one in tokens for token in (one, *(one.children or ()))}
    assert not kinds & MARKUP
    assert not environment.get("references")
    assert rendered(done.text).text == done.text
    assert rendered(done.text).removed == ()
    renderer, places = Renderer(), sorted({0, *(min(n, len(source)) for n in cuts), len(source)})
    pieces = [source[a:b] for a, b in pairwise(places)]
    assert "".join(map(renderer.feed, pieces)) + renderer.close() == done.text


@pytest.mark.parametrize(
    "shape",
    [
        "<a ",
        '<a b="',
        "<!--",
        "[",
        "](",
        "[a](b ",
        "`",
        "`` ` ",
        "&a",
        "<",
        "![",
        "- ",
        "【1",
        "> ",
    ],
)
def test_little_is_held_back_and_each_character_is_passed_once(shape: str) -> None:
    """The source that waits for its end stays short, however long the text grows."""
    renderer, longest = Renderer(), 0
    for char in shape * (12_000 // len(shape)):
        renderer.feed(char)
        longest = max(longest, len(renderer._source) - renderer._place)
    assert longest < 2_500


def test_json_is_rendered_string_by_string() -> None:
    source = '{"a<!-- 17 -->":  "x [1](http://a.b)", "b": 1.50, "c": "List<int>", "d": "\\u202e"}'
    done = rendered_json(source)
    assert done.text == '{"a":  "x [1]", "b": 1.50, "c": "List<int>", "d": ""}'
    assert done.removed == (" 17 ", "http://a.b", "\u202e")
    assert rendered_json("no <b>JSON</b>").text == "no JSON"
    call = json.dumps({"html": "<b>a</b>", "x": "\U000e0041\u202e"})
    assert json.loads(without_invisible(call).text) == {"html": "<b>a</b>", "x": ""}
