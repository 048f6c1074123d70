"""Finds the conditions, exceptions, limits and scopes that restrict a sentence's main statement.

It uses word patterns instead of a parser. A condition may be cut too long, but rarely too short.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from suffice.text.words import auxiliaries


class ConditionKind(StrEnum):
    """How part of a sentence restricts the rest of it."""

    EXCEPTION = "exception"
    REQUIREMENT = "requirement"
    LIMIT = "limit"
    SCOPE = "scope"


@dataclass(frozen=True, slots=True)
class Condition:
    """One restriction with its cue ("only if"): `sentence[start:end] == text`."""

    kind: ConditionKind
    text: str
    start: int
    end: int
    cue: str


_APPROVAL = r"(?:approval|consent|permission|agreement|authori[sz]ation|signature)"
_EXCEPTION = (
    r"with the exception of|except(?:ing)?(?: (?:if|when|where|for|that|in|at|on|during|under|with|"
    r"to|as))?|unless|excluding|other than|apart from|save for|but not|not including"
)
# "To see if", "even if" and "if you want" do not introduce a condition.
_IF = (
    r"(?<!see )(?<!know )(?<!check )(?<!ask )(?<!even )(?<!as )(?<!what )(?<!sure )(?<!determine )"
    r"(?<!decide )if(?! (?:you(?:r goal)? (?:want|wish|prefer|like|would|is)|so|any|not)\b)"
)
_REQUIREMENT = (
    r"(?:if and )?only (?:if|when|where|after|once|with|for|on|by|in|during|to)|provided(?: that)?"
    r"(?= (?:the|an?|they|it|he|she|you|all|no|each|every|there|that)\b)|providing that|"
    r"(?:as|so) long as|on (?:the )?condition that|on presentation of|subject to|in case of|"
    rf"in the event (?:of|that)|{_IF}|(?:once|when)(?= (?:the|they|it|you|no|there|\w+ing)\b)|"
    r"(?:with|upon|after|requires?|needs?) (?:the )?(?:prior |written |express )*"
    rf"(?:\w+ )?{_APPROVAL}"
)
_NUMBER = (
    r"(?:[$€£]? ?\d[\d.,]*|(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|"
    r"fifteen|twenty|thirty|forty|sixty|ninety|half|an?)\b)"
)
_UNIT = r"(?:second|minute|hour|day|night|week|month|year|quarter)s?"
_LIMIT = (
    r"(?:up to|at (?:the )?(?:most|least|latest)|no (?:more|less|fewer|later|longer) than|"
    r"not (?:more|less|later|longer) than|a (?:maximum|minimum) of|limited to|more than|less than|"
    rf"fewer than|longer than|under|over|above|below|exceeding)(?= (?:the (?:age of )?)?{_NUMBER})|"
    rf"within(?= (?:the (?:first|next|last) )?{_NUMBER} (?:(?:calendar|working|business) )?"
    rf"{_UNIT}\b)"
)
_GROUP = (
    r"(?:employees?|staff|workers?|people|persons?|members?|customers?|clients?|patients?|users?|"
    r"applicants?|tenants?|students?|pupils?|visitors?|drivers?|travell?ers?|passengers?|parents?|"
    r"children|residents?|citizens?|suppliers?|managers?|interns?|contractors?|subscribers?|"
    r"participants?|guests?|owners?|those|anyone)"
)
_STATUS = (
    r"(?:full-time|part-time|permanent|temporary|fixed-term|eligible|registered|licensed|certified|"
    r"qualified|salaried|seasonal|retired|pregnant|insured|enrolled|verified)"
)
_CUE = re.compile(
    rf"(?<![\w-])(?:(?P<exception>{_EXCEPTION})|(?P<requirement>{_REQUIREMENT})|(?P<limit>{_LIMIT})"
    rf"|(?P<scope>(?:for )?{_STATUS}(?= (?:\w+ )?{_GROUP}\b)|(?<=[a-z] )(?:who|whose)(?= ))"
    rf"|(?P<prefix>^(?:in|for|during|under|outside|within|inside)(?= [^,;]{{3,80}}, ))"
    r"|(?P<only>only|exclusively|solely))(?![\w-])",
    re.IGNORECASE,
)
_NO_SCOPE = re.compile(
    r"(?:in|for|under|during|within) (?:addition|general|particular|practice|fact|short|summary|"
    r"total|brief|this|that|these|those|such|example|instance|now|most|all|many|some|contrast|turn|"
    r"response|reality|theory|return|conclusion|part|other words|the end|recent)\b",
    re.IGNORECASE,
)
_END = re.compile(r"[;:.!?](?=\s|$)|,(?!\d)|\)| [–—-] | (?:but|so|because(?! of))(?= )")
_QUANTITY = re.compile(
    rf" (?:the (?:first|next|last) )?{_NUMBER}(?:[ -](?:(?:calendar|working|business|consecutive|"
    rf"additional) )?(?:{_UNIT}|percent|%|euros?|dollars?|pounds?|kilomet\w+|km|kg|times)\b)?"
)
# "This needs the written consent of …": the whole sentence restricts the sentence before it.
_LEANS = re.compile(
    r"(?:this|that|it|the same|these|they)(?: \w+)? (?:is|are|applies|apply|holds|needs?|requires?)"
    r" (?:only )?(?:subject to|if|when|where|for|to|"
    rf"(?:the )?(?:prior |written )*(?:\w+ )?{_APPROVAL})\b",
    re.IGNORECASE,
)
_MAIN_VERB = re.compile(
    r" (?:is|are|was|were|may|can|must|shall|will|should|has|have|receives?|gets?|do|does|need|"
    r"needs|pays?|informs?)\b"
)
_FROM_THIRD_WORD = re.compile(r"(?: [\w'’-]+){2}")
_JOINT = re.compile(r",? (?:and|or) ")
_LIMITED_BY = frozenset({ConditionKind.EXCEPTION, ConditionKind.REQUIREMENT})


def conditions(sentence: str) -> list[Condition]:
    """The restrictions in a sentence, in order, without nested restrictions."""
    found: list[Condition] = []
    for match in _CUE.finditer(sentence):
        if found and match.start() < found[-1].end:
            continue
        one = _condition(sentence, match)
        if one:
            found.append(one)
    return found


def leaning(sentence: str) -> Condition | None:
    """The restriction that this sentence as a whole places on the sentence before it, if any."""
    found = _LEANS.match(sentence)
    if not found:
        return None
    end = _clause_end(sentence, found.end())
    return _made(ConditionKind.REQUIREMENT, sentence, 0, end, found[0].split()[0])


def parts(condition: Condition) -> Iterator[str]:
    """The separate requirements of a condition: "if A and B" has two."""
    body = condition.text[len(condition.cue) :]
    pieces = _JOINT.split(body) if condition.kind in _LIMITED_BY else [body]
    whole = len(pieces) > 1 and all(len(piece.split()) >= 3 for piece in pieces)
    yield from pieces if whole else [body]


def _condition(sentence: str, match: re.Match[str]) -> Condition | None:
    name = match.lastgroup or ""
    cue, start = match[0], match.start()
    if name == "prefix":
        end = sentence.index(",", start)
        if _NO_SCOPE.match(sentence):
            return None
        return _made(ConditionKind.SCOPE, sentence, start, end, cue)
    if name == "only":
        return _made(ConditionKind.REQUIREMENT, sentence, start, match.end(), cue)
    if name == "limit":
        quantity = _QUANTITY.match(sentence, match.end())
        end = quantity.end() if quantity else match.end()
        return _made(ConditionKind.LIMIT, sentence, start, end, cue)
    if name == "scope" and cue.lower() not in ("who", "whose"):
        return _made(ConditionKind.SCOPE, sentence, start, match.end(), cue="")
    end = _clause_end(sentence, match.end())
    if name == "scope":
        return _made(ConditionKind.SCOPE, sentence, start, _before_main(sentence, match, end), cue)
    return _made(ConditionKind(name), sentence, start, end, cue)


def _made(kind: ConditionKind, sentence: str, start: int, end: int, cue: str) -> Condition:
    while end > start and sentence[end - 1].isspace():
        end -= 1
    return Condition(kind, sentence[start:end], start, end, cue)


def _clause_end(sentence: str, start: int) -> int:
    found = _END.search(sentence, start)
    return found.start() if found else len(sentence.rstrip(" .!?"))


def _before_main(sentence: str, match: re.Match[str], end: int) -> int:
    """The end of a relative clause, before the main verb: "who adopt a child | are …"."""
    words = _FROM_THIRD_WORD.match(sentence, match.end())
    main = _MAIN_VERB.search(sentence, words.end() if words else match.end(), end)
    return main.start() if main else end


LONGEST = 1_000
"""A longer text is not a sentence but a dump, a table or code, and is not split."""
_FACT_JOINT = re.compile(r";\s+|,\s+(?:and|but|while|whereas)\s+")
_PAIRS = (("(", ")"), ("[", "]"), ("“", "”"))


def facts(claim: str) -> list[str]:
    """The facts of a claim in order, or the claim itself if it states one fact. A claim with a
    condition is not split, because the condition may apply to every clause."""
    if len(claim) > LONGEST:
        return [claim]
    found = [piece.strip(" ,;.") for piece in _FACT_JOINT.split(claim)]
    several = len(found) > 1 and all(map(_stands, found)) and not conditions(claim)
    return found if several else [claim]


def _stands(piece: str) -> bool:
    """Whether a clause is complete: it has an auxiliary verb after its first word, and its brackets
    and quotation marks are balanced."""
    closed = all(piece.count(left) == piece.count(right) for left, right in _PAIRS)
    says = any(place > 0 for place in auxiliaries(piece))
    return says and closed and piece.count('"') % 2 == 0
