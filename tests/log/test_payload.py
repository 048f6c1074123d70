"""Payloads: fields with salts, and commitments that hide and bind."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from suffice.log.chain import digest
from suffice.log.record import commitments, lines, manifest, payload, root_of, without_fields
from tests.log.commitments import proves

NAMES = st.from_regex(r"[a-z][a-z_]{0,9}", fullmatch=True)
FIELDS = st.dictionaries(NAMES, st.text() | st.integers() | st.lists(st.text()), min_size=1)


@settings(deadline=None)
@given(FIELDS)
def test_fields_are_read_back_and_committed_to(fields: dict[str, object]) -> None:
    written = payload(fields)
    found = list(lines(written.text))
    assert {line.name: line.read() for line in found} == fields
    assert root_of(manifest(written.text)) == written.root
    assert digest(written.text.encode()) == written.seal


@settings(deadline=None)
@given(FIELDS, st.data())
def test_what_is_erased_leaves_the_commitments_of_the_rest(
    fields: dict[str, object], data: st.DataObject
) -> None:
    written = payload(fields)
    before = manifest(written.text)
    gone = data.draw(st.sets(st.sampled_from(sorted(fields))))
    left = list(lines(without_fields(written.text, gone)))
    assert {line.name for line in left} == fields.keys() - gone
    assert all(commitments(before)[line.name] == line.commitment for line in left)


def test_the_same_value_has_another_commitment_each_time() -> None:
    one, other = payload({"question": "yes"}), payload({"question": "yes"})
    assert one.root != other.root
    assert one.seal != other.seal


def test_what_is_not_stored_is_not_in_the_text_and_can_be_proven() -> None:
    written = payload({"question": "my secret", "other": 1}, omit={"question"})
    assert "secret" not in written.text
    question, other = lines(written.text)
    assert (question.name, question.stored, question.value) == ("question", False, "")
    assert other.read() == 1
    assert proves(written.text, "question", "my secret")
    assert not proves(written.text, "question", "another secret")
    assert proves(written.text, "other", 1)
    assert not proves(written.text, "nothing", 1)


def test_a_text_that_is_no_payload_is_no_field() -> None:
    assert [line.name for line in lines("nonsense\n\nx y z")] == ["", "", ""]
    assert list(lines("")) == []
