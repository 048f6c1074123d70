"""Estimates a text's kind from its form: marked questions, numbered steps, speakers.

Each hint adds to the score of a kind, on the same scale as the cosine similarity of the embedding.
"""

from __future__ import annotations

import re

from suffice.types import Kind, Passage

_ASKED = re.compile(r"^\W{0,4}(?:q|question)\s*\d*[:.)]", re.IGNORECASE | re.MULTILINE)
_ANSWERED = re.compile(r"^\W{0,4}(?:a|answer)\s*\d*[:.)]\W", re.IGNORECASE | re.MULTILINE)
# A question at the start of a line or text, followed by text that is not a question.
_PAIR = re.compile(r"(?:^|\n)[ \t*_#>-]*[A-Z][^\n.!?]{3,150}\?[*_\"')]*\s++[^?]+?[.!](?:\s|$)")
_STEP = re.compile(
    r"^[ \t]*(?:step\s+\d+|\d{1,2}[.)]|\(?[a-h]\))[\s:.]", re.IGNORECASE | re.MULTILINE
)
_STEP_WORD = re.compile(r"\bstep\s+\d+\b", re.IGNORECASE)
_ORDER = re.compile(
    r"(?:^|[.;:]\s+|,\s+)(?:first(?:ly)?|then|next|after that|afterwards|finally|lastly|"
    r"before you (?:start|begin))\b",
    re.IGNORECASE | re.MULTILINE,
)
_CLAUSE = re.compile(r"\b(?:shall|is entitled|are entitled|within the meaning of)\b", re.IGNORECASE)
_POST = re.compile(
    r"^[ \t]*(?:posted by|posted on|reply from|(?:re|aw|fwd?|sv):\s|>\s?\S)"
    r"|\b(?:wrote|writes|said)\s*:[ \t]*(?:\n|$)|\bposted by\b",
    re.IGNORECASE | re.MULTILINE,
)
_MAIL_TITLE = re.compile(r"(?:re|aw|fwd?|sv|antw):\s", re.IGNORECASE)
_TALK_TITLE = re.compile(
    r"\b(?:minutes of|forum|thread|chat|mailing list|discussion|comments)\b", re.IGNORECASE
)
_TURN = re.compile(r"^[ \t]*(?P<name>[^\W\d_][\w.-]{1,20})(?: \w{1,15})?:\s+\S", re.MULTILINE)
_OPINION = re.compile(
    r"\bI(?:'m| am| was)? (?:really |still |just |do not |don't |would |not )*"
    r"(?:think|guess|believe|doubt|wonder(?:ing)?|feel|agree|disagree|like|prefer|propose|suggest|"
    r"sure|convinced|tried|noticed|rather|expected|hope)\b"
    r"|\b(?:in my opinion|if you ask me|as far as I (?:can tell|know)|honestly|imho|imo|same here|"
    r"thoughts\?|any ideas|(?:has|did|does|is|can) any(?:one|body)|anyone else|anybody else|"
    r"my (?:wife|husband|kids|own experience)|agreed\.|thanks,? [A-Z]\w+)",
    re.IGNORECASE,
)
_MEETING = re.compile(
    r"\b(?:[A-Z]\w+|[Hh]e|[Ss]he|group|committee|council|members|residents)"
    r" (?:then |also |strongly )?(?:suggested|proposed|objected|criticised|criticized|doubted|"
    r"feared|welcomed|argued|floated|presented|discussed|asked for|was against|was in favou?r|"
    r"thought|rejected|estimated)\b"
    r"|\b(?:no decision (?:was|has been)|opinions (?:were|are|differ)|(?:remain(?:s|ed)|left) open"
    r"|it was (?:agreed|suggested|proposed|decided) )"
)


def hints(passage: Passage) -> tuple[float, ...]:
    """The hint score of each kind, in the order of `Kind`."""
    text = passage.text
    found = {
        Kind.FACT: 0.15 if _CLAUSE.search(text) else 0.0,
        Kind.QA: _asked(passage),
        Kind.PROCEDURE: _stepped(text),
        Kind.DISCUSSION: _voiced(passage),
    }
    return tuple(found[kind] for kind in Kind)


def _asked(passage: Passage) -> float:
    text = passage.text
    if _ASKED.search(text) and (_ANSWERED.search(text) or "?" in text):
        return 0.5
    if passage.heading and passage.heading[-1].rstrip("*_ ").endswith("?"):
        return 0.35
    pairs = sum(1 for _ in _PAIR.finditer(text))
    return min(0.2 * pairs, 0.4)


def _stepped(text: str) -> float:
    steps = len(_STEP.findall(text))
    numbered = 0.2 if steps >= 2 else 0.0
    named = 0.2 if len(_STEP_WORD.findall(text)) >= 2 else 0.0
    ordered = 0.1 if len(_ORDER.findall(text)) >= 2 else 0.0
    return numbered + named + ordered


def _voiced(passage: Passage) -> float:
    text = passage.text
    above = (passage.title, *passage.heading)
    posted = 0.3 if _POST.search(text) or any(map(_MAIL_TITLE.match, above)) else 0.0
    talked = 0.15 if any(map(_TALK_TITLE.search, above)) else 0.0
    names = [match["name"] for match in _TURN.finditer(text)]
    turns = 0.3 if len(names) > len(set(names)) >= 2 else 0.0
    opinions = min(0.12 * len(_OPINION.findall(text)), 0.36)
    meeting = min(0.08 * len(_MEETING.findall(text)), 0.24)
    return posted + talked + turns + opinions + meeting
