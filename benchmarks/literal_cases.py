"""Claims with one value changed, and claims that express the same value differently.

Generated from templates, or from supported claims of labelled rows; the same seed generates the
same cases.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from benchmarks.fact_templates import FACTS, Fact
from benchmarks.written import Value

REWORDED = "reworded"
_BESIDE = 4


@dataclass(frozen=True, slots=True)
class Case:
    """`what` names the edit (number, date, unit), or that nothing was changed."""

    claim: str
    evidence: str
    what: str
    right: str
    written: str

    @property
    def edited(self) -> bool:
        return self.what != REWORDED


def edits(random: Random, number: int) -> Iterator[Case]:
    """Supported claims with one number, date or unit changed."""
    for _ in range(number):
        fact, value, evidence = _source(random)
        what, wrong = random.choice(value.edits)
        yield Case(_as_written(random, fact, wrong), evidence, what, value.writings[0], wrong)


def rewordings(random: Random, number: int) -> Iterator[Case]:
    """Supported claims that express the value, and mostly the sentence, in other words."""
    for _ in range(number):
        fact, value, evidence = _source(random)
        written = random.choice(value.writings)
        yield Case(
            _as_written(random, fact, written), evidence, REWORDED, value.writings[0], written
        )


def _source(random: Random) -> tuple[Fact, Value, str]:
    """A fact with its value, in a passage with other facts."""
    fact = random.choice(FACTS)
    value = fact.make(random)
    lines = [_stated(random, fact, value), *_beside(random, (fact,))]
    random.shuffle(lines)
    return fact, value, " ".join(lines)


def _beside(random: Random, taken: Sequence[Fact]) -> list[str]:
    others = random.sample([one for one in FACTS if one not in taken], _BESIDE)
    return [_stated(random, one, one.make(random)) for one in others]


def _stated(random: Random, fact: Fact, value: Value) -> str:
    return _sentence(fact.source, random.choice(value.writings))


def _as_written(random: Random, fact: Fact, written: str) -> str:
    return _sentence(random.choice(fact.claims), written)


def _sentence(template: str, written: str) -> str:
    sentence = template.format(v=written)
    sentence = sentence.removesuffix(".") if sentence.endswith("..") else sentence  # "at 5 p.m.."
    return sentence[0].upper() + sentence[1:]
