"""Reads Markdown and plain text. HTML, MDX, Liquid and directives in Markdown are read as the text
that they show; a text without them stays unchanged."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser

from suffice.evidence.read.frontmatter import split
from suffice.evidence.read.html import parsable
from suffice.evidence.read.source import Content, check_elements, check_text, decode, first_heading
from suffice.text.released import ELEMENTS

# A short first line followed by a blank line, and not a sentence.
_TITLE_LINE = re.compile(r"\s*(\S[^\n]{0,78}[^\s.!?:;,])[ \t]*\n[ \t]*\n")

_MARKUP = re.compile(
    r"</?[A-Za-z!]|\{[%:/*<]|\{\{[<%]|&[A-Za-z#]|^:{3,}|^(?:import|export)\s", re.MULTILINE
)
_FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})(.*)")
_CODE_SPAN = re.compile(r"(?<!`)(`{1,3}+)[^`\n]++\1(?!`)")
# Code stands aside while tags are read, so that none is found in it.
_ASIDE, _END = "\ue000", "\ue001"
_KEPT = re.compile(f"{_ASIDE}(\\d+){_END}")
_HIDDEN = re.compile(
    r"""\{%[^\n%]*+%\} | \{\{[<%][^\n{}]*+\}\}             # tags of Liquid and Hugo
      | ^\{:[^\n}]*+\}[ \t]*+$                        # attributes of kramdown
      | ^import[ ][^\n;'"]*+(?:'[^'\n]*+'|"[^"\n]*+");?+[ \t]*+$
      | ^export[ ](?:const|default|function)[^\n]*+$
      | ^[ \t]*+:{3,}+[ \t]*+(?:\{?+[\w-]++\}?+(?:\[([^\]\n]*+)\])?+)?+[ \t]*+
                                                        # a directive: its title stays
      | =[ ]?+\{[^{}]*+(?:\{[^{}]*+\}[^{}]*+)*+\}          # an attribute that is an expression
    """,
    re.VERBOSE | re.MULTILINE,
)
_BLANK = re.compile(r"\n[ \t]*\n")
_MANY_BREAKS = re.compile(r"\n(?:[ \t]*+\n){2,}+")
_HEADING = re.compile(r"(#{1,6})[ \t]+\S")
_CLOSING = re.compile(r"</([A-Za-z][\w.:-]*)")
_WORD = re.compile(r"[^\W\d_]{2,}+")

_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_DROPPED = frozenset("script style template noscript svg nav iframe".split())
_CONTAINERS = frozenset(
    """address article aside blockquote body center dd details dialog div dl dt fieldset figcaption
    figure footer form header hr legend main menu section tbody tfoot thead""".split()
)
_ENDED = frozenset((*_HEADINGS, "p", "li", "summary"))
_NOT_WORDS = frozenset(
    "class classname style id d points viewbox transform srcset sizes rel".split()
)
_LONGEST_SPAN = 100
"""Rows or columns that one cell of a table may cover."""


def read(data: bytes) -> Content:
    """Markdown. The first `# ` heading is the title unless a title is declared."""
    text = decode(data)
    front, body = split(text)
    if _MARKUP.search(text, body):
        text = text[:body] + shown(text[body:])
    title = front.title or first_heading(text, body)
    return Content(text=text, front=replace(front, title=title), body=body, markdown=True)


def read_plain(data: bytes) -> Content:
    """Plain text. `text` is the whole file; `body` starts after the front matter and title line."""
    text = decode(data)
    front, body = split(text)
    line = _TITLE_LINE.match(text, body)
    if line and not front.title and text[line.end() :].strip():
        return Content(text=text, front=replace(front, title=line[1]), body=line.end())
    return Content(text=text, front=front, body=body)


def shown(source: str) -> str:
    """Markdown without HTML, components and template tags: headings, lists, tables and paragraphs
    in HTML become Markdown, and code stays as it is."""
    code: list[str] = []
    text = _without_code(source.translate({ord(_ASIDE): None, ord(_END): None}), code)
    text = _HIDDEN.sub(lambda found: found[1] or "", parsable(_without_comments(text)))
    reader = _Shown(frozenset(_CLOSING.findall(text)))
    reader.feed(text)
    reader.finish()
    text = _MANY_BREAKS.sub("\n\n", "".join(reader.parts))
    return _KEPT.sub(lambda found: code[int(found[1])], text)


def _without_code(text: str, code: list[str]) -> str:
    """The text with a mark in place of each code block and code span."""

    def aside(span: str) -> str:
        code.append(span)
        return f"{_ASIDE}{len(code) - 1}{_END}"

    done: list[str] = []
    prose: list[str] = []
    block: list[str] = []
    fence = ""
    for line in text.splitlines(keepends=True):
        mark = _FENCE.match(line)
        if fence:
            block.append(line)
            if mark and mark[1].startswith(fence) and not mark[2].strip():
                done.append(aside("".join(block).rstrip("\n")) + "\n")
                block, fence = [], ""
        elif mark and "`" not in mark[2]:
            done.append(_CODE_SPAN.sub(lambda span: aside(span[0]), "".join(prose)))
            prose, block, fence = [], [line], mark[1]
        else:
            prose.append(line)
    prose += block  # a block that nothing closes is text
    done.append(_CODE_SPAN.sub(lambda span: aside(span[0]), "".join(prose)))
    return "".join(done)


def _without_comments(text: str) -> str:
    """The text without comments of MDX: {/* … */}."""
    parts, last = [], 0
    while (start := text.find("{/*", last)) >= 0 and (end := text.find("*/}", start)) >= 0:
        parts.append(text[last:start])
        last = end + 3
    return "".join([*parts, text[last:]])


class _Shown(HTMLParser):
    """Collects Markdown. Text outside of HTML blocks passes as it is; text inside of them is put on
    one line. Words in the attributes of a component are text, and those of a component around other
    text are its heading."""

    def __init__(self, closed: frozenset[str]) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._closed = closed
        self._size = self._tags = 0
        self._block: list[str] | None = None
        self._prefix = ""
        self._lists: list[str] = []
        self._cells: list[_Cell] | None = None
        self._spans: dict[int, tuple[int, str]] = {}
        """For each column that a cell above still covers: the rows left, and its text."""
        self._table, self._rows = False, 0
        self._dropping = ""
        self._level, self._heading = 0, ""
        """The heading above this place."""
        self._headed: list[tuple[str, int, str]] = []
        """The open components with a heading, each with the heading above it."""
        self._resume: tuple[int, str] | None = None
        """The heading that holds again after a component with a heading of its own."""

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._start(tag, attrs, alone=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._start(tag, attrs, alone=False)

    def _start(self, tag: str, attrs: list[tuple[str, str | None]], *, alone: bool) -> None:
        self._tags += 1
        check_elements(self._tags)
        source = self.get_starttag_text() or ""
        name = re.split(r"[\s/>]", source[1:], maxsplit=1)[0]
        if self._dropping:
            return
        if tag in _DROPPED and not alone:
            self._dropping = tag
        elif name != tag or tag not in ELEMENTS:
            if alone or name in self._closed:
                self._component(name, attrs, alone=alone)
            else:
                self.handle_data(source)  # "<your-name>"
        elif tag == "img":
            self.handle_data(dict(attrs).get("alt") or "")
        elif tag == "br":
            self.handle_data("\n" if self._block is None and self._cells is None else " ")
        elif tag in ("td", "th"):
            self._cells = [] if self._cells is None else self._cells
            self._cells.append(_Cell.of(dict(attrs)))
        elif tag in ("tr", "table"):
            self._end_row()
            if tag == "table":
                self._table, self._rows, self._spans = True, 0, {}
        elif self._cells is None:
            self._start_block(tag)
        elif tag in _CONTAINERS or tag in ("p", "li"):
            self.handle_data(" ")

    def _start_block(self, tag: str) -> None:
        if tag in _HEADINGS:
            self._open("#" * _HEADINGS[tag] + " ")
        elif tag == "summary":
            self._open("#" * min(self._level + 1, 6) + " ")
            self._headed.append(("details", self._level, self._heading))
        elif tag in ("ul", "ol"):
            self._end_block()
            self._lists.append("- " if tag == "ul" else "1. ")
        elif tag == "li":
            self._open((self._lists or ["- "])[-1])
        elif tag == "p":
            if self._block is None or "".join(self._block).strip():
                self._open("")
        elif tag in _CONTAINERS:
            self._end_block()

    def handle_endtag(self, tag: str) -> None:
        if self._dropping:
            self._dropping = "" if tag == self._dropping else self._dropping
            return
        if tag in ("tr", "table"):
            self._end_row()
            self._table = self._table and tag == "tr"
        elif self._cells is None and (
            tag in _CONTAINERS or tag in (*_HEADINGS, "p", "li", "summary")
        ):
            self._end_block()
        elif tag in ("ul", "ol"):
            self._end_block()
            self._lists[-1:] = []
        if self._headed and self._headed[-1][0] == tag:
            self._resume = self._headed.pop()[1:]

    def handle_data(self, data: str) -> None:
        between = self._block is None and self._cells is None and (self._lists or self._table)
        if self._dropping or not data or (between and data.isspace()):
            return
        if self._cells is not None:
            if self._cells:
                self._cells[-1].text.append(data)
        elif self._block is None:
            self._emit(data)
        else:
            blank = None if self._lists else _BLANK.search(data)
            self._block.append(data[: blank.start()] if blank else data)
            if blank:
                self._end_block()
                self.handle_data(data[blank.start() :])

    def finish(self) -> None:
        """Close all elements that are still open."""
        self.close()
        self._end_row()
        self._end_block()

    def _component(
        self, name: str, attrs: Sequence[tuple[str, str | None]], *, alone: bool
    ) -> None:
        words = [
            " ".join(value.split())
            for key, value in attrs
            if value and key not in _NOT_WORDS and " " in value and len(_WORD.findall(value)) > 1
        ]
        begins = not "".join(self.parts[-2:]).rpartition("\n")[2].strip()
        if alone or not words or not begins or self._block is not None or self._cells is not None:
            self.handle_data(". ".join(words))
            return
        self._headed.append((name.lower(), self._level, self._heading))
        self._emit(f"\n\n{'#' * min(self._level + 1, 6)} {'. '.join(words)}\n\n")

    def _open(self, prefix: str) -> None:
        self._end_block()
        self._block, self._prefix = [], prefix

    def _end_block(self) -> None:
        if self._block is None:
            return
        text, self._block = " ".join("".join(self._block).split()), None
        if text and self._lists and self._prefix:
            self._emit(f"\n{self._prefix}{text}\n")
        elif text:
            self._emit(f"\n\n{self._prefix}{text}\n\n")

    def _end_row(self) -> None:
        self._end_block()
        if self._cells is None:
            return
        cells, self._cells = self._cells, None
        row: list[str] = []
        waiting = list(reversed(cells))
        while waiting or len(row) in self._spans:
            left, text = self._spans.get(len(row), (0, ""))
            if left:
                self._spans[len(row)] = (left - 1, text)
                if left == 1:
                    del self._spans[len(row)]
                row.append(text)
                continue
            cell = waiting.pop()
            text = " ".join("".join(cell.text).split()).replace("|", "\\|")
            for column in range(cell.columns):
                if cell.rows > 1:
                    self._spans[len(row)] = (cell.rows - 1, text[:_LONGEST_SPAN])
                row.append("" if column else text)
        if any(row):
            self._rows += 1
            rule = f"| {' | '.join(['---'] * len(row))} |\n" if self._rows == 1 else ""
            self._emit(f"{'' if self._rows > 1 else chr(10) * 2}| {' | '.join(row)} |\n{rule}")

    def _emit(self, text: str) -> None:
        """Add Markdown, after the heading that holds again if other text than a heading follows."""
        for line in text.split("\n"):
            if heading := _HEADING.match(line):
                self._level, self._heading = len(heading[1]), line
                self._resume = None
            elif line.strip() and self._resume:
                (self._level, self._heading), self._resume = self._resume, None
                if self._heading:
                    self.parts.append(f"\n\n{self._heading}\n\n")
        self._size += len(text)
        check_text(self._size)
        self.parts.append(text)


class _Cell:
    """An open cell of a table."""

    __slots__ = ("columns", "rows", "text")

    def __init__(self, columns: int, rows: int) -> None:
        self.text: list[str] = []
        self.columns, self.rows = columns, rows

    @classmethod
    def of(cls, attrs: dict[str, str | None]) -> _Cell:
        def span(name: str) -> int:
            value = (attrs.get(name) or "").strip()
            return max(1, min(int(value), _LONGEST_SPAN)) if value.isdecimal() else 1

        return cls(span("colspan"), span("rowspan"))
