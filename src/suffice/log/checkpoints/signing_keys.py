"""The key that signs checkpoints: Ed25519, a file only its owner can read."""

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
    """Writes a new private key, and beside it, in `path.pub`, the public one, which is returned."""
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
            f"{path} is there already, and a key is never overwritten.",
            remedy="Name another file, or move that one away.",
        ) from None
    except OSError as problem:
        raise StoreError(
            f"{path} cannot be written: {problem.strerror}.", remedy="Name another file."
        ) from problem
    return public


def read_key(path: str | Path) -> Ed25519PrivateKey:
    serialization, ed25519 = _library()
    remedy = "Make one: suffice audit key --out FILE, and name it in record.checkpoint.key."
    try:
        key = serialization.load_pem_private_key(Path(path).read_bytes(), None)
    except OSError as problem:
        raise StoreError(f"{path} cannot be read: {problem.strerror}.", remedy=remedy) from problem
    except (ValueError, TypeError) as problem:
        raise StoreError(f"{path} holds no private key.", remedy=remedy) from problem
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise StoreError(f"{path} holds a key of another kind than Ed25519.", remedy=remedy)
    private: Ed25519PrivateKey = key
    return private


def public_of(key: Ed25519PrivateKey) -> str:
    return f"{_KIND}{encoded(key.public_key().public_bytes_raw())}"


def read_public(path: str | Path) -> str:
    """The public key of a `.pub` file; one may as well be given as it is: "ed25519:…"."""
    if str(path).startswith(_KIND):
        return str(path)
    try:
        found = Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as problem:
        raise StoreError(
            f"{path} cannot be read: {problem}.", remedy="Name the .pub file of the key."
        ) from problem
    if not found.startswith(_KIND):
        raise StoreError(
            f"{path} holds no public key.", remedy="Name the .pub file, not the private key."
        )
    return found


def sign(point: Checkpoint, key: Ed25519PrivateKey) -> Checkpoint:
    """The checkpoint with the signature of this key."""
    unsigned = replace(point, key=public_of(key))
    return replace(unsigned, signature=encoded(key.sign(unsigned.signed)))


def genuine(point: Checkpoint) -> bool:
    """Whether the key that a checkpoint names has signed it."""
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
        raise ExtraMissing("Signing and reading checkpoints", "record") from None
    return serialization, ed25519
