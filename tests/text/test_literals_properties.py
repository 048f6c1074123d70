"""Literals keep their position in any text; notations of one value agree; time is linear."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suffice.text.literals import Literal, Outcome, compare, literals, same_amount, same_value

PIECES = st.sampled_from(
    """$4.2M €3 1,200 1.200,50 14% half two thirds of a dozen 10 to 15 days – - : / 2025-03-01
    March 1st, 2025 9 a.m. 09:00 Q3 ISO 27001:2022 Article 17 v3.0.1 INV-2024-117 [1] 1. ( ) " “ ”
    at least up to about minus -3 °C km Dr. Noor Hallam, and ; | \n twenty-five million 1/2 ½
    5'3" 3:1 one in five a@b.example https://x.example/a +00 555 0142 the of per year""".split(" ")
)
TEXTS = st.one_of(
    st.text(max_size=200),
    st.lists(PIECES, max_size=30).map(" ".join),
    st.lists(PIECES, max_size=30).map("".join),
)


@given(TEXTS)
@settings(max_examples=400, deadline=None)
def test_spans_are_exact_sorted_and_apart(text: str) -> None:
    end = 0
    for found in literals(text):
        assert text[found.start : found.end] == found.text
        assert found.text
        assert found.start >= end
        end = found.end


@given(TEXTS, TEXTS)
@settings(max_examples=100, deadline=None)
def test_every_literal_of_a_claim_is_judged_once(claim: str, evidence: str) -> None:
    assert [one.claim for one in compare(claim, evidence)] == literals(claim)


@given(TEXTS)
@settings(max_examples=100, deadline=None)
def test_a_literal_equals_itself(text: str) -> None:
    assert all(same_value(found, found) for found in literals(text))


ONES = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
fifteen sixteen seventeen eighteen nineteen""".split()
TENS = "_ _ twenty thirty forty fifty sixty seventy eighty ninety".split()


def in_words(number: int) -> str:
    for scale, name in (
        (10**9, "billion"),
        (10**6, "million"),
        (1000, "thousand"),
        (100, "hundred"),
    ):
        if number >= scale:
            rest = f" {in_words(number % scale)}" if number % scale else ""
            return f"{in_words(number // scale)} {name}{rest}"
    if number < 20:
        return ONES[number]
    return TENS[number // 10] + (f"-{ONES[number % 10]}" if number % 10 else "")


def only(text: str) -> Literal:
    (found,) = literals(text)
    return found


def all_same(writings: list[str]) -> bool:
    first, *rest = (only(writing) for writing in writings)
    return all(same_value(first, one) and same_value(one, first) for one in rest)


@given(st.integers(2, 10**12 - 1))
def test_amounts_of_money_in_usual_writings(amount: int) -> None:
    writings = [
        f"${amount:,}",
        f"${amount}",
        f"{amount:,} dollars",
        f"USD {amount:,}",
        f"{in_words(amount)} dollars",
    ]
    assert all_same(writings)


@given(st.integers(11, 9999))
def test_scaled_amounts(tenths: int) -> None:
    number = Decimal(tenths) / 10
    full = int(number * 10**6)
    writings = [f"€{number}M", f"€{number} million", f"{number} million euros", f"€{full:,}"]
    assert all_same([*writings, f"€{number}m", f"EUR {full:,}"])


@given(st.dates(date(1900, 1, 1), date(2099, 12, 31)))
def test_dates_in_usual_writings(day: date) -> None:
    month, short = day.strftime("%B"), day.strftime("%b")
    suffix = "th" if 10 < day.day < 20 else {1: "st", 2: "nd", 3: "rd"}.get(day.day % 10, "th")
    assert all_same(
        [
            day.isoformat(),
            f"{day.day} {month} {day.year}",
            f"{month} {day.day}, {day.year}",
            f"{month} {day.day}{suffix}, {day.year}",
            f"{day.day}{suffix} of {month} {day.year}",
            f"{short} {day.day}, {day.year}",
            f"{day:%d.%m.%Y}",
        ]
    )


@given(st.dates(date(1900, 1, 1), date(2099, 1, 1)), st.integers(1, 300))
def test_another_date_is_unequal(day: date, days: int) -> None:
    other = day + timedelta(days)
    assert not same_value(only(day.isoformat()), only(f"{other.day} {other:%B %Y}"))


@given(st.integers(2, 500))
def test_durations_in_usual_writings(weeks: int) -> None:
    assert all_same([f"{weeks} weeks", f"{7 * weeks} days", f"{in_words(weeks)} weeks"])
    assert all_same([f"{weeks} years", f"{12 * weeks} months", f"{in_words(12 * weeks)} months"])
    assert not same_value(only(f"{weeks} months"), only(f"{30 * weeks} days"))


@given(st.integers(0, 23), st.integers(0, 59))
def test_times_of_day_in_usual_writings(hour: int, minute: int) -> None:
    half = "a.m." if hour < 12 else "p.m."
    assert all_same(
        [
            f"{hour:02}:{minute:02}",
            f"{hour % 12 or 12}:{minute:02} {half}",
            f"{hour % 12 or 12}:{minute:02}{half[0]}m",
        ]
        if hour not in (10, 11, 12)
        else [f"{hour % 12 or 12}:{minute:02} {half}", f"{hour % 12 or 12}:{minute:02}{half[0]}m"]
    )


@given(st.integers(2, 10**9), st.integers(1, 10**6), st.sampled_from(["$", "€", "£", ""]))
def test_a_changed_number_is_unequal(number: int, change: int, symbol: str) -> None:
    one, other = only(f"{symbol}{number:,} x"), only(f"{symbol}{number + change:,} x")
    assert not same_amount(one, other)


@given(st.integers(2, 200), st.integers(1, 50), st.sampled_from(["weeks", "euros", "percent"]))
def test_a_changed_value_of_the_same_thing_is_a_mismatch(n: int, change: int, unit: str) -> None:
    evidence = f"The ceiling for hotel rooms is {n} {unit}. Receipts are kept in the archive."
    same = compare(f"The ceiling for hotel rooms is {in_words(n)} {unit}.", evidence)
    changed = compare(f"The ceiling for hotel rooms is {n + change} {unit}.", evidence)
    assert [one.outcome for one in same] == [Outcome.EQUAL]
    assert [one.outcome for one in changed] == [Outcome.MISMATCH]


LONG = {
    "prose": "Revenue was $4.2M in 2024, costs were 3.1 million euros and 14 percent left. ",
    "digits": "1",
    "groups": "1,234,",
    "spaced": "1 234 ",
    "words": "two hundred and ",
    "number words": "twenty-five ",
    "capitals": "Anna ",
    "quotes": '"a b" ',
    "open quote": '"ab ',
    "curly": "“a",
    "dots": "1.2.",
    "dashes": "a-1-",
    "colons": "1:2:",
    "months": "March ",
    "brackets": "[1,",
    "table": "| 1 | 2 |\n",
    "table rows": "| a | b |\n| --- | --- |\n",
    "at": "a@b.",
    "plus": "+1 2",
    "labels": "Article 1(",
    "and": "5 and ",
    "to": "5 to ",
    "spaces": " ",
    "newlines": "\n",
    "slashes": "1/2/",
    "commas": "5, ",
    "list": "1. a\n",
    "between": "between 5 ",
    "plural labels": "Articles 1, 2, ",
}


@pytest.mark.timing
@pytest.mark.parametrize("name", LONG)
def test_long_texts_are_read_in_linear_time(name: str) -> None:
    piece = LONG[name]
    size = 200_000 if name in ("prose", "digits", "words", "number words", "spaces") else 50_000
    started = process_time()
    literals(piece * (size // len(piece)))
    # Some microseconds a character; anything quadratic takes minutes.
    assert process_time() - started < 15


@pytest.mark.timing
def test_long_evidence_and_a_short_claim() -> None:
    evidence = LONG["prose"] * 2400
    started = process_time()
    found = compare("Revenue was $4.3M and costs were 3.1 million euros.", evidence)
    assert [one.outcome for one in found] == [Outcome.MISMATCH, Outcome.EQUAL]
    assert process_time() - started < 20
