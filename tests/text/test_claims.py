"""Statements of a draft: exact spans, citations, kinds and context."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suffice.text.claims import Statement, StatementKind, claims, left_open

Kind = StatementKind

KINDS: list[tuple[str, StatementKind]] = [
    ("Leave is 20 weeks.", Kind.CLAIM),
    ("According to the documents provided, leave is 20 weeks.", Kind.CLAIM),
    ("The policy does not mention overtime.", Kind.CLAIM),
    ("The documents do not say so, but leave is 20 weeks.", Kind.CLAIM),
    ("I don't have the details; however, the fee is 5 %.", Kind.CLAIM),
    ("Here is the thing: the fee is 5 % and the tax is 7 %.", Kind.CLAIM),
    ("Sure, the fee is 5 %.", Kind.CLAIM),
    ("Hi-tech firms pay more.", Kind.CLAIM),
    ("How long is the leave?", Kind.QUESTION),
    ("Ok?", Kind.QUESTION),
    ("And the fee?", Kind.QUESTION),
    ("And a fee of 5 %?", Kind.CLAIM),
    ("**Is it paid?**", Kind.QUESTION),
    ("Hello!", Kind.GREETING),
    ("Hi there,", Kind.GREETING),
    ("Good morning.", Kind.GREETING),
    ("Dear Ms. Smith,", Kind.GREETING),
    ("Thank you for your question!", Kind.GREETING),
    ("Great question!", Kind.GREETING),
    ("You're welcome!", Kind.GREETING),
    ("Of course!", Kind.GREETING),
    ("Best regards", Kind.GREETING),
    ("I don't have enough information to answer this question.", Kind.REFUSAL),
    ("I’m sorry, but I cannot answer that.", Kind.REFUSAL),
    ("The documents do not say how long the leave is.", Kind.REFUSAL),
    ("The provided passages do not contain information about the fee.", Kind.REFUSAL),
    ("Unfortunately, the context does not mention a deadline.", Kind.REFUSAL),
    ("There is not enough information to answer.", Kind.REFUSAL),
    ("There is no information about this in the sources.", Kind.REFUSAL),
    ("I am unable to determine the rate from the documents.", Kind.REFUSAL),
    ("I could not find the fee.", Kind.REFUSAL),
    ("Unable to answer based on given passages.", Kind.REFUSAL),
    ("Unable to answer based on the provided passages.", Kind.REFUSAL),
    ("Based on the provided documents, I cannot say.", Kind.REFUSAL),
    ("I don't know, the company pays everything.", Kind.CLAIM),
    ("I'm not sure the company pays double.", Kind.CLAIM),
    ("I'm not sure about the fee.", Kind.REFUSAL),
    ("The documents mention neither the fee, the deadline, nor the refund.", Kind.CLAIM),
    ("The documents do not mention the fee, the deadline, or the refund.", Kind.REFUSAL),
    ("The passages do not mention other benefits, such as less plaque or stain.", Kind.REFUSAL),
    ("Here is the answer:", Kind.META),
    ("Here is what I found about leave.", Kind.META),
    ("Here is what I found: leave is 16 weeks.", Kind.CLAIM),
    ("According to the documents provided:", Kind.META),
    ("Based on the given passages:", Kind.META),
    ("Let me know if you need more.", Kind.META),
    ("Please feel free to ask!", Kind.META),
    ("I hope this helps!", Kind.META),
    ("If you have any further questions, let me know.", Kind.META),
    ("In summary:", Kind.META),
    ("# Parental leave", Kind.HEADING),
    ("**Overview**", Kind.HEADING),
    ("Key points:", Kind.HEADING),
    ("**What you need**", Kind.HEADING),
    ("**Leave is fully paid**", Kind.CLAIM),
    ("There is no evidence that the drug works.", Kind.CLAIM),
    ("No further details of the settlement have been disclosed.", Kind.CLAIM),
    ("Here are the 20 weeks of leave.", Kind.CLAIM),
    ("## Leave is 20 weeks", Kind.CLAIM),
    ("```\nfee = 5\n```", Kind.CODE),
    ("`pip install suffice`", Kind.CODE),
]

CITES: list[tuple[str, list[tuple[str, tuple[int, ...]]]]] = [
    ("Leave is due [1]. Tax is due [2].", [("Leave is due [1].", (1,)), ("Tax is due [2].", (2,))]),
    ("Leave is paid. [1] Tax is due. [2]", [("Leave is paid.", (1,)), ("Tax is due.", (2,))]),
    ("Leave is paid.[1][3] Tax is due.", [("Leave is paid.", (1, 3)), ("Tax is due.", ())]),
    ("Leave is paid. Tax is due. [1, 2]", [("Leave is paid.", ()), ("Tax is due.", (1, 2))]),
    ("Leave is paid [1-3].", [("Leave is paid [1-3].", (1, 2, 3))]),
    ("Leave is paid 【4】.", [("Leave is paid 【4】.", (4,))]),
    ("Leave is paid 【4†source】.", [("Leave is paid 【4†source】.", (4,))]),
    ("Leave is paid (Source 2).", [("Leave is paid (Source 2).", (2,))]),
    ("Leave is paid (Sources 2, 5).", [("Leave is paid (Sources 2, 5).", (2, 5))]),
    ("Leave is paid [^1].", [("Leave is paid [^1].", (1,))]),
    ("Leave is paid [[1]](https://a.b/c).", [("Leave is paid [[1]](https://a.b/c).", (1,))]),
    ("- Leave [1]\n- Tax is due [2]", [("- Leave [1]", (1,)), ("- Tax is due [2]", (2,))]),
    ("Set `a[1]` first.", [("Set `a[1]` first.", ())]),
    ("Leave is paid.\n\n[1]", [("Leave is paid.", (1,))]),
    ("The year [2023] was good.", [("The year [2023] was good.", ())]),
    ("The plot has 30 m².", [("The plot has 30 m².", ())]),
    ("Leave is paid [[1], [2]].", [("Leave is paid [[1], [2]].", (1, 2))]),
    ("Leave is paid [1, [2]].", [("Leave is paid [1, [2]].", (1, 2))]),
    ("Leave is paid ([1], [2]).", [("Leave is paid ([1], [2]).", (1, 2))]),
    ("Leave is paid [1]–[3].", [("Leave is paid [1]–[3].", (1, 2, 3))]),
    ("Leave is paid [1‑3].", [("Leave is paid [1‑3].", (1, 2, 3))]),
    ("Leave is paid [Doc 1, Doc 3].", [("Leave is paid [Doc 1, Doc 3].", (1, 3))]),
    ("Leave is paid [1](https://a.b/2).", [("Leave is paid [1](https://a.b/2).", (1,))]),
    ("Leave is paid ［２］.", [("Leave is paid ［２］.", (2,))]),
    ("Leave is paid ⟦2⟧.", [("Leave is paid ⟦2⟧.", (2,))]),
    ("Leave is paid ①②.", [("Leave is paid ①②.", (1, 2))]),
    ("① Leave is paid, ② tax is due.", [("① Leave is paid, ② tax is due.", ())]),
    ("Leave is paid (1).", [("Leave is paid (1).", (1,))]),
    ("(1) Leave is paid; (2) tax is due.", [("(1) Leave is paid; (2) tax is due.", ())]),
    ("See Article 5 (1).", [("See Article 5 (1).", ())]),
    ("The fee is in section (2).", [("The fee is in section (2).", ())]),
    ("Notice is thirty days (30).", [("Notice is thirty days (30).", ())]),
]  # fmt: skip


@pytest.mark.parametrize(("sentence", "kind"), KINDS, ids=[s[:40] for s, _ in KINDS])
def test_what_a_sentence_is(sentence: str, kind: StatementKind) -> None:
    assert [one.kind for one in claims(sentence)] == [kind]


@pytest.mark.parametrize("mark", ["[[1], [2]]", "([1], [2])", "[1]–[3]", "⟦2⟧", "①②", "(1)"])
def test_no_mark_is_left_among_the_words(mark: str) -> None:
    assert claims(f"Leave is paid {mark}.")[0].words == "Leave is paid."


@pytest.mark.parametrize(("text", "expected"), CITES, ids=[s[:40] for s, _ in CITES])
def test_marks_belong_to_their_sentence(
    text: str, expected: list[tuple[str, tuple[int, ...]]]
) -> None:
    assert [(one.text, one.cites) for one in claims(text)] == expected


def one_of(text: str, start: str) -> Statement:
    return next(one for one in claims(text) if one.words.startswith(start))


def test_marks_and_markdown_are_no_words() -> None:
    assert claims("- **Leave** is 20 weeks [1], *fully* paid [2].")[0].words == (
        "Leave is 20 weeks, fully paid."
    )


def test_an_item_gets_the_line_that_introduces_it() -> None:
    text = "You must bring the following documents:\n\n1. A form\n2. A card\n\nBe early."
    assert [(one.kind, one.context) for one in claims(text)] == [
        (Kind.META, ""),
        (Kind.CLAIM, "You must bring the following documents:"),
        (Kind.CLAIM, "You must bring the following documents:"),
        (Kind.CLAIM, ""),
    ]


def test_an_introduction_with_a_number_is_checked_itself() -> None:
    assert claims("The plan costs 5 euros and covers the following:\n- Theft")[0].checkable


def test_a_blank_line_ends_a_table() -> None:
    table = "| Field | Default |\n|---|---|\n| {} | {} |"
    text = f"{table.format('maxRequest', 0)}\n\n[1]\n\n{table.format('maxResponse', 9)}\n\n[2]"
    stated = [one.words for one in claims(text) if one.checkable]
    assert stated == ["Field: maxRequest; Default: 0", "Field: maxResponse; Default: 9"]


def test_a_row_reads_with_its_header() -> None:
    text = "| Plan | Price |\n|---|---|\n| Basic | $5 [1] |\n| Pro | $9. Net. |\n\nDone is done."
    assert [(one.kind, one.words, one.cites) for one in claims(text)] == [
        (Kind.HEADING, "Plan; Price", ()),
        (Kind.CLAIM, "Plan: Basic; Price: $5", (1,)),
        (Kind.CLAIM, "Plan: Pro; Price: $9. Net.", ()),
        (Kind.CLAIM, "Done is done.", ()),
    ]


def test_code_ends_where_its_fence_closes() -> None:
    text = "Run:\n```\na. b\n```\nLeave is 20 weeks."
    assert [one.kind for one in claims(text)][-2:] == [Kind.CODE, Kind.CLAIM]


def test_a_fence_that_never_closes_hides_nothing() -> None:
    assert claims("```\nLeave is 20 weeks. Tax is due.")[-1].checkable


def test_a_list_of_sources_is_no_claim() -> None:
    kinds = [one.kind for one in claims("Leave is paid [1].\n\nSources:\n[1] Handbook, page 3")]
    assert kinds == [Kind.CLAIM, Kind.META]


def test_only_marks_make_no_claim() -> None:
    assert not any(one.checkable for one in claims("[1] [2]\n\n[3]"))


@given(
    st.lists(
        st.sampled_from(
            [
                "Leave is paid",
                ". ",
                "\n",
                "\n\n",
                "[1]",
                "【2】",
                "| a |",
                "```",
                "- ",
                "**",
                "?",
                ":",
            ]
        ),
        max_size=30,
    ).map("".join)
    | st.text(max_size=200)
)
@settings(deadline=None, max_examples=400)
def test_spans_are_exact_in_order_and_hide_no_word(text: str) -> None:
    place = 0
    for one in claims(text):
        assert text[one.start : one.end] == one.text
        assert place <= one.start < one.end
        assert "Leave" not in text[place : one.start]
        place = one.end
    assert "Leave" not in text[place:]


@pytest.mark.timing
@pytest.mark.parametrize(
    "unit",
    [
        "Leave is paid [1]. ",
        "[1]",
        "[[1], ",
        "[1, ",
        "①",
        "Leave is paid (1). ",
        "- a\n",
        "| a |\n",
        "a" * 80 + " ",
        "```\n",
    ],
)
def test_a_long_draft_is_read_in_linear_time(unit: str) -> None:
    began = time.process_time()
    claims(unit * (200_000 // len(unit)))
    assert time.process_time() - began < 20


@pytest.mark.parametrize(
    ("text", "alone"),
    [
        ("The jurors spoke. They also named a date.", "They also named a date."),
        ("Benefits include:\n- free lunch at noon", "Benefits include: free lunch at noon"),
        ("The shop is open. Ann owns it [2].", "Ann owns it."),
    ],
)
def test_a_statement_can_be_read_alone(text: str, alone: str) -> None:
    assert claims(text)[-1].alone == alone


@pytest.mark.parametrize(
    "stop",
    ["week. [1]", "week. [1][2]", "week.¹", "week 【1】.", "week ①.", "HR. [1]", "5 p.m. [1]"],
)
def test_a_sentence_after_a_mark_may_begin_with_capitals(stop: str) -> None:
    found = claims(f"Work remotely 3 days per {stop} HR approves the request.")
    assert [one.words for one in found][1:] == ["HR approves the request."]
    assert found[0].cites[:1] == (1,)


def test_a_mark_after_an_abbreviation_ends_no_sentence() -> None:
    for said in ("Smith et al. [1] HR was first.", "See Sec. [3] HR for details."):
        assert len(claims(said)) == 1


@pytest.mark.parametrize(
    ("before", "kind"),
    [
        ("The passages give the fee for cars only.", Kind.REFUSAL),
        ("These documents are about cars. They do not mention lorries.", Kind.REFUSAL),
        ("The drivers pay the fee.", Kind.CLAIM),
    ],
)
def test_they_are_the_documents_where_these_were_spoken_of(before: str, kind: Kind) -> None:
    assert claims(f"{before} They do not state the fee for lorries.")[-1].kind is kind


@pytest.mark.parametrize(
    ("said", "phrase"),
    [
        ("The passages do not say how many phones there may be.", "how many phones there may be"),
        ("The provided documents don’t state the amount of the fee.", "the amount of the fee"),
        ("I could not find who pays the fee.", "who pays the fee"),
        ("The passages do not answer the question.", ""),
    ],
)
def test_a_refusal_names_what_is_left_open(said: str, phrase: str) -> None:
    assert [one.kind for one in claims(said)] == [Kind.REFUSAL]
    assert left_open(said) == phrase
