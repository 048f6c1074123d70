"""Content words, their stems and synonyms, and how informative each is."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path

from snowballstemmer import stemmer

_WORD = re.compile(r"[^\W\d_]{3,}|(?<![^\W\d_])[A-Z]{2}(?![^\W\d_])")

# Auxiliaries are the only verbs few enough to list. "May" within a sentence is a month.
_AUXILIARY = re.compile(
    r"(?<![\w'’-])(?!(?-i:May)\b)(?:am|is|are|was|were|has|have|had|do|does|did|can|could|may|might|"
    r"must|shall|should|will|would|cannot|\w+n['’]t)(?![\w'’-])",
    re.IGNORECASE,
)
STOP_WORDS = frozenset(
    """
    a about above after again against all also am an and any are aren as at be because been before
    being below between both but by can cannot could couldn did didn do does doesn doing don down
    during each either else ever every few for from further get gets give given gives got had hadn
    has hasn have haven having he her here hers herself him himself his how however i if in into is
    isn it its itself just let like made make makes many may me might mine more most much must my
    myself no nor not now of off often on once one only onto or other our ours ourselves out over
    own per please same shall she should shouldn since so some such take takes tell than that the
    their theirs them themselves then there these they this those through thus to too under until
    up upon us use used very via was wasn we were weren what when where whether which while who
    whom whose why will with within without won would wouldn yet you your yours yourself yourselves
    """.split()
)


def content_words(text: str) -> list[str]:
    """The distinct words of a text in order and in lower case, without stop words. A word has at
    least three letters of any script, or two capitals, such as "HR"."""
    words = (word.lower() for word in _WORD.findall(unicodedata.normalize("NFC", text)))
    return list(dict.fromkeys(word for word in words if word not in STOP_WORDS))


def auxiliaries(text: str) -> list[int]:
    """The positions of auxiliary verbs. A text without any rarely states anything."""
    return [found.start() for found in _AUXILIARY.finditer(text)]


def without_accents(text: str) -> str:
    """The text without accents: "Brasilia" for "Brasília"."""
    spread = unicodedata.normalize("NFKD", text)
    return "".join(char for char in spread if not unicodedata.combining(char))


_LONGEST = 40
_TOKEN = re.compile(r"[^\W_]+")
# The words that keyword search does not count either, so that both agree on what a text is about.
_UNCOUNTED = frozenset(
    """
    a about above after again against ain all am an and any are aren as at be because been before
    being below between both but by can couldn d did didn do does doesn doing don down during each
    few for from further had hadn has hasn have haven having he her here hers herself him himself
    his how i if in into is isn it its itself just ll m ma me mightn more most mustn my myself needn
    no nor not now o of off on once only or other our ours ourselves out over own re s same shan she
    should shouldn so some such t than that the their theirs them themselves then there these they
    this those through to too under until up ve very was wasn we were weren what when where which
    while who whom why will with won wouldn y you your yours yourself yourselves
    """.split()
)


def stem(word: str) -> str:
    """The Snowball stem in lower case. A string too long to be a word is unchanged."""
    low = word.lower()
    return low if len(low) > _LONGEST else _stem(low)


def stems(text: str) -> frozenset[str]:
    """The stems of a text's counted words: "orders" and "order" have the same stem."""
    return frozenset(map(stem, set(_TOKEN.findall(text.lower())) - _UNCOUNTED))


def listed(word: str, words: Set[str]) -> bool:
    """Whether `words` contains a word or its singular. Stricter than comparing stems: "several" and
    "severance" have the same stem."""
    return word in words or word.removesuffix("s") in words


@lru_cache(maxsize=1 << 16)
def _stem(low: str) -> str:
    return str(stemmer("english").stemWord(low))  # stemmers are cheap to create but not thread-safe


@dataclass(frozen=True, slots=True)
class Synonyms:
    """Groups of words with the same meaning."""

    groups: tuple[tuple[str, ...], ...] = ()
    _by_word: Mapping[str, tuple[str, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        found: dict[str, tuple[str, ...]] = {}
        for group in self.groups:
            for word in group:
                key = _key(word)
                others = (*found.get(key, ()), *(other for other in group if _key(other) != key))
                found[key] = tuple(dict.fromkeys(others))
        object.__setattr__(self, "_by_word", found)

    @classmethod
    def read(cls, own: Sequence[str] = ()) -> Synonyms:
        """Read the setting: ["wfh, remote work", "pto, holiday"]."""
        groups = (tuple(filter(None, map(_word, line.split(",")))) for line in own)
        return cls(tuple(group for group in groups if len(group) > 1))

    def of(self, word: str) -> tuple[str, ...]:
        """The synonyms of a word, in any of its forms."""
        return self._by_word.get(_key(word), ())


def _key(word: str) -> str:
    return " ".join(map(stem, word.split()))


def _word(written: str) -> str:
    return " ".join(written.lower().split())


FILE = Path(__file__).with_name("rarity.txt")
LEVELS = 4
WORD = re.compile(r"[^\W_]+(?:[.,]\d+)*")


def folded(text: str) -> Iterator[str]:
    """The words of a text, normalised for comparison: lower case, 4,000 as 4000."""
    for found in WORD.finditer(text):
        yield fold(found[0])


def fold(word: str) -> str:
    return unicodedata.normalize("NFKC", word).lower().replace(",", "")


def rarity(word: str) -> float:
    """The rarity of a normalised word, from 0 (common everywhere) to 1."""
    return _levels().get(word, LEVELS) / LEVELS


def stem_rarity(word: str) -> float:
    """The rarity of the most common word with this stem: "expires" is as common as "expired"."""
    return _stem_levels().get(stem(word), LEVELS) / LEVELS


def weight(words: Iterable[str]) -> float:
    """The total rarity of words, added in a fixed order so that every process gets the same sum."""
    return sum(rarity(word) for word in sorted(words))


@cache
def _levels() -> dict[str, int]:
    lines = FILE.read_text(encoding="utf-8").splitlines()
    return {word: level for level, line in enumerate(lines) for word in line.split()}


@cache
def _stem_levels() -> dict[str, int]:
    found: dict[str, int] = {}
    for word, level in _levels().items():
        found.setdefault(stem(word), level)  # common words come first
    return found


LOOKALIKES = str.maketrans("аеорсухіѕјһԁАВЕКМНОРСТХІЅЈ", "aeopcyxisjhdABEKMHOPCTXISJ")
_LATIN = re.compile(r"[A-Za-z]")
_RUN = re.compile(r"\w+")


def unmasked(text: str) -> str:
    """The text as a reader sees it, with the same length. In words that mix scripts, letters that
    look Latin become Latin. Words entirely in another script are unchanged.

    >>> unmasked("It must nоt be paid in Москва.")  # with a Cyrillic "о" in "nоt"
    'It must not be paid in Москва.'
    """
    if text.isascii():
        return text
    return _RUN.sub(lambda word: _latin(word[0]), text)


def _latin(word: str) -> str:
    return word.translate(LOOKALIKES) if _LATIN.search(word) else word
