"""Which versions count for the time asked about; every passage is kept or named as left out."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suffice.gate.freshness import NOW, Fresh, TimeAsked, When, asked_about, fresh, left_out
from suffice.types import Evidence, Exclusion, Passage, Retrieved

TODAY = date(2026, 11, 15)
OLD = Passage(
    id="old",
    text="Two days per week.",
    document="remote-2023.md",
    version="1.0",
    title="Remote work",
    effective=date(2023, 3, 1),
)
NEW = replace(
    OLD, id="new", document="remote.md", version="2.0", effective=date(2025, 9, 1), text="Three."
)
EXPIRED = Passage(
    id="expired",
    text="28 euros.",
    document="allowance.md",
    title="Allowance",
    effective=date(2024, 1, 1),
    expires=date(2024, 12, 31),
)
COMING = Passage(
    id="coming",
    text="75 euros.",
    document="mobility.md",
    title="Mobility",
    effective=date(2027, 1, 1),
)
PLAIN = Passage(id="plain", text="Parking is free.", document="plain")
ALL = (NEW, OLD, EXPIRED, COMING, PLAIN)


def evidence(*passages: Passage) -> Evidence:
    return Evidence("?", tuple(Retrieved(passage, 0.5) for passage in passages), ("a note",))


def asked(question: str, *passages: Passage) -> tuple[list[str], dict[str, str], tuple[str, ...]]:
    found = fresh(evidence(*(passages or ALL)), asked_about(question, TODAY), TODAY)
    kept = [passage.id for passage in found.evidence.passages]
    return kept, {one.passage.id: one.reason for one in found.excluded}, found.notes


def test_by_default_only_what_is_in_force() -> None:
    kept, reasons, notes = asked("How many days?")
    assert kept == ["new", "plain"]
    assert reasons == {
        "old": "superseded by version 2.0 on 2025-09-01",
        "expired": "expired on 2024-12-31",
        "coming": "not yet effective: in force from 2027-01-01",
    }
    assert notes == ()


def test_a_year_prefers_the_version_of_then_and_shuts_nothing_out() -> None:
    kept, reasons, notes = asked("How many days were allowed in 2023?", NEW, OLD, PLAIN)
    assert kept == ["old", "plain"]
    assert reasons == {"new": "not yet effective then: in force from 2025-09-01"}
    said = "version 1.0 (in force from 2023-03-01 to 2025-08-31) was used for “2023”."
    assert notes == (f"Remote work: {said}",)


def test_a_year_that_is_the_subject_leaves_todays_version_with_a_word_on_it() -> None:
    report = replace(NEW, title="Annual report")
    kept, reasons, notes = asked("What was Apple's revenue in 2019?", report, PLAIN)
    assert kept == ["new", "plain"]
    assert reasons == {}
    assert notes == ("No version of Annual report is known for “2019”; today's was used.",)


def test_the_policy_of_a_year_has_no_stand_in() -> None:
    kept, reasons, notes = asked("What did the 2021 policy say?")
    assert kept == ["plain"]
    assert reasons["new"] == "not yet effective then: in force from 2025-09-01"
    assert set(reasons) == {"new", "old", "expired", "coming"}
    assert notes == ()


def test_a_year_with_two_versions_uses_the_later_and_names_both() -> None:
    kept, _, (note,) = asked("How many days were allowed in 2025?", OLD, NEW)
    assert kept == ["new"]
    assert "version 2.0 (in force since 2025-09-01) was used" in note
    assert "version 1.0 was in force from 2023-03-01 to 2025-08-31" in note


def test_an_expired_document_answers_for_its_year() -> None:
    kept, _, notes = asked("What was the allowance in 2024?", EXPIRED)
    assert kept == ["expired"]
    assert "in force from 2024-01-01 to 2024-12-31" in notes[0]


def test_the_previous_version() -> None:
    kept, reasons, (note, *_) = asked("What did the previous policy say?")
    assert kept == ["old", "expired"]
    assert reasons["new"] == "the question asks for previous policy"
    assert reasons["plain"] == "no earlier version is known"
    assert "version 1.0 (in force from 2023-03-01 to 2025-08-31)" in note


def test_the_previous_version_is_the_one_right_before() -> None:
    first = replace(OLD, id="first", document="r.md", version="0.9", effective=date(2020, 1, 1))
    assert asked("What did the previous policy say?", first, OLD, NEW)[0] == ["old"]


def test_a_current_passage_that_tells_of_before_may_answer_it() -> None:
    telling = replace(PLAIN, text="Until 2024 parking cost 3 euros; it is now free.")
    assert asked("What was the previous parking fee?", telling)[0] == ["plain"]
    assert asked("What was the previous parking fee?", PLAIN)[0] == []


def test_a_version_by_name_and_all_of_them() -> None:
    assert asked("What does version 1.0 say?", NEW, OLD)[0] == ["old"]
    kept, reasons, (note,) = asked("What changed from the old policy to the new?", NEW, OLD)
    assert kept == ["new", "old"]
    assert reasons == {}
    assert "the evidence contains more than one version" in note
    assert "version 1.0" in note
    assert "version 2.0" in note


def test_a_version_announced_for_the_year_asked_about() -> None:
    assert asked("What will it be in 2027?", COMING)[0] == ["coming"]
    assert asked("What is it?", COMING)[0] == []


def test_the_stores_own_dates_hold() -> None:
    gone = replace(PLAIN, since=date(2020, 1, 1), until=date(2022, 1, 1))
    _, reasons, _ = asked("What?", gone)
    assert reasons == {"plain": "no longer in force since 2022-01-01"}
    assert asked("What was it in 2021?", gone)[0] == ["plain"]


def test_versions_without_dates_are_told_apart_by_their_numbers() -> None:
    two, ten = (replace(PLAIN, id=v, version=v) for v in ("2", "10"))
    kept, reasons, _ = asked("What?", two, ten)
    assert kept == ["10"]
    assert reasons == {"2": "superseded by version 10"}


def test_declared_families_join_what_titles_do_not() -> None:
    one = replace(OLD, title="Working from home", family="id:remote")
    other = replace(NEW, title="Remote work", family="id:remote")
    assert asked("What?", one, other)[0] == ["new"]
    apart = replace(one, family="id:a"), replace(other, family="id:b")
    assert asked("What?", *apart)[0] == ["old", "new"]


def test_versions_that_share_an_id_are_told_apart() -> None:
    one, two = (replace(PLAIN, version=version) for version in ("1", "2"))
    found = fresh(evidence(one, two), NOW, TODAY)
    assert found.evidence.passages == (two,)


def test_collections_do_not_mix() -> None:
    assert asked("What?", OLD, replace(NEW, collection="legal"))[0] == ["old", "new"]


def test_two_files_that_declare_one_version_both_count() -> None:
    kept, _, _ = asked("What?", OLD, replace(OLD, id="twin", document="copy.md"))
    assert kept == ["old", "twin"]


def test_notes_travel_with_the_evidence() -> None:
    found = fresh(evidence(OLD, NEW), asked_about("How many in 2023?", TODAY), TODAY)
    assert found.evidence.notes == ("a note", *found.notes)


def test_exclusions_in_words() -> None:
    named = left_out([Exclusion(OLD, "expired on 2024-12-31")] * 2)
    assert named == ("Remote work, version 1.0: expired on 2024-12-31",)
    many = [Exclusion(replace(PLAIN, title=str(n)), "because") for n in range(5)]
    assert left_out(many)[-1] == "2 more"


days = st.none() | st.dates(date(2020, 1, 1), date(2029, 12, 31))
passages = st.builds(
    lambda document, version, effective, expires: Passage(
        id="", text="x", document=document, version=version, effective=effective, expires=expires
    ),
    st.sampled_from(["a", "b"]),
    st.sampled_from(["", "1", "2", "3.1"]),
    days,
    days,
)
times = st.one_of(
    st.just(NOW),
    st.just(When(TimeAsked.BEFORE, words="before", firm=True)),
    st.builds(lambda v: When(TimeAsked.NAMED, version=v), st.sampled_from(["1", "2", "9"])),
    st.builds(
        lambda day, firm: When(
            TimeAsked.THEN, day, day.replace(year=day.year + 1), "then", firm=firm
        ),
        st.dates(date(2020, 1, 1), date(2028, 1, 1)).filter(lambda d: (d.month, d.day) != (2, 29)),
        st.booleans(),
    ),
)


def settled(found: list[Passage], when: When) -> Fresh:
    numbered = [replace(passage, id=str(place)) for place, passage in enumerate(found)]
    return fresh(evidence(*numbered), when, TODAY)


@settings(deadline=None)
@given(st.lists(passages, max_size=8), times | st.just(When(TimeAsked.EVER)))
def test_every_passage_is_kept_or_named_with_a_reason(found: list[Passage], when: When) -> None:
    result = settled(found, when)
    kept = [passage.id for passage in result.evidence.passages]
    out = [one.passage.id for one in result.excluded]
    assert sorted(kept + out, key=int) == [str(place) for place in range(len(found))]
    assert kept == sorted(kept, key=int)
    assert all(one.reason for one in result.excluded)


@settings(deadline=None)
@given(st.lists(passages, max_size=8), times)
def test_versions_of_one_document_never_mix(found: list[Passage], when: When) -> None:
    result = settled(found, when)
    used: dict[str, set[object]] = {}
    for p in result.evidence.passages:
        used.setdefault(p.document, set()).add((p.version, p.effective, p.expires))
    mixed = any(len(versions) > 1 for versions in used.values())
    # Two contents may carry one name: then a note says so.
    assert not mixed or (
        when.asked is TimeAsked.NAMED and "more than one" in " ".join(result.notes)
    )


@settings(deadline=None)
@given(st.lists(passages, max_size=8))
def test_nothing_out_of_force_is_kept_by_default(found: list[Passage]) -> None:
    for p in settled(found, NOW).evidence.passages:
        assert p.effective is None or p.effective <= TODAY
        assert p.expires is None or p.expires >= TODAY


@pytest.mark.parametrize("when", [NOW, When(TimeAsked.EVER), When(TimeAsked.BEFORE, words="x")])
def test_no_evidence_is_no_trouble(when: When) -> None:
    current, excluded, notes = fresh(Evidence("?"), when, TODAY)
    assert (current.items, excluded, notes) == ((), (), ())
    assert (current.day, current.then) == (TODAY, when.asked is not TimeAsked.NOW)
