"""Is this English? The models inside know no other language, and say so rather than guess.

Three signs: letters of another script; small words of another language, or letters with marks,
that outnumber the English words; and, in running text that is long enough, no English small words.
Names, titles, lists, tables and code show none of the three and are let through.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from suffice.text.small_words import COMMON, ELSEWHERE, ENGLISH, ENGLISH_ALONE, OWN

_WORD = re.compile(r"[^\W\d_]+")
# Not part of code, a path or an address.
_PLAIN = re.compile(r"(?<![\w.@/\\-])[^\W\d_]{2,}(?![\w(=/\\@-]|\.\w|:\S)")
_RUNNING = re.compile(r"(?<=[^\W\d_] )[^\W\d_]{2,}(?![\w(=/\\@:-]|\.\w)")
_MARKED = re.compile(r"[À-ɏḀ-ỿ]")
_OTHER = re.compile(r"[^\W\d_\u0000-\u024fḀ-ỿ]")
_LOANS = frozenset(
    """brûlée café cafés cliché clichés crème décor déjà entrée façade fiancé fiancée fraîche
    jalapeño naïve née pâté piñata protégé purée résumé sauté sautéed señor soufflé über
    voilà""".split()
)
_NAME = re.compile(
    r"\b([A-ZÀ-Þ][\w’'-]*) (?:(?:van|von)(?: de[rn]?)?|de(?: la| las| los)?|da|di|del|dos|du|la|le)"
    r"(?= [A-ZÀ-Þ])|\bet al\b"
)
_FIRST = re.compile(r"(?:^|[.!?:;\n])\W{0,8}\w")
_UNNAMED = "another language"
_SAMPLES = 4
_SAMPLE = 1000
_SHORT = 5  # words; fewer tell nothing
_FEW = 4  # different words in lower case; of fewer, three must be signs
_LEAST = 0.4  # of the words in lower case; with less it is a list of names or titles
_TELLING = 8  # different running words without English ones, where another sign stands
_LONG = 25  # the same, where none does


@dataclass(frozen=True, slots=True)
class _Words:
    """The words of a text that tell its language, in lower case, and how often each stands there.
    `running` follow another word; `marked` have letters that English has not."""

    plain: Mapping[str, int]
    running: frozenset[str]
    marked: frozenset[str]


def unknown_language(text: str) -> str:
    """What a text is written in where that is not English; "" where it is, or cannot be told."""
    sample = _sample(text)
    if script := _script(sample):
        return script
    count = len(_WORD.findall(sample))
    if count < _SHORT:
        return ""
    words = _words(sample)
    if sum(words.plain.values()) < _LEAST * count:
        return ""
    return _named(words) or (_UNNAMED if _without_english(words) else "")


def _sample(text: str) -> str:
    """A short text whole; of a long one, parts from its start to its end."""
    if len(text) <= _SAMPLES * _SAMPLE:
        return text
    step = (len(text) - _SAMPLE) // (_SAMPLES - 1)
    return "\n".join(text[n * step : n * step + _SAMPLE] for n in range(_SAMPLES))


def _script(text: str) -> str:
    """The script of a text that is not Latin, as Unicode names it: "CJK", "Arabic", "Hangul"."""
    others = _OTHER.findall(text)
    letters = sum(map(str.isalpha, text)) if others else 0
    if len(others) <= 0.3 * letters:
        return ""
    english = sum(word in ENGLISH for word in _WORD.findall(text.lower()))
    if english > 1 and len(others) <= 0.6 * letters:
        return ""  # an English sentence with a name in its own script
    name = unicodedata.name(others[len(others) // 2], "unknown").split()[0].split("-")[0]
    return f"{name if name == 'CJK' else name.capitalize()} script"


def _words(text: str) -> _Words:
    bare = _without_names(text)
    found = _PLAIN.findall(bare)
    plain = Counter(low for word in found if (low := word.lower()) == word or low in ENGLISH)
    return _Words(
        plain,
        frozenset(word for word in _RUNNING.findall(bare) if word.islower()),
        frozenset(w for w in plain if _MARKED.search(w) and w not in OWN and w not in _LOANS),
    )


def _without_names(text: str) -> str:
    """A text whose function words alone are small: "Los Angeles" and "Mies van der Rohe" tell
    nothing of the language around them."""
    if text.isupper():
        return text.lower()
    return _FIRST.sub(lambda match: match.group().lower(), _NAME.sub(r"\1", text))


def _named(words: _Words) -> str:
    """The language whose small words, with the marked ones, are twice as many as the English ones.
    A word that it shares with English tells nothing."""
    own: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    shared: Counter[str] = Counter()
    english = 0
    for word, times in words.plain.items():
        english += times if word in ENGLISH or word in COMMON else 0
        shared.update(dict.fromkeys(ELSEWHERE.get(word, ()), times))
        own.update(dict.fromkeys(OWN.get(word, ()), times))
        kinds.update(OWN.get(word, ()))
    marked = sum(words.plain[word] for word in words.marked)
    least = 2 if len(words.plain) >= _FEW else 3  # "rue de la Paix" is an address
    likely = [
        (times, name)
        for name, times in own.items()
        if kinds[name] + len(words.marked) >= least
        and times + marked > 2 * (english - shared[name])
    ]
    if not likely:
        return ""
    most = max(likely)[0]
    names = [name for times, name in likely if times == most]
    return names[0] if len(names) == 1 else _UNNAMED


def _without_english(words: _Words) -> bool:
    """Running text with next to no English word; shorter where words of another language stand."""
    english = sum(times for word, times in words.plain.items() if word in ENGLISH or word in COMMON)
    alone = sum(times for word, times in words.plain.items() if word in ENGLISH_ALONE)
    marked = sum(words.plain[word] for word in words.marked)
    if len(words.marked) > 2 and marked > 2 * alone:
        return True
    running = len(words.running)
    signs = bool(words.marked) or any(word in OWN for word in words.plain)
    few = alone <= 0.05 * running and english <= 0.15 * running
    return few and running >= (_TELLING if signs else _LONG)
