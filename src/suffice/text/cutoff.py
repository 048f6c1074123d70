"""Detects text that breaks off inside a sentence, citation mark, table row or code block."""

from __future__ import annotations

import re

from suffice.text.marks import citations

_OPEN_MARK = re.compile(
    r"[\[【［(]\s*(?:\^?\d[\d\s,;–-]*|(?:source|passage|document)s?\s*\d*)?$", re.I
)
_FENCE = re.compile(r"(?m)^[ \t]*(?:```|~~~)")
_UNIT = re.compile(r"[ \t]*(?:[-*+•]\s|\d{1,3}[.)]\s|#{1,6}\s|\*\*)")
_ENDS = tuple(".!?…。！？)]}\"'”’»*_`>")
_BREAKS = tuple(",;:(-–—/&+=")
_TERMINAL = re.compile(r"[.!?…。！？][\"'”’)\]*_]*(?:\s|$)")
# No sentence ends with one of these words.
_DANGLING = re.compile(
    r"\b(?:the|an?|and|or|but|nor|of|to|from|with|without|by|for|at|in|on|into|than|that|which|who|"
    r"whose|because|if|unless|although|while|when|where|is|are|was|were|be|been|has|have|had|will|"
    r"would|can|could|may|might|must|should|their|its|his|her|your|our|my|least|between|per|as|"
    r"about|approximately|such|e\.g|i\.e)$",
    re.IGNORECASE,
)
_TAIL = 2_000
_LINE = 8


def cut_off(text: str) -> bool:
    """Whether the end of a text is missing. A missing full stop alone is not enough."""
    stripped = text.rstrip()
    if not stripped:
        return False
    if len(_FENCE.findall(stripped)) % 2:
        return True
    tail = stripped[-_TAIL:]
    if _OPEN_MARK.search(tail):
        return True
    marks = citations(tail)
    if marks and marks[-1][0][1] == len(tail):
        return False  # a citation ends a complete sentence
    line = tail[tail.rfind("\n") + 1 :]
    if line.lstrip().startswith("|"):
        return not line.endswith("|")
    if tail.endswith(_BREAKS) or _DANGLING.search(tail) or line.count("(") > line.count(")"):
        return True
    if tail.endswith(_ENDS) or _UNIT.match(line) or _is_address(line.split()[-1]):
        return False
    # The last sentence has no full stop although others do. In a short line this is normal.
    before = line if len(line.split()) < _LINE else stripped
    return bool(_TERMINAL.search(before))


def _is_address(word: str) -> bool:
    return "@" in word[:-1] or "/" in word[:-1]
