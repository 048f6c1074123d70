"""Detects text that is not English, so that it can be reported: the models only read English.

Non-Latin scripts are recognised by their Unicode names. Text in Latin script is passed to py3langid
unless it has enough English function words. Code, addresses, names, titles and very short texts
count as English.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import Any

from suffice.text.words import STOP_WORDS

_WORD = re.compile(r"[^\W\d_]+")
# A word that is not part of code, a path or an address.
_PLAIN = re.compile(r"(?<![\w.@/\\-])[^\W\d_]+(?![\w(=/\\@-]|\.\w|:\S)")
_OTHER = re.compile(r"[^\W\d_\u0000-\u024fḀ-ỿ]")
_UNNAMED = "another language"
_SAMPLES = 4
_SAMPLE = 1000
_SHORT = 5  # minimum number of words; with fewer, identification is unreliable
_LOWER = 0.3  # minimum share of lower-case words; with fewer, it is a list of names or titles
_LONG = 4  # minimum length of the longest lower-case word; "12 rue de la Paix" is an address
_ENGLISH = 0.34  # share of English function words that is enough to accept a text
_UNLIKELY = 0.01  # a text is not English if its probability of English is lower
_NAMES_ASIDE = 0.2  # the same limit for lower-case ASCII words, which excludes names
_SURE = 0.6  # minimum probability for naming the language

# The candidate languages. Other scripts are recognised earlier. Dialects such as Extremaduran are
# left out, because they would take probability from their main language. "zxx" means no language.
_NAMES = dict(
    pair.split("=")
    for pair in """
    af=Afrikaans az=Azerbaijani bs=Bosnian ca=Catalan cs=Czech cy=Welsh da=Danish de=German
    en=English eo=Esperanto es=Spanish et=Estonian eu=Basque fi=Finnish fr=French ga=Irish
    gl=Galician ha=Hausa hr=Croatian hu=Hungarian id=Indonesian ig=Igbo is=Icelandic it=Italian
    la=Latin lt=Lithuanian lv=Latvian mg=Malagasy ms=Malay mt=Maltese nl=Dutch no=Norwegian
    pl=Polish pt=Portuguese ro=Romanian sk=Slovak sl=Slovenian so=Somali sq=Albanian sr=Serbian
    sv=Swedish sw=Swahili tl=Tagalog tr=Turkish uz=Uzbek vi=Vietnamese xh=Xhosa yo=Yoruba
    zu=Zulu zxx=none
    """.split()
)
# English texts use Latin terms in law, medicine and biology.
_LET_THROUGH = frozenset({"en", "la", "zxx"})


def unknown_language(text: str) -> str:
    """The language or script of a text that is not English; empty if it is English or unclear."""
    sample = _sample(text)
    if script := _script(sample):
        return script
    words = _PLAIN.findall(sample.lower() if sample.isupper() else sample)
    lower = [word for word in words if word.islower()]
    if len(words) < _SHORT or len(lower) < _LOWER * len(words) or len(max(lower, key=len)) < _LONG:
        return ""
    if sum(word.lower() in STOP_WORDS for word in words) >= _ENGLISH * len(words):
        return ""
    return _named(words, lower)


def _named(words: list[str], lower: list[str]) -> str:
    language, probability, english = _identify(words)
    if language in _LET_THROUGH or english >= _UNLIKELY:
        return ""
    if _identify([word for word in lower if word.isascii()])[2] >= _NAMES_ASIDE:
        return ""
    return _NAMES[language] if probability >= _SURE else _UNNAMED


def _identify(words: list[str]) -> tuple[str, float, float]:
    """The most likely language, its probability, and the probability of English."""
    ranked = _identifier().rank(" ".join(words))
    return *ranked[0], dict(ranked)["en"]


@cache
def _identifier() -> Any:
    # Loaded on first use: it takes a second, and most English text never needs it.
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages(_NAMES)
    return identifier


def _sample(text: str) -> str:
    """The whole text if it is short, otherwise excerpts spread evenly over it."""
    if len(text) <= _SAMPLES * _SAMPLE:
        return text
    step = (len(text) - _SAMPLE) // (_SAMPLES - 1)
    return "\n".join(text[n * step : n * step + _SAMPLE] for n in range(_SAMPLES))


def _script(text: str) -> str:
    """The non-Latin script of a text by its Unicode name, such as "CJK", "Arabic" or "Hangul"."""
    others = _OTHER.findall(text)
    letters = sum(map(str.isalpha, text)) if others else 0
    if len(others) <= 0.3 * letters:
        return ""
    english = sum(word in STOP_WORDS for word in _WORD.findall(text.lower()))
    if english > 1 and len(others) <= 0.6 * letters:
        return ""  # an English sentence with a name in another script
    name = unicodedata.name(others[len(others) // 2], "unknown").split()[0].split("-")[0]
    return f"{name if name == 'CJK' else name.capitalize()} script"
