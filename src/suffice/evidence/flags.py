"""Names the passages that try to instruct the model, with the words; nobody reads these words."""

from __future__ import annotations

from collections.abc import Mapping

from suffice.evidence.sanitize import Instruction, instruction_in
from suffice.types import Evidence, Exclusion

Flags = Mapping[int, Instruction]
"""The numbers of passages that try to instruct the model, or seem to, each with the words."""


def flagged(evidence: Evidence) -> Flags:
    found = ((n, instruction_in(passage)) for n, passage in enumerate(evidence.passages, 1))
    return {n: instruction for n, instruction in found if instruction}


def flag_exclusions(evidence: Evidence) -> tuple[Exclusion, ...]:
    """The flagged passages, each with the reason. One that only seems to instruct is left out only
    in part."""
    passages = evidence.passages
    return tuple(
        Exclusion(passages[n - 1], _reason(found), partly=not found.certain)
        for n, found in flagged(evidence).items()
    )


def flag_notes(evidence: Evidence) -> tuple[str, ...]:
    """One note for the reader per flagged passage."""
    return tuple(
        f"Passage {n} ({evidence.passages[n - 1].name}) {_reason(found)}"
        for n, found in flagged(evidence).items()
    )


def _reason(found: Instruction) -> str:
    if found.certain:
        return f"tries to instruct its reader and was not used as evidence: “{found.quote}”"
    return f"holds words that look like an instruction; they were left out: “{found.quote}”"
