"""Evidence in pieces: nothing is lost, the size limit holds, the nearest comes first."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from suffice.text.digest import choose, digest, nearness, pieces, shorter, word_prefixes

LONGEST = 600
SENTENCES = ["Leave is 20 weeks.", "It is paid.", "Cats sleep.", "Rooms are blue.", "Ask Ann."]
ROUGH = st.text(st.sampled_from(" \n\t.!?\"')]a0é漢\u2028"), max_size=200)


@given(st.text() | ROUGH)
def test_pieces_join_to_the_text(text: str) -> None:
    cut = pieces(text)
    assert "".join(cut) == text
    assert all(cut)
    # Only a text of nothing else gives a piece of nothing but blanks and stops.
    assert all(piece.strip(" \t\r\n.!?") for piece in cut[1:])


def test_pieces_are_sentences() -> None:
    text = 'He paid 3.50 at example.com. "Why?" she asked! Nobody knew...\nA heading\nThe end'
    assert pieces(text) == [
        "He paid 3.50 at example.com. ",
        '"Why?" ',
        "she asked! ",
        "Nobody knew...\n",
        "A heading\n",
        "The end",
    ]


@given(st.text(st.sampled_from("ab c"), min_size=LONGEST + 1, max_size=3 * LONGEST))
def test_a_long_run_is_cut(text: str) -> None:
    cut = pieces(text)
    assert "".join(cut) == text
    assert max(map(len, cut)) <= LONGEST


@given(st.text(), st.integers(1, 50))
def test_shorter_parts_join_to_the_piece(text: str, longest: int) -> None:
    cut = shorter(text, longest)
    assert "".join(cut) == text
    assert max(map(len, cut)) <= longest
    assert all(cut) or not text


def test_a_run_is_cut_between_words() -> None:
    assert shorter("one two three four", 10) == ["one two ", "three four"]
    assert shorter("onetwothreefour", 10) == ["onetwothre", "efour"]


def test_stems_are_numbers_and_the_first_letters_of_words() -> None:
    assert word_prefixes("It rained: 20 weeks, employing EMPLOYEES_at 3.5") == {
        "rained", "20", "weeks", "employ", "3", "5",
    }  # fmt: skip


def test_a_rare_word_counts_more() -> None:
    held = [word_prefixes(text) for text in ("leave weeks", "leave", "leave cats", "dogs")]
    near = nearness(held, word_prefixes("leave weeks"))
    assert near[0] > near[1] == near[2] > near[3] == 0
    assert near[0] == 1 + 1 / 3


PLACES = st.lists(st.tuples(st.sampled_from([0.0, 0.25, 1.0, 2.0]), st.integers(0, 40)))


@given(PLACES, st.integers(0, 200))
def test_choose_keeps_to_the_room_and_in_order(places: list[tuple[float, int]], room: int) -> None:
    near, sizes = [value for value, _ in places], [size for _, size in places]
    chosen = choose(near, sizes, room)
    assert sum(sizes[n] for n in chosen) <= room
    assert chosen == sorted(set(chosen))
    left = room - sum(sizes[n] for n in chosen)
    assert all(sizes[n] > left for n, value in enumerate(near) if value and n not in chosen)


def test_choose_takes_the_nearest_first_then_the_start_then_what_stands_beside() -> None:
    near = [0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 1.0, 0.0]
    ten = [10] * len(near)
    rooms = {room: choose(near, ten, room) for room in (5, 10, 20, 30, 50, 70, 200)}
    assert rooms == {
        5: [],
        10: [3],
        20: [3, 6],
        30: [0, 3, 6],
        50: [0, 2, 3, 4, 6],
        70: [0, 2, 3, 4, 5, 6, 7],
        200: [0, 2, 3, 4, 5, 6, 7],  # the second shares nothing and stands beside nothing
    }


@given(st.text(max_size=100), st.text(max_size=20))
def test_the_digest_of_a_short_text_is_the_text(text: str, said: str) -> None:
    assert digest(text, said, 100) == text


@given(st.lists(st.sampled_from(SENTENCES), max_size=40), st.integers(0, 300))
def test_a_digest_keeps_to_the_room(sentences: list[str], room: int) -> None:
    assert len(digest(" ".join(sentences), "How long is leave?", room)) <= room


def test_a_digest_holds_what_is_asked_for() -> None:
    other = [f"The {n}th cat sleeps on a roof. " for n in range(100)]
    for place in (0, 50, 100):
        evidence = "".join([*other[:place], "Parental leave is 20 weeks. ", *other[place:]])
        found = digest(evidence, "How long is parental leave?", 200)
        assert "Parental leave is 20 weeks." in found
        assert found.index(other[0] if place else "Parental") == 0
