"""Front matter: what is accepted and what is refused."""

from __future__ import annotations

from datetime import date

import pytest

from suffice.errors import Unreadable
from suffice.evidence.read.frontmatter import declared, split
from suffice.evidence.read.source import FrontMatter
from suffice.types import Kind


def test_all_keys_in_any_case() -> None:
    front, body = split(
        "---\nTITLE: Leave\nVersion: 3\neffective: 2025-03-01\nexpires: 2026-03-01\n"
        "Kind: Q&A\naccess: hr, legal ,\nid: leave-policy\nauthor: [ignored]\n--- \ntext"
    )
    assert front == FrontMatter(
        title="Leave",
        version="3",
        effective=date(2025, 3, 1),
        expires=date(2026, 3, 1),
        kind=Kind.QA,
        access=frozenset({"hr", "legal"}),
        id="leave-policy",
    )
    assert body > 0


@pytest.mark.parametrize(
    "written",
    [
        "2025-03-01",
        "2025/03/01",
        "2025-3-1",
        "2025-03-01T09:30:00Z",
        "1 March 2025",
        "March 1, 2025",
        "1st Mar. 2025",
        "march 1 2025",
    ],
)
def test_dates(written: str) -> None:
    assert declared({"effective": written}).effective == date(2025, 3, 1)


@pytest.mark.parametrize("written", ["soon", "2025-02-30", "01/03/2025", "2025", "1 Marching 2025"])
@pytest.mark.parametrize("key", ["effective", "expires"])
def test_wrong_dates_name_key_value_and_form(key: str, written: str) -> None:
    with pytest.raises(Unreadable, match=f"{key} is '{written}' Write it as YYYY-MM-DD"):
        declared({key: written})


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ("fact", Kind.FACT),
        ("policy", Kind.FACT),
        ("reference", Kind.FACT),
        ("QA", Kind.QA),
        ("FAQ", Kind.QA),
        ("q&a", Kind.QA),
        ("procedure", Kind.PROCEDURE),
        ("How-To", Kind.PROCEDURE),
        ("howto", Kind.PROCEDURE),
        ("discussion", Kind.DISCUSSION),
        ("minutes", Kind.DISCUSSION),
        ("proposal", Kind.DISCUSSION),
    ],
)
def test_kinds(written: str, kind: Kind) -> None:
    assert declared({"kind": written}).kind is kind


def test_unknown_kind_lists_the_allowed() -> None:
    with pytest.raises(Unreadable, match="unknown kind: 'memo' Use one of fact, qa, procedure"):
        declared({"kind": "memo"})


@pytest.mark.parametrize("written", [["hr", "legal"], "hr,legal", ["hr, legal", ""]])
def test_access_as_list_or_text(written: object) -> None:
    assert declared({"access": written}).access == {"hr", "legal"}


@pytest.mark.parametrize("nothing", [None, "", " ", "~", "null"])
def test_nothing_declares_nothing(nothing: object) -> None:
    keys = ("title", "version", "effective", "expires", "kind", "access", "id")
    assert declared(dict.fromkeys(keys, nothing)) == FrontMatter()


@pytest.mark.parametrize("value", [["a"], {"a": "b"}, True])
def test_values_must_be_plain(value: object) -> None:
    with pytest.raises(Unreadable, match="declares version as something other than plain text"):
        declared({"version": value})


@pytest.mark.parametrize("labels", ["{hr: yes}", "[[hr]]"])
def test_access_that_is_not_labels_is_refused(labels: str) -> None:
    with pytest.raises(Unreadable, match="declares access as something other than plain text"):
        split(f"---\naccess: {labels}\n---\ntext")


def test_expiry_before_effect_is_refused() -> None:
    with pytest.raises(Unreadable, match="expires on 2024-01-01, before it takes effect"):
        declared({"effective": "2025-01-01", "expires": "2024-01-01"})
    assert declared({"effective": "2025-01-01", "expires": "2025-01-01"}).expires


@pytest.mark.parametrize(
    "text", ["---\nsome text\nno end", "--- x\na\n---\n", "x\n---\na: b\n---\n"]
)
def test_what_is_no_front_matter_is_ordinary_text(text: str) -> None:
    assert split(text) == (FrontMatter(), 0)


@pytest.mark.parametrize("text", ["\n---\naccess: hr\n---\nx", "---\naccess: hr\n...\nx"])
def test_usual_variations_are_understood(text: str) -> None:
    front, body = split(text)
    assert front.access == {"hr"}
    assert text[body:] == "x"


def test_front_matter_that_is_not_closed_is_refused() -> None:
    with pytest.raises(Unreadable, match="without a closing line"):
        split("---\naccess: hr\n\nThe text goes on.")


@pytest.mark.parametrize("key", ["acces", "accesss", "expire", "expries", "efective"])
def test_a_misspelt_right_or_date_is_refused(key: str) -> None:
    with pytest.raises(Unreadable, match=f"declares the unknown key '{key}'"):
        split(f"---\n{key}: 2025-01-01\n---\nx")


def test_rule_far_below_closes_nothing() -> None:
    assert split("---\n" + "some text\n" * 10_000 + "---\nmore") == (FrontMatter(), 0)


def test_empty_front_matter() -> None:
    assert split("---\n# only a comment\n---\ntext") == (FrontMatter(), len("---\n") * 2 + 17)


@pytest.mark.parametrize(
    ("block", "reason"),
    [
        ("title: [a", "not valid YAML"),
        ("title: a: b", "not valid YAML"),
        ("? [a]\n: b", "not valid YAML"),
        ("title: a\x01", "not valid YAML"),
        ("access: &a [*a]", "not valid YAML"),
        ("just words", "not a mapping of keys to values"),
        ("- a\n- b", "not a mapping of keys to values"),
    ],
)
def test_bad_blocks_are_refused(block: str, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        split(f"---\n{block}\n---\ntext")


def test_tags_of_python_objects_build_nothing() -> None:
    front, _ = split("---\ntitle: !!python/object/apply:os.getcwd\n---\ntext")
    assert front.title is None


def test_lone_surrogates_cannot_be_stored() -> None:
    assert declared({"title": "a\ud800"}).title == "a\ufffd"


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("expiry_date", "expires"),
        ("expiryDate", "expires"),
        ("Expires-On", "expires"),
        ("valid until", "expires"),
        ("effective_date", "effective"),
        ("validFrom", "effective"),
    ],
)
def test_usual_names_are_taken_for_what_they_mean(key: str, meant: str) -> None:
    front, _ = split(f"---\n{key}: 2020-05-01\n---\nText.")
    assert getattr(front, meant) == date(2020, 5, 1)
    assert front.unread == ()
    assert declared({"version_number": "2.10"}).version == "2.10"


def test_one_thing_is_declared_once() -> None:
    with pytest.raises(Unreadable, match="'expires' twice"):
        declared({"expires": "2025-01-01", "valid_until": "2026-01-01"})
    assert declared({"expires": "2025-01-01", "valid_until": "2025-01-01"}).expires


def test_a_key_that_seems_to_tell_whether_it_holds_is_named() -> None:
    assert declared({"superseded_by": "b.md", "author": "HR"}).unread == ("superseded_by",)
