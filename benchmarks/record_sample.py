"""A verdict of typical size: five passages, two claims, all checks; 9 kB in the log."""

from __future__ import annotations

from datetime import date

from suffice.log.decision import Filing
from suffice.log.setup import Setup
from suffice.log.trace import Trace
from suffice.types import (
    Action,
    Attempt,
    Citation,
    Claim,
    Code,
    Draft,
    Evidence,
    Finding,
    GateDecision,
    Grade,
    Level,
    Passage,
    Retrieved,
    Signal,
    Support,
    Verdict,
)

_SAID = (
    "The parent who gives birth is entitled to {} weeks of leave on full pay, of which two are "
    "taken directly after the birth. The other parent is entitled to {} weeks, in up to three "
    "blocks during the first twelve months of the child's life. Requests go to the People team."
)
_CHECKS = "structure citations literals omission verbatim grounding entailment judge".split()


def _passage(n: int) -> Passage:
    text = _SAID.format(18 + n, 8 + n)
    return Passage(
        f"parental-leave.md@2.{n}+3fa9c2d1#{400 * n}-{400 * n + len(text)}", text,
        "parental-leave.md", f"2.{n}", "Parental leave policy", heading=("Entitlement", "Parents"),
        start=400 * n, end=400 * n + len(text), content_hash="5f2b" * 16,
        effective=date(2025, 1, 1), since=date(2025, 1, 1), family="parental leave policy",
    )  # fmt: skip


def _verdict() -> Verdict:
    passages = [_passage(n) for n in range(5)]
    items = tuple(Retrieved(p, 0.7123456 - n / 10, 12.5 - n, 0.65) for n, p in enumerate(passages))
    evidence = Evidence("How long is parental leave?", items, day=date(2025, 5, 1))
    sentences = [
        f"Parents are entitled to {18 + n} weeks of leave on full pay [{n + 1}]." for n in range(2)
    ]
    text = " ".join(sentences)
    claims = tuple(
        Claim(one, text.index(one), text.index(one) + len(one), (n + 1,))
        for n, one in enumerate(sentences)
    )
    citations = tuple(Citation(n + 1, passages[n], one) for n, one in enumerate(sentences))
    findings = tuple(
        Finding(claim, check, Support.BACKED, 0.9234567, passages[n].id, (0, 80),
                "every value of it is in the source", Code.CLEAR)
        for n, claim in enumerate(claims)
        for check in _CHECKS
    )  # fmt: skip
    signals = (Signal("enough", 0.71234, 0.5, "of the learned policy"), Signal("doubt", 0.1, 0.2))
    draft = Draft(text, claims, citations, "extractive")
    return Verdict(
        evidence.question, Action.SERVE, "Every statement is quoted from the document it cites.",
        GateDecision(Level.SUFFICIENT, 0.71234, "learned", ("five passages",), signals=signals),
        evidence, draft, text, findings, citations, share_read=1.0, faithfulness=1.0,
        fact_score=1.0, grade=Grade.SUPPORTED, route="faithfulness >= 0.85 -> SERVE",
        attempts=(Attempt(draft, findings),),
    )  # fmt: skip


VERDICT = _verdict()
TRACE = Trace(
    VERDICT.evidence,
    day=date(2025, 5, 1),
    timings=(
        *(("search", 0.004), ("gate", 0.03), ("draft", 0.02), ("check", 0.1)),
        *(("other", 0.006), ("total", 0.16)),
    ),
)
FILING = Filing("bench", "", Setup().record())
