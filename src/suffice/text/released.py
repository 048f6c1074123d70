"""Renders a model's Markdown as text in which nothing is hidden: what a reader sees is what a check
reads.

Comments, tags with their attributes, addresses and titles of links, link definitions, and invisible
characters are removed. Entities are decoded. A name in angle brackets that is no HTML element
("<your-name>") is text: its bracket becomes "&lt;", which every renderer shows as "<". Emphasis,
lists, tables, code and citation marks stay as they are. In the result, a Markdown parser finds no
HTML, link, image or definition, and code exactly where this module found it.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field

__all__ = ["ELEMENTS", "Rendered", "Renderer", "rendered", "rendered_json", "without_invisible"]

# Control, format, filler and private characters, which show nothing, or reorder what is shown.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0"
    "\ufff0-\ufffb\ufffe\uffff\ue000-\uf8ff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U0010ffff]+"
)
# Invisible characters of ordinary typesetting: one alone hides no text.
_TYPESET = frozenset("\xad\u200b\u200c\u200d\u200e\u200f\u2060\ufe0e\ufe0f\ufeff")
# Letters that a joiner shapes, and symbols that a joiner or a variation selector shapes.
_JOINED = re.compile("[\u0600-\u18af\ufe0f\u2190-\u2bff\u3030\u303d\U0001f000-\U0001faff]")
_PICTURED = re.compile("[\u203c\u2049\u2122\u2139\u2190-\u2bff\u3030\u303d\U0001f000-\U0001faff©®]")
_BREAK = re.compile("\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")

_SPECIAL = re.compile(r"[\n`<&\\\[\]!【［〔⟦]")
_PREFIX = re.compile(r"(?:[ \t]*(?:>|(?:[-*+]|\d{1,9}[.)])(?=\s|\Z)))*[ \t]*")
_FENCE = re.compile(r"(`{3,}+)([^`\n]*+)$|(~{3,}+)([^\n]*+)$")
_CLOSED = re.compile(r"[ \t]*(`{3,}|~{3,})[ \t]*$")
_LANGUAGE = re.compile(r"[ \t]*([A-Za-z][\w+#.-]{0,19})?[ \t]*")
_TICKS = re.compile(r"`{1,4}")
_LINK_OR_SOURCE = re.compile(r"†|\]\(")
_PUNCTUATION = frozenset("!\"#$%'()*+,-./:;=>?@[]^_`{|}~\\")
_STRUCTURE = frozenset("`*_[]\\~|#!{}")
_NAME = re.compile(r"</?([A-Za-z][A-Za-z0-9:-]*)")
_AUTOLINK = re.compile(
    r"<((?:[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>`\\\[\]&]+(?:&[^\s<>`\\\[\]&;]*)*)"
    r"|[\w.+-]{1,100}@[\w.-]{1,200})>"
)
_ADDRESS_BEGUN = re.compile(r"<[\w.+@-]++:?+[^\s<>]*+\Z")
_TAG_END = re.compile(r"""(?:[^<>=]|=\s*+(?:"[^"]*+"|'[^']*+'|(?!["'])))*+>""")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][\da-fA-F]{1,6}|[A-Za-z][A-Za-z\d]{1,30});")
_ENTITY_LIKE = re.compile(r"&#?[A-Za-z\d]{0,40}")
_TARGET = re.compile(
    r"""\([ \t]*+(?:<[^<>\n]*+>|[^\s()<>]*+(?:\([^\s()]*+\)[^\s()]*+)*+)
        (?:[ \t]++(?:"[^"\n]*+"|'[^'\n]*+'|\([^()\n]*+\)))?+[ \t]*+\)""",
    re.VERBOSE,
)
_DEFINED = re.compile(r":[ \t]*(<[^<>\n]*>|\S+)?[ \t]*")
_ADDRESS = re.compile(r"<|[A-Za-z][A-Za-z0-9+.-]*:|\.{0,2}/|#|www\.|[^\s/]*/")
# After "[1]:", two words: a sentence follows, which no parser takes for a definition.
_SENTENCE = re.compile(r":[ \t]+[^\s<&`\\\[\]!【［〔⟦]+[ \t]+[^\s\"'(<&`\\\[\]!【［〔⟦]")
_MARK = re.compile(r"\[\s*\^?[\d⁰¹²³⁴-⁹][\d⁰¹²³⁴-⁹\s,;^–-]{0,30}$")
_SOURCE = re.compile(r"([【［〔⟦]\s*\d{1,3})(?::\d+)?†([^】］〕⟧\n]*)([】］〕⟧])")
_APART = re.compile(
    r"(?:br|p|div|[uo]l|d[ltd]|li|t(?:able|r|head|body|foot)|h[1-6r]|section|article|blockquote|pre"
    r"|details|summary|figure|figcaption|header|footer|main|nav|aside)$"
)
_RAISED = {"sup": "^", "sub": "_"}
ELEMENTS = frozenset(
    """a abbr acronym address animate animatemotion animatetransform applet area article aside audio
    b base basefont bdi bdo bgsound big blink blockquote body br button canvas caption center circle
    cite clippath code col colgroup data datalist dd defs del desc details dfn dialog dir div dl dt
    ellipse em embed fieldset figcaption figure filter font footer foreignobject form frame frameset
    g h1 h2 h3 h4 h5 h6 head header hgroup hr html i iframe image img input ins isindex kbd keygen
    label legend li line link listing main map mark marker marquee mask math menu menuitem meta
    meter multicol nav nobr noembed noframes noscript object ol optgroup option output p param path
    pattern picture plaintext polygon polyline portal pre progress q rect rp rt ruby s samp script
    search section select set slot small source span stop strike strong style sub summary sup svg
    switch symbol table tbody td template text textarea textpath tfoot th thead time title tr track
    tspan tt u ul use var video view wbr xml xmp""".split()
)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"?+', re.DOTALL)
_LONGEST = 2_000
"""The longest comment, tag, link target or code span. A longer one is text."""
_LONGEST_CODE = 500
_LABEL = 400
_MOST_TICKS = 3


@dataclass(frozen=True, slots=True)
class Rendered:
    """A rendered text, and what was removed from the source because it is not shown as text."""

    text: str
    removed: tuple[str, ...] = ()


def rendered(source: str) -> Rendered:
    """The text as a reader sees it. Rendering the result again changes nothing."""
    renderer = Renderer()
    text = renderer.feed(source) + renderer.close()
    return Rendered(text, tuple(renderer.removed))


def rendered_json(source: str) -> Rendered:
    """JSON with every string rendered, names too; nothing else changes. A string that hides nothing
    stays as it is. A text that is not JSON is rendered as one text."""
    return _each_string(source, _rendered_value) or rendered(source)


def without_invisible(source: str) -> Rendered:
    """A text, or JSON, without invisible characters. Its markup stays, as text."""
    return _each_string(source, _visible_value) or _visible_value(source)


def _each_string(source: str, change: Callable[[str], Rendered]) -> Rendered | None:
    """JSON with every string changed; `None` if the text is not JSON."""
    try:
        json.loads(source)
    except (ValueError, RecursionError):
        return None
    removed: list[str] = []

    def changed(found: re.Match[str]) -> str:
        value = json.loads(found[0])
        done = change(value)
        removed.extend(done.removed)
        return found[0] if done.text == value else json.dumps(done.text, ensure_ascii=False)

    return Rendered(_STRING.sub(changed, source), tuple(removed))


def _rendered_value(value: str) -> Rendered:
    done = rendered(value)
    same = not done.removed and _unescaped(done.text) == _unescaped(value)
    return Rendered(value) if same else done


def _visible_value(value: str) -> Rendered:
    renderer = Renderer(_ended=True)
    return Rendered(renderer.visible(value), tuple(renderer.removed))


def _unescaped(text: str) -> str:
    for escaped, char in (("&lt;", "<"), ("&amp;", "&"), ("\\`", "`"), ("] (", "](")):
        text = text.replace(escaped, char)
    return text


@dataclass(slots=True)
class Renderer:
    """Renders a text that arrives in pieces: the results of `feed` and `close` together do not
    depend on where the pieces end. What is undecided is held back, at most `_LONGEST` characters.
    """

    removed: list[str] = field(default_factory=list)
    _source: str = ""
    """What is not rendered yet."""
    _place: int = 0
    _out: list[str] = field(default_factory=list)
    """What is rendered but not released: it may still be the text of a link."""
    _held: int = 0
    """The length of `_out`, in characters."""
    _opened: list[tuple[int, bool]] = field(default_factory=list)
    """The open brackets of this line: their places in `_out`, and whether one begins the line."""
    _last: str = ""
    """The last visible character of the source, before the next piece."""
    _carried: str = ""
    """A carriage return at the end of a piece."""
    _begins: bool = True
    """Whether a line begins here."""
    _first: bool = True
    """Whether only the prefix of a line was rendered."""
    _tail: str = ""
    """The last rendered character."""
    _prefix: str = ""
    """The rendered prefix of this line."""
    _row: bool = False
    _table: bool = False
    """Whether a rule stands above this line, so that it may be a row without a bar before it."""
    _rule: bool = True
    """Whether this line may be a rule."""
    _barred: bool = False
    """Whether this line has code with a bar, which is code only outside of tables."""
    _blank: bool = True
    """Whether the line before this one is empty."""
    _empty: bool = True
    """Whether this line is empty so far."""
    _fence: tuple[str, int] | None = None
    """The marks that close the code block, and its column."""
    _in_code: bool = False
    """Whether the rest of a line of code passes as it is."""
    _ended: bool = False

    def feed(self, piece: str) -> str:
        """Add a piece of the source and return what is rendered by now."""
        self._source = self._source[self._place :] + self.visible(piece)
        self._place = 0
        while self._place < len(self._source) and self._step():
            pass
        return self._released()

    def close(self) -> str:
        """The rest, when the source is complete."""
        self._ended = True
        rest = self.feed("\n" if self._carried else "")
        if self._fence is not None:  # what follows the text is not code
            marks, column = self._fence
            self._emit(f"{'' if self._begins else chr(10)}{' ' * column}{marks}")
            self._fence = None
        self._opened.clear()
        return rest + self._released()

    def visible(self, piece: str) -> str:
        """The piece with plain line breaks and without invisible characters."""
        piece = self._carried + piece
        self._carried = "\r" if piece.endswith("\r") and not self._ended else ""
        piece = _BREAK.sub("\n", piece.removesuffix("\r") if self._carried else piece)
        if not piece.isascii() or not piece.isprintable():
            before, self._last = self._last, piece[-1:] or self._last
            piece = _INVISIBLE.sub(lambda run: self._shaping(run, before), piece)
        elif piece:
            self._last = piece[-1]
        return piece

    def _shaping(self, run: re.Match[str], before: str) -> str:
        """The first of invisible characters if it shapes the character before it."""
        invisible, start = run[0], run.start()
        char = run.string[start - 1] if start else before
        if invisible[0] in "\u200c\u200d" and _JOINED.match(char):
            kept = invisible[0]
        elif invisible[0] in "\ufe0e\ufe0f" and _PICTURED.match(char):
            # An emoji of several parts: "selector, joiner".
            kept = "\ufe0f\u200d" if invisible[:2] == "\ufe0f\u200d" else invisible[0]
        else:
            kept = ""
        hidden = invisible[len(kept) :]
        if len(hidden) > 1 or not _TYPESET.issuperset(hidden):
            self.removed.append(hidden)
        return kept

    def _released(self) -> str:
        if self._opened and self._held > _LABEL:
            self._opened.clear()
        first = self._opened[0][0] if self._opened else len(self._out)
        text = "".join(self._out[:first])
        del self._out[:first]
        self._held = self._held - len(text) if self._out else 0
        self._opened = [(place - first, begins) for place, begins in self._opened]
        return text

    def _emit(self, text: str) -> None:
        if not text:
            return
        if self._tail == "]" and text[0] in "(:":
            text = f" {text}"  # what stood between was removed
        self._tail = text[-1]
        self._out.append(text)
        self._held += len(text)
        self._rule = self._rule and not text.strip("|:- \t>\n")
        if self._empty and not text.isspace():
            self._empty = False

    def _waits(self, end: int) -> bool:
        """Whether something that reaches `end` may continue in the next piece."""
        return end >= len(self._source) and not self._ended

    def _step(self) -> bool:
        """Render the next construct. False: it is incomplete."""
        if self._in_code:
            return self._code_rest()
        if self._begins:
            return self._code_line() if self._fence else self._line()
        source, place = self._source, self._place
        found = _SPECIAL.search(source, place)
        end = found.start() if found else len(source)
        if end > place:
            self._plain(source[place:end])
            self._place = end
            return True
        construct = source[place]
        if construct == "\n":
            self._newline()
            self._place += 1
            return True
        if construct == "`":
            return self._ticks()
        if construct == "<":
            return self._angle()
        if construct == "&":
            return self._ampersand()
        if construct == "\\":
            return self._backslash()
        if construct == "]":
            return self._bracket()
        if construct in "![":
            return self._open_bracket()
        return self._source_mark()

    # Lines and code blocks

    def _newline(self) -> None:
        self._emit("\n")
        self._opened.clear()
        # A list mark after an empty line begins a list, so that its first line may be code.
        self._blank = self._empty or (self._blank and self._first)
        self._table = not self._empty and (self._table or self._rule)
        self._rule = True
        self._empty = True
        self._begins, self._first, self._row, self._prefix = True, True, False, ""

    def _plain(self, text: str) -> None:
        self._row = self._row or "|" in text
        self._first = self._first and text.isspace()
        if self._opened and self._held + len(text) > _LABEL:
            self._opened.clear()
        self._emit(text)

    def _line(self) -> bool:
        """The prefix of a line, and the opening of a code block."""
        source, place = self._source, self._place
        found = _PREFIX.match(source, place, place + _LABEL)
        prefix = found[0] if found else ""
        after = place + len(prefix)
        if self._waits(after + 2) and source[after:] in ("", "`", "``", "~", "~~"):
            return False
        # A number or a sign at the end of a piece may still become the mark of a list.
        if self._waits(after + 12) and re.fullmatch(r"\d{0,9}[.)]?|[-*+]?", source[after:]):
            return False
        if source.startswith(("```", "~~~"), after):
            end = source.find("\n", after)
            if end < 0 and self._waits(len(source)) and len(source) - after < _LONGEST:
                return False
            end = len(source) if end < 0 else end
            if end - after < _LONGEST and (fence := _FENCE.match(source[after:end])):
                self._open_code(prefix, fence[1] or fence[3], fence[2] or fence[4] or "", end)
                return True
        if self._barred and source[after : after + 1] != "\n" and after < len(source):
            self._emit("\n")  # the line with the code must not head a table
            self._blank, self._table = True, False
        self._begins = self._barred = False
        self._prefix += prefix
        if prefix:
            self._emit(prefix)
        self._place = after
        return True

    def _open_code(self, prefix: str, marks: str, info: str, end: int) -> None:
        """Open a code block. Quoted code is text, because its end is not certain."""
        self._begins = False
        language = _LANGUAGE.match(info)
        column = len(prefix.expandtabs(4))
        nested = column > 3 or bool(prefix.strip())
        if ">" in prefix or self._prefix:
            self._emit(prefix)
            self._prefix += prefix
            self._place = end - len(info)
            return
        # Without an empty line, another parser may read the line as part of a paragraph.
        if nested and not self._blank:
            self._emit("\n")
        name = language[1] or "" if language else ""
        rest = info[language.end() :] if language else info
        if not name and info.strip():
            rest = info
        if rest.strip():
            self.removed.append(rest)
        if prefix.strip():  # the code begins below its list mark
            prefix = f"{prefix.rstrip()}\n{' ' * column}"
            self._blank = True
        self._emit(f"{prefix}{marks}{name}")
        self._fence = marks, column
        self._place = end
        self._in_code = True

    def _code_line(self) -> bool:
        """The beginning of a line of code, or the end of the code block."""
        assert self._fence is not None
        source, place = self._source, self._place
        (marks, column), start = self._fence, place
        while start < len(source) and source[start] in " \t":
            start += 1
        if start - place > _LONGEST:
            start = place + _LONGEST
        elif self._waits(start):
            return False
        indent = source[place:start]
        wide = len(indent.expandtabs(4))
        if source.startswith(marks[0], start):
            end = source.find("\n", start)
            if end < 0 and self._waits(len(source)) and len(source) - start < _LONGEST:
                return False
            end = len(source) if end < 0 else end
            closed = _CLOSED.match(source[start:end]) if end - start < _LONGEST else None
            if closed and closed[1].startswith(marks):
                self._emit(f"{' ' * column}{closed[1]}")
                self._fence, self._begins, self._place = None, False, end
                self._in_code = True
                return True
        blank = start == len(source) or source[start] == "\n"
        # The line stays inside of its list item, and so inside of the code.
        self._emit(indent if blank or wide >= column else " " * column)
        self._begins, self._in_code, self._place = False, True, start
        return True

    def _code_rest(self) -> bool:
        """The rest of a line of code, as it is."""
        end = self._source.find("\n", self._place)
        stop = len(self._source) if end < 0 else end
        self._emit(self._source[self._place : stop])
        self._tail = ""
        self._place = stop
        if end >= 0:
            self._in_code = False
        return end >= 0

    def _ticks(self) -> bool:
        """A code span on one line, as it is. Ticks without a partner are escaped, so that no other
        parser finds one for them."""
        source, place = self._source, self._place
        run = _TICKS.match(source, place)
        assert run is not None
        if self._waits(run.end()):
            return False
        opens = len(run[0]) <= _MOST_TICKS
        start, last = run.end(), min(run.end() + _LONGEST_CODE, len(source))
        newline = source.find("\n", start, last)
        for other in _TICKS.finditer(source, start, last if newline < 0 else newline):
            if not opens or self._waits(other.end()):
                break
            if other[0] != run[0]:
                continue
            code = source[start : other.start()]
            marked = bool(_LINK_OR_SOURCE.search(code))
            # In a table, a bar ends the code, and what follows may be markup. A tick inside hides
            # from `text.marks` that this is code, so that it would find a mark.
            bar = "|" in code and (marked or "<" in code or "&" in code)
            if ("`" in code and marked) or (bar and (self._row or self._table)):
                break
            self._barred = self._barred or bar
            self._emit(source[place : other.end()])
            self._first, self._place = False, other.end()
            return True
        if opens and newline < 0 and self._waits(start + _LONGEST_CODE):
            return False
        self._first = False
        escaped = len(run[0]) if opens else 1
        self._emit("\\`" * escaped)
        self._place += escaped
        return True

    # Markup that is removed or decoded

    def _backslash(self) -> bool:
        source, place = self._source, self._place
        if self._waits(place + 1):
            return False
        char = source[place + 1 : place + 2]
        self._first = False
        if char == "<" or char == "&":
            return self._less(place + 2) if char == "<" else self._and(place + 1)
        if char == "]" and source[place + 2 : place + 3] in ("(", ":"):
            self._emit("\\] ")
            self._place += 2
        elif char == "]" and self._waits(place + 2):
            return False
        elif char in _PUNCTUATION and char:
            self._emit(f"\\{char}")
            self._place += 2
        else:
            self._emit("\\")
            self._place += 1
        return True

    def _less(self, after: int) -> bool:
        """A "<" that is text. Before a character that could begin a tag, it is escaped."""
        if self._waits(after):
            return False
        following = self._source[after : after + 1]
        plain = not following or following in " \t\n" or following.isdigit() or following in "=-.,;"
        self._first = False
        self._emit("<" if plain else "&lt;")
        self._place = after
        return True

    def _and(self, place: int) -> bool:
        """An "&" that is text. Where it could begin an entity, it is escaped."""
        like = _ENTITY_LIKE.match(self._source, place)
        end = like.end() if like else place + 1
        if self._waits(end):
            return False
        following = self._source[end : end + 1]
        plain = end < len(self._source) and (following == ";" or _SPECIAL.match(following))
        self._first = False
        self._emit("&amp;" if plain and following != "\n" else "&")
        self._place = place + 1
        return True

    def _ampersand(self) -> bool:
        source, place = self._source, self._place
        entity = _ENTITY.match(source, place)
        if entity is None:
            return self._and(place)
        char = html.unescape(entity[0])
        if char == entity[0]:
            return self._and(place)
        if char in "<&":
            self._emit("&lt;" if char == "<" else "&amp;")
        else:
            self._decoded(char)
        self._first = False
        self._place = entity.end()
        return True

    def _decoded(self, chars: str) -> None:
        for char in chars:
            if char.isspace():
                self._emit(" ")
            elif _INVISIBLE.match(char):
                if char not in _TYPESET:
                    self.removed.append(char)
            elif char in _STRUCTURE or (self._first and char in ">+-"):
                self._emit(f"\\{char}")
            elif char in "【［〔⟦":
                self._emit("[")
            else:
                self._emit(char)

    def _angle(self) -> bool:
        source, place = self._source, self._place
        if self._waits(place + 3):
            return False
        if source.startswith("<!--", place):
            return self._comment()
        end = place + _LONGEST
        if link := _AUTOLINK.match(source, place, end):
            self._first = False
            self._emit(link[1])
            self._place = link.end()
            return True
        name = _NAME.match(source, place, end)
        if name is None or name[1].lower() not in ELEMENTS:
            if name and self._waits(name.end()) and len(source) - place < _LONGEST:
                return False
            stop = source.find(">", place, end)
            if stop < 0 and self._waits(end) and _ADDRESS_BEGUN.match(source, place):
                return False
            return self._less(place + 1)
        closed = _TAG_END.match(source, name.end(), end)
        if closed is None:
            another = source.find("<", name.end(), end)
            if another < 0 and self._waits(end):
                return False
            if another >= 0 and self._waits(end) and re.search("[\"']", source[name.end() :]):
                return False
            return self._less(place + 1)
        attributes = closed[0].strip("/> \t\n")
        if attributes:
            self.removed.append(attributes)
        self._place = closed.end()
        self._begins = self._first
        self._replace(name[1].lower(), closing=source[place + 1] == "/")
        return True

    def _replace(self, name: str, *, closing: bool) -> None:
        """Write what a tag shows: a raised number, or the break between two blocks."""
        if name in _RAISED and not closing:
            self._first = self._begins = False
            self._emit(_RAISED[name])
        elif name in ("td", "th") or (self._row and _APART.match(name)):
            self._emit(" ")
        elif _APART.match(name) and not self._empty:
            self._newline()

    def _comment(self) -> bool:
        source, place = self._source, self._place
        end = source.find("-->", place + 2, place + _LONGEST)
        if end < 0:
            return False if self._waits(place + _LONGEST) else self._less(place + 1)
        self.removed.append(source[place + 4 : max(end, place + 4)])
        self._begins = self._first
        self._place = end + 3
        return True

    def _open_bracket(self) -> bool:
        """The beginning of a link or an image, or a bracket."""
        source, place = self._source, self._place
        if source[place] == "!" and self._waits(place + 1):
            return False
        image = source.startswith("![", place)
        if image or source[place] == "[":
            self._opened.append((len(self._out), self._first))
        self._first = False
        self._emit("![" if image else source[place])
        self._place += 2 if image else 1
        return True

    def _bracket(self) -> bool:
        source, place = self._source, self._place
        if self._waits(place + 1):
            return False
        follows = source[place + 1 : place + 2]
        if follows == "(":
            return self._target()
        start, begins = self._opened[-1] if self._opened else (-1, True)
        if follows == ":" and begins and (start < 0 or self._out[start] == "["):
            return self._definition()
        if self._opened:
            self._opened.pop()
        self._first = False
        self._emit("]:" if follows == ":" else "]")
        self._place += 2 if follows == ":" else 1
        return True

    def _target(self) -> bool:
        """The end of a link or an image: its text stays, without brackets unless it is a citation
        mark. Round brackets that hold no address are text."""
        source, place = self._source, self._place
        target = _TARGET.match(source, place + 1, place + _LONGEST)
        if target is None and self._waits(place + _LONGEST) and "\n" not in source[place:]:
            return False
        if target is not None and self._waits(target.end()):
            return False
        self._first = False
        if target is None:
            if self._opened:
                self._opened.pop()
            self._emit("] ")
            self._place += 1
            return True
        self._place = target.end()
        if len(target[0].strip("() \t")):
            self.removed.append(target[0][1:-1])
        if not self._opened:
            self._emit("]")
            return True
        start, begins = self._opened.pop()
        label = "".join(self._out[start:]).lstrip("!")
        # At the beginning of a line, the label could become a list or a code block.
        if _MARK.match(label) or (begins and label[1:2] != "[" and not label[1:2].isalpha()):
            self._emit("]")
        else:
            self._out[start] = ""
        return True

    def _definition(self) -> bool:
        """A link definition, which is not shown: without its address, or without its colon."""
        source, place = self._source, self._place
        end = source.find("\n", place)
        if end < 0:
            if self._waits(place + _LONGEST):
                return False
            end = len(source)
        if self._opened:
            self._opened.pop()
        defined = _DEFINED.match(source, place + 1, min(end, place + _LONGEST))
        assert defined is not None
        address = defined[1] or ""
        self._first = False
        self._place = place + 2
        if _SENTENCE.match(source, place + 1, end):
            self._emit("]:")
            return True
        if _ADDRESS.match(address):
            self.removed.append(address)
            self._place = defined.end()
        self._emit("]" if source[self._place : self._place + 1] in " \t\n" else "] ")
        return True

    def _source_mark(self) -> bool:
        """A mark with the name of its source, "【4:0†handbook】", without the name."""
        source, place = self._source, self._place
        mark = _SOURCE.match(source, place, place + _LABEL)
        if mark is None:
            stop = re.search(r"[】］〕⟧\n]", source[place : place + _LABEL])
            if stop is None and self._waits(place + _LABEL):
                return False
            self._first = False
            self._emit(source[place])
            self._place += 1
            return True
        if len(mark[2].split()) > 1:
            self.removed.append(mark[2])
        self._first = False
        self._emit(mark[1] + mark[3])
        self._place = mark.end()
        return True
