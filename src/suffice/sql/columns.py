"""Column types that SQLite and PostgreSQL share; not nullable unless stated."""

from __future__ import annotations

from typing import Literal

from sqlalchemy import BigInteger, Column, Double, Text


def number(
    name: str, *, null: bool = False, key: bool = False, generated: bool = False
) -> Column[int]:
    """An integer column; with `generated`, the database assigns the key."""
    auto: Literal["auto", False] = "auto" if generated else False
    return Column(name, BigInteger, nullable=null, primary_key=key, autoincrement=auto)


def text(name: str, *, null: bool = False, key: bool = False, unique: bool = False) -> Column[str]:
    return Column(name, Text, nullable=null, primary_key=key, unique=unique or None)


def real(name: str, *, null: bool = False) -> Column[float]:
    return Column(name, Double, nullable=null)
