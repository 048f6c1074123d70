"""A record made ready to be sealed: masked, its fields as lines, all that needs no database."""

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
"""What a record may hold that somebody may not want stored."""
LARGEST = 256_000_000
_NO_TEXT = str.maketrans(dict.fromkeys((0, *range(55296, 57344)), "�"))


@dataclass(frozen=True, slots=True)
class Prepared:
    """`caller` and `tag` are `None` where there are none, or they are not to be stored."""

    id: str
    kind: str
    caller: str | None
    tag: str | None
    payload: Payload
    once: bool = False


@dataclass(frozen=True, slots=True)
class Prepare:
    """How records are written by the settings."""

    masks: Masks
    omit: frozenset[str]

    @classmethod
    def of(cls, settings: RecordSettings) -> Prepare:
        unknown = set(settings.omit) - {*FIELDS, WHO}
        if unknown:
            raise SettingsError(
                f"record.omit: there is no field '{min(unknown)}' in a record.",
                remedy=f"Allowed: {', '.join((WHO, *FIELDS))}.",
            )
        return cls(Masks.of(settings), frozenset(settings.omit))

    def __call__(self, record: Record, never: frozenset[str] = frozenset()) -> Prepared:
        """`never` are fields of this record that are not stored, whatever the settings say."""
        caller, tag = record.caller.translate(_NO_TEXT), record.tag.translate(_NO_TEXT)
        fields = {WHO: [caller, tag], **self._masked(record)}
        written = payload(fields, self.omit | never)
        if len(written.text) > LARGEST:
            raise StoreError(
                f"A record of {len(written.text):,} characters is over the limit of {LARGEST:,}.",
                remedy="Name what need not be stored in record.omit.",
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
        """What is written once, for all, is settings and versions: nobody's words."""
        if record.once or not self.masks.sorts:
            return dict(record.fields)
        counts: Counter[str] = Counter()
        fields: dict[str, object] = self.masks.tree(dict(record.fields), counts)
        return {**fields, "masked": dict(counts)} if counts else fields
