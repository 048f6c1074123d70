"""Prepares records for sealing: masking and payload, all work that needs no database."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from suffice.errors import SettingsError, StoreError
from suffice.log.masking import Masks
from suffice.log.payload import Payload, payload
from suffice.log.record import WHO, Record
from suffice.settings import RecordSettings

FIELDS = (
    "question passages texts evidence gate claims drafts findings released outcome thresholds "
    "timings nearest missing reason comment"
).split()
"""Fields that `record.omit_fields` can exclude."""
LARGEST = 256_000_000
_NO_TEXT = str.maketrans(dict.fromkeys((0, *range(55296, 57344)), "�"))


@dataclass(frozen=True, slots=True)
class Prepared:
    """A record ready for sealing; `caller` and `tag` are `None` if absent or not to be stored."""

    id: str
    kind: str
    caller: str | None
    tag: str | None
    payload: Payload
    once: bool = False


@dataclass(frozen=True, slots=True)
class Prepare:
    """Turns records into prepared records, according to the settings."""

    masks: Masks
    omit: frozenset[str]

    @classmethod
    def of(cls, settings: RecordSettings) -> Prepare:
        unknown = set(settings.omit_fields) - {*FIELDS, WHO}
        if unknown:
            raise SettingsError(
                f"record.omit_fields: records have no field '{min(unknown)}'.",
                remedy=f"Allowed values: {', '.join((WHO, *FIELDS))}.",
            )
        return cls(Masks.of(settings), frozenset(settings.omit_fields))

    def __call__(self, record: Record, never: frozenset[str] = frozenset()) -> Prepared:
        """Prepare a record. Fields in `never` are not stored, regardless of the settings."""
        caller, tag = record.caller.translate(_NO_TEXT), record.tag.translate(_NO_TEXT)
        fields = {WHO: [caller, tag], **self._masked(record)}
        written = payload(fields, self.omit | never)
        if len(written.text) > LARGEST:
            raise StoreError(
                f"The record has {len(written.text):,} characters, over the limit of {LARGEST:,}.",
                remedy="Exclude large fields with record.omit_fields.",
            )
        known = WHO not in self.omit
        return Prepared(
            record.id,
            record.kind,
            caller or None if known else None,
            tag or None if known else None,
            written,
            record.once,
        )

    def _masked(self, record: Record) -> dict[str, object]:
        """The masked fields. `once` records are not masked: they contain no user text."""
        if record.once or not self.masks.sorts:
            return dict(record.fields)
        counts: Counter[str] = Counter()
        fields: dict[str, object] = self.masks.tree(dict(record.fields), counts)
        return {**fields, "masked": dict(counts)} if counts else fields
