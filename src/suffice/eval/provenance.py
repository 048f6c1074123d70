"""The inputs of an evaluation as hashes: settings, models, cases and documents."""

from __future__ import annotations

import hashlib
from pathlib import Path

from suffice.eval.cases import Cases
from suffice.record.setup import Setup
from suffice.settings import Settings


def provenance(cases: Cases, settings: Settings, embedder: str, verifier: str) -> dict[str, str]:
    """The id of the setup (settings, models, package versions), and the hashes of the cases and
    their documents; `id` identifies them together."""
    own = settings.collection("default")
    made = {
        "setup": Setup.of(settings, own, embedder, verifier).record().id,
        "cases": _digest(repr(cases.all).encode()),
        "documents": _digest(
            repr([_documents(path) for path in dict.fromkeys(cases.documents.values())]).encode()
        ),
    }
    return {"id": _digest(repr(sorted(made.items())).encode()), **made}


def _documents(path: Path) -> str:
    """The hash of an archive, or of the names and contents of all files of a folder."""
    if path.is_file():
        return _digest(path.read_bytes())
    found = hashlib.sha256()
    for file in sorted(one for one in path.rglob("*") if one.is_file()):
        name = file.relative_to(path).as_posix().encode()
        found.update(name + b"\0" + hashlib.sha256(file.read_bytes()).digest())
    return found.hexdigest()[:32]


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]
