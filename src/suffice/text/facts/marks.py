"""What stands in a drafted text beside its words: citation marks and Markdown."""

from __future__ import annotations

import re

Span = tuple[int, int]

_NUMBERS = r"\d{1,3}(?:\s*(?:[,;–-]|and|&)\s*\d{1,3})*"
_NAMED = r"(?:sources?|passages?|documents?|docs?|refs?\.?|references?|citations?)"
CITATION = re.compile(
    rf"""
      \[\[?\s*\^?(?:{_NAMED}\s*)?\#?({_NUMBERS})\s*\]\]?(?:\(https?://[^\s()]{{1,300}}\))?
    | [【［]\s*(?:{_NAMED}\s*)?({_NUMBERS})(?:†[^】］]{{0,80}}|:\d+†[^】］]{{0,80}})?\s*[】］]
    | \(\s*(?:see\s+)?{_NAMED}\s*\#?({_NUMBERS})\s*\)
    | (?<=[\w.!?%)])([⁰¹²³⁴-⁹]{{1,3}}(?:[,˒⁻][⁰¹²³⁴-⁹]{{1,3}})*)(?=[\s.,;]|$)
    """,
    re.IGNORECASE | re.VERBOSE,
)
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹˒⁻", "0123456789,-")
_SQUARES = re.compile(r"(?<=[mk])[²³]|(?<=\d)[²³]", re.IGNORECASE)
_PART = re.compile(r"(\d+)(?:\s*[–-]\s*(\d+))?")
_WIDEST = 30
_CODE_SPAN = re.compile(r"(?<!`)(`{1,3})[^`\n]{1,500}\1(?!`)")
_ITEM = re.compile(r"\s*(?:(?:[-*+•]|\d{1,3}[.)]|>|#{1,6})\s+)+(?:\[[ xX]\]\s+)?")
_EMPHASIS = re.compile(r"\*\*|__|(?<![\w*])\*(?=[^\s*])|(?<=[^\s*])\*(?![\w*])")


def citations(text: str) -> list[tuple[Span, tuple[int, ...]]]:
    """The citation marks of a text with the numbers they name; none inside code."""
    found = []
    prose = _CODE_SPAN.sub(lambda code: " " * len(code[0]), text)
    for match in CITATION.finditer(prose):
        if match[4] and _SQUARES.search(text, match.start(), match.end()):
            continue
        found.append((match.span(), _numbers(next(filter(None, match.groups())))))
    return found


def _numbers(named: str) -> tuple[int, ...]:
    numbers: list[int] = []
    for match in _PART.finditer(named.translate(_SUPERSCRIPTS)):
        first = int(match[1])
        last = int(match[2]) if match[2] else first
        numbers += range(first, last + 1) if first <= last < first + _WIDEST else (first, last)
    return tuple(dict.fromkeys(numbers))


def decoration(sentence: str) -> list[Span]:
    """The spans of a sentence that are not its words: marks, list bullets, emphasis."""
    spans = [span for span, _ in citations(sentence)]
    if item := _ITEM.match(sentence):
        spans.append(item.span())
    spans += (match.span() for match in _EMPHASIS.finditer(sentence))
    return spans


def bare(sentence: str) -> str:
    """The words of a sentence, without marks and Markdown, on one line."""
    kept = list(sentence)
    for start, end in decoration(sentence):
        kept[start:end] = [""] * (end - start)
    text = " ".join("".join(kept).split())
    return re.sub(r"\s+([.,;!?])", r"\1", text)
