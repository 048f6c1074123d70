"""Determines the time a question asks about: now, another time, the previous or all versions.

A year is often the subject of a question, not the version of a document ("revenue in 2019"). A time
that is merely mentioned is therefore not `firm`: documents in force then are preferred, but others
are not excluded. The current date is always a parameter.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum

from suffice.text.literals import Comparator, Day, Literal, literals
from suffice.text.literals.same import readings


class TimeAsked(StrEnum):
    """Which versions of a document a question is about."""

    NOW = "now"
    THEN = "then"
    BEFORE = "before"
    NAMED = "named"
    EVER = "ever"


@dataclass(frozen=True, slots=True)
class When:
    """The time asked about, and the words that state it.

    THEN covers the days `start <= day < until`, and NAMED gives the label of a `version`. If `firm`
    is set, only documents of that time count.
    """

    asked: TimeAsked = TimeAsked.NOW
    start: date = date.min
    until: date = date.max
    words: str = ""
    version: str = ""
    firm: bool = False


NOW = When()


# Things with versions. A year next to one of them is the year of a version.
_PAPER = (
    r"(?:polic(?:y|ies)|versions?|editions?|revisions?|handbooks?|manuals?|guidelines?|rules|"
    r"rulebooks?|procedures?)"
)
# Contents of a version: "the previous rate" means the previous version, "the rate in 2019" may not.
_STATED = (
    r"(?:guidances?|regulations?|rules?|agreements?|terms|documents?|schedules?|schemes?|"
    r"directives?|tariffs?|limits?|rates?|allowances?|prices?|fees?|entitlements?|thresholds?|"
    r"arrangements?|provisions?|requirements?|wordings?)"
)
# Up to three words may come in between: "the previous remote work policy".
_OLD = re.compile(
    r"(?<!\bmy )(?<!\bhis )(?<!\bher )(?<!\btheir )"
    r"\b(?P<words>(?:previous|prior|former|earlier|old(?! age)|older|outdated|superseded|expired|"
    rf"obsolete|archived)\s+(?:[a-z-]+\s+){{0,3}}?(?:{_PAPER}|{_STATED}))\b",
    re.I,
)
_USED_TO = re.compile(
    r"(?<!\bis )(?<!\bare )(?<!\bbe )(?<!\bbeing )(?<!\bform )(?<!\btool )"
    r"\b(?P<words>used to (?:be|have|get|apply|cost|hold|say|allow|require|receive|pay|work))\b|"
    r"\bdid\b[^?.;]{0,140}\b(?P<did>use to)\b",
    re.I,
)
_ONCE = re.compile(
    r"\b(?P<words>before (?:the|our|this) (?:current|present|new|latest) (?:[\w-]+ ){0,3}?"
    rf"{_PAPER}|"
    r"previously|formerly|originally|in the past|back then|at that time|"
    r"before (?:the|that|this|its|their) (?:last |latest |recent )?"
    r"(?:change|update|revision|amendment|reform|new \w+)|before it (?:was )?changed)\b",
    re.I,
)
_ALL = re.compile(
    r"\b(?P<words>(?:all|every|each|both|different|various) (?:\w+ )?(?:versions?|editions?)|"
    r"version history|history of (?:the|this|our) (?:\w+ ){0,3}"
    r"(?:policy|rules?|document|handbook|allowance|limit)|over the years|over time|"
    r"what (?:has |have )?changed (?:in|with|about|between|since)|"
    r"how (?:has|have|did) (?:[\w-]+ ){1,6}changed?|"
    r"(?:the )?differences? between the (?:old|previous|former) (?:\w+ ){0,3}?and the "
    r"(?:new|current|present))\b",
    re.I,
)
_CHANGE = re.compile(
    r"\b(?:chang(?:e|es|ed)|differ(?:s|ed|ent|ence|ences)?|compare[ds]?|versus|vs|new(?:ly)? in)\b",
    re.I,
)
_VERSION = re.compile(
    r"\b(?P<words>(?:version|edition|revision)\s+(?P<label>\d+(?:\.\d+)*))\b", re.I
)
_RELATIVE = re.compile(
    r"\b(?P<words>last (?P<last>year|month)|yesterday|"
    r"(?P<count>a|an|one|two|three|four|five|six|seven|eight|nine|ten|\d{1,3}) "
    r"(?P<unit>years?|months?|weeks?|days?) ago)\b",
    re.I,
)
_COUNTS = {
    name: place
    for place, name in enumerate("one two three four five six seven eight nine ten".split(), 1)
} | {"a": 1, "an": 1}
# The main clause is in the past tense: no other clause starts before "was" or "did".
_PAST = re.compile(
    r"^(?:(?!\b(?:if|because|after|who|that|whether|unless|is|are|do|does|can|may|must|will|should|"
    r"would|could|has|have|am)\b)[^;])*?\b(?:was|were|did|had|wasn't|weren't|didn't|hadn't)\b",
    re.I,
)
_FIRM_BEFORE = re.compile(
    rf"(?:\bas (?:of|at)|\b(?:force|valid|effective|applicable)(?: \w+)?|\b{_PAPER})\s+"
    r"(?:(?:in|of|from|for|on|at|during|dated|as of|until|before)\s+)?(?:the\s+)?(?:year\s+)?$",
    re.I,
)
_FIRM_AFTER = re.compile(rf"^(?:['’]s)?\s+(?:[a-z-]+\s+){{0,3}}?{_PAPER}\b", re.I)
_STATED_AFTER = re.compile(rf"^(?:['’]s)?\s+(?:[a-z-]+\s+){{0,3}}?(?:{_PAPER}|{_STATED})\b", re.I)
_NAMED = re.compile(r"(?<![.?!]\s)(?<!^)\b[A-Z][\w-]{0,60}\s$")
_ATTACHED = re.compile(
    r"\b[a-z]{3,}ed\s+(?:in|on|during|before|after|since|by|until)\s+(?:\w+\s+)?$"
)
_BESIDE = 200
_UNTIL = re.compile(r"\b(?:before|prior to|until|till|up to)\s+(?:the\s+)?(?:year\s+)?$", re.I)
_PRIOR = re.compile(r"\b(?:before|prior to)\s+(?:the\s+)?(?:year\s+)?$", re.I)


def asked_about(question: str, today: date) -> When:
    """The time a question asks about, or NOW if it mentions none.

    >>> asked_about("What did the 2023 policy say?", date(2026, 1, 1)).start
    datetime.date(2023, 1, 1)
    """
    dates = _dates(question, today)
    before = _before(question)
    if every := _ALL.search(question):
        return When(TimeAsked.EVER, words=every["words"])
    # "before the change" itself does not ask about a change.
    rest = question.replace(before, "") if before else question
    if _CHANGE.search(rest) and (before or len(dates) > 1):
        return When(TimeAsked.EVER, words=before or " and ".join(when.words for when in dates))
    labels = {found["label"]: found["words"] for found in _VERSION.finditer(question)}
    if len(labels) > 1:
        return When(TimeAsked.EVER, words=" and ".join(labels.values()))
    if named := _VERSION.search(question):
        return When(TimeAsked.NAMED, words=named["words"], version=named["label"])
    if dates:
        return _together(dates, today)
    if before:
        return When(TimeAsked.BEFORE, words=before, firm=True)
    return _relative(question, today)


def _before(question: str) -> str:
    """The words that ask about the past; empty if there are none."""
    for pattern in (_OLD, _USED_TO):
        if found := pattern.search(question):
            return found["words"] or found["did"]
    once = _ONCE.search(question)
    return once["words"] if once and _PAST.search(question) else ""


def _dates(question: str, today: date) -> list[When]:
    past = bool(_PAST.search(question))
    found = (_date(question, one, today, past) for one in literals(question) if one.day)
    return [when for when in found if when is not None]


def _date(question: str, literal: Literal, today: date, past: bool) -> When | None:
    """The period that a date refers to; `None` if the question does not select documents by it."""
    day = literal.day
    if day is None or day.year is None or not 1 <= day.year < date.max.year:
        return None
    head = question[max(0, literal.start - _BESIDE) : literal.start]
    tail = question[literal.end : literal.end + _BESIDE]
    firm = bool(_FIRM_BEFORE.search(head) or _FIRM_AFTER.search(tail))
    if not firm and not past and _describes(head, literal):
        return None
    start, until = _days(day)
    if until_then := _UNTIL.search(head):
        if not (past or firm):
            return None  # "before 31 March 2027" is a deadline
        ends = start if _PRIOR.search(head) else until
        if ends == date.min:
            return None
        return When(
            TimeAsked.THEN, date.min, ends, f"{until_then[0].strip()} {literal.text}", firm=firm
        )
    if literal.comparator is Comparator.AT_LEAST and start <= today and not firm:
        return None  # "since 2019" extends to today
    return When(TimeAsked.THEN, start, until, literal.text, firm=firm)


def _describes(head: str, literal: Literal) -> bool:
    """Whether the date describes the subject: "employees hired in 2019", "Windows Server 2019"."""
    if _NAMED.search(head) and literal.day and literal.day.month is None:
        return True
    return bool(_ATTACHED.search(head))


def _together(dates: Sequence[When], today: date) -> When:
    """Combine all times mentioned into one period: "between 2020 and 2022"."""
    start, until = min(when.start for when in dates), max(when.until for when in dates)
    firm = any(when.firm for when in dates)
    words = " to ".join(dict.fromkeys(when.words for when in dates))
    if start <= today < until:
        return NOW
    return When(TimeAsked.THEN, start, until, words, firm=firm)


def _relative(question: str, today: date) -> When:
    found = _RELATIVE.search(question)
    if found is None:
        return NOW
    tail = question[found.end() :]
    if not _STATED_AFTER.search(tail) and not _PAST.search(question):
        return NOW  # "vacation left over from last year"
    start, until = _ago(found, today)
    firm = bool(_FIRM_AFTER.search(tail))
    return When(TimeAsked.THEN, start, until, found["words"], firm=firm) if start < until else NOW


def _ago(found: re.Match[str], today: date) -> tuple[date, date]:
    if found["last"]:
        if found["last"].lower() == "year":
            first = _months_before(date(today.year, 1, 1), 12)
            return first, date(first.year + 1, 1, 1)
        return _months_before(today.replace(day=1), 1), today.replace(day=1)
    count = (found["count"] or "one").lower()
    number = int(count) if count.isdigit() else _COUNTS[count]
    unit = (found["unit"] or "day").lower().removesuffix("s")
    if unit in ("year", "month"):
        day = _months_before(today, number * (12 if unit == "year" else 1))
    else:
        days = number * (7 if unit == "week" else 1)
        day = date.fromordinal(max(today.toordinal() - days, 1))
    return day, day + timedelta(days=1) if day < date.max else day


def _months_before(day: date, months: int) -> date:
    year, month = divmod(max(day.year * 12 + day.month - 1 - months, 12), 12)
    return date(year, month + 1, min(day.day, 28))


def _days(day: Day) -> tuple[date, date]:
    """The first day that a date may mean, and the day after the last."""
    spans = [_span(one) for one in readings(day)]
    return min(start for start, _ in spans), max(until for _, until in spans)


def _span(day: Day) -> tuple[date, date]:
    assert day.year is not None
    if day.month is None and day.quarter is None:
        years = 10 if day.decade else 1
        return date(day.year, 1, 1), date(min(day.year + years, date.max.year), 1, 1)
    month = day.month or 3 * (day.quarter or 1) - 2
    if day.month and day.day:
        start = _real(day.year, month, day.day)
        return start, start + timedelta(days=1)
    after = day.year * 12 + month - 1 + (1 if day.month else 3)
    return date(day.year, month, 1), date(after // 12, after % 12 + 1, 1)


def _real(year: int, month: int, day: int) -> date:
    """The given day, or the last day of the month if the day does not exist (31 June)."""
    for last in range(day, 27, -1):
        try:
            return date(year, month, last)
        except ValueError:
            continue
    return date(year, month, min(day, 28))


# Words before a date: "in 2024", "as of 1 June", "between 2020 and 2022", "before March 2025".
_LEAD = re.compile(
    r"(?:,\s*)?\b(?:(?:back|as)\s+)?(?:in|on|of|at|for|from|during|under|by|since|between|and|to|"
    r"before|until|till|up to|prior to)\s+(?:the\s+)?(?:year\s+)?$",
    re.I,
)
_LONGEST_LEAD = 100
_ANY_RELATIVE = re.compile(
    r"\b(?:last (?:year|month)|yesterday|\w+ (?:year|month|week|day)s? ago)", re.I
)
_POSSESSIVE = re.compile(r"^['’]s\b")
_ANY_OLD = re.compile(
    r"\b(?:previous(?:ly)?|prior|former(?:ly)?|earlier|old|older|outdated|superseded|expired|"
    r"obsolete|archived|originally|in the past|back then|at that time)\b\s*",
    re.I,
)
_USED_TO_BE = re.compile(r"\bused to be\b", re.I)
_ANY_USED_TO = re.compile(r"\bused? to\s+", re.I)
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
    bare = _ANY_USED_TO.sub("", _USED_TO_BE.sub("was", _ANY_OLD.sub("", _BEFORE.sub("", bare))))
    bare = _VERSION_OF.sub(" ", _VERSION_SAYS.sub("the policy", bare))
    if when.asked is not TimeAsked.BEFORE:
        bare = _ANY_RELATIVE.sub(" ", _undated(bare))
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
