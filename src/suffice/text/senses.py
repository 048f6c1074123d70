"""What turns the sense of a sentence around while its words stay: negations, opposites, who does
what to whom, and how many are meant. Pure rules over two sentences of nearly the same words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from suffice.text.facts.clauses import tokens, verb_group
from suffice.text.facts.verbs import base

Root = Callable[[str], str]
"""A word as it is compared, "" for one that carries no meaning of its own."""

_WORD = re.compile(r"[^\W\d_]+(?:['’][a-z]+)?|\d+(?:[.,]\d+)*|[,;:—()]")
_NEGATORS = frozenset("not no never none nobody nothing neither nor cannot without hardly".split())
TWISTED = re.compile(
    r"\b(?:unless|until|only|except\w*|but|otherwise|rather|instead|although|though|despite|however|"
    r"whether|if|fail\w*|refus\w*|deni\w*|deny|lack\w*|avoid\w*|prevent\w*|prohibit\w*|forbid\w*|"
    r"forbidden|ban\w*|stop\w*|no longer|not only|no (?:more|less|fewer|later|earlier|sooner)|not "
    r"(?:more|less|fewer|later|yet|all|every|always|necessarily)|nothing but|far from|absence|"
    r"free of|gone|doubt\w*|exclud\w*|any)\b",
    re.IGNORECASE,
)
"""Where these stand, a sentence may be turned twice and mean the same."""
_BOUNDARY = frozenset(
    ", ; : — ( ) and but which who whose because while whereas when where".split()
)
_OPPOSED = """
before/after earlier/later above/below higher/lower larger/smaller longer/shorter older/younger
more/less more/fewer greater/less bigger/smaller faster/slower heavier/lighter increase/decrease
increased/decreased increases/decreases increasing/decreasing rise/fall rises/falls rose/fell
raised/lowered raise/lower maximum/minimum most/least include/exclude includes/excludes
included/excluded including/excluding allow/prohibit allowed/prohibited allows/prohibits
allowed/forbidden permitted/prohibited permitted/forbidden accept/reject accepts/rejects
accepted/rejected approve/reject approves/rejects approved/rejected approved/denied
mandatory/optional required/optional compulsory/voluntary with/without inside/outside
within/outside gain/loss win/lose wins/loses won/lost support/oppose supports/opposes
supported/opposed agree/disagree success/failure succeeded/failed positive/negative
internal/external entry/exit upper/lower same/different always/never all/none written/oral
written/verbal charged/free open/closed opens/closes opened/closed manual/automatic
temporary/permanent public/private single/double weekdays/weekends paid/free
orally/writing verbally/writing compulsory/optional
"""
_PAIRS: dict[str, set[str]] = {}
for _pair in _OPPOSED.split():
    _one, _other = _pair.split("/")
    _PAIRS.setdefault(_one, set()).add(_other)
    _PAIRS.setdefault(_other, set()).add(_one)
# "A before B" is "B after A": these compare what stands on both sides of them.
_COMPARING = frozenset(
    """before after earlier later above below higher lower larger smaller longer shorter older
    younger more less fewer greater bigger smaller faster slower heavier lighter""".split()
)
_PREFIXES = ("un", "non", "in", "im", "dis", "il", "ir")
_ALL = frozenset("all every each always everyone everybody any entirely completely".split())
_SOME = frozenset(
    """some many most several few certain often sometimes usually generally typically mostly partly
    occasionally selected""".split()
)
_MUST = frozenset("must shall required obliged mandatory".split())
_MAY = frozenset("may can might could optional".split())
MEASURING = _ALL | _SOME | _MUST | _MAY
"""How many, how often, how strictly: words that a sentence may have in another measure."""
MUTUAL = frozenset(
    """meet marry equal resemble match border adjoin differ agree merge combine compete play face
    be have become remain seem include contain involve comprise mean share join follow""".split()
)
"""Who does it to whom makes no difference."""


@dataclass(frozen=True, slots=True)
class Turn:
    """How a claim turns its source around, and whether it says the contrary or only more."""

    reason: str
    contrary: bool = True


@dataclass(frozen=True, slots=True)
class Words:
    """A sentence as a row of words, each with its root."""

    text: str
    low: tuple[str, ...]
    roots: tuple[str, ...]

    @classmethod
    def of(cls, text: str, root: Root) -> Words:
        low = tuple(word.lower().replace("’", "'") for word in _WORD.findall(text))
        return cls(text, low, tuple(root(word) for word in low))

    def within(self, first: int, last: int) -> set[str]:
        return {root for root in self.roots[max(0, first) : last] if root}


def turned_around(said: Words, source: Words) -> Turn | None:
    """What in a claim turns the sense of its source sentence around, the surest first."""
    rules = (opposite, compared, denied, widened, obliged, exchanged)
    return next((turn for rule in rules if (turn := rule(said, source))), None)


def opposite(said: Words, source: Words) -> Turn | None:
    """ "Increases" for "decreases", in the same place."""
    there, here = set(source.low), set(said.low)
    for place, word in enumerate(said.low):
        for other in opposites(word) & there:
            lacking = (word == "without") - (other == "without")
            if word in there or other in here or _negations(said) - lacking != _negations(source):
                continue
            if other == "".join(said.low[max(0, place - 1) : place + 1]):
                continue  # "non-profit" is "nonprofit"
            at = source.low.index(other)
            crossed = word in _COMPARING and _crossed(said, place, source, at)
            if crossed or not _beside(said, place, source, at):
                continue
            return Turn(f"“{word}” is “{other}” in the source")
    return None


def compared(said: Words, source: Words) -> Turn | None:
    """ "A is longer than B" for "B is longer than A"."""
    for place, word in enumerate(said.low):
        if word not in _COMPARING or source.low.count(word) != 1 or said.low.count(word) != 1:
            continue
        theirs = source.low.index(word)
        both = "than" in said.low[place : place + 4] and "than" in source.low[theirs : theirs + 4]
        if (both or word in ("before", "after")) and _crossed(said, place, source, theirs):
            return Turn(f"what “{word}” compares is the other way round in the source")
    return None


def denied(said: Words, source: Words) -> Turn | None:
    """A negation added or dropped in the clause that both share."""
    if TWISTED.search(said.text) or TWISTED.search(source.text):
        return None
    mine, theirs = _denials(said, source), _denials(source, said)
    if _negations(said) and _negations(source):
        return None  # where both deny something, it takes grammar to tell what
    if len(mine) % 2 == len(theirs) % 2:
        return None
    what = (
        "denies what its source says" if len(mine) > len(theirs) else "says what its source denies"
    )
    return Turn(f"it {what}")


def widened(said: Words, source: Words) -> Turn | None:
    """ "All" where the source says "some"."""
    for place, word in enumerate(said.low):
        if word not in _ALL or word == "any" or set(source.low) & _ALL:
            continue
        near = said.within(place + 1, place + 4)
        for theirs, other in enumerate(source.low):
            same = other in _SOME and near & source.within(theirs + 1, theirs + 4)
            if same and not set(said.low) & _SOME:
                return Turn(f"“{word}” is “{other}” in the source", contrary=False)
    return None


def obliged(said: Words, source: Words) -> Turn | None:
    """ "Must" where the source says "may"."""
    for place, word in enumerate(said.low):
        if word not in _MUST or set(source.low) & _MUST or set(said.low) & _MAY:
            continue
        verb = next((root for root in said.roots[place + 1 : place + 4] if root), "")
        for theirs, other in enumerate(source.low):
            if verb and other in _MAY and verb in source.within(theirs + 1, theirs + 4):
                return Turn(f"“{word}” is “{other}” in the source", contrary=False)
    return None


def exchanged(said: Words, source: Words) -> Turn | None:
    """ "B pays A" for "A pays B"."""
    mine, theirs = roles(said), roles(source)
    if mine is None or theirs is None or mine[1] != theirs[1] or mine[1] in MUTUAL:
        return None
    if {*said.low, *source.low} & _COMPARING:
        return None
    (doer, verb, target), (other, _, whom) = mine, theirs
    if doer and other and doer <= whom and other <= target and not doer & other:
        return Turn(f"who does what to whom is the other way round in the source (“{verb}”)")
    return None


def roles(words: Words) -> tuple[set[str], str, set[str]] | None:
    """Who does what to whom; a passive with "by" is turned to the active."""
    found = tokens(words.text)
    group = verb_group(found) if found else None
    if found is None or group is None or group.negated:
        return None
    verb = base(found[group.last].low) or found[group.last].low
    place = next(
        (n for n, low in enumerate(words.low) if low == found[group.last].low), len(words.low)
    )
    stop = next((n for n in range(place + 1, len(words.low)) if words.low[n] in _BOUNDARY), None)
    start = next((n + 1 for n in range(place - 1, -1, -1) if words.low[n] in _BOUNDARY), 0)
    before, after = words.within(start, place), words.within(place + 1, stop or len(words.low))
    passive = any(word.low in _BE for word in found[group.first : group.last])
    if passive:
        by = next((n for n in range(place, len(words.low)) if words.low[n] == "by"), None)
        if by is None or words.low[by - 1] != words.low[place]:
            return None
        return after, verb, before
    return before, verb, after


_BE = frozenset("is are was were be been being".split())


def _negations(words: Words) -> int:
    return sum(map(negates, words.low))


def negates(word: str) -> bool:
    return word in _NEGATORS or word.endswith("n't")


def _denials(one: Words, other: Words) -> frozenset[str]:
    """The words that a negation in one sentence bears on, of clauses whose words the other has."""
    known = set(filter(None, other.roots))
    found: list[str] = []
    for first, last in _clauses(one.low):
        words = one.within(first, last)
        if len(words) < 2 or len(words & known) < _SAME_CLAUSE * len(words):
            continue
        for place in range(first, last):
            if negates(one.low[place]):
                ahead = (root for root in one.roots[place + 1 : last] if root)
                found.append(next(ahead, f"#{place}"))
    return frozenset(found)


def _clauses(low: Sequence[str]) -> Iterator[tuple[int, int]]:
    first = 0
    for place, word in enumerate(low):
        if word in _BOUNDARY:
            yield first, place
            first = place + 1
    yield first, len(low)


def opposed(one: frozenset[str], other: Words, root: Root) -> frozenset[str]:
    """The roots among these whose opposites the other sentence has."""
    there = frozenset(root(turned) for word in other.low for turned in opposites(word))
    return one & there - {""}


@lru_cache(maxsize=4_096)
def opposites(word: str) -> frozenset[str]:
    made = {f"{prefix}{word}" for prefix in _PREFIXES} if len(word) > 3 else set()
    bare = {word[len(p) :] for p in _PREFIXES if word.startswith(p) and len(word) - len(p) > 3}
    return frozenset(_PAIRS.get(word, set()) | made | bare)


_AROUND = 4
_SAME_CLAUSE = 0.9


def _beside(said: Words, mine: int, source: Words, theirs: int) -> bool:
    """Whether two words stand beside the same ones."""
    here = said.within(mine - _AROUND, mine) | said.within(mine + 1, mine + 1 + _AROUND)
    there = source.within(theirs - 2 * _AROUND, theirs) | source.within(
        theirs + 1, theirs + 1 + 2 * _AROUND
    )
    return len(here & there) >= max(1, 0.6 * len(here))


def _crossed(said: Words, mine: int, source: Words, theirs: int) -> bool:
    """Whether what stands before one word in the claim stands behind the other in the source."""
    left, right = said.within(0, mine), said.within(mine + 1, len(said.low))
    before, behind = source.within(0, theirs), source.within(theirs + 1, len(source.low))
    straight = len((left & before) - behind) + len((right & behind) - before)
    across = len((left & behind) - before) + len((right & before) - behind)
    return across > straight
