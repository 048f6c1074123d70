"""Units are read from a closed list of names: prose holds no others, and case is respected."""

from __future__ import annotations

import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from suffice.text.literals import LiteralKind, literals
from suffice.text.literals.values import currency, measure, money, unit_after


@pytest.mark.parametrize(
    "word",
    "in a as at are us am pm cd do of to has ins mis no so pt time quarter unit bar all".split(),
)
def test_words_of_prose_are_no_units(word: str) -> None:
    assert unit_after(f"5 {word} x", 1) == (None, 1)


@pytest.mark.parametrize("word", ["TOP", "ALL", "TRY", "eur", "IBM", "X$"])
def test_words_and_names_are_no_currencies(word: str) -> None:
    assert currency(word) == ""
    assert [one.kind for one in literals(f"{word} 10")][-1] is LiteralKind.NUMBER


@pytest.mark.parametrize(
    ("written", "usual"), [("KG", "kg"), ("Km", "km"), ("kwh", "kWh"), ("MILES", "mile")]
)
def test_another_case_with_one_meaning_is_read(written: str, usual: str) -> None:
    assert measure(written) == measure(usual) is not None


@pytest.mark.parametrize("written", ["mw", "mwh", "gb", "tb", "Kb", "MG", "ML", "Nm"])
def test_another_case_with_two_meanings_is_no_unit_we_know(written: str) -> None:
    assert measure(written) is None
    (found,) = literals(f"about 5 {written}")
    assert found.unit == written


@pytest.mark.parametrize(
    "text", ["31 W Carrillo St", "seven MAX jets", "not one bit", "5 EU states"]
)
def test_names_behind_a_number_are_no_units(text: str) -> None:
    assert all(not one.unit for one in literals(text))


def test_plain_names_of_currencies() -> None:
    codes = {"dollars": "USD", "euro": "EUR", "Swiss francs": "CHF", "Canadian dollars": "CAD"}
    codes |= {"pounds sterling": "GBP", "rouble": "RUB", "€": "EUR", "SEK": "SEK"}
    found = {name: unit.canonical for name in codes if (unit := money(name))}
    assert found == codes


def test_literals_are_pickled() -> None:
    found = literals("It weighs 5 kg and costs 20 euros.")
    assert pickle.loads(pickle.dumps(found)) == found


def test_threads_share_one_registry() -> None:
    with ThreadPoolExecutor(8) as pool:
        assert len({id(unit) for unit in pool.map(measure, ["kg"] * 64)}) == 1


def test_units_and_currencies_are_loaded_on_first_use() -> None:
    code = (
        "import sys, suffice.cli, suffice.text.literals; print({'pint', 'babel'} & {*sys.modules})"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"
