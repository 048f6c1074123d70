"""Evidence supplied with an answer, as text, JSON list or folder."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest

from suffice.errors import EvidenceError, SourceMissing, Unreadable
from suffice.evidence.inputs import given
from suffice.evidence.sources import Cutting, read_bundle, read_piece
from suffice.types import Passage
from tests.fakes import HashEmbedder

CUTTING = Cutting(HashEmbedder(), 64)
MOST = 10_000


def passages(source: Path) -> list[Passage]:
    return [one.passage for one in given(read_bundle(source, CUTTING, MOST))]


def piece(text: str, name: str = "standard input") -> list[Passage]:
    return [one.passage for one in given(read_piece(text.encode(), name, MOST))]


def test_a_text_is_one_passage() -> None:
    (one,) = piece("Leave lasts 18 weeks.\n\nIt is paid [1].\n")
    assert one.text == "Leave lasts 18 weeks.\n\nIt is paid [1]."


def test_a_text_that_numbers_its_parts() -> None:
    first, second = piece("[1] Leave lasts\n18 weeks.\n\n[2] It is paid.\n")
    assert (first.text, second.text) == ("Leave lasts\n18 weeks.", "It is paid.")


@pytest.mark.parametrize(
    "text", ["[2] Not the first.\n[3] Nor this.", "Before. \n[1] One.", "[1] One.\n[3] Three."]
)
def test_numbers_that_do_not_count_from_one_are_text(text: str) -> None:
    assert [one.text for one in piece(text)] == [text]


def test_a_json_list_of_texts_and_objects(tmp_path: Path) -> None:
    file = tmp_path / "evidence.json"
    known = {"text": "Cats sleep.", "title": "Cats", "version": "2.10", "effective": "2024-01-01"}
    file.write_text(json.dumps(["Dogs bark.", known, {**known, "id": "own", "page": 3}]))
    dogs, cats, own = passages(file)
    assert (dogs.text, dogs.id) == ("Dogs bark.", "passage-1")
    assert (cats.title, cats.version, cats.effective) == ("Cats", "2.10", date(2024, 1, 1))
    assert (own.id, own.page) == ("own", 3)
    assert piece(file.read_text()) == [dogs, cats, own]


def test_a_number_for_a_version_stays_as_written() -> None:
    (one,) = piece('[{"text": "Cats sleep.", "version": 2.10}]')
    assert one.version == "2.10"


def test_front_matter_of_a_text_counts(tmp_path: Path) -> None:
    file = tmp_path / "cats.md"
    file.write_text("---\ntitle: Cats\nexpires: 2020-01-01\n---\nCats sleep.\n")
    (one,) = passages(file)
    assert (one.text, one.title, one.expires) == ("Cats sleep.", "Cats", date(2020, 1, 1))


def test_a_folder_is_cut_in_the_order_of_names(tmp_path: Path) -> None:
    (tmp_path / "b.md").write_text("# B\n\nDogs bark.")
    (tmp_path / "a.md").write_text("# One\n\nCats sleep.\n\n# Two\n\nCats eat.")
    (tmp_path / "notes.xyz").write_text("nobody reads this")
    found = passages(tmp_path)
    assert [one.text.strip() for one in found] == ["Cats sleep.", "Cats eat.", "Dogs bark."]
    assert [one.document for one in found] == ["a.md", "a.md", "b.md"]
    assert len({one.id for one in found}) == 3


def test_an_older_version_in_a_folder_is_no_longer_in_force(handbook: Path) -> None:
    found = passages(handbook)
    remote = {one.version: one for one in found if one.title == "Remote work policy"}
    assert remote["1.0"].until == remote["2.0"].effective
    assert remote["2.0"].until is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('["Dogs bark."', "not valid JSON"),
        ('[{"text": "x"},]', "not valid JSON"),
        ("[]", "not a list of passages"),
        ("[1, 2]", "not a list of passages"),
        ('{"a": 1}', "not a list of passages"),
        ("[" * 100_000, "over the limit"),
        ("[" * 9_000, "is"),
    ],
)
def test_broken_json_is_told(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "evidence.json"
    file.write_text(text)
    with pytest.raises(Unreadable, match=said) as told:
        read_bundle(file, CUTTING, MOST)
    assert told.value.remedy


def test_what_cannot_be_read_stops_it(tmp_path: Path) -> None:
    with pytest.raises(SourceMissing):
        read_bundle(tmp_path / "none.txt", CUTTING, MOST)
    with pytest.raises(SourceMissing, match="contains no supported document"):
        read_bundle(tmp_path, CUTTING, MOST)
    (tmp_path / "a.md").write_text("Cats sleep.")
    (tmp_path / "b.pdf").write_bytes(b"no pdf")
    with pytest.raises(EvidenceError):  # a file left out would shift the numbers
        read_bundle(tmp_path, CUTTING, MOST)
    with pytest.raises(Unreadable):
        piece("  \n ")
