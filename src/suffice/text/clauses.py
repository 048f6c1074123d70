"""The words of a sentence, its verb and its subject."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

from suffice.text import verbs
from suffice.text.verbs import Form

DETERMINERS = frozenset(
    """a an the this that these those its their his her our your my each every all some any both
    several many most few no another either neither one two three four five six seven eight nine
    ten other others such certain various multiple additional""".split()
)
ARTICLES = frozenset("a an the its their his her our your my".split())
PRONOUNS = frozenset("it they he she we you i this these those there who".split())
PREPOSITIONS = frozenset(
    """about above across after against along among around as at before behind below beneath beside
    between beyond by despite down during except excluding following for from in including inside
    into like near of off on onto out outside over past per regarding since through throughout till
    to toward towards under until up upon via with within without concerning amid versus plus
    alongside besides""".split()
)
CONDITIONS = frozenset(
    """if unless except excluding until till when whenever once wherever where before after only
    solely without""".split()
)
OPENERS = frozenset(
    """that which who whom whose whether if because when while where how what than after before
    since until till unless although though why once whereas so""".split()
)
NEGATIONS = frozenset("not never no neither nor none nobody nothing hardly rarely without".split())
_ADVERBS = frozenset(
    """also then later often always usually never not still now even just only currently both
    already again soon typically generally once subsequently therefore thus either further
    however ever hence thereafter instead yet""".split()
)
_NOT_ADVERBS = frozenset("apply supply family reply rely comply july italy daily monthly".split())
_RELATIVES = frozenset("who which that whose where whom".split())
_SUBORDINATE = frozenset("if until when because while whether how what unless although".split())
_PLURALS = frozenset("they we you i people children men women staff police these those".split())
_NOT_PLURAL = ("ss", "us", "is", "'s", "’s", "news", "series")
_WORD = re.compile(r"[$€£]?\w+(?:[.,:/'’&+-]\w+)*%?|[,;:()\[\]{}\"“”—–]")
_ADVERBS_BEFORE = 8
"""Limit of adverbs skipped before a verb: a longer run of them is not a sentence."""
_LONGEST = 2_000
"""A longer text is not a sentence and has no clear subject."""
_OPEN, _CLOSE = "([{“", ")]}”"


@dataclass(frozen=True, slots=True)
class Token:
    """A word or mark of a text: `text[start:end]`, lower-cased in `low`; nested if not `top`."""

    start: int
    end: int
    low: str
    capital: bool
    top: bool


class Shape(Enum):
    """The structure of a verb group, which determines what may follow "and" without a subject."""

    PLAIN = auto()
    BE = auto()
    PASSIVE = auto()
    HAVE = auto()
    PERFECT = auto()
    MODAL = auto()


@dataclass(frozen=True, slots=True)
class Group:
    """The first finite verb with its auxiliaries: `tokens[first:last + 1]`."""

    first: int
    last: int
    shape: Shape
    negated: bool


def tokens(text: str) -> list[Token] | None:
    """The words and punctuation of a text, or `None` if quotes or brackets are unbalanced."""
    found: list[Token] = []
    closers: list[str] = []
    for match in _WORD.finditer(text):
        word = match[0]
        if word == '"':
            if closers and closers[-1] == '"':
                closers.pop()
            else:
                closers.append('"')
        elif word in _OPEN:
            closers.append(_CLOSE[_OPEN.index(word)])
        elif word in _CLOSE and (not closers or closers.pop() != word):
            return None
        low = word.lower().replace("’", "'")
        found.append(Token(match.start(), match.end(), low, word[0].isupper(), not closers))
    return None if closers else found


def is_word(token: Token) -> bool:
    return token.low[0].isalnum() or token.low[0] in "$€£_"


def is_number(token: Token) -> bool:
    return any(char.isdigit() for char in token.low)


def is_adverb(token: Token) -> bool:
    low = token.low
    return low in _ADVERBS or (low.endswith("ly") and len(low) > 4 and low not in _NOT_ADVERBS)


def is_plural(token: Token) -> bool:
    low = token.low
    return low in _PLURALS or (low.endswith("s") and len(low) > 3 and not low.endswith(_NOT_PLURAL))


def starts_phrase(token: Token | None) -> bool:
    """Whether this word starts an object, which makes the ambiguous word before it a verb."""
    return token is not None and (
        token.low in DETERMINERS
        or token.low in PRONOUNS
        or is_number(token)
        or token.low in ("them", "him", "us", "me")
    )


def finite(words: Sequence[Token], place: int) -> bool:
    """Whether the word here is certainly a finite verb, judged with its neighbours."""
    token = words[place]
    left = place - 1
    while left > max(0, place - _ADVERBS_BEFORE) and is_adverb(words[left]):
        left -= 1
    before = words[left] if left >= 0 else None
    after = words[place + 1] if place + 1 < len(words) else None
    if not token.top or before is None or before.low == "to":
        return False
    if token.low in verbs.AUXILIARIES:
        if token.low == "am" and before.low != "i":
            return False
        return before.low not in ARTICLES and not (token.capital and token.low == "may")
    form = verbs.form(token.low)
    if form is Form.NONE or token.capital or "-" in token.low:
        return False
    if before.low in ARTICLES or (before.low in DETERMINERS and not is_plural(before)):
        return False
    if before.low in PREPOSITIONS or before.low in verbs.AUXILIARIES:
        return False
    if _surely_verb(before):
        return False
    if verbs.ambiguous(token.low) and not _used_as_verb(token, form, after):
        return False
    if form & Form.S:
        return not is_plural(before) or before.capital
    if form & Form.PAST:
        return not is_adverb(before)
    return bool(form & Form.BASE) and is_plural(before)


def _surely_verb(token: Token) -> bool:
    known = verbs.form(token.low) & (Form.S | Form.BASE | Form.PAST)
    return bool(known) and not verbs.ambiguous(token.low) and not token.capital


def _used_as_verb(token: Token, form: Form, after: Token | None) -> bool:
    if after is None:
        return False
    none = ("of", "and", "or", "that")
    if verbs.mostly_verb(token.low) and is_word(after) and after.low not in none:
        busy = verbs.form(after.low) & (Form.S | Form.BASE | Form.PAST)
        return after.low not in verbs.AUXILIARIES and (not busy or verbs.ambiguous(after.low))
    if after.low == "that":
        return verbs.base(token.low) in verbs.REPORTING
    follows = ("to", "by") if form & (Form.S | Form.BASE) else ("to", "by", "in")
    return starts_phrase(after) or after.low in follows


def frame_end(words: Sequence[Token]) -> int:
    """The position after a leading phrase and its comma ("In 2023, …", "If asked, …"), else 0."""
    if not words:
        return 0
    first = words[0]
    low = first.low
    leads = low in PREPOSITIONS or low in OPENERS or low in CONDITIONS or is_adverb(first)
    if not leads and not (verbs.form(low) & (Form.ING | Form.PARTICIPLE)) and low != "according":
        return 0
    for place, token in enumerate(words):
        if token.low == "," and token.top:
            return place + 1
    return 0


def verb_group(words: Sequence[Token]) -> Group | None:
    """The main verb group of a clause: the first finite verb that is not in a relative clause."""
    start = frame_end(words)
    if not start and words and words[0].low in CONDITIONS | OPENERS - {"that"}:
        return None
    relative = False
    place = start
    while place < len(words):
        token = words[place]
        if token.top and token.low in _RELATIVES and place > start:
            relative = True
        elif place > start and _subordinates(words, place):
            return None
        elif finite(words, place) and any(not is_adverb(w) for w in words[start:place]):
            group = _group_at(words, place)
            if relative:
                relative = False
            elif not _reduced(words, place, group):
                return group
            place = group.last
        place += 1
    return None


def _subordinates(words: Sequence[Token], place: int) -> bool:
    """Whether a subordinate clause starts here: "if …", "after they …"."""
    low, after = words[place].low, words[place + 1].low if place + 1 < len(words) else ""
    timed = low in ("after", "before", "since", "as", "once") and after in PRONOUNS
    return words[place].top and (low in _SUBORDINATE or timed)


def _group_at(words: Sequence[Token], first: int) -> Group:
    head = words[first].low
    if head not in verbs.AUXILIARIES:
        return Group(first, first, Shape.PLAIN, negated=words[first - 1].low == "never")
    negated = head.endswith("n't") or head == "cannot"
    last = place = first
    while place + 1 < len(words):
        low = words[place + 1].low
        place += 1
        if low in NEGATIONS:
            negated = True
            last = place
        elif low in ("be", "been", "being", "have"):
            last = place
        elif not is_adverb(words[place]):
            break
    place = min(max(place, last), len(words) - 1)
    form = verbs.form(words[place].low)
    link = next((w.low for w in reversed(words[first : last + 1]) if w.low not in NEGATIONS), head)
    passive = link in verbs.BE or link in ("be", "been", "being")
    if passive:
        done = bool(form & Form.PARTICIPLE) and place > last
        return Group(first, place if done else last, Shape.PASSIVE if done else Shape.BE, negated)
    if link in verbs.HAVE:
        done = bool(form & Form.PARTICIPLE) and place > last
        return Group(first, place if done else last, Shape.PERFECT if done else Shape.HAVE, negated)
    return Group(first, max(place, last), Shape.MODAL, negated)


def _reduced(words: Sequence[Token], place: int, group: Group) -> bool:
    """Whether a past form here is a participle: "The plan approved by the board covers …"."""
    if group.shape is not Shape.PLAIN or not verbs.form(words[place].low) & Form.PARTICIPLE:
        return False
    after = words[place + 1] if place + 1 < len(words) else None
    if after is None or not (after.low in PREPOSITIONS or is_adverb(after)):
        return False
    for later in range(place + 1, len(words)):
        low = words[later].low
        if low in (",", ";", "and", "but", "or") or low in OPENERS:
            return False
        if finite(words, later) and not verbs.form(low) & Form.PARTICIPLE:
            return True
    return False


def subject(text: str) -> str:
    """The words before the main verb, without a leading phrase; empty if the subject is not
    clear."""
    words = tokens(text) if len(text) <= _LONGEST else None
    group = verb_group(words) if words else None
    if words is None or group is None:
        return ""
    start = frame_end(words)
    found = text[words[start].start : words[group.first - 1].end] if group.first > start else ""
    return found if 0 < len(found.split()) <= 12 and "," not in found else ""
