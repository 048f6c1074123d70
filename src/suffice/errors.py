"""Everything that can go wrong, as one tree. Each error carries its remedy.

SufficeError
├── SettingsError          a key or value in the settings is wrong
├── ExtraMissing           an optional dependency is not installed
├── QuestionError          the question cannot be asked as it stands
├── AnswerError            the answer cannot be checked as it stands
├── EvidenceError
│   ├── SourceMissing      no such file or folder, or nothing in it to read
│   ├── Unreadable         one file cannot be read
│   ├── CollectionMissing  no collection of that name in the store
│   └── DocumentMissing    no document of that name in the store
├── StoreError
│   ├── StoreMissing       there is no store yet
│   ├── StoreBusy          another process is writing
│   ├── StoreNewer         made by a newer version of Suffice
│   ├── StoreDamaged       the file is not a store, or cannot be read any more
│   ├── StoreFull          no room, or no right, to write
│   ├── StoreUnreachable   the database server cannot be reached, or not with this URL
│   └── StoreRights        the database role may not do this
├── ReviewError            a person's decision does not fit what was recorded
├── PrincipalError         a key cannot be made, or there is none of that name
└── ModelError
    ├── ModelMissing       no such model
    ├── ModelDamaged       a weight file is not the one its card describes
    ├── ModelMismatch      the index was made with another embedder
    └── ModelUnreachable   a remote model does not answer, or not as it should
"""

from __future__ import annotations


class SufficeError(Exception):
    """Base of all errors: what happened, and what to do about it."""

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}".strip()


class SettingsError(SufficeError):
    """A key or value in the settings is wrong."""


class ExtraMissing(SufficeError):
    """An optional dependency is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an extra.", remedy=f"Run: pip install 'suffice[{extra}]'")


class QuestionError(SufficeError):
    """The question cannot be asked as it stands."""


class AnswerError(SufficeError):
    """The answer cannot be checked as it stands."""


class EvidenceError(SufficeError):
    """Something about the documents."""


class SourceMissing(EvidenceError):
    """No such file or folder, or nothing in it to read."""


class Unreadable(EvidenceError):
    """One file cannot be read; the others can."""


class CollectionMissing(EvidenceError):
    """No collection of that name in the store."""


class DocumentMissing(EvidenceError):
    """No document of that name in the store."""


class StoreError(SufficeError):
    """Something about the store."""


class StoreMissing(StoreError):
    """There is no store yet."""


class StoreBusy(StoreError):
    """Another process is writing to the store."""


class StoreNewer(StoreError):
    """The store was made by a newer version of Suffice."""


class StoreDamaged(StoreError):
    """The file is not a store, or cannot be read any more."""


class StoreFull(StoreError):
    """No room, or no right, to write."""


class StoreUnreachable(StoreError):
    """The database server cannot be reached, or not with this URL."""


class StoreRights(StoreError):
    """The database role may not do this."""


class ReviewError(SufficeError):
    """A person's decision does not fit what was recorded."""


class PrincipalError(SufficeError):
    """A key cannot be made, or there is none of that name."""


class ModelError(SufficeError):
    """Something about a model."""


class ModelMissing(ModelError):
    """No such model."""


class ModelDamaged(ModelError):
    """A weight file is not the one its card describes."""


class ModelMismatch(ModelError):
    """The index was made with another embedder."""


class ModelUnreachable(ModelError):
    """A remote model does not answer, or not as it should."""
