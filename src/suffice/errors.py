"""The tree of all errors. Each error carries a message and a remedy.

SufficeError
├── SettingsError          a key or value in the settings is invalid
├── ExtraMissing           an optional dependency is not installed
├── QuestionError          the question is invalid, for example empty or too long
├── AnswerError            the answer to check is invalid
├── AnswerWithheld         a guard withheld an answer; `verdict` says why
├── EvidenceInsufficient   a gated retriever found too little; `decision` says what is missing
├── EvidenceError
│   ├── SourceMissing      a file or folder does not exist or has no readable content
│   ├── Unreadable         a file cannot be read
│   ├── CollectionMissing  the store has no collection with this name
│   ├── DocumentMissing    the store has no document with this name
│   └── LabelNotHeld       a document declares an access label that its uploader lacks
├── StoreError
│   ├── StoreMissing       the store does not exist
│   ├── StoreBusy          another process holds the write lock
│   ├── StoreNewer         the store was created by a newer version of Suffice
│   ├── StoreDamaged       the file is not a store, or is damaged
│   ├── StoreFull          the disk is full, or the store is not writable
│   ├── StoreUnreachable   the database server cannot be reached with this URL
│   └── StoreRights        the database role lacks a privilege
├── ReviewError            a reviewer's decision does not apply to the record
│   └── ReviewTaken        another reviewer acted first
├── LabelsError            labelled rows cannot be used for a calibration
├── StaleThresholds        certified thresholds were made for other models or settings
├── WorkerFailed           a worker process ended, or could not do its work
├── PrincipalError         a key cannot be created or does not exist
├── IdentityError          the identity of an end user is missing or not valid
└── ModelError
    ├── ModelMissing       the model does not exist
    ├── ModelDamaged       a weight file does not match its model card
    ├── ModelMismatch      the index was built with another embedder
    └── ModelUnreachable   a remote model does not respond, or responds incorrectly
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from suffice.types import GateDecision, Verdict


class SufficeError(Exception):
    """Base class: `message` says what happened, `remedy` what to do about it."""

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}".strip()


class SettingsError(SufficeError):
    """A key or value in the settings is invalid."""


class ExtraMissing(SufficeError):
    """An optional dependency is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(
            f"{what} requires the optional extra '{extra}'.",
            remedy=f"Run: pip install 'suffice[{extra}]'",
        )


class QuestionError(SufficeError):
    """The question is invalid, for example empty or too long."""


class AnswerError(SufficeError):
    """The answer to check is invalid."""


class AnswerWithheld(SufficeError):
    """A guard withheld an answer. `verdict` holds the decision with all findings."""

    def __init__(self, verdict: Verdict, message: str = "") -> None:
        super().__init__(message or verdict.reason)
        self.verdict = verdict


class EvidenceInsufficient(SufficeError):
    """A gated retriever found too little evidence. `decision` says what is missing."""

    def __init__(self, decision: GateDecision) -> None:
        super().__init__(f"The evidence is {decision.level.value}: {'; '.join(decision.reasons)}.")
        self.decision = decision


class EvidenceError(SufficeError):
    """Base class of errors about documents."""


class SourceMissing(EvidenceError):
    """A file or folder does not exist or has no readable content."""


class Unreadable(EvidenceError):
    """A file cannot be read; other files are not affected."""


class CollectionMissing(EvidenceError):
    """The store has no collection with this name."""


class DocumentMissing(EvidenceError):
    """The store has no document with this name."""


class LabelNotHeld(EvidenceError):
    """A document declares an access label that the person who uploads it does not hold."""


class StoreError(SufficeError):
    """Base class of errors about the store."""


class StoreMissing(StoreError):
    """The store does not exist."""


class StoreBusy(StoreError):
    """Another process holds the write lock of the store."""


class StoreNewer(StoreError):
    """The store was created by a newer version of Suffice."""


class StoreDamaged(StoreError):
    """The file is not a store, or is damaged."""


class StoreFull(StoreError):
    """The disk is full, or the store is not writable."""


class StoreUnreachable(StoreError):
    """The database server cannot be reached with this URL."""


class StoreRights(StoreError):
    """The database role lacks a privilege."""


class ReviewError(SufficeError):
    """A reviewer's decision does not apply to the record."""


class ReviewTaken(ReviewError):
    """Another reviewer acted first, so the decision was not recorded."""


class LabelsError(SufficeError):
    """Labelled rows cannot be used for a calibration."""


class StaleThresholds(SufficeError):
    """Certified thresholds were made for other models or settings."""


class WorkerFailed(SufficeError):
    """A worker process ended, or could not do its work."""


class PrincipalError(SufficeError):
    """A key cannot be created or does not exist."""


class IdentityError(SufficeError):
    """The identity of an end user is missing or not valid. `unavailable`: it could not be checked,
    because the keys of the provider could not be read."""

    def __init__(self, message: str, *, remedy: str = "", unavailable: bool = False) -> None:
        super().__init__(message, remedy=remedy)
        self.unavailable = unavailable


class ModelError(SufficeError):
    """Base class of errors about models."""


class ModelMissing(ModelError):
    """The model does not exist."""


class ModelDamaged(ModelError):
    """A weight file does not match its model card."""


class ModelMismatch(ModelError):
    """The index was built with another embedder."""


class ModelUnreachable(ModelError):
    """A remote model does not respond, or responds incorrectly."""
