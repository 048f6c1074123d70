"""Passages have the kind that their document declares; undeclared ones are facts."""

from __future__ import annotations

import sqlite3
from datetime import date
from pathlib import Path
from typing import Literal

import pytest

from suffice.evidence.index import Filter
from suffice.evidence.library import Library
from suffice.evidence.search import Search, open_index
from suffice.evidence.store import Store
from suffice.settings import SearchSettings, Settings
from suffice.types import Kind
from tests.earlier import of_schema

STEPS = "# Coffee machine\n\n1. Empty the tray.\n2. Press both buttons until the light blinks.\n"
DECLARED = f"---\nkind: procedure\ntitle: Descaling\n---\n{STEPS}"
TALK = "# Comments\n\nPosted by Ella: I think the old coffee machine was better. Any ideas?\n"
TODAY = date(2026, 11, 15)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    for name, text in (("declared.md", DECLARED), ("steps.md", STEPS), ("talk.md", TALK)):
        (folder / name).write_text(text)
    return folder


def kinds(store: Store, model: str) -> dict[str, Kind]:
    stored = [entry.passage for batch in store.changes(0, model) for entry in batch]
    return {passage.document: passage.kind for passage in stored}


def expected() -> dict[str, Kind]:
    return {"declared.md": Kind.PROCEDURE, "steps.md": Kind.FACT, "talk.md": Kind.FACT}


def found_as(kind: Kind, opened: Library, settings: Settings) -> list[str]:
    allowed = Filter(TODAY, kinds=frozenset({kind}))
    index = open_index(opened.store, settings, opened.embedder.id)
    search = Search(opened.store, index, opened.embedder, SearchSettings(), allowed)
    return sorted(passage.document for passage in search("coffee machine").passages)


@pytest.mark.parametrize("engine", ["edge", "memory"])
def test_only_a_declared_kind_counts(
    tmp_path: Path, docs: Path, engine: Literal["edge", "memory"]
) -> None:
    settings = Settings(index_engine=engine)
    opened = Library.open(tmp_path / "s.db", settings, create=True)
    opened.add(docs)
    assert kinds(opened.store, opened.embedder.id) == expected()
    assert {one.document: one.kind for one in opened.store.versions()} == expected()
    assert found_as(Kind.PROCEDURE, opened, settings) == ["declared.md"]
    assert found_as(Kind.FACT, opened, settings) == ["steps.md", "talk.md"]


@pytest.mark.parametrize("schema", [1, 12])
def test_a_store_with_kinds_that_were_guessed(
    tmp_path: Path, docs: Path, monkeypatch: pytest.MonkeyPatch, schema: int
) -> None:
    """Schema 1 held undeclared kinds as `fact` with the version, later ones guessed kinds with each
    passage."""
    opened = Library.open(tmp_path / "new.db", create=True)
    opened.add(docs)
    opened.store.close()
    place = tmp_path / "old.db"
    of_schema(str(place), schema, monkeypatch)
    with sqlite3.connect(place) as old:
        old.execute("ATTACH ? AS new", (str(tmp_path / "new.db"),))
        for table in ("documents", "versions", "passages", "vectors"):
            columns = {row[1] for row in old.execute(f"PRAGMA main.table_info({table})")}
            kept = {row[1] for row in old.execute(f"PRAGMA new.table_info({table})")} & columns
            names = ",".join(f'"{column}"' for column in sorted(kept))
            # Labels stood with versions too; here there are none.
            added = ', "access"' if "access" in columns - kept else ""
            labels = ", '[]'" if added else ""
            old.execute(
                f"INSERT INTO main.{table} ({names}{added}) SELECT {names}{labels} FROM new.{table}"
            )
        if schema > 1:
            old.execute("UPDATE versions SET kind = '' WHERE kind = 'fact'")
            old.execute("UPDATE passages SET kind = 'discussion'")

    again = Library.open(place)
    assert kinds(again.store, again.embedder.id) == expected()
    again.add(docs)
    assert kinds(again.store, again.embedder.id) == expected()
    assert len(again.store.versions()) == 3
    assert found_as(Kind.PROCEDURE, again, Settings()) == ["declared.md"]
