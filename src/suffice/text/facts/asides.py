"""What is said by the way: relative clauses, appositives, participles, remarks in brackets."""

from __future__ import annotations

from collections.abc import Sequence

from suffice.text.facts import verbs
from suffice.text.facts.clauses import (
    ARTICLES,
    CONDITIONS,
    OPENERS,
    PREPOSITIONS,
    PRONOUNS,
    Token,
    finite,
    is_adverb,
    is_number,
    is_plural,
    is_word,
    verb_group,
)
from suffice.text.facts.pieces import Piece, join
from suffice.text.facts.verbs import Form

# "…, which means that …" speaks of the whole clause before it.
_SENTENTIAL = frozenset(
    """mean lead cause result allow make help suggest indicate surprise show enable require prompt
    force prevent reflect imply raise lower reduce increase bring turn""".split()
)
_STATES = frozenset("located based headquartered situated known owned operated run".split())
_EVENTS = frozenset(
    """founded established launched built born created introduced published released signed adopted
    acquired enacted opened issued amended revised written designed released incorporated
    published recorded discovered invented completed updated named appointed elected""".split()
)
# Two-word places that follow a town, not a name that follows a title.
_PLACES = frozenset(
    """new york,new jersey,new mexico,new hampshire,north carolina,south carolina,north dakota,
south dakota,west virginia,rhode island,new zealand,south africa,united kingdom,united states,
south korea,saudi arabia,south australia,british columbia,nova scotia,northern ireland""".replace(
        "\n", ""
    ).split(",")
)


def without_aside(piece: Piece) -> list[Piece]:
    """The sentence without its first aside, and the aside as a sentence about what it follows."""
    words = piece.words
    if len(words) < 5 or words[0].low in ("if", "unless", "when"):
        return []
    if parts := _leading_participle(piece):
        return parts
    for place, token in enumerate(words[:-2]):
        if place and token.low == "," and token.top:
            parts = (
                _relative(piece, place) or _participle(piece, place) or _appositive(piece, place)
            )
            if parts:
                return parts
        if place and token.low == "(" and (parts := _bracket(piece, place)):
            return parts
    return []


def _relative(piece: Piece, comma: int) -> list[Piece]:
    """ "Acme, which was founded in 1999, sells shoes"."""
    words = piece.words
    if words[comma + 1].low not in ("which", "who"):
        return []
    verb = comma + 2
    while verb < len(words) - 1 and is_adverb(words[verb]):
        verb += 1
    low = words[verb].low
    if low not in verbs.AUXILIARIES and (
        not verbs.form(low) & (Form.S | Form.BASE | Form.PAST) or words[comma + 2].low in PRONOUNS
    ):
        return []
    if any(verbs.base(w.low) in _SENTENTIAL for w in words[verb : verb + 3]):
        return []
    start = _antecedent(words, comma, verb)
    end = _close(words, comma)
    if start is None or end is None:
        return []
    named, said = piece.between(start, comma), piece.between(comma + 2, end)
    return [_rest(piece, comma, end), join(named, said)]


def _antecedent(words: Sequence[Token], comma: int, verb: int) -> int | None:
    """Where the noun phrase before the comma starts; `None` where that is not clear."""
    head = words[comma - 1]
    if not is_word(head) or is_number(head) or is_adverb(head) or head.low in PRONOUNS:
        return None
    start = comma
    while start > 0:
        word = words[start - 1]
        if not is_word(word) or not word.top or word.low in PREPOSITIONS or word.low in OPENERS:
            break
        if word.low in ("and", "or", "but", "not") or finite(words, start - 1):
            break
        if verbs.form(word.low) == Form.ING and not word.capital:
            return None
        start -= 1
        if word.low in ARTICLES:
            break
    if start == comma or not _agree(head, words[verb].low, named=head.capital):
        return None
    before = words[start - 1].low if start else ""
    joined = start > 1 and words[start - 2].low in ("and", "or", ",")
    if before.endswith("ing") or (joined and verbs.form(before) & Form.PARTICIPLE):
        return None
    proper = all(w.capital for w in words[start:comma])
    if any(w.low in ("bit", "little", "very", "too", "so") for w in words[start:comma]):
        return None
    if before == "of" or before in ("and", "or", "but", "not", ","):
        return None
    if not before or before not in PREPOSITIONS:
        return start
    # "connected to Acme, which …", but not "the route from China, which …".
    if proper and start > 1 and (words[comma + 1].low == "who" or verbs.form(words[start - 2].low)):
        return start
    # "known for its hot pots, which are …": the only plural there is.
    plurals = [w for w in words[:comma] if is_plural(w)]
    plural = words[verb].low in verbs.PLURAL_AUXILIARIES or verbs.form(words[verb].low) & Form.BASE
    return start if plural and plurals == [head] and words[start].low in ARTICLES else None


def _only_base(verb: str) -> bool:
    form = verbs.form(verb)
    return bool(form & Form.BASE) and not form & Form.PAST


def _agree(head: Token, verb: str, *, named: bool) -> bool:
    if verb in verbs.PLURAL_AUXILIARIES or (
        verbs.form(verb) & Form.BASE and not verbs.form(verb) & Form.PAST
    ):
        return is_plural(head)
    if verb in verbs.SINGULAR_AUXILIARIES or verbs.form(verb) & Form.S:
        return named or not is_plural(head)
    return True


def _close(words: Sequence[Token], comma: int) -> int | None:
    """Where an aside that opens at this comma ends: at the comma before the verb, or at the end."""
    commas = [at for at in range(comma + 1, len(words)) if words[at].low == "," and words[at].top]
    if verb_group(words[:comma]) is not None:
        return len(words) if not commas and not _conditioned(words[comma:]) else None
    for at in commas:
        verb = at + 1
        while verb < len(words) - 1 and is_adverb(words[verb]):
            verb += 1
        if verb < len(words) - 1 and _may_be_verb(words, verb):
            return at
    return None


def _may_be_verb(words: Sequence[Token], place: int) -> bool:
    low = words[place].low
    finite_form = verbs.form(low) & (Form.S | Form.PAST | Form.BASE)
    return low in verbs.AUXILIARIES or (bool(finite_form) and not words[place].capital)


def _conditioned(words: Sequence[Token]) -> bool:
    return any(w.low in CONDITIONS for w in words)


def _rest(piece: Piece, comma: int, end: int) -> Piece:
    after = end + 1 if end < len(piece.words) else end
    return join(piece.between(0, comma), piece.between(after, len(piece.words)))


def _participle(piece: Piece, comma: int) -> list[Piece]:
    """ "Acme, founded in 1999, sells shoes" -> "Acme was founded in 1999"."""
    words = piece.words
    low = words[comma + 1].low
    if low not in _STATES | _EVENTS or words[comma + 2].low not in PREPOSITIONS:
        return []
    end = _close(words, comma)
    if end is None or verb_group(words[:comma]) is not None:
        return []
    start = _antecedent(words, comma, comma + 1)
    if start != 0:
        return []
    named = piece.between(start, comma)
    said = join(named, _be(words[comma - 1], past=low in _EVENTS), piece.between(comma + 1, end))
    return [_rest(piece, comma, end), said]


def _be(head: Token, *, past: bool) -> str:
    plural = is_plural(head) and not head.capital
    return ("were" if plural else "was") if past else ("are" if plural else "is")


def _leading_participle(piece: Piece) -> list[Piece]:
    """ "Founded in 1999, Acme sells shoes" -> "Acme was founded in 1999"."""
    words = piece.words
    low = words[0].low
    if low not in _STATES | _EVENTS or words[1].low not in PREPOSITIONS:
        return []
    if (low, words[1].low) in (("based", "on"), ("based", "upon")):
        return []
    comma = next((at for at, w in enumerate(words) if w.low == "," and w.top), 0)
    group = verb_group(words[comma + 1 :])
    if not comma or group is None or not 0 < group.first <= 8:
        return []
    named = words[comma + 1 : comma + 1 + group.first]
    while named and is_adverb(named[-1]):
        named = named[:-1]
    if not named or any(w.low in (",", "and", "or") for w in named):
        return []
    subject = piece.between(comma + 1, comma + 1 + len(named))
    said = join(subject, _be(named[-1], past=low in _EVENTS), piece.between(0, comma))
    return [_lowered(said, len(subject.text)), piece.between(comma + 1, len(words))]


def _lowered(piece: Piece, after: int) -> Piece:
    """The word added after a place, then one made small: it stood at the start of the sentence."""
    at = piece.text.find(" ", after + 1) + 1
    return Piece(piece.text[:at] + piece.text[at].lower() + piece.text[at + 1 :], piece.places)


def _appositive(piece: Piece, comma: int) -> list[Piece]:
    """ "Jane Doe, the CEO of Acme, resigned" -> "Jane Doe is the CEO of Acme"."""
    words = piece.words
    if comma > 8 or verb_group(words[:comma]) is not None:
        return []
    end = next(
        (at for at in range(comma + 1, len(words)) if words[at].low == "," and words[at].top), None
    )
    if end is None or end - comma > 9 or end + 1 >= len(words):
        return []
    inner, outer = words[comma + 1 : end], words[:comma]
    verb = end + 1
    while verb < len(words) - 1 and is_adverb(words[verb]):
        verb += 1
    bad = PREPOSITIONS | OPENERS | {"and", "or", "but"}
    if not _may_be_verb(words, verb) or outer[0].low in bad or not inner:
        return []
    if _busy(inner, outer):
        return []
    named, titled = _is_name(outer), inner[0].low in ("a", "an", "the", "its", "their")
    reverse = outer[0].low in ("the", "its", "their") and _is_name(inner) and len(inner) > 1
    if not ((named and titled) or (reverse and not _is_place(inner))):
        return []
    said = join(piece.between(0, comma), "is", piece.between(comma + 1, end))
    return [said, _rest(piece, comma, end)]


def _busy(inner: Sequence[Token], outer: Sequence[Token]) -> bool:
    both = [*inner, *outer]
    return any(w.low in ("and", "or") or w.low in OPENERS or not is_word(w) for w in both) or any(
        finite(part, at) for part in (inner, outer) for at in range(len(part))
    )


def _is_name(words: Sequence[Token]) -> bool:
    return all(w.capital and w.low not in ARTICLES and w.low not in PRONOUNS for w in words)


def _is_place(words: Sequence[Token]) -> bool:
    return " ".join(w.low for w in words) in _PLACES


def _bracket(piece: Piece, opening: int) -> list[Piece]:
    """ "The rate (effective 1 March 2024) is 5 %" -> "The rate is effective 1 March 2024"."""
    words = piece.words
    low = words[opening + 1].low
    past = low in _EVENTS or low == "formerly"
    if not past and low not in _STATES and low != "effective":
        return []
    end = next((at for at in range(opening, len(words)) if words[at].low == ")"), None)
    start = _antecedent(words, opening, opening + 1)
    if end is None or end - opening < 3 or start is None:
        return []
    inner = piece.cut(words[opening + 1].start, words[end].start).tidy()
    said = join(piece.between(start, opening), _be(words[opening - 1], past=past), inner)
    rest = join(piece.between(0, opening), piece.cut(words[end].end, len(piece.text)).tidy())
    return [rest, said]
