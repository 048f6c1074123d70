"""Splits a drafted answer into sentences, each with its exact span, kind and citations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from itertools import pairwise

from suffice.deadline import watched
from suffice.text.marks import bare, citations
from suffice.text.sentences import ITEM_MARK, is_code, sentences
from suffice.text.words import auxiliaries, content_words


class StatementKind(StrEnum):
    """The role of a sentence in an answer. Only a CLAIM is checked."""

    CLAIM = "claim"
    QUESTION = "question"
    GREETING = "greeting"
    REFUSAL = "refusal"
    META = "meta"
    HEADING = "heading"
    CODE = "code"


_GREETING = re.compile(
    r"""(?:
      (?:hello|hi|hey|greetings|good\s(?:morning|afternoon|evening|day))
          (?:,?\s(?:there|all|team|everyone))?
    | dear\s[\w.]+(?:\s[\w.]+){0,3}
    | (?:thank\syou|thanks)(?:\s(?:so\smuch|very\smuch|a\slot))?
          (?:\sfor\s(?:your|the|asking)\b.{0,60})?
    | you(?:'re|\sare)\s(?:very\s)?welcome
    | (?:sure|of\scourse|certainly|absolutely|great|okay|ok|yes,\sof\scourse)(?:\sthing)?
    | (?:that(?:'s|\sis)\sa\s)?(?:great|good|excellent|interesting)\squestion
    | (?:best|kind|warm)\s(?:regards|wishes) | sincerely | goodbye | bye | cheers
    | (?:my\sname\sis|i(?:'m|\sam))\s[\w\s]{0,30}assistant\b.{0,40}
    | (?:nice|pleased)\sto\smeet\syou
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_SOURCES = (
    r"(?:(?:the|these|this|those|any\sof\sthe|your|my|our|all)\s)?"
    r"(?:(?:provided|given|available|retrieved|supplied|above|current|following|relevant)\s){0,2}"
    r"(?:(?:source|reference|policy|company|context|search)\s)?"
    r"(?:documents?|passages?|contexts?|sources?|evidence|information|text|excerpts?|materials?|"
    r"knowledge\sbase|search\sresults?|data|documentation)"
    r"(?:\s(?:provided|given|available|at\shand|i\s(?:have|was\sgiven)|above|retrieved|supplied))?"
)
_NOT = r"(?:\sdo(?:es)?\snot|\sdo(?:es)?n't|\sdid\snot|\sdidn't|\scannot|\scan\snot|\scan't)"
_REFUSAL = re.compile(
    rf"""(?:(?:unfortunately|i(?:'m|\sam)\s(?:sorry|afraid)|sorry|i\sapologi[sz]e)\b[,.]?\s?
           (?:but\s|that\s)?|(?:based\son|from|according\sto|in)\s{_SOURCES},?\s)?(?:
      i{_NOT}\s(?:have|find|know(?!\sany(?:one|body))|see(?!\s(?:why|how))|locate|answer|say|provide|determine|tell|give|help|confirm|
          verify|access)\b.*
    | i(?:\s(?:was|am)|'m)\s(?:unable\sto|not\s(?:able\sto|sure|certain|aware))\b.*
    | i\s(?:couldn't|could\snot)\s(?:find|locate|determine|see|verify|confirm|answer|tell|say)\b.*
    | i\s(?:must\sdecline|decline)\b.*
    | i\s(?:have\sno|lack|found\sno)\s(?:\w+\s){{0,3}}?(?:information|evidence|data|details?|
          answers?|knowledge|records?|access|idea|mention|sources?|documents?|passages?)\b.*
    | we{_NOT}\shave\s(?:enough|sufficient|any)\b.*
    | {_SOURCES}(?:{_NOT}\s(?:\w+ly\s)?(?:say|state|mention|contain|specify|provide|include|
          address|cover|answer|give|indicate|explain|discuss|describe|tell|offer|support)
          \b(?P<open>.*)
        |(?:\s(?:is|are)\s(?:insufficient|not\s(?:enough|sufficient))|\s(?:is|are)\ssilent)\b.*)
    | (?:there\s(?:is|are)\s)?(?:not\senough|insufficient|not\ssufficient)\s
          (?:information|evidence|data|details?|context)\b.*
    | there\s(?:is|are)\sno\s(?:\w+\s){{0,3}}?(?:information|evidence|mention|data|details?|answer)
          \b.*\b(?:(?:in|from|by)\s{_SOURCES}|to\sanswer\b.*)
    | (?:it|this|the\s(?:question|answer))\s(?:is\snot|isn't|cannot\sbe|can't\sbe|could\snot\sbe)\s
          (?:\w+\s){{0,2}}?(?:stated|mentioned|specified|answered|determined|found|provided|clear)\b.*
    | (?:unable|not\sable)\sto\s(?:answer|determine|find)\b.*
    )""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
# "The documents do not say, but it is 5 %": a claim follows the refusal.
_TURN = re.compile(
    r"(?:,|;|\s—|\s-)\s(?:but|however|though|although|so|and|yet|which|who|where|as)\b"
    r"|\b(?:but|however|because|since|although|whereas|given that|except that|while)\b|;"
    r"|[—–:]\s*(?=\w)",
    re.IGNORECASE,
)
_HEAD = re.compile(r"(?:i'm|unable|insufficient)\b", re.I)
_INDIRECT = re.compile(
    r"\b(?:what|how|why|when|where|who|whom|whose|which|whether|if|that)\b", re.I
)
# "I'm not sure the company pays double" still states something.
_SURE_OF = re.compile(
    rf"\b(?:sure|certain|aware)\s(?!(?:about|of|enough|to)\b|{_INDIRECT.pattern})\w", re.I
)
# Questions that state something: "Did you know that …", "Isn't it so that …", "It is 5 %, right?"
_ASKS = re.compile(
    r"(?:^|[,;:—\"“(]\s*|\b(?:and|or|but|so|then|well|now)\s+)(?:(?:in|at|for|by|to|from|with|under|"
    r"on)\s)?(?:what|how|why|when|where|who|whom|whose|which|is|are|was|were|am|do|does|did|has|have|"
    r"had|can|could|may|might|must|shall|should|will|would)\b(?!n['’]t)",
    re.IGNORECASE,
)
_TELLS = re.compile(
    r"\b(?:did|do|don['’]t|didn['’]t)\s(?:you|we|they)\s(?:already\s)?(?:know|realis?ze|realise|notice|"
    r"hear|see|remember|think)\b|^(?:\w+n['’]t|is(?:\sit)?\snot)\b|\bnot\s(?:true|so|the\scase)\b|"
    r",\s(?:right|correct|no|yes|okay|ok|true|huh|eh|(?:is|are|was|were|do|does|did|has|have|can|"
    r"will|would|could|should)(?:n['’]t)?\s(?:it|they|he|she|we|you|i|there|this|that))$",
    re.IGNORECASE,
)
# Words that turn an offer into a claim: "I'd be happy to say that it is 5 %".
_OFFER = re.compile(
    r"(?:please|let\sme|feel|do\snot|don't|reach|ask|if\syou|hope|i(?:'d|\s|'ll|'m))", re.IGNORECASE
)
_MORE = re.compile(
    r"\b(?:that|because|since|but|however|which|although|while)\b|[:;—–]\s*\w", re.IGNORECASE
)
_SPEAKS_OF_SOURCES = re.compile(rf"{_SOURCES}\s", re.IGNORECASE)
_NEGATED = re.compile(r"\b(?:not|cannot|nothing|none|neither|nor)\b|n['’]t\b", re.IGNORECASE)
_DIGIT = re.compile(r"\d")
_THEY = re.compile(r"they\b", re.IGNORECASE)
_BASED = rf"(?:based\son|according\sto|from|in|per|using)\s{_SOURCES}"
_META = re.compile(
    rf"""(?:(?:sure|of\scourse|certainly|okay)[,!]\s)?(?:
      (?:{_BASED},?\s)?here(?:'s|\sis|\sare)\s(?:(?!\b(?:is|are|was|were|has|have)\b).){{0,160}}:
    | here(?:'s|\sis|\sare)\s(?:the|a|an|my|your|some)\s(?:[a-z]+\s){{0,2}}
          (?:answer|summary|overview|response|information|list|explanation|details)
          (?:\sto\syour\squestion|\syou\s(?:requested|asked\sfor|need))?
    | here(?:'s|\sis)\swhat\s(?:i|we)\s(?:found|know|could\sfind)
          (?:\s(?:on|about|in)\s[^:;,—\d]{{0,60}})?
    | {_BASED}:?
    | (?:the\s)?(?:answer|summary|response|sources?|references?|citations?|notes?|overview|
          conclusion|explanation|details)(?:\sis)?(?:\sas\sfollows)?:
    | (?:i\shope|hope)\s(?:this|that|it)\s(?:helps|answers|is\shelpful|clarifies)\b.{{0,60}}
    | (?:please\s)?(?:(?:let\sme\sknow|feel\sfree|do\snot\shesitate|don't\shesitate)
          (?:\s(?:if|whether|when|how|what|to\s(?:ask|contact\s(?:me|us)|reach\sout|let\sme|follow))
          \b.{{0,100}})?
        | (?:reach\sout|ask)(?:\s(?:me|us|again|away|if|for\smore|further|another|any)\b.{{0,80}})?)
    | if\syou\s(?:have|need|want|would\slike)\b.{{0,80}}(?:let\sme\sknow|feel\sfree|ask|contact\sme|
          happy\sto\shelp|reach\sout)\b.{{0,60}}
    | i(?:'d|\swould|'ll|\swill|\scan|'m|\sam)\s(?:be\s)?(?:happy|glad|pleased|help)\b
          (?:\s(?:to|you|with|if)\b.{{0,100}})?
    | (?:let\sme|i(?:'ll|\swill))\s(?:explain|answer|summari[sz]e|break\s(?:it|this)\sdown|help|
          walk\syou)\b.{{0,80}}
    | in\s(?:summary|short|conclusion|brief)[:,]?
    | to\s(?:summari[sz]e|conclude|answer\syour\squestion)[:,]?
    | (?:is\sthere\sanything\selse)\b.{{0,60}}
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_CLOSERS = " \t\n*_\"”'’)"
_LONGEST = 400
_FEW_WORDS = 2


def nonclaim(words: str) -> StatementKind | None:
    """The kind of a sentence that makes no claim; `None` if it may make a claim. `words` is the
    sentence without citation marks and Markdown."""
    sentence = words.strip(_CLOSERS + "(“")
    if sentence.endswith("?"):
        return StatementKind.QUESTION if _asks(sentence[:-1].rstrip()) else None
    if len(sentence) > _LONGEST:
        return None
    sentence = sentence.replace("’", "'")
    plain = sentence.rstrip(".!, ")
    if _GREETING.fullmatch(plain):
        return StatementKind.GREETING
    if (_META.fullmatch(sentence) or _META.fullmatch(plain)) and not _offers_more(plain):
        return StatementKind.META
    if _REFUSAL.fullmatch(plain) and not _says_more(plain):
        return StatementKind.REFUSAL
    return None


def left_open(words: str) -> str:
    """What a refusal leaves open, as a phrase: "how many phones one account can register". Empty if
    it names nothing but the question.

    >>> left_open("The passages do not state the amount of the fee.")
    'the amount of the fee'
    """
    plain = words.strip(_CLOSERS + "(“").replace("’", "'").rstrip(".!, ")
    refused = _REFUSAL.fullmatch(plain)
    phrase = refused["open"] if refused else None
    if phrase is None:
        asked = _INDIRECT.search(plain)
        phrase = plain[asked.start() :] if asked else plain
    phrase = phrase.strip(" ,:")
    return phrase if set(content_words(phrase)) - {"question"} else ""


def declines(words: str) -> bool:
    """Whether a sentence says what the documents leave open. It may state something beside."""
    plain = words.strip(_CLOSERS + "(“").replace("’", "'").rstrip(".!, ")
    return len(plain) <= _LONGEST and bool(_REFUSAL.fullmatch(plain))


def only_declines(words: str) -> bool:
    """Whether a sentence says what the documents leave open and what does not follow then ("…, so
    the amount cannot be worked out"), but states nothing beside."""
    first, *rest = _TURN.split(words)
    tails = all(_NEGATED.search(part) and not _DIGIT.search(part) for part in rest)
    return declines(words) and declines(first.rstrip(" ,")) and tails


def speaks_of_sources(words: str) -> bool:
    """Whether the documents are the subject of a sentence, such as "The passages say …"."""
    return bool(_SPEAKS_OF_SOURCES.match(words))


def with_subject(words: str) -> str:
    """A sentence about "they", said of the passages; others are returned unchanged."""
    return _THEY.sub("The passages", words, count=1) if _THEY.match(words) else words


def _asks(sentence: str) -> bool:
    """Whether a question only asks. A statement with a question mark at its end does not count."""
    states = any(char.isdigit() for char in sentence) or len(content_words(sentence)) > _FEW_WORDS
    return not _TELLS.search(sentence) and (bool(_ASKS.search(sentence)) or not states)


def _offers_more(sentence: str) -> bool:
    return bool(_OFFER.match(sentence) and _MORE.search(sentence))


def _is_clause(part: str) -> bool:
    """Whether text after a comma is long enough to state something: ", the fund pays it all"."""
    listed = part.startswith(("or ", "and ", "nor ", "such as ")) or _INDIRECT.match(part)
    return len(content_words(part)) > _FEW_WORDS and not listed and not _REFUSAL.fullmatch(part)


def _says_more(sentence: str) -> bool:
    """Whether a refusal also states something, either after a word such as "but", unless another
    refusal follows, or in an independent clause ("I am not sure, it is 5 %")."""
    apology = re.match(r"(?:i'm |i am )?sorry,? but |(?:unfortunately|sorry)[,.]? ", sentence, re.I)
    turn = _TURN.search(sentence, apology.end() if apology else 0)
    if turn:
        before, after = sentence[: turn.start()].rstrip(" ,"), sentence[turn.end() :].strip(" ,")
        declined = _REFUSAL.fullmatch(before) and _REFUSAL.fullmatch(after)
        return not declined or _says_more(before) or _says_more(after)
    rest = sentence[apology.end() :] if apology else sentence
    if _SURE_OF.search(rest) or any(map(_is_clause, rest.split(", ")[1:])):
        return True
    verbs = ([0] if _HEAD.match(rest) else []) + auxiliaries(rest)
    between = (rest[one:other] for one, other in pairwise(verbs))
    return any(len(words.split()) > 1 and not _INDIRECT.search(words) for words in between)


_COUNTED = re.compile(
    r"(?:step|part|section|chapter|phase|option|method|question|passage|source|q)\s*\d{1,3}(?:\.\d{1,3})*"
    r"\s*[.):–-]*(?:\s+|$)|\d{1,3}(?:(?:\.\d{1,3})+|[.):])\s+",
    re.IGNORECASE,
)
_AMOUNT = re.compile(
    r"[$€£]\s?\d|\d\s?[%€£]|\b\d[\d.,]{0,40}[ -]?(?:per\s?cent|percent|years?|months?|weeks?|days?|"
    r"hours?|minutes?|seconds?|euros?|dollars?|pounds?|kg|km|cm|mm|miles?|times)\b",
    re.IGNORECASE,
)
# "No refunds", "Free for all staff": a heading that states a rule.
_SETS_RULE = re.compile(
    r"\b(?:no|not|never|none|nobody|without|only|all|every|everyone|always|free)\b|n['’]t\b",
    re.IGNORECASE,
)
_GIVES = re.compile(r":\s*\S")
_PROSE = re.compile(r"[\w\s.,:;!?'’\"“”()%$€£/&-]+")
_CODE_LINE = re.compile(r"`[^`]+`[.:]?")
_BOLD = re.compile(r"(?:\*\*|__)[^*\n]{1,120}(?:\*\*|__):?")
_ASKING = re.compile(r"(?:what|how|why|when|where|who|which)\b", re.IGNORECASE)
_LABEL = re.compile(r"[A-Z][\w&/'’ -]{0,60}:$")
_BLANK_LINE = re.compile(r"\n[^\S\n]*\n")
_RULE = re.compile(r"[\s|:=*_~-]+$")
_SPLIT_CELL = re.compile(r"(?<!\\)\|")
_SOURCE_LIST = re.compile(
    r"[\W_]*(?:sources?|references?|citations?|footnotes?)[\W_]*(?:\n|$)", re.IGNORECASE
)
LONGEST_CONTEXT = 300


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence of a draft: `draft[start:end] == text`.

    `words` is the text without citation marks and Markdown; a table row becomes "Header: cell"
    pairs. For a list item, `context` is the line that introduces the list.
    """

    text: str
    start: int
    end: int
    kind: StatementKind
    words: str
    cites: tuple[int, ...] = ()
    context: str = ""

    @property
    def checkable(self) -> bool:
        return self.kind is StatementKind.CLAIM

    @property
    def alone(self) -> str:
        """The sentence without marks; a list item is preceded by its lead-in."""
        return f"{self.context} {self.words}".strip()


# Drafter, checks and verdict read the same draft.
@lru_cache(maxsize=8)
def claims(text: str) -> tuple[Statement, ...]:
    """Every sentence of a draft in order, except horizontal rules and lone marks."""
    found: list[Statement] = []
    sources = False  # whether "they" are the documents: "The passages say … They do not say …"
    for start, end, cites in watched(_cited(text)):
        sentence = text[start:end]
        if not any(char.isalnum() for char in sentence) or _RULE.fullmatch(sentence):
            continue
        code = _is_code(sentence)
        words = sentence if code else bare(sentence)
        said = with_subject(words) if sources else words
        kind = StatementKind.CODE if code else _kind(sentence, said)
        sources = speaks_of_sources(said)
        found.append(Statement(sentence, start, end, kind, words, cites))
    return tuple(_with_context(text, _rows(text, found)))


def _cited(text: str) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """The span and citations of each sentence; the span excludes marks before and after it.

    Marks after a full stop cite the preceding sentence if it is in the same paragraph.
    """
    waiting: tuple[int, int, tuple[int, ...]] | None = None
    for start, end in sentences(text):
        lead, start_, cites, end_ = _peeled(text, start, end)
        if waiting is not None:
            first, last, before = waiting
            same = "\n" not in text[last:start]
            if (same and lead) or (lead and start_ >= end_):
                yield first, last, _merged(before, lead)
                lead = ()
            else:
                yield waiting
        waiting = None
        if start_ < end_:
            waiting = (start_, end_, _merged(lead, cites))
        elif lead:
            yield start, end, lead
    if waiting is not None:
        yield waiting


def _peeled(text: str, start: int, end: int) -> tuple[tuple[int, ...], int, tuple[int, ...], int]:
    """The citations before a sentence, its start, the citations in and after it, and its end."""
    sentence = text[start:end]
    lead: tuple[int, ...] = ()
    rest: tuple[int, ...] = ()
    first, last = 0, len(sentence)
    marks = [] if _is_code(sentence) else citations(sentence)
    for (begin, stop), numbers in marks:
        if not rest and not sentence[first:begin].strip(" .,;\n\t"):
            lead = _merged(lead, numbers)
            first = stop
        else:
            rest = _merged(rest, numbers)
    for (begin, stop), _ in reversed(marks):
        # A mark before the full stop stays in the sentence: "… weeks [1]."
        if (
            begin >= first
            and not sentence[stop:last].strip()
            and sentence[first:begin].rstrip()[-1:] in ".!?"
        ):
            last = begin
    while first < last and (sentence[first].isspace() or (first and sentence[first] in ".,;")):
        first += 1
    while last > first and sentence[last - 1].isspace():
        last -= 1
    return lead, start + first, rest, start + last


def _merged(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(dict.fromkeys((*first, *second)))


def _kind(sentence: str, words: str) -> StatementKind:
    """The kind of a sentence that is not code. `words` is the sentence without marks."""
    if not any(char.isalnum() for char in words):
        return StatementKind.META
    if _SOURCE_LIST.match(sentence) and not auxiliaries(words):
        return StatementKind.META
    kind = nonclaim(words)
    if kind is not None:
        return kind
    return StatementKind.HEADING if _is_heading(sentence, words) else StatementKind.CLAIM


def _is_heading(sentence: str, words: str) -> bool:
    """Whether a line is a heading. A heading that states something counts as a sentence."""
    label = bool(_LABEL.fullmatch(words)) and len(words.split()) <= 6
    marked = sentence.startswith("#") or bool(_BOLD.fullmatch(sentence))
    return (label or marked) and not _states_something(words)


def _states_something(words: str) -> bool:
    """Whether a line states something: it contains an auxiliary verb, an amount, a value after a
    colon, or a word such as "no", "only" or "every"."""
    name = words[counted.end() :] if (counted := _COUNTED.match(words)) else words
    if _ASKING.match(name):
        return False
    gives = bool(_GIVES.search(name)) and any(char.isdigit() for char in name)
    sets_rule = bool(_SETS_RULE.search(name)) and len(name.split()) > 1
    return gives or sets_rule or bool(_AMOUNT.search(name)) or bool(auxiliaries(name))


def _is_code(sentence: str) -> bool:
    """Whether a block is code rather than prose in a code block."""
    fenced, lined = is_code(sentence), bool(_CODE_LINE.fullmatch(sentence))
    return (fenced or lined) and not _is_prose(sentence.strip("`~.: \n").partition("\n"), fenced)


def _is_prose(parts: tuple[str, str, str], fenced: bool) -> bool:
    """Whether a code block contains only sentences."""
    language, newline, rest = parts
    text = rest if fenced and newline and " " not in language else "".join(parts)
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    plain = [line for line in lines if _PROSE.fullmatch(line) and len(line.split()) > 2]
    return bool(plain) and len(plain) == len(lines) and any(map(_states_something, plain))


def _rows(text: str, found: list[Statement]) -> list[Statement]:
    """Add the column headers to the words of each table row, and mark header rows as headings. A
    blank line ends a table."""
    header: list[str] = []
    done: list[Statement] = []
    for place, one in enumerate(found):
        if done and _BLANK_LINE.search(text[done[-1].end : one.start]):
            header = []
        if not one.text.lstrip().startswith("|"):
            header = []
            done.append(one)
            continue
        cells = _cells(one.text)
        below = found[place + 1].start if place + 1 < len(found) else len(text)
        if not header and _ruled(text[one.end : below]):
            header = cells
            done.append(replace(one, kind=StatementKind.HEADING, words="; ".join(cells)))
            continue
        pairs = [
            f"{header[at]}: {cell}" if at < len(header) and header[at] else cell
            for at, cell in enumerate(cells)
            if cell
        ]
        done.append(replace(one, kind=StatementKind.CLAIM, words="; ".join(pairs)))
    return done


def _cells(row: str) -> list[str]:
    return [bare(cell.strip()) for cell in _SPLIT_CELL.split(row.strip().strip("|"))]


def _ruled(between: str) -> bool:
    return "|" in between and "-" in between


def _with_context(text: str, found: list[Statement]) -> list[Statement]:
    """Mark the lead-in of each list as META and add it as context to the list items."""
    done: list[Statement] = []
    lead_in = ""
    sourced = False
    for place, one in enumerate(found):
        follows = found[place + 1] if place + 1 < len(found) else None
        item = bool(ITEM_MARK.match(one.text))
        if _introduces(one, follows) and not item:
            lead_in = one.words[:LONGEST_CONTEXT]
            one = replace(one, kind=_lead_kind(one, follows))
        elif one.kind is StatementKind.HEADING:
            lead_in = one.words[:LONGEST_CONTEXT]
        elif not item and not _in_item(text, one.start) and one.kind is not StatementKind.CODE:
            lead_in = ""
        if not one.checkable:
            sourced = bool(_SOURCE_LIST.match(one.words))
        elif sourced and one.cites and not auxiliaries(one.words):
            one = replace(one, kind=StatementKind.META)
        else:
            sourced = False
            one = replace(one, context=lead_in if item else "")
        done.append(one)
    return done


def _in_item(text: str, place: int) -> bool:
    line = text.rfind("\n", 0, place) + 1
    return bool(ITEM_MARK.match(text, line))


def _introduces(statement: Statement, follows: Statement | None) -> bool:
    if follows is None or not statement.words.rstrip().endswith(":"):
        return False
    return bool(ITEM_MARK.match(follows.text)) or follows.kind is StatementKind.CODE


def _lead_kind(statement: Statement, follows: Statement | None) -> StatementKind:
    """META for a lead-in that is checked as part of its items. A lead-in that contains a number, or
    that introduces code, keeps its kind and is checked itself."""
    numbered = any(char.isdigit() for char in statement.words)
    whole = len(statement.words) <= LONGEST_CONTEXT  # the items are judged with all of it
    read = follows is not None and follows.checkable and whole and not numbered
    return StatementKind.META if read and statement.checkable else statement.kind
