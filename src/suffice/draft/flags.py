"""Reports passages that try to instruct the model; drafters receive no instruction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from suffice.evidence.sanitize import Instruction, cleared, instruction_in
from suffice.text.statements import Statement, statements
from suffice.types import Evidence, Passage

Flags = Mapping[int, Instruction]
"""The numbers of passages that try to instruct the model, or seem to, each with the words."""


def flagged(evidence: Evidence) -> Flags:
    found = ((n, instruction_in(passage)) for n, passage in enumerate(evidence.passages, 1))
    return {n: instruction for n, instruction in found if instruction}


def flag_notes(flags: Flags) -> tuple[str, ...]:
    """One note for the reader per flagged passage."""
    return tuple(
        f"Passage {n} tries to instruct its reader and was not used as evidence: “{found.quote}”"
        if found.certain
        else f"Words of passage {n} that look like an instruction were left out: “{found.quote}”"
        for n, found in flags.items()
    )


def statements_for_drafter(evidence: Evidence) -> Iterator[tuple[Passage, Statement]]:
    """The statements a drafter receives, in order, without instructions."""
    for item in evidence:
        for statement in statements(cleared(item.passage).text):
            if all(item.reads(*span) for span in statement.slices):
                yield item.passage, statement
