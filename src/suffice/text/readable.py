"""Removes Markdown and HTML markup, and keeps the source position of each character.

People read "See the guide", not "See the [guide](/docs/guide.md#start)". A quotation from the
readable text can still be located in the source.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

from suffice.deadline import watched
from suffice.text.sentences import Span

_INSIDE = r"(?:[^\[\]\n]|\[[^\[\]\n]{0,200}\])"
_TARGET = r"(?:\([^()\n]{0,500}(?:\([^()\n]{0,200}\)[^()\n]{0,200})?\)|\[[^\]\n]{0,200}\])"
# Tags that only format. Struck-out text, and text that merely looks like a tag, stays as it is.
_TAG = (
    "a|abbr|article|aside|b|big|blockquote|br|button|center|cite|code|dd|details|div|dl|dt|em|"
    "figcaption|figure|font|footer|h[1-6]|header|hr|i|iframe|img|input|kbd|label|li|main|mark|nav|"
    "nobr|ol|p|picture|pre|q|samp|section|small|source|span|strong|sub|summary|sup|svg|table|tbody|"
    "td|tfoot|th|thead|tr|tt|u|ul|var|video|wbr"
)
# The lines of a code block end at the first line that starts with its fence.
_TICKED = r"(?:[ \t]*+(?:[^ \t`\n][^\n]*+|`{1,2}(?:[^`\n][^\n]*+)?)?\n)*+"
_WAVED = _TICKED.replace("`", "~")
# An alternative may not read on past its own opening, or many openings take quadratic time.
_MARKS = re.compile(
    rf"""
      ^[ \t]*+```[^\n]*+\n(?P<block>{_TICKED})[ \t]*+```[ \t]*$
    | ^[ \t]*+~~~[^\n]*+\n(?P<waved>{_WAVED})[ \t]*+~~~[ \t]*$
    | <!--(?:[^<]|<(?!!)|<!(?!-)){{0,2000}}?-->
    | \{{\{{[<%][^{{}}]{{0,300}}?[%>]\}}\}} | \{{%[^{{}}]{{0,300}}?%\}}
    | \{{[:.\#][^{{}}\n]{{0,200}}\}}
    | ^[ \t]*\[[^\]\n]{{1,200}}\]:[ \t]+<?(?:https?://|www\.|mailto:|\.{{0,2}}/|\#)[^\n]*$
    | ^[ \t]*\[\^[\w-]{{1,60}}\]:[ \t]+ | (?<=[\w.,;:!?)])\[\^\d{{1,3}}\]  # footnotes
    | !\[(?P<image>{_INSIDE}{{0,300}})\]{_TARGET}
    | \[(?P<link>{_INSIDE}{{1,300}})\]{_TARGET}
    | <(?P<address>(?:https?://|mailto:)[^\s<>]{{1,500}}|[\w.+-]{{1,100}}@[\w.-]{{1,200}})>
    | </?(?:{_TAG})(?:\s[^<>]{{0,1000}})?/?>
    | \A\s*(?:(?:href|src|class|id|style|target|rel)=(?:"[^"<>]*"|'[^'<>]*')\s*)+/?>  # half a tag
    | <(?:a|img|div|span)\s+(?:[\w-]+=["'][^<>]{{0,1000}})?\Z
    | ^[ \t]*(?:!!!|\?\?\?\+?|===)[ \t]++[\w \t-]{{0,100}}+(?:"(?P<title>[^"\n]{{0,300}})")?[ \t]*$
    | ^[ \t]*+(?:>[ \t]*+)?\[!\w+\][ \t]*$
    | ^[ \t]*\#{{1,6}}[ \t]+(?P<heading>[^\n]*)$
    | ^[ \t]*>[ \t]?(?!\s*\d)
    | ``(?P<ticks>[^`\n]+(?:`[^`\n]+)*)`` | `(?P<tick>[^`\n]+)`
    | (?<![\w\\*])\*\*\*(?=\S)(?P<three>(?:[^*\n]|\*{{1,2}}(?!\*)){{1,500}}?)(?<=\S)\*\*\*(?!\w)
    | (?<![\w\\*])\*\*(?=[^\s*])(?P<bold>(?:[^*\n]|\*(?!\*)){{1,500}}?)(?<=\S)\*\*(?!\w)
    | (?<!\w)__(?=\S)(?P<under>(?:[^_\n]|_(?!_)){{1,500}}?)(?<=\S)__(?!\w)
    | (?<![\w*\\])\*(?=[^\s*])(?P<star>[^*\n]{{1,500}}?)(?<=[^\s*])\*(?![\w*])
    | (?<![\w\\])_(?=[^\s_])(?P<low>[^_\n]{{1,500}}?)(?<=[^\s_])_(?!\w)
    | \\(?P<escaped>[\\`*_{{}}\[\]()\#+.!<>-])
    | &(?:\#\d{{1,7}}|\#x[\da-fA-F]{{1,6}}|[a-zA-Z][a-zA-Z\d]{{1,30}});
    """,
    re.VERBOSE | re.MULTILINE | re.DOTALL,
)
_APART = re.compile(r"</?(?:br|p|li|tr|td|th|div|h[1-6])\b", re.IGNORECASE)
_RAISED = {"<sup": "^", "<sub": "_"}
_MARK = re.compile(r"[*_`\[<>#&\\{!?=]")
_OPENING = re.compile(r"(?:^[ \t]*+)?[*_`~\[<>#&\\{!?=]", re.MULTILINE)
_KEPT_AS_IT_IS = ("block", "waved", "tick", "ticks", "escaped", "address")
_READ_ON = ("image", "link", "title", "heading", "three", "bold", "under", "star", "low")


@dataclass(frozen=True, slots=True)
class Readable:
    """Text without markup: character `text[n]` is at `places[n]` in the source."""

    text: str
    places: tuple[int, ...]

    @classmethod
    def of(cls, source: str) -> Readable:
        if not _MARK.search(source):
            return cls.plain(source)
        kept = list(_kept(source, 0, len(source)))
        text = "".join(char for char, _ in kept)
        return cls(text, tuple(place for _, place in kept))

    @classmethod
    def plain(cls, source: str) -> Readable:
        """The source itself, unchanged."""
        return cls(source, tuple(range(len(source))))

    def bounds(self, start: int, end: int) -> Span:
        """Convert a span of the source to a span of this text, without white space at its ends."""
        first, last = bisect_left(self.places, start), bisect_left(self.places, end)
        while first < last and self.text[first].isspace():
            first += 1
        while last > first and self.text[last - 1].isspace():
            last -= 1
        return first, last

    def cut(self, start: int, end: int) -> str:
        """The readable text for a span of the source."""
        return self.text[slice(*self.bounds(start, end))]


def readable(source: str) -> str:
    """The text without markup."""
    return Readable.of(source).text


def _kept(source: str, start: int, end: int) -> Iterator[tuple[str, int]]:
    """Each character that is not markup, with its position."""
    place = start
    for match in _marks(source, start, end):
        yield from ((source[n], n) for n in range(place, match.start()))
        yield from _inside(source, match)
        place = match.end()
    yield from ((source[n], n) for n in range(place, end))


def _marks(source: str, start: int, end: int) -> Iterator[re.Match[str]]:
    """The markup in order. A search for it would stop all other threads until it ends."""
    place = start
    if not start and (match := _MARKS.match(source, start, end)):
        yield match
        place = match.end()
    for opening in watched(_OPENING.finditer(source, start, end)):
        for at in dict.fromkeys((opening.start(), opening.end() - 1)):
            if at >= place and (match := _MARKS.match(source, at, end)):
                yield match
                place = match.end()


def _inside(source: str, match: re.Match[str]) -> Iterator[tuple[str, int]]:
    for name in _KEPT_AS_IT_IS:
        if match[name] is not None:
            yield from ((source[n], n) for n in range(*match.span(name)))
            return
    for name in _READ_ON:
        if match[name] is not None:
            start, end = match.span(name)
            if name == "heading":  # "## Leave ##"
                end = start + len(match[name].rstrip("#").rstrip(" \t"))
            yield from _kept(source, start, end)
            return
    markup = match[0]
    if markup.startswith("&"):
        yield from ((char, match.start()) for char in html.unescape(markup))
    elif markup[:4].lower() in _RAISED:  # "10<sup>6</sup>" is not 106
        yield _RAISED[markup[:4].lower()], match.start()
    elif _APART.match(markup):
        yield " ", match.start()
