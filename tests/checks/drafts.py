"""Drafts and evidence in a line, for the tests of the checks."""

from __future__ import annotations

from suffice.checks.check import Check, run_checks
from suffice.text.claims import claims
from suffice.types import Citation, Claim, Draft, Evidence, Finding, Passage, Retrieved


def passage(text: str, name: str = "a", **known: object) -> Passage:
    return Passage(id=f"{name}@1#0-{len(text)}", text=text, document=name, **known)  # type: ignore[arg-type]


def evidence(*passages: Passage | str, question: str = "") -> Evidence:
    found = [
        passage(one, chr(97 + place)) if isinstance(one, str) else one
        for place, one in enumerate(passages)
    ]
    return Evidence(question, tuple(Retrieved(one, 0.9) for one in found))


def draft(text: str, given: Evidence) -> Draft:
    """A draft as an LLM would write it, `[n]` naming the n-th passage."""
    said = tuple(
        Claim(one.text, one.start, one.end, one.cites) for one in claims(text) if one.checkable
    )
    numbered = tuple(Citation(n, one, "") for n, one in enumerate(given.passages, 1))
    return Draft(text, said, numbered, "test")


def judged(check: Check, text: str, *passages: Passage | str, question: str = "") -> list[Finding]:
    given = evidence(*passages, question=question)
    written = draft(text, given)
    found = run_checks([check], written, given)
    assert [finding.claim for finding in found] == list(written.claims)  # each exactly once
    return list(found)


def only(check: Check, text: str, *passages: Passage | str, question: str = "") -> Finding:
    (found,) = judged(check, text, *passages, question=question)
    return found
