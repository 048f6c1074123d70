"""Is this English? The models inside know no other language, and say so rather than guess."""

from __future__ import annotations

import re
import unicodedata

_WORD = re.compile(r"[^\W\d_]+")
_ENGLISH = frozenset(
    """the of and to in is are was were be been a an it its that this for on with as at by from or
    not have has had he she they you we his her their our will would can could may must should
    which who what when where how if than then there these those but also into about""".split()
)
_OTHERS = {
    "German": """der die das und ist sind war ein eine einen nicht mit für auf von zu im den dem des
        sich auch werden wird wurde haben hat bei nach über aus wie oder aber als""",
    "French": """le la les des est sont et un une dans pour pas avec sur par que qui du au aux ce
        cette ces il elle nous vous ils ont été être plus leur ou mais""",
    "Spanish": """el la los las de del es son un una en para con por que se su sus al lo como
        más pero fue ha han este esta estos ser muy también""",
    "Italian": """il lo la gli le di del della è sono un una per non con da che si suo sua al
        come più ma fu ha hanno questo questa anche dei delle nel""",
    "Portuguese": """da é são um uma em para não por que seu sua ao como mais mas foi tem este esta
        também dos das pela pelo uma ser está""",
    "Dutch": """de het een en is zijn was niet met voor op van te in den der zich ook worden wordt
        werd hebben heeft bij naar over uit als of maar dat die""",
}
# Written alike in English: "€120 per night, €600 per week" is not Italian.
_ALSO_ENGLISH = frozenset("per come war hat met over son plus pour par non".split())
_FUNCTION_WORDS = {
    name: frozenset(words.split()) - _ENGLISH - _ALSO_ENGLISH for name, words in _OTHERS.items()
}
_NAME = re.compile(
    r"\b([A-ZÀ-Þ][\w’'-]*) (?:(?:van|von)(?: de[rn]?)?|de(?: la| las| los)?|da|di|del|dos|du|la|le)"
    r"(?= [A-ZÀ-Þ])"
)
_FIRST = re.compile(r"(?:^|[.!?:;\n])\W{0,8}\w")
_SAMPLE = 4000
_SHORT = 5


def unknown_language(text: str) -> str:
    """What a text is written in where that is not English; "" where it is, or cannot be told."""
    sample = text[:_SAMPLE]
    letters = [char for char in sample if char.isalpha()]
    foreign = [char for char in letters if char > "\u024f"]
    if len(foreign) > 0.3 * len(letters):
        return _script(foreign[len(foreign) // 2])
    words = [word.lower() for word in _WORD.findall(sample)]
    if len(words) < _SHORT:
        return ""
    english = sum(word in _ENGLISH for word in words)
    words = _WORD.findall(_without_names(sample))
    counts = {name: sum(word in known for word in words) for name, known in _FUNCTION_WORDS.items()}
    likely = max(counts, key=lambda name: counts[name])
    return likely if counts[likely] >= 2 and counts[likely] > 2 * english else ""


def _without_names(text: str) -> str:
    """A text whose function words alone are small: "Los Angeles" and "Mies van der Rohe" tell
    nothing of the language around them."""
    if text.isupper():
        return text.lower()
    return _FIRST.sub(lambda match: match.group().lower(), _NAME.sub(r"\1", text))


def _script(char: str) -> str:
    """The script of a letter, as Unicode names it: "CJK", "ARABIC", "HANGUL"."""
    name = unicodedata.name(char, "unknown").split()[0].split("-")[0]
    return f"{name if name == 'CJK' else name.capitalize()} script"
