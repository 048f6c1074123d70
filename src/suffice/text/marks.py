"""Finds citation marks and Markdown in a drafted text."""

from __future__ import annotations

import re

Span = tuple[int, int]

_DASH = "[‐-―−-]"
_AND = rf"(?:[,;]|{_DASH}|and|&)"
_NUMBERS = rf"\d{{1,3}}(?:\s*{_AND}\s*\d{{1,3}})*"
_NAMED = r"(?:sources?|passages?|documents?|docs?|refs?\.?|references?|citations?)"
_LIST = rf"(?:{_NAMED}\s*)?\#?{_NUMBERS}(?:\s*[,;]\s*{_NAMED}\s*\#?{_NUMBERS})*(?:\s*[,;])?"
_MARK = rf"\\?\[\s*\^?{_LIST}\s*\\?\](?:\(https?://[^\s()]{{1,300}}\))?"
_CHAIN = rf"{_MARK}(?:(?:\s?{_AND}\s?|\s{{0,2}}){_MARK})*"
CITATION = re.compile(
    rf"""
      ( \[\s*(?:{_NUMBERS}\s*+(?:[,;]\s*+)?)?(?:{_CHAIN}|\[\s*{_CHAIN}\s*\])\s*\]
            (?:\(https?://[^\s()]{{1,300}}\))?
      | \(\s*{_CHAIN}\s*\)
      | {_CHAIN}
      | [【［〔⟦]\s*{_LIST}(?:(?::\d+)?†[^】］〕⟧]{{0,80}})?\s*[】］〕⟧]
      | \[\s*[⁰¹²³⁴-⁹]{{1,3}}(?:[,˒⁻][⁰¹²³⁴-⁹]{{1,3}})*\s*\]
      | \(\s*(?:see\s+)?{_NAMED}\s*\#?{_NUMBERS}\s*\)
      | (?:(?<=[\w.!?%)])|(?<=[\w.!?%)]\s)|^)(?<![①-⑳])[①-⑳]+(?=\s?(?:[.,;!?)]|$))
      )
    | (?<=[\w.!?%)])(⁽?[⁰¹²³⁴-⁹]{{1,3}}(?:[,˒⁻][⁰¹²³⁴-⁹]{{1,3}}){{0,30}}⁾?)(?=[\s.,;]|$)
    """,
    re.IGNORECASE | re.VERBOSE,
)
# Every citation mark contains one of these, so a text without them needs no search for marks.
_SIGN = re.compile(r"[\[(【［〔⟦①-⑳⁰¹²³⁴-⁹]")
# "Leave is paid (1)." has a citation; "Article 5 (1)." and "thirty days (30)." have none.
_ROUND = re.compile(r"(?<=[a-z]{2})\s?\((\d{1,2})\)(?=[.!?]?\s*$)")
_COUNTED = re.compile(
    r"(?:\d\S{0,60}|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|\w+ty))"
    r"(?:\s[\w'-]+)?$|\b(?:article|section|paragraph|para|clause|sub\w+|rule|item|note|point|step|"
    r"annex|appendix|chapter|part|table|figure|number|line|option|level|class|grade|type|under)$",
    re.IGNORECASE,
)
_SIGNS = str.maketrans(
    {
        **dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹˒⁻", "0123456789,-", strict=True)),
        **{chr(0x2460 + n): f" {n + 1} " for n in range(20)},
        **dict.fromkeys("[]\\", " "),
    }
)
_LINK = re.compile(r"\(https?:[^()]*\)|(?::\d+)?†.*", re.DOTALL)
_SQUARES = re.compile(r"(?<=[mk])[²³]|(?<=\d)[²³]", re.IGNORECASE)
_PART = re.compile(rf"(\d+)(?:\s*{_DASH}\s*(\d+))?")
_WIDEST = 30
_CODE_SPAN = re.compile(r"(?<!`)(`{1,3})[^`\n]{1,500}\1(?!`)")
_ITEM = re.compile(r"\s*(?:(?:[-*+•]|\d{1,3}[.)]|>|#{1,6})\s+)+(?:\[[ xX]\]\s+)?")
_EMPHASIS = re.compile(r"\*\*|__|(?<![\w*])\*(?=[^\s*])|(?<=[^\s*])\*(?![\w*])")
# Not joined to its name, so that nothing takes the text for a tag.
_TAG_LIKE = re.compile(r"&lt;(?=[A-Za-z/!?])")
_BEFORE_POINT = re.compile(r" ([.,;!?])")


def citations(text: str) -> list[tuple[Span, tuple[int, ...]]]:
    """The citation marks of a text and their numbers, except inside code."""
    if not _SIGN.search(text):
        return []
    found = []
    prose = _CODE_SPAN.sub(lambda code: " " * len(code[0]), text)
    for match in CITATION.finditer(prose):
        if match[2] and _SQUARES.search(text, match.start(), match.end()):
            continue
        found.append((match.span(), _numbers(match[0])))
    last = _ROUND.search(prose)
    if last and not _COUNTED.search(prose, max(0, last.start() - 60), last.start()):
        found.append((last.span(), _numbers(last[1])))
    return found


def _numbers(named: str) -> tuple[int, ...]:
    numbers: list[int] = []
    for match in _PART.finditer(_LINK.sub(" ", named).translate(_SIGNS)):
        first = int(match[1])
        last = int(match[2]) if match[2] else first
        numbers += range(first, last + 1) if first <= last < first + _WIDEST else (first, last)
    return tuple(dict.fromkeys(numbers))


def decoration(sentence: str) -> list[Span]:
    """The parts of a sentence that are not words: citation marks, bullets and emphasis."""
    spans = [span for span, _ in citations(sentence)]
    if item := _ITEM.match(sentence):
        spans.append(item.span())
    spans += (match.span() for match in _EMPHASIS.finditer(sentence))
    return spans


def bare(sentence: str) -> str:
    """A sentence without citation marks and Markdown, on one line. "&lt;" is read as it shows."""
    kept = list(sentence)
    for start, end in decoration(sentence):
        kept[start:end] = [""] * (end - start)
    text = " ".join("".join(kept).split())
    if "&" in text:
        text = _TAG_LIKE.sub("< ", text).replace("&lt;", "<").replace("&amp;", "&")
    return _BEFORE_POINT.sub(r"\1", text)
