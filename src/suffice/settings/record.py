"""What is kept of every decision, and how surely."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from suffice.settings.checked import Checked
from suffice.settings.limits import Range, Share


@dataclass(frozen=True, slots=True)
class SignSettings(Checked):
    """Signed checkpoints: written with the private `key` to each of `to` (a file, a URL or another
    store) once `every` records or `minutes` have passed since the last one; 0: not by this."""

    key: str = ""
    to: tuple[str, ...] = ()
    every: Annotated[int, Range(0, 1_000_000_000)] = 1_000
    minutes: Annotated[float, Range(0, 1_000_000)] = 60.0


@dataclass(frozen=True, slots=True)
class RecordSettings(Checked):
    """`enabled`: `auto` records wherever a store is kept, not for a folder that is only looked at.
    `durable`: `committed` answers once the record is in the store, `queued` does not wait. Fields
    named in `omit` are committed to and not stored; e-mail addresses, phone and card numbers and
    `patterns` are masked before anything is written. `days`: how long `audit retain` keeps what
    records say (0: for ever). `sample`: the share of served answers that a person is asked to look
    at, by chance; `borderline`: so near to its threshold a gate is looked at in any case."""

    enabled: Literal["auto", "always", "never"] = "auto"
    durable: Literal["committed", "queued"] = "committed"
    omit: tuple[str, ...] = ()
    mask_emails: bool = True
    mask_phones: bool = True
    mask_cards: bool = True
    patterns: tuple[str, ...] = ()
    days: Annotated[int, Range(0, 100_000)] = 0
    sample: Share = 0.0
    borderline: Share = 0.02
    checkpoint: SignSettings = field(default_factory=SignSettings)
