"""Ed25519 keys that sign checkpoints; the private key file is readable only by its owner."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from suffice.errors import ExtraMissing, StoreError
from suffice.log.checkpoints.checkpoint import Checkpoint, decoded, encoded

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

_KIND = "ed25519:"


def make_key(path: Path) -> str:
    """Write a new private key to `path` and the public key to `path.pub`; return the public key."""
    serialization, ed25519 = _library()
    private = ed25519.Ed25519PrivateKey.generate()
    data = private.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    public = public_of(private)
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)
        Path(f"{path}.pub").write_text(f"{public}\n", encoding="ascii")
    except FileExistsError:
        raise StoreError(
            f"{path} already exists. Keys are never overwritten.",
            remedy="Choose another file, or move the existing one.",
        ) from None
    except OSError as problem:
        raise StoreError(
            f"Cannot write {path}: {problem.strerror}.", remedy="Choose another file."
        ) from problem
    return public


def read_key(path: str | Path) -> Ed25519PrivateKey:
    serialization, ed25519 = _library()
    remedy = "Run: suffice audit key --out FILE. Then set record.checkpoint.key_file to FILE."
    try:
        key = serialization.load_pem_private_key(Path(path).read_bytes(), None)
    except OSError as problem:
        raise StoreError(f"Cannot read {path}: {problem.strerror}.", remedy=remedy) from problem
    except (ValueError, TypeError) as problem:
        raise StoreError(f"{path} does not contain a private key.", remedy=remedy) from problem
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise StoreError(f"{path} contains a key that is not Ed25519.", remedy=remedy)
    private: Ed25519PrivateKey = key
    return private


def public_of(key: Ed25519PrivateKey) -> str:
    return f"{_KIND}{encoded(key.public_key().public_bytes_raw())}"


def read_public(path: str | Path) -> str:
    """Read the public key from a `.pub` file; a literal "ed25519:…" is returned unchanged."""
    if str(path).startswith(_KIND):
        return str(path)
    try:
        found = Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as problem:
        raise StoreError(
            f"Cannot read {path}: {problem}.", remedy="Pass the .pub file of the key."
        ) from problem
    if not found.startswith(_KIND):
        raise StoreError(
            f"{path} does not contain a public key.",
            remedy="Pass the .pub file, not the private key.",
        )
    return found


def sign(point: Checkpoint, key: Ed25519PrivateKey) -> Checkpoint:
    """The checkpoint signed with this key."""
    unsigned = replace(point, key=public_of(key))
    return replace(unsigned, signature=encoded(key.sign(unsigned.signed)))


def genuine(point: Checkpoint) -> bool:
    """Whether the checkpoint's signature is valid for the key it names."""
    _, ed25519 = _library()
    from cryptography.exceptions import InvalidSignature

    try:
        public = ed25519.Ed25519PublicKey.from_public_bytes(decoded(point.key.removeprefix(_KIND)))
        public.verify(decoded(point.signature), point.signed)
    except (InvalidSignature, ValueError):
        return False
    return True


def _library() -> tuple[Any, Any]:
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise ExtraMissing("Signing or verifying checkpoints", "record") from None
    return serialization, ed25519
