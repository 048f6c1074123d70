"""Content words, for policies and drafters that compare words."""

from __future__ import annotations

import re
import unicodedata

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
