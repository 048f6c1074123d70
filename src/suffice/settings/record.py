"""Settings of the log: what is recorded, masked, kept, signed and sampled for review."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from suffice.settings.checked import Checked
from suffice.settings.limits import Range, Share, setting


@dataclass(frozen=True, slots=True)
class SignSettings(Checked):
    """Signed checkpoints of the log, and where they are written."""

    key_file: str = setting("", "File that holds the private signing key. Empty: no checkpoints.")
    destinations: tuple[str, ...] = setting(
        (), "Where checkpoints are written: files, URLs or other stores."
    )
    every_records: Annotated[int, Range(0, 1_000_000_000)] = setting(
        1_000, "Write a checkpoint after this many records. 0: no record limit."
    )
    every_minutes: Annotated[float, Range(0, 1_000_000)] = setting(
        60.0, "Write a checkpoint after this many minutes. 0: no time limit."
    )


@dataclass(frozen=True, slots=True)
class RecordSettings(Checked):
    """What is recorded for each decision."""

    enabled: Literal["auto", "always", "never"] = setting(
        "auto",
        "When to record decisions. `auto`: if there is a store, but not for a folder that is "
        "only read (`--docs`).",
    )
    durability: Literal["committed", "queued"] = setting(
        "committed",
        "`committed`: an answer is released once its record is stored. `queued`: the answer "
        "does not wait, and a crash loses the queued records.",
    )
    omit_fields: tuple[str, ...] = setting(
        (), "Fields that are not stored. The record keeps a hash commitment to each."
    )
    mask_emails: bool = setting(True, "Mask e-mail addresses before a record is written.")
    mask_phones: bool = setting(True, "Mask phone numbers before a record is written.")
    mask_cards: bool = setting(True, "Mask card numbers before a record is written.")
    mask_patterns: tuple[str, ...] = setting(
        (), "Regular expressions whose matches are masked before a record is written."
    )
    retention_days: Annotated[int, Range(0, 100_000)] = setting(
        0, "Days after which `suffice audit retain` erases the contents of records. 0: never."
    )
    review_sample: Share = setting(
        0.0, "Random share of served answers that is sent to a person for review."
    )
    review_borderline: Share = setting(
        0.02, "Decisions with a gate score this close to the threshold are always sent for review."
    )
    checkpoint: SignSettings = field(default_factory=SignSettings)
