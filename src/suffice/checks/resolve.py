"""Looks up a citation or a source named in words in the evidence and the document store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from suffice.checks.sources import Documents, Resolved, described, editions, holds, version_fault
from suffice.evidence.versions import version_order
from suffice.text.named import Named, NamedKind
from suffice.types import Code, Passage

_NO_STORE = "and there is no document store to search"
_MOST_ASKED = 200
"""The maximum number of store lookups per draft. No genuine draft needs more."""


@dataclass(slots=True)
class Resolver:
    """Resolves the sources of a draft and looks up each only once."""

    passages: Sequence[Passage]
    marked: dict[int, Passage]
    documents: Documents | None
    day: date
    then: bool = False
    """Whether the question asks about another time, so that no retrieved version is out of date."""
    known: dict[str, Passage] = field(default_factory=dict)
    _names: dict[tuple[Named, tuple[str, ...]], Resolved] = field(default_factory=dict)
    _retrieved: set[str] = field(default_factory=set)
    _asked: int = 0

    def __post_init__(self) -> None:
        """Load the current state of the passages, because a retriever's copy may be older."""
        self._retrieved = {passage.id for passage in self.passages}
        ids = self._retrieved | {passage.id for passage in self.marked.values()}
        if self.documents is not None:
            self.known = dict(self.documents.lookup(sorted(ids)))

    # Citation marks

    def mark(self, n: int) -> Resolved:
        passage = self.marked.get(n)
        if passage is None:
            return Resolved(Code.FABRICATED, f"[{n}] does not refer to any passage")
        if passage.id not in self._retrieved:
            return self._not_retrieved(n, passage)
        now = self.known.get(passage.id, passage)
        if (fault := self._standing(now)) is not None:
            return Resolved(fault, f"[{n}] is {described(now)}, {self._fault(now, fault)}", now)
        if newer := self._newer(passage):
            reason = f"[{n}] is {described(passage)}, replaced by version {newer.version}"
            return Resolved(Code.STALE, reason, passage)
        return Resolved(Code.RESOLVED, f"[{n}] is {described(passage)}", passage)

    def _not_retrieved(self, n: int, passage: Passage) -> Resolved:
        if passage.id in self.known:
            reason = f"[{n}] refers to a passage that was not retrieved for this question"
            return Resolved(Code.NOT_RETRIEVED, reason)
        if self.documents is not None:
            return Resolved(Code.FABRICATED, f"[{n}] refers to a passage that does not exist")
        return Resolved(
            Code.NOT_RETRIEVED, f"[{n}] refers to a passage that was not retrieved, {_NO_STORE}"
        )

    def _standing(self, passage: Passage) -> Code | None:
        asked_for = self.then and passage.id in self._retrieved
        return None if asked_for else version_fault(passage, self.day)

    def _fault(self, passage: Passage, fault: Code) -> str:
        if fault is Code.EXPIRED:
            return f"expired on {passage.expires}"
        since = passage.since or passage.effective
        return "not in force before " + str(since) if since and since > self.day else "superseded"

    def _newer(self, passage: Passage) -> Passage | None:
        """Without a store, a later version of the document among the retrieved passages."""
        if self.documents is not None or not passage.version or self.then:
            return None
        for one in self.passages:
            same = one.document == passage.document or (one.title and one.title == passage.title)
            same = same and one.carried == passage.carried
            if same and one.version and _later(one, passage) and not version_fault(one, self.day):
                return one
        return None

    # Sources named in words

    def name(self, name: Named, cites: Sequence[Passage]) -> Resolved:
        key = (_anywhere(name), tuple(passage.id for passage in cites))
        if key not in self._names:
            self._names[key] = self._name(name, cites)
        return self._names[key]

    def _name(self, name: Named, cites: Sequence[Passage]) -> Resolved:
        found = [passage for passage in self.passages if holds(passage, name)]
        if not found:
            return self._beyond(name, cites, "is not in the retrieved passages")
        if name.edition and (other := self._other_edition(name, found)):
            return other
        if name.clause:
            clause = Named(NamedKind.SECTION, name.text, 0, 0, name.clause)
            if not any(holds(passage, clause) for passage in found):
                return self._beyond(clause, found, f"has no {name.clause} in the passages")
        ids = {passage.id for passage in cites}
        here = [passage for passage in found if not ids or passage.id in ids]
        if not here:
            reason = f"“{name.text}” is {described(found[0])}, which the claim does not cite"
            return Resolved(Code.MISATTRIBUTED, reason, found[0])
        return self._best(name, [self.known.get(one.id, one) for one in here])

    def _best(self, name: Named, found: Sequence[Passage]) -> Resolved:
        """RESOLVED if any version is in force, otherwise the problem with the first version."""
        for passage in found:
            if self._standing(passage) is None:
                return Resolved(Code.RESOLVED, f"“{name.text}” was retrieved", passage)
        fault = self._standing(found[0]) or Code.STALE
        reason = f"“{name.text}” is {described(found[0])}, {self._fault(found[0], fault)}"
        return Resolved(fault, reason, found[0])

    def _other_edition(self, name: Named, found: Sequence[Passage]) -> Resolved | None:
        """The result if the named edition was not retrieved: an older edition is stale, any other
        is fabricated."""
        known = {edition for passage in found for edition in editions(passage, name)}
        if name.edition.lower() in known or known <= {""}:
            return None
        asked = self._search(name, ())
        for passage in asked:
            if name.edition.lower() in editions(passage, name):
                return self._unretrieved(name, [passage])
        problem = f"“{name.text}” {name.edition} is not the retrieved edition"
        shown = ", ".join(sorted(known - {""}))
        newest = max(map(version_order, known - {""}))
        if self.documents is None or name.kind is NamedKind.STANDARD:
            older = version_order(name.edition.lower()) < newest
            code = Code.STALE if older else Code.FABRICATED
            return Resolved(code, f"{problem} ({shown})", found[0])
        return Resolved(
            Code.FABRICATED, f"{problem} ({shown}), and no such version exists", found[0]
        )

    def _beyond(self, name: Named, cites: Sequence[Passage], missing: str) -> Resolved:
        """Look in the store for a source that was not retrieved."""
        problem = f"“{name.text}” {missing}"
        if self.documents is None:
            return Resolved(Code.FABRICATED, f"{problem}, {_NO_STORE}")
        found = self._search(name, cites)
        return (
            self._unretrieved(name, found)
            if found
            else Resolved(Code.FABRICATED, f"{problem}, nor in any document")
        )

    def _unretrieved(self, name: Named, found: Sequence[Passage]) -> Resolved:
        best = self._best(name, found)
        if best.code is not Code.RESOLVED:
            return best
        reason = f"“{name.text}” exists, but was not retrieved for this question"
        return Resolved(Code.NOT_RETRIEVED, reason, best.passage)

    def _search(self, name: Named, cites: Sequence[Passage]) -> list[Passage]:
        """Search the cited or retrieved documents for a section, or all documents for other
        names."""
        if self.documents is None or self._asked >= _MOST_ASKED:
            return []
        self._asked += 1
        if name.kind is NamedKind.TITLE:
            found = self.documents.titled(name.key.split())
        elif name.kind is NamedKind.STANDARD:
            found = self.documents.holding(name.key.split()[-1])
        else:
            at_hand = [passage.document for passage in (cites or self.passages)]
            found = self.documents.holding(name.key, at_hand)
        return [passage for passage in found if holds(passage, name)]


def _anywhere(name: Named) -> Named:
    """The name without its position in the claim."""
    return replace(name, start=0, end=0)


def _later(first: Passage, second: Passage) -> bool:
    """Whether the first version is later than the second, by date or else by version number."""
    if first.effective and second.effective and first.effective != second.effective:
        return first.effective > second.effective
    return version_order(first.version) > version_order(second.version)
