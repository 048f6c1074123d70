"""Checks every citation and every source named in words: does it exist, was it retrieved, is it in
force, and does the claim come from it?
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from suffice.checks.claim_text import alone, cited_passages, numbered
from suffice.checks.entailment import Sentences, roots
from suffice.checks.sources import (
    Documents,
    Named,
    NamedKind,
    Resolved,
    described,
    editions,
    holds,
    named,
    version_fault,
)
from suffice.deadline import watched
from suffice.evidence.index import today
from suffice.evidence.versions import version_order
from suffice.types import Claim, Code, Draft, Evidence, Finding, Hallucination, Passage, Support

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


# If a claim has several sources, the worst result in this order decides.
_WORST = (
    Code.FABRICATED,
    Code.NOT_RETRIEVED,
    Code.EXPIRED,
    Code.STALE,
    Code.MISATTRIBUTED,
    Code.RESOLVED,
)
_ELSEWHERE, _HERE = 0.9, 0.5
"""A claim comes from another passage if a sentence there contains at least the first share of its
words, and the cited passages together contain no more than the second."""
_ENOUGH_WORDS = 4


@dataclass(frozen=True, slots=True)
class Citations:
    """Judges sources, not statements: a resolved source does not back a claim until another check
    finds that it supports the claim (`confirm_citations`). `day` is the date on which versions must
    be in force; by default, the date of the evidence."""

    documents: Documents | None = None
    day: date | None = None
    name: str = "citations"

    def judge(self, draft: Draft, evidence: Evidence) -> list[Finding]:
        marked = numbered(draft, evidence)
        day = self.day or evidence.day or today()
        resolver = Resolver(evidence.passages, marked, self.documents, day, evidence.then)
        sentences = Sentences.of(evidence.passages)
        read = zip(draft.claims, alone(draft), cited_passages(draft, evidence), strict=True)
        return [
            self._finding(claim, list(_resolved(claim, text, within, resolver, sentences)))
            for claim, text, within in watched(read)
        ]

    def _finding(self, claim: Claim, found: list[Resolved]) -> Finding:
        if not found:
            reason = "the claim names no source"
            return Finding(claim, self.name, Support.UNCHECKED, reason=reason)
        worst = min(found, key=lambda one: _WORST.index(one.code))
        fine = worst.code is Code.RESOLVED
        passage = worst.passage
        return Finding(
            claim,
            self.name,
            Support.UNCHECKED if fine else Support.UNBACKED,
            passage_id=passage.id if passage else None,
            reason="; ".join(dict.fromkeys(one.reason for one in found if one.code is worst.code)),
            code=worst.code,
            kind=None if fine else Hallucination.ATTRIBUTION,
        )


def confirm_citations(
    draft: Draft, evidence: Evidence, findings: Sequence[Finding], by: Collection[str]
) -> tuple[Finding, ...]:
    """Refine RESOLVED findings with the results of the checks in `by`: VERIFIED if a cited passage
    backs the claim, MISATTRIBUTED if only another passage does. If a claim has no citation, the
    document it names counts as cited."""
    backing: dict[Claim, set[str]] = {}
    for finding in findings:
        if finding.check in by and finding.support is Support.BACKED and finding.passage_id:
            backing.setdefault(finding.claim, set()).add(finding.passage_id)
    sources = dict(zip(draft.claims, cited_passages(draft, evidence), strict=True))
    return tuple(
        _confirmed(
            finding,
            backing.get(finding.claim, set()),
            sources.get(finding.claim) or _named(finding, evidence),
        )
        if finding.code is Code.RESOLVED
        else finding
        for finding in findings
    )


def _confirmed(finding: Finding, backing: set[str], sources: Sequence[Passage]) -> Finding:
    if not backing:
        return finding
    if backing & {passage.id for passage in sources}:
        return replace(finding, support=Support.BACKED, code=Code.VERIFIED)
    return replace(
        finding,
        support=Support.UNBACKED,
        code=Code.MISATTRIBUTED,
        kind=Hallucination.ATTRIBUTION,
        passage_id=min(backing),
        reason="the cited passage does not support the claim, but another passage does",
    )


def _named(finding: Finding, evidence: Evidence) -> tuple[Passage, ...]:
    """The passages of the document that a claim names."""
    at = next((one for one in evidence.passages if one.id == finding.passage_id), None)
    if at is None:
        return ()
    return tuple(one for one in evidence.passages if one.edition == at.edition)


def _resolved(
    claim: Claim, text: str, within: Sequence[Passage], resolver: Resolver, sentences: Sentences
) -> Iterator[Resolved]:
    yield from (resolver.mark(n) for n in claim.cites)
    yield from (resolver.name(name, within) for name in named(text))
    if within and (other := _elsewhere(text, within, sentences)):
        reason = f"the statement is in {described(other)}, which the claim does not cite"
        yield Resolved(Code.MISATTRIBUTED, reason, other)


def _elsewhere(text: str, within: Sequence[Passage], sentences: Sentences) -> Passage | None:
    """Another passage with nearly the same words, if the cited passages hardly contain them."""
    words = roots(text)
    if len(words) < _ENOUGH_WORDS:
        return None
    here = frozenset[str]().union(*(sentences.words(passage) for passage in within))
    if len(words & here) > _HERE * len(words):
        return None
    best = sentences.nearest(words)
    near = best is not None and len(words & best.roots) >= _ELSEWHERE * len(words)
    return best.passage if best and near else None
