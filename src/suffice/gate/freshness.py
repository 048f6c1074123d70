"""Selects the document versions that apply to the time a question asks about.

Passages that are expired, superseded or not yet effective are excluded and listed. Versions of the
same document are never mixed silently: only the version in force at that time is kept, and a note
names the version and its dates if it is not clearly today's. Only the dates and versions of the
passages are used, so this works for any source.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import NamedTuple

from suffice.evidence.read import FrontMatter
from suffice.evidence.versions import EVER, NEVER, Dated, Force, family, in_force, version_order
from suffice.text.when import NOW, TimeAsked, When, asked_about, timeless
from suffice.types import Evidence, Exclusion, Passage

__all__ = ["NOW", "Fresh", "TimeAsked", "When", "asked_about", "fresh", "left_out"]

# A passage in today's version may itself describe what applied before.
_TELLS_OF_BEFORE = re.compile(
    r"\b(?:previous(?:ly)?|former(?:ly)?|used to|earlier|no longer|old(?:er)? (?:\w+ )?"
    r"(?:polic|rule|version|limit|rate)\w*|(?:until|before) (?:\w+ ){0,2}(?:19|20)\d\d|"
    r"(?:was|were|been) (?:raised|lowered|changed|increased|reduced|replaced|abolished))",
    re.I,
)
_MOST_NAMED = 3


class Fresh(NamedTuple):
    """The evidence that applies, the excluded passages with reasons, and notes on the versions
    used. The notes are also added to the evidence."""

    evidence: Evidence
    excluded: tuple[Exclusion, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Version:
    """One version of a document in the evidence, with the days it was in force."""

    passages: tuple[Passage, ...]
    force: Force

    @property
    def label(self) -> str:
        return self.passages[0].version

    @property
    def title(self) -> str:
        return self.passages[0].title or self.passages[0].document

    @property
    def name(self) -> str:
        return f"version {self.label}" if self.label else "another version"

    def holds(self, day: date) -> bool:
        return self.force.start <= day < self.force.until

    def held(self, when: When) -> bool:
        """Whether it was in force on any day of that time."""
        never = self.force.start >= self.force.until
        return not never and self.force.start < when.until and when.start < self.force.until

    def over(self, day: date) -> bool:
        return self.force.until <= day or self.force.start >= self.force.until


@dataclass(frozen=True)
class _Choice:
    """The versions of a document to use, and the day for which the others are excluded. `asked` is
    false if no version matches the time asked about, so that today's are used instead."""

    versions: tuple[_Version, ...]
    day: date
    asked: bool = True


def fresh(evidence: Evidence, when: When, today: date) -> Fresh:
    """The evidence that applies to the time the question asks about."""
    reasons: dict[Passage, str] = {}
    notes: list[str] = []
    standing_in: list[str] = []
    settled = False
    for line in _lines(evidence.passages):
        choice = _choose(line, when, today)
        notes += _note(line, choice, when, today)
        settled = settled or _settles(choice, when, today)
        standing_in += [v.title for v in choice.versions if _stands_in(v, choice, when)]
        for version in line:
            for passage in version.passages:
                if version not in choice.versions:
                    reasons[passage] = _reason(version, line, choice, when)
                elif when.asked is TimeAsked.BEFORE and not _covers_past(version, passage, today):
                    reasons[passage] = "no earlier version is known"
    notes += _no_version(standing_in, when)
    kept = tuple(item for item in evidence if item.passage not in reasons)
    current = replace(
        evidence,
        items=kept,
        notes=(*evidence.notes, *notes),
        day=today,
        then=when.asked is not TimeAsked.NOW,
        timeless=timeless(evidence.question, when) if settled else "",
    )
    return Fresh(
        current,
        tuple(Exclusion(p, reasons[p]) for p in evidence.passages if p in reasons),
        tuple(notes),
    )


def left_out(excluded: Iterable[Exclusion]) -> tuple[str, ...]:
    """Descriptions of the exclusions, one for each version of a document."""
    lines = dict.fromkeys(f"{_titled(one.passage)}: {one.reason}" for one in excluded)
    more = len(lines) - _MOST_NAMED
    return (*list(lines)[:_MOST_NAMED], *((f"{more} more",) if more > 0 else ()))


def _titled(passage: Passage) -> str:
    return f"{passage.name}, version {passage.declared}" if passage.declared else passage.name


# Versions of the same document, oldest first


def _lines(passages: Sequence[Passage]) -> list[list[_Version]]:
    families: dict[tuple[bool, str], str] = {}
    for p in passages:
        front = FrontMatter(title=p.title or None, version=p.version or None, effective=p.effective)
        families.setdefault((p.carried, p.document), p.family or family(front, p.document))
    # A passage sent with a request never supersedes an indexed document, whatever its name.
    lines: dict[tuple[bool, str, str], list[Passage]] = {}
    for passage in passages:
        own = (passage.carried, passage.collection, families[passage.carried, passage.document])
        lines.setdefault(own, []).append(passage)
    return [_line(members) for members in lines.values()]


def _line(passages: Sequence[Passage]) -> list[_Version]:
    versions: dict[tuple[object, ...], list[Passage]] = {}
    for p in passages:
        key = (p.document, p.version, p.since, p.until, p.effective, p.expires)
        versions.setdefault(key, []).append(p)
    members = sorted(versions.values(), key=lambda group: _order(group[0]))
    documents = list(dict.fromkeys(group[0].document for group in members))
    dated = [
        _dated(place, group[0], documents.index(group[0].document))
        for place, group in enumerate(members)
    ]
    force = in_force(dated)
    return [_Version(tuple(group), force[place]) for place, group in enumerate(members)]


def _order(passage: Passage) -> tuple[date, tuple[tuple[int, str], ...]]:
    return passage.since or passage.effective or EVER, version_order(passage.version)


def _dated(place: int, passage: Passage, document: int) -> Dated:
    """Order undated versions by number. The newest has always been in force."""
    return Dated(
        id=place,
        document_id=document,
        label=passage.version,
        effective=passage.since or passage.effective,
        expires=passage.expires,
        seen=EVER,
        sequence=place,
        retired_on=passage.until,
    )


# Selection


def _choose(line: Sequence[_Version], when: When, today: date) -> _Choice:
    """The versions to use. There are several if the question asks for several, or if files with the
    same declared version are not versions of each other."""
    now = tuple(version for version in line if version.holds(today))
    if when.asked is TimeAsked.EVER:
        return _Choice(tuple(line), today)
    if when.asked is TimeAsked.NAMED:
        named = tuple(version for version in line if version.label == when.version)
        return _Choice(named or now, today, asked=bool(named))
    if when.asked is TimeAsked.BEFORE:
        gone = [version for version in line if version.over(today)]
        return _Choice(tuple(gone[-1:]) or now, today, asked=bool(gone))
    if when.asked is TimeAsked.THEN:
        then = [version for version in line if version.held(when)]
        newest = max((version.force.start for version in then), default=EVER)
        last = tuple(version for version in then if version.force.start == newest)
        if last or when.firm:
            return _Choice(last, when.until - timedelta(days=1))
    return _Choice(now, today, asked=when.asked is TimeAsked.NOW)


def _settles(choice: _Choice, when: When, today: date) -> bool:
    """Whether the chosen versions clearly belong to the time asked about: they are not today's or,
    if all are asked for, there are several. If today's version covers a year, the year may just be
    the subject of the question."""
    if when.asked is TimeAsked.EVER:
        return len(choice.versions) > 1
    return choice.asked and any(not version.holds(today) for version in choice.versions)


def _covers_past(version: _Version, passage: Passage, today: date) -> bool:
    """Whether a passage may describe what applied before."""
    return not version.holds(today) or bool(_TELLS_OF_BEFORE.search(passage.text))


def _reason(version: _Version, line: Sequence[_Version], choice: _Choice, when: When) -> str:
    if choice.asked and when.asked in (TimeAsked.BEFORE, TimeAsked.NAMED):
        return f"the question asks for {when.words}"
    if version.force.start > choice.day:
        then = " then" if when.asked is TimeAsked.THEN and choice.asked else ""
        return f"not yet effective{then}: in force from {version.force.start}"
    expires = version.passages[0].expires
    if expires is not None and expires < choice.day:
        return f"expired on {expires}"
    later = line[line.index(version) + 1 :]
    since = "" if version.force.start >= version.force.until else f" on {version.force.until}"
    if later:
        return f"superseded by {later[0].name}{since}"
    return f"no longer in force since {version.force.until}"


# Notes for the reader


def _note(line: Sequence[_Version], choice: _Choice, when: When, today: date) -> list[str]:
    """A note on the version used, unless it is clearly today's."""
    used = choice.versions
    if when.asked is TimeAsked.NOW or not used or not choice.asked:
        return []
    if len(used) > 1:
        each = ", ".join(f"{version.name} ({_days(version, today)})" for version in used)
        return [f"{used[0].title}: the evidence contains more than one version: {each}."]
    if len(line) == 1 and used[0].holds(today):
        return []
    asked = f" for “{when.words}”" if when.words else ""
    also = [v for v in line if v not in used and when.asked is TimeAsked.THEN and v.held(when)]
    before = "".join(f"; {v.name} was {_days(v, today)}" for v in also)
    return [f"{used[0].title}: {used[0].name} ({_days(used[0], today)}) was used{asked}{before}."]


def _stands_in(version: _Version, choice: _Choice, when: When) -> bool:
    """Whether today's version is used although it does not belong to the time asked about."""
    if choice.asked or when.asked is TimeAsked.BEFORE or version.force == Force(EVER, NEVER):
        return False
    return when.asked is TimeAsked.NAMED or version.force.start >= when.until


def _no_version(titles: Sequence[str], when: When) -> list[str]:
    if not titles:
        return []
    names = ", ".join(list(dict.fromkeys(titles))[:_MOST_NAMED])
    return [f"No version of {names} is known for “{when.words}”; today's was used."]


def _days(version: _Version, today: date) -> str:
    start, until = version.force.start, version.force.until
    last = until - timedelta(days=1) if EVER < until < NEVER else until
    if start >= until:
        return "never in force according to its dates"
    if start == EVER:
        return "undated" if until == NEVER else f"in force until {last}"
    if until == NEVER:
        return f"in force {'since' if start <= today else 'from'} {start}"
    return f"in force from {start} to {last}"
