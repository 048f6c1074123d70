"""Sources named in words are found, with their lookup keys."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.checks.sources import Named, NamedKind, named


def found(text: str) -> list[tuple[str, str, str, str]]:
    return [(one.kind.value, one.key, one.edition, one.clause) for one in named(text)]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Gloves are a matter of Section 4.2.", ("section", "4.2", "", "")),
        ("It follows from § 12a.", ("section", "12a", "", "")),
        ("Under Article 17(2) data are erased.", ("section", "17", "", "")),
        ("Annex B lists them.", ("section", "B", "", "")),
        ("ISO 27001:2022 8.4.3 asks for it.", ("standard", "iso 27001", "2022", "8.4.3")),
        ("ISO/IEC 27001, clause 8.4.3, asks.", ("standard", "iso 27001", "", "8.4.3")),
        ("See RFC 9110.", ("standard", "rfc 9110", "", "")),
        ("As stated in the Remote Work Policy, yes.", ("title", "remote work policy", "", "")),
        (
            "According to the Remote work policy (v1.0), yes.",
            ("title", "remote work policy", "1.0", ""),
        ),
        ("In the Travel Guide 2024 it is told.", ("title", "travel guide", "2024", "")),
        ("See “Handling personal data” first.", ("title", "handling personal data", "", "")),
        ("The Expense Policy states the limit.", ("title", "expense policy", "", "")),
    ],
)
def test_a_source_is_found(text: str, wanted: tuple[str, str, str, str]) -> None:
    assert found(text) == [wanted]


@pytest.mark.parametrize(
    "text",
    [
        "The company's policy allows it.",
        "According to the Act, it is so.",
        "According to John Smith, it rains.",
        'It is filed under "My documents" in the portal.',
        "In Paris the Plan was made.",
        "Page 3 and step 4 of table 5.",
        "Revenue was $4.2M in section A-4-B.",
    ],
)
def test_what_names_no_document_is_left_alone(text: str) -> None:
    assert named(text) == []


def test_a_clause_of_a_standard_is_part_of_its_name() -> None:
    assert [one.kind for one in named("ISO 27001:2022 section 8.4.3 and Section 9.1")] == [
        NamedKind.STANDARD,
        NamedKind.SECTION,
    ]


words = "In the Remote Work Policy Section 4.2 ISO 27001:2022 § See “ ” ( ) of per".split()


@given(st.lists(st.sampled_from(words)).map(" ".join) | st.text(max_size=60))
def test_spans_are_exact_and_apart(text: str) -> None:
    end = 0
    for one in named(text):
        assert isinstance(one, Named)
        assert end <= one.start < one.end
        assert text[one.start : one.end] == one.text
        end = one.end
