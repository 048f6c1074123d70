"""What a decision needs, and which decisions the state of a case allows."""

from __future__ import annotations

from suffice.errors import ReviewError
from suffice.record.decision import decision_of
from suffice.review.actions import LONGEST
from suffice.review.case import Act, Case
from suffice.types import Verdict


def check_reason(act: Act, reason: str, by: str) -> None:
    """Raise if a decision lacks a reason or a name."""
    for what, text in (("a reason", reason), ("a name", by)):
        if not text.strip():
            raise ReviewError(
                f"The decision '{act.value}' requires {what}.",
                remedy="Give a reason and the name of the reviewer.",
            )
    check_length("reason", reason)


def check_length(what: str, text: str) -> None:
    """Raise if a person's words are too long for a record."""
    if len(text) > LONGEST:
        raise ReviewError(
            f"The {what} has {len(text):,} characters.",
            remedy=f"Use at most {LONGEST:,} characters.",
        )


def check_allowed(case: Case, act: Act, text: str = "") -> None:
    """Raise if the decision does not apply to the current state of the case."""
    _not_against_claims(case, act)
    if act in (Act.CONFIRM, Act.DISMISS):
        return
    name, seen = case.entry.id, case.seen
    if seen is None:
        raise ReviewError(case.lacking, remedy="Confirm or dismiss it.")
    first = decision_of(case.entry).verdict
    out = seen.verdict is not None and seen.verdict.served
    answered = first is not None and bool(first.released or (first.draft and first.draft.text))
    if act is Act.CORRECT:
        _correctable(case, first, text)
    if act is Act.WITHDRAW and not out:
        raise ReviewError(
            f"Record {name} has no released answer to withdraw.", remedy="Confirm or dismiss it."
        )
    if act is Act.RELEASE and out:
        raise ReviewError(f"The answer of record {name} is already released.", remedy="Confirm it.")
    if act is Act.RELEASE and not answered:
        raise ReviewError(
            f"Record {name} has no answer to release.",
            remedy=f"To have an answer written, run: suffice review decide {name} open",
        )
    if act is Act.OPEN and (answered or seen.gate.open):
        raise ReviewError(
            f"The gate of record {name} was already open.",
            remedy="Release or withdraw the answer instead.",
        )


def _correctable(case: Case, first: Verdict | None, text: str) -> None:
    check_length("answer", text)
    if first is None:
        raise ReviewError(
            f"Record {case.entry.id} is a gate decision without an answer.",
            remedy="Confirm or dismiss it.",
        )
    if not text.strip():
        raise ReviewError("The corrected answer is empty.", remedy="Write the answer to release.")


def _not_against_claims(case: Case, act: Act) -> None:
    """Raise if an answer would be released, or called right, as it was drafted, although a reviewer
    found one of its claims unsupported."""
    verdict = case.verdict
    drafted = verdict.draft.text.strip() if verdict and verdict.draft else ""
    right = act is Act.CONFIRM and verdict is not None and verdict.released.strip() == drafted != ""
    wrong = [str(n) for n, one in sorted(case.judgements.items()) if not one.supported]
    if wrong and (right or act is Act.RELEASE):
        raise ReviewError(
            f"Claim {', '.join(wrong)} is judged as not supported, so the answer cannot be "
            "released as it was drafted.",
            remedy="Correct or withdraw the answer, or change the judgement of the claim.",
        )
