"""The stored documents that citations are checked against; only what the caller may read."""

from __future__ import annotations

from suffice.evidence.index import Filter
from suffice.evidence.library import Library


def test_titles_are_found_by_their_words_in_every_version(library: Library) -> None:
    found = library.search().documents.titled(["remote", "work"])
    assert sorted(one.version for one in found) == ["1.0", "2.0"]
    assert library.search().documents.titled(["remote", "zebra"]) == []


def test_phrases_are_found_in_text_and_headings_of_the_documents_named(library: Library) -> None:
    documents = library.search().documents
    found = documents.holding("Claimwell")
    assert {one.document for one in found} == {"expenses.md"}
    assert documents.holding("claimwell", ["remote-work.md"]) == []
    assert documents.holding("Private mobile phones", ["expenses.md"])
    assert documents.holding("100 % _sure") == []


def test_restricted_documents_are_as_if_they_were_not(library: Library) -> None:
    hr = library.search(Filter(labels=frozenset({"hr"}))).documents
    (band,) = hr.titled(["salary", "bands"])
    assert hr.holding("Workshop assistant")
    anyone = library.search().documents
    assert anyone.titled(["salary", "bands"]) == []
    assert anyone.holding("Workshop assistant") == []
    assert anyone.lookup([band.id]) == {}
    assert band.id in hr.lookup([band.id])
