"""Removes words about time from a question before it is compared with passages: a passage of an old
policy does not contain "previous", and no passage states what changed."""

from __future__ import annotations

import re

from suffice.text.literals import literals
from suffice.text.times import TimeAsked, When

# Words before a date: "in 2024", "as of 1 June", "between 2020 and 2022", "before March 2025".
_LEAD = re.compile(
    r"(?:,\s*)?\b(?:(?:back|as)\s+)?(?:in|on|of|at|for|from|during|under|by|since|between|and|to|"
    r"before|until|till|up to|prior to)\s+(?:the\s+)?(?:year\s+)?$",
    re.I,
)
_LONGEST_LEAD = 100
_RELATIVE = re.compile(
    r"\b(?:last (?:year|month)|yesterday|\w+ (?:year|month|week|day)s? ago)", re.I
)
_POSSESSIVE = re.compile(r"^['’]s\b")
_OLD = re.compile(
    r"\b(?:previous(?:ly)?|prior|former(?:ly)?|earlier|old|older|outdated|superseded|expired|"
    r"obsolete|archived|originally|in the past|back then|at that time)\b\s*",
    re.I,
)
_USED_TO_BE = re.compile(r"\bused to be\b", re.I)
_USED_TO = re.compile(r"\bused? to\s+", re.I)
_BEFORE = re.compile(r"(?<!\s)\s*\bbefore (?:the|that|this|its|their|our|it)\b[^?.;,]*", re.I)
_LABEL = r"(?:version|edition|revision)s?(?:\s+\d+(?:\.\d+)*)"
_VERSION_OF = re.compile(
    rf"(?:\b(?:in|between|from|to|of|and)\s+){{0,5}}\b(?:the )?{_LABEL}"
    r"(?:\s+(?:and|to)\s+\d+(?:\.\d+)*)?(?:\s+(?:and|to)(?=\s+(?:version|edition|revision)))?(?:\s+of\b)?",
    re.I,
)
_VERSION_SAYS = re.compile(
    rf"\b(?:the )?{_LABEL}(?=\s+(?:say|allow|require|state|provide|set)\b)", re.I
)
_CHANGED = re.compile(
    r"\b(?:what (?:is|are) )?(?:the )?differences? between the (?:old|previous|former) "
    r"(?:\w+ ){0,3}?and the (?:new|current|present)\b|"
    r"\b(?:what|how)\s+(?:has |have |did |is |are )?(?:the )?(?:chang(?:e|ed|es)|new)\b"
    r"(?:\s+(?:in|with|about|between|since|from|to|of))*|"
    r"\b(?:how (?:has|have|did)|over (?:the years|time)|changed?)\b",
    re.I,
)
_ASKS = re.compile(
    r"\W*(?:what|how|when|who|which|where|why|is|are|was|were|do|does|did|can|may|must)\b", re.I
)


def timeless(question: str, when: When) -> str:
    """The question without words about time; unchanged if it asks about the present.

    >>> timeless("How many days did the previous policy allow?", When(TimeAsked.BEFORE))
    'How many days did the policy allow?'
    """
    if when.asked is TimeAsked.NOW:
        return question
    bare = _CHANGED.sub(" ", question) if when.asked is TimeAsked.EVER else question
    bare = _USED_TO.sub("", _USED_TO_BE.sub("was", _OLD.sub("", _BEFORE.sub("", bare))))
    bare = _VERSION_OF.sub(" ", _VERSION_SAYS.sub("the policy", bare))
    if when.asked is not TimeAsked.BEFORE:
        bare = _RELATIVE.sub(" ", _undated(bare))
    return _tidy(bare) or question


def _undated(text: str) -> str:
    for one in reversed([one for one in literals(text) if one.day and one.day.year]):
        head, tail = text[: one.start], text[one.end :]
        if lead := _LEAD.search(head, max(0, len(head) - _LONGEST_LEAD)):
            head = head[: lead.start()]
        text = f"{head} {_POSSESSIVE.sub('', tail)}"
    return text


def _tidy(text: str) -> str:
    """Normalise spaces, and turn a phrase without a question word into a question."""
    plain = re.sub(r" ([?.,;!])", r"\1", " ".join(text.split())).strip(" ,;")
    if not re.search(r"\w{3}", plain):
        return ""
    return plain if _ASKS.match(plain) else f"What is {plain}"
