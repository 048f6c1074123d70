"""Which version is in force on which day."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.evidence.read import FrontMatter
from suffice.evidence.versions import EVER, NEVER, Dated, family, in_force, version_order
from suffice.types import Passage

TODAY = date(2026, 11, 15)


def dated(
    id: int,
    document: int = 1,
    label: str = "",
    effective: date | None = None,
    expires: date | None = None,
    seen: date = TODAY,
    retired: date | None = None,
) -> Dated:
    return Dated(id, document, label or str(id), effective, expires, seen, id, retired)


def holding(versions: list[Dated], day: date) -> list[int]:
    return [v for v, force in in_force(versions).items() if force.start <= day < force.until]


def test_one_undated_content_always_holds() -> None:
    force = in_force([dated(1)])[1]
    assert (force.start, force.until) == (EVER, NEVER)


def test_changed_content_supersedes_from_the_day_it_was_read() -> None:
    versions = [dated(1, seen=date(2026, 1, 1)), dated(2, seen=TODAY)]
    assert holding(versions, TODAY) == [2]
    assert holding(versions, TODAY - timedelta(days=1)) == [1]


def test_a_content_announced_for_later_leaves_the_old_one_in_force_until_then() -> None:
    versions = [dated(1), dated(2, effective=date(2027, 1, 1))]
    assert holding(versions, TODAY) == [1]
    assert holding(versions, date(2027, 1, 1)) == [2]


def test_two_files_of_one_policy() -> None:
    old = dated(1, document=1, label="1.0", effective=date(2023, 3, 1))
    new = dated(2, document=2, label="2.0", effective=date(2025, 9, 1))
    for versions in ([old, new], [new, old]):
        assert holding(versions, TODAY) == [2]
        assert holding(versions, date(2024, 1, 1)) == [1]
        assert holding(versions, date(2022, 1, 1)) == []


def test_two_files_without_dates_are_ordered_by_version() -> None:
    assert holding([dated(1, 1, "1.10"), dated(2, 2, "1.9")], TODAY) == [1]


def test_same_title_and_version_in_two_files_are_two_documents() -> None:
    assert sorted(holding([dated(1, 1, "1.0"), dated(2, 2, "1.0")], TODAY)) == [1, 2]


def test_a_corrected_date_replaces_the_wrong_one() -> None:
    wrong = dated(1, effective=date(2026, 1, 1))
    right = dated(2, effective=date(2025, 1, 1))
    assert holding([wrong, right], TODAY) == [2]
    assert holding([wrong, right], date(2025, 6, 1)) == [2]


def test_expiry_ends_after_the_day_named() -> None:
    versions = [dated(1, expires=date(2024, 12, 31))]
    assert holding(versions, date(2024, 12, 31)) == [1]
    assert holding(versions, date(2025, 1, 1)) == []


def test_retired_from_that_day_on() -> None:
    versions = [dated(1, retired=TODAY)]
    assert holding(versions, TODAY) == []
    assert holding(versions, TODAY - timedelta(days=1)) == [1]


days = st.dates(min_value=date(2000, 1, 1), max_value=date(2030, 1, 1))


@given(
    st.lists(st.tuples(st.none() | days, st.none() | days, days), min_size=1, max_size=6),
    days,
)
def test_at_most_one_content_of_a_file_holds_on_a_day(
    rows: list[tuple[date | None, date | None, date]], day: date
) -> None:
    rows = sorted(rows, key=lambda row: row[2])
    versions = [
        dated(id, effective=effective, expires=expires, seen=seen)
        for id, (effective, expires, seen) in enumerate(rows, 1)
    ]
    assert len(holding(versions, day)) <= 1


def test_order_of_labels() -> None:
    labels = ["1.10", "2", "1.9", "1.9.1", "1.9b"]
    assert sorted(labels, key=version_order) == ["1.9", "1.9b", "1.9.1", "1.10", "2"]


def test_families() -> None:
    one = FrontMatter(title="Remote work", version="1.0", effective=date(2023, 1, 1))
    two = FrontMatter(title="Remote Work (2025)", version="2.0", effective=date(2025, 1, 1))
    three = FrontMatter(title="Remote work v3", version="3")
    assert family(one, "a.md") == family(two, "b.md") == family(three, "c.md")
    assert family(FrontMatter(title="Form 12", version="1"), "a") != family(
        FrontMatter(title="Form 13", version="2"), "b"
    )
    assert family(FrontMatter(title="Remote work"), "a.md") == "file:a.md"
    assert family(FrontMatter(id="rw", title="x"), "a") == family(FrontMatter(id="rw"), "b")


def test_a_withdrawn_announcement_changes_nothing() -> None:
    old = dated(1, 1, "1", effective=date(2025, 1, 1))
    announced = dated(2, 2, "2", effective=date(2027, 1, 1), retired=TODAY)
    assert holding([old, announced], date(2027, 6, 1)) == [1]


def test_files_of_one_id_without_versions_follow_the_order_of_reading() -> None:
    first = Dated(1, 1, "", None, None, TODAY, 1)
    second = Dated(2, 2, "", None, None, TODAY, 2)
    assert holding([first, second], TODAY) == [2]


def test_titles_meet_within_a_folder_and_its_archive_only() -> None:
    one = FrontMatter(title="Overview", version="1")
    two = FrontMatter(title="Overview", version="2")
    assert family(one, "hr/archive/o.md") == family(two, "hr/o.md")
    assert family(one, "hr/o.md") != family(two, "it/o.md")


def test_a_forgotten_version_number_is_told_by_the_date() -> None:
    old = dated(1, 1, "1.0", effective=date(2023, 1, 1))
    new = dated(2, 2, "1.0", effective=date(2025, 1, 1))
    assert holding([old, new], TODAY) == [2]


@pytest.mark.parametrize(
    ("name", "version", "declared"),
    [
        ("a.md@9cdac8d9#0-9", "9cdac8d9", ""),
        ("a.md@2.0+9cdac8d9#0-9", "2.0", "2.0"),
        ("a.md@20240101+9cdac8d9#0-9", "20240101", "20240101"),
        ("passage-1", "9cdac8d9", "9cdac8d9"),
    ],
)
def test_a_digest_is_no_version_to_a_reader(name: str, version: str, declared: str) -> None:
    assert Passage(name, "text", "a.md", version).declared == declared
