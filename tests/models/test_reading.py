"""Reading evidence: in order, within the window, and everything that is near."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.models.reading import Material, clean, portions
from suffice.text.digest import nearness, word_prefixes
from suffice.text.language import unknown_language

LONGEST = 160
WORDS = "leave weeks paid parental cats roof blue pay".split()
SAID = "parental leave paid weeks"


def characters(texts: Sequence[str]) -> list[list[int]]:
    """A token for each character."""
    return [[ord(char) for char in text] for text in texts]


def letters(texts: Sequence[str]) -> list[list[int]]:
    """A token for each letter or digit."""
    return [[ord(char) for char in text if char.isalnum()] for text in texts]


def material(pieces: Sequence[tuple[set[str], int]]) -> Material:
    """Pieces of these words and sizes; a piece's tokens are its place, as often as it is long."""
    places = range(len(pieces))
    return Material(
        tuple(str(n) for n in places),
        tuple((n,) * pieces[n][1] for n in places),
        tuple(word_prefixes(" ".join(words)) for words, _ in pieces),
        tuple(n // 3 for n in places),
    )


def places(tokens: Sequence[int], sizes: Sequence[int]) -> list[int]:
    """The pieces these tokens are, each of them whole."""
    found = [(n, len(list(run))) for n, run in groupby(tokens)]
    assert all(sizes[n] == length for n, length in found)
    return [n for n, _ in found]


PIECES = st.lists(
    st.tuples(st.sets(st.sampled_from(WORDS), max_size=4), st.integers(1, LONGEST)),
    min_size=1,
    max_size=40,
)


@given(PIECES, st.integers(LONGEST, 500))
def test_portions(pieces: list[tuple[set[str], int]], room: int) -> None:
    held, sizes = material(pieces), [size for _, size in pieces]
    found = list(portions(held, SAID, room))
    read = [places(portion.tokens, sizes) for portion in found]
    assert all(len(portion.tokens) <= room for portion in found)
    assert all(each == sorted(set(each)) for each in read)
    assert [portion.texts for portion in found] == [tuple(map(str, each)) for each in read]
    if sum(sizes) <= room:
        assert read == [list(range(len(sizes)))]
    near = nearness(held.words, word_prefixes(SAID))
    worth = {n for n, value in enumerate(near) if value and value >= max(max(near) / 2, 1 / 64)}
    assert worth <= {n for each in read for n in each}


@given(PIECES, st.integers(LONGEST, 500))
def test_the_nearest_come_first(pieces: list[tuple[set[str], int]], room: int) -> None:
    held = material(pieces)
    near = nearness(held.words, word_prefixes(SAID))
    first = next(portions(held, SAID, room))
    assert first.passage == near.index(max(near)) // 3
    assert str(near.index(max(near))) in first.texts or not any(near)


@given(PIECES, st.integers(0, LONGEST))
def test_pieces_larger_than_the_room_do_not_hold_it_up(
    pieces: list[tuple[set[str], int]], room: int
) -> None:
    found = []
    for portion in portions(material(pieces), SAID, room):
        found.append(portion)
        assert len(portion.tokens) <= room
        assert len(found) <= len(pieces)


def test_half_as_near_is_read_and_less_is_not() -> None:
    pieces = [({"parental", "leave"}, 100), ({"paid"}, 100), ({"cats"}, 100)]
    found = list(portions(material(pieces), SAID, LONGEST))
    assert [portion.texts for portion in found] == [("0",), ("1",)]
    pieces[0] = ({"parental", "leave", "weeks"}, 100)
    assert len(list(portions(material(pieces), SAID, LONGEST))) == 1


TEXTS = st.lists(
    st.text(st.sampled_from("ab .!?\n"), max_size=900)
    | st.text(max_size=50)
    | st.integers(0, 900).map(lambda size: "7" * size),
    max_size=4,
)


@given(TEXTS)
def test_material_is_the_evidence(passages: list[str]) -> None:
    held = Material.of(passages, characters)
    assert all(0 < len(ids) <= LONGEST for ids in held.tokens)
    assert held.tokens == tuple(map(tuple, characters(held.texts)))
    assert held.words == tuple(map(word_prefixes, held.texts))
    alone = held.alone()
    for owner, passage in enumerate(passages):
        one = alone.get(owner, Material((), (), (), ()))
        said = "" if unknown_language(clean(passage)) else clean(passage)
        assert "".join(one.texts).removesuffix("\n") == said.removesuffix("\n")
        assert set(one.owners) <= {owner}
    assert len(alone) == len(set(held.owners))


ENGLISH = "Staff may take 16 weeks of paid parental leave."
GERMAN = "Die Elternzeit dauert 16 Wochen und ist bezahlt."
CHINESE = "育兒假為十六週"


def test_a_passage_in_another_language_is_set_aside() -> None:
    held = Material.of([GERMAN, ENGLISH, CHINESE, GERMAN, ""], letters)
    assert "".join(held.texts) == f"{ENGLISH}\n"
    assert set(held.owners) == {1}
    assert held.aside == ("German", "CJK script")
    assert held.unreadable == ""


@pytest.mark.parametrize(
    ("passages", "reason"),
    [
        ([GERMAN], "the evidence is in German."),
        ([GERMAN, "", GERMAN], "the evidence is in German."),
        ([CHINESE, GERMAN], "the evidence is in CJK script and German."),
        ([json.dumps({"Elternzeit": CHINESE})], "the evidence is in CJK script."),  # as \\u escapes
        (["❶"], "There is no evidence."),  # a picture to a model, though a digit to Python
        ([], "There is no evidence."),
    ],
)
def test_where_nothing_remains_the_reason_says_so(passages: list[str], reason: str) -> None:
    assert Material.of(passages, letters).unreadable.endswith(reason)


@pytest.mark.timing
def test_passages_are_told_apart_in_a_time_that_grows_with_their_number() -> None:
    def seconds(count: int) -> float:
        held = material([({"leave"}, 1)] * count)
        start = time.process_time()
        assert len(held.alone()) == -(-count // 3)
        return time.process_time() - start

    short = min(seconds(1_500) for _ in range(3))
    assert min(seconds(30_000) for _ in range(2)) < 100 * short


def test_a_piece_without_tokens_is_left_out() -> None:
    assert Material.of(["one.\n—\ntwo."], letters).texts == ("one.\n", "two.\n")


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("\x00p\x00a\x00i\x00d\x07 \x1b[31;1mleave\x1b[0m\x7f", "paid leave"),
        ("par\u00adental\u200b \u202eleave\u202c\ufeff", "parental leave"),
        ("end\x0cStart\u2028of", "end\nStart\nof"),
        ("tab\tand\r\nline [0m", "tab\tand\r\nline [0m"),
        ("１６ weeks ①🙂 \ud800", "16 weeks 1 ?"),
    ],
)
def test_clean(text: str, read: str) -> None:
    assert clean(text) == read
    assert clean(read) == read


@pytest.mark.parametrize("text", ["\ud800", '{"a": "\\ud800"}', '["\ud800", "\\udfff"]'])
def test_any_evidence_can_be_encoded(text: str) -> None:
    for part in Material.of([text], characters).texts:
        part.encode()
