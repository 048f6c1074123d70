"""Splits a question into the things it names.

Uses rules and the verb lexicon, no tagger: a part is a run of words between function words and
verbs. "How long is parental leave for contractors?" names "parental leave" and "contractors".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from suffice.text import verbs
from suffice.text.clauses import ARTICLES, DETERMINERS, OPENERS, PREPOSITIONS, PRONOUNS
from suffice.text.stems import listed
from suffice.text.verbs import Form
from suffice.text.words import STOP_WORDS

_TOKEN = re.compile(r"[$€£]?\w+(?:[.,:/'’&+-]\w+)*%?|[^\w\s]")
_POSSESSIVE = re.compile(r"(?:['’]s|(?<=s)['’])$")
_BREAKS = (
    STOP_WORDS
    | DETERMINERS
    | OPENERS
    | PREPOSITIONS
    | PRONOUNS
    | verbs.AUXILIARIES
    | frozenset(
        """be been being am anyone everyone everybody someone somebody anybody nobody something
        anything everything nothing long soon far yes due instead back away apart ago named called
        known enough able ahead allowed done gone necessary possible required needed according
        today tomorrow yesterday prior still already maybe perhaps thanks approximately""".split()
    )
) - frozenset("mine use used take takes get gets give gives make makes like".split())
_LINKS = frozenset("be so become very too more stay stays remain remains get gets".split())
_MAIN = verbs.HAVE | verbs.BE | {"be"}
_OWNERS = ARTICLES | frozenset("each every this that these those any some no another".split())
_SUBJECTS = frozenset("i you we they he she it who".split())
_ASKS = frozenset("which what whose".split())
_NO_ADVERBS = frozenset(
    "family supply reply july italy assembly monopoly daily weekly early".split()
)
# Nouns that take precedence over the verb lexicon.
_NOUNS = frozenset("leave pay state states file people pension notice".split())
_PREDICATE = re.compile(
    r"\w{3,}(?:able|ible|al|ful|less|ous|ive|ent|ant|ary|ate|inct)$|^(?:soft|hard|open|free|safe|dry|warm|cold|valid|legal)$"
)
_IN = frozenset("advance total general full person writing addition practice fact detail".split())
_CLAUSE = re.compile(
    r"(?P<mark>[;:,.!?])\s|(?<=\w )(?:if|when|while|because|unless|although|where|who|that)\b", re.I
)
_INTERROGATIVE = re.compile(
    r"^\W*(?:\w+\s+){0,2}?(?:how|what|which|who|whose|whom|where|when|why)\b", re.I
)
# They indicate the type of answer or stand for anyone; alone they name nothing.
LIGHT = frozenset(
    """amount answer area aspect basis beginning benefit bit case category cause change character
    choice colleague company component concept condition connection content context cost customer
    date day deadline decision definition degree detail difference direction document effect
    employee employer end event example existence explanation fact factor feature field figure firm
    form function goal group guy handbook happening history hour idea impact importance individual
    influence info information kind length level limit link list lot main maximum meaning measure
    member method minimum minute moment money month name nature number objective option order
    organisation organization origin outcome part people percent percentage period person place
    point policy position presence price problem process product program proportion purpose quantity
    question range rate reason regulation relationship rest result role rule second set share side
    significance size sort source stage state status step story style subject substance sum symbol
    system target term thing time title topic total trouble type value version way week weekday word
    work worker year own other new old first last next same current present different certain
    several maximal minimal average typical usual actual full whole entire complete general
    specific big small large high higher highest low lower lowest good bad best better great long
    short late recent latest final major important available simple common only real true true
    happen happens""".split()
)


# Classes whose members have names: "in which country" is answered without the word.
KINDS = frozenset(
    """country nation nationality city town village county region continent river lake mountain sea
    metal element animal bird fish plant color colour language religion novel book film movie song
    album band genre team club player school university college actor actress singer author artist
    king queen president party newspaper magazine show series season episode game sport race tribe
    planet currency street building material food fruit job profession""".split()
)


@dataclass(frozen=True, slots=True)
class Part:
    """A thing the question names: `question[start:end] == text`.

    `words` are its words in lower case; `asked`: it is what the question asks for ("which bank …").
    """

    text: str
    start: int
    end: int
    words: tuple[str, ...]
    asked: bool = False

    @property
    def telling(self) -> tuple[str, ...]:
        """The words that identify something: no numbers, nothing from `LIGHT`."""
        light = LIGHT | KINDS if self.asked else LIGHT
        return tuple(w for w in self.words if not w[0].isdigit() and not listed(w, light))


@dataclass(frozen=True, slots=True)
class _Word:
    start: int
    end: int
    low: str
    text: str


def parts(question: str) -> list[Part]:
    """The things a question names, in order.

    >>> [part.text for part in parts("How long is parental leave for contractors in Berlin?")]
    ['parental leave', 'contractors', 'Berlin']
    """
    words = [
        _Word(m.start(), m.end(), _POSSESSIVE.sub("", m[0].lower().replace("’", "'")), m[0])
        for m in _TOKEN.finditer(question)
    ]
    found: list[Part] = []
    for first, last in _runs(words):
        if _predicate(words, first, last) or _idiom(words, first, last):
            continue
        start, end = words[first].start, words[last - 1].end
        text = _POSSESSIVE.sub("", question[start:end])
        lows = tuple(word.low for word in words[first:last])
        asked = first > 0 and words[first - 1].low in _ASKS
        found.append(Part(text, start, start + len(text), lows, asked))
    return found


def asking(question: str) -> tuple[int, int]:
    """The span of the clause that asks; the other clauses may only give the occasion.

    >>> question = "My bike was stolen; how soon do I tell the desk if I am ill?"
    >>> question[slice(*asking(question))]
    ' how soon do I tell the desk '
    """
    cuts = [0, *(m.start() + len(m["mark"] or "") for m in _CLAUSE.finditer(question))]
    clauses = list(zip(cuts, [*cuts[1:], len(question)], strict=True))
    return next((c for c in clauses if _INTERROGATIVE.search(question[slice(*c)])), clauses[0])


def _runs(words: Sequence[_Word]) -> Iterator[tuple[int, int]]:
    """The runs of words that name something: (first, after the last)."""
    awaiting = False  # "does", "can" … still wait for their verb
    first: int | None = None
    said: list[bool] = []
    for place, word in enumerate(words):
        paired = place > 1 and said[place - 2] and words[place - 1].low in ("and", "or")
        verb = _is_verb(words, place, first is not None, awaiting, paired)
        said.append(verb)
        if word.low in verbs.DO or word.low in verbs.MODALS:
            awaiting = True
        elif verb or word.low in _MAIN:
            awaiting = False
        if verb or _breaks(word) or (place and words[place - 1].low == "how"):
            if first is not None:
                yield first, place
            first = None
        elif first is None:
            first = place
    if first is not None:
        yield first, len(words)


def _breaks(word: _Word) -> bool:
    if not word.low[0].isalnum() and word.low[0] not in "$€£":
        return True
    known = word.low in _BREAKS and not (word.text.isupper() and len(word.text) > 1)
    adverb = word.low.endswith("ly") and len(word.low) > 4 and word.low not in _NO_ADVERBS
    return known or (adverb and word.text.islower())


def _predicate(words: Sequence[_Word], first: int, last: int) -> bool:
    """Whether this is an adjective after "is": "who is responsible for …"."""
    before = words[first - 1].low if first else ""
    linked = before in verbs.BE or before in _LINKS
    return last - first == 1 and linked and bool(_PREDICATE.match(words[first].low))


def _idiom(words: Sequence[_Word], first: int, last: int) -> bool:
    """ "In advance", "in writing": the manner of an action, not a thing."""
    inside = first > 0 and words[first - 1].low == "in"
    return inside and last - first == 1 and words[first].low in _IN


def _is_verb(
    words: Sequence[_Word], place: int, inside: bool, awaiting: bool, paired: bool
) -> bool:
    """Whether the word here is used as a verb, judged by its form and its neighbours."""
    word = words[place]
    before = words[place - 1].low if place else ""
    after = words[place + 1].low if place + 1 < len(words) else ""
    if (place and word.text[0].isupper()) or "-" in word.low or not word.low[0].isalpha():
        return False
    form = verbs.form(word.low)
    if before == "who" or (before in _SUBJECTS and (awaiting or form & ~Form.ING)):
        return True
    if form is Form.NONE:
        return _takes_object(word.low, before, after, inside)
    if (before in ("to", "not") and form & Form.BASE) or (paired and form & ~Form.ING):
        return True
    more = after != "" and after not in _BREAKS and after[0].isalnum()
    owned = before in _OWNERS or before in PREPOSITIONS
    if word.low in _NOUNS:
        return awaiting and inside and not more and after not in _MAIN and form == Form.BASE
    if form & Form.BASE:
        return _base_is_verb(word.low, before, after, inside, awaiting, more)
    if form & Form.ING:
        return not (more or before in _OWNERS or inside) or after in ARTICLES
    if form & (Form.PAST | Form.PARTICIPLE):
        return not (more and (owned or inside or place == 0))
    if verbs.ambiguous(word.low):
        return inside and after in _OWNERS
    return inside or before in _ASKS or after in _OWNERS


def _base_is_verb(
    low: str, before: str, after: str, inside: bool, awaiting: bool, more: bool
) -> bool:
    if before in ("much", "many", "of", *_ASKS, *_OWNERS):
        return False
    if after in verbs.AUXILIARIES or after == "be":
        return False
    if awaiting and not verbs.ambiguous(low):
        return True
    if awaiting and inside:
        return not more
    if inside and before.endswith("s") and not verbs.ambiguous(low):
        return True
    if not inside and after == "to":
        return True
    return not inside and before not in PREPOSITIONS and (after in _OWNERS or after in DETERMINERS)


def _takes_object(low: str, before: str, after: str, inside: bool) -> bool:
    """Whether an unknown word is in a position where only a verb can be: directly before an
    article."""
    if after not in ARTICLES or low in _BREAKS:
        return False
    return before == "to" or low.endswith(("ing", "ed")) or (inside and low.endswith("s"))
