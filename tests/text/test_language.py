"""English is let through, with whatever names it holds; what is surely not English is named."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.text.language import unknown_language

ENGLISH = [
    "Employees may take 16 weeks of paid parental leave.",
    "Rooms cost €120 per night, €600 per week.",
    "Employees receive 25 vacation days per year, plus 2 per decade.",
    "Ludwig Mies van der Rohe designed Barcelona Pavilion.",
    "Leonardo da Vinci, Vincent van Gogh, Simone de Beauvoir, Oscar de la Hoya",
    "Los Angeles beat El Paso 3-2 yesterday.",
    "Soldiers die, war over: two generals met.",
    "The Schadenfreude of the maître d'hôtel was visible in the Champs-Élysées.",
    "Siemens AG, Rüdesheim: 4,711 units; Nestlé SA, Vevey: 12,000 units.",
    "MIT beat MIT alumni 3-1",
    "ORDERS OVER 100 EUR SHIP FREE WITHIN THE EU",
    "The angle α is 30° and β is 60°.",
    '{"name": "La Casa de los Tacos", "city": "Santa Barbara", "stars": 4.5, "open": true}',
    "12,5 % 17.3.2024 €1.249,50 – 42",
    "",
]
OTHERS = [
    ("German", "Die Elternzeit dauert sechzehn Wochen und wird von der Firma bezahlt."),
    ("German", "DIE KOSTEN SIND HOCH UND DAS IST NICHT GUT"),
    ("French", "Le congé parental dure seize semaines et il est payé par l'entreprise."),
    ("Spanish", "Las empleadas tienen dieciséis semanas de permiso y se paga por la empresa."),
    ("Italian", "Il congedo parentale dura sedici settimane ed è pagato dalla società."),
    ("Portuguese", "A licença parental é de dezesseis semanas e não é paga pela empresa."),
    ("Dutch", "Het ouderschapsverlof duurt zestien weken en wordt door de werkgever betaald."),
    ("Cyrillic", "Отпуск длится шестнадцать недель."),
    ("CJK", "育児休暇は十六週間です。"),
    ("CJK", "育兒假為十六週"),
    ("Hangul", "육아 휴직은 16주입니다."),
    ("Arabic", "إجازة الوالدين ستة عشر أسبوعا"),
    ("Hebrew", "חופשת הלידה היא שישה עשר שבועות"),
    ("Greek", "Η άδεια διαρκεί δεκαέξι εβδομάδες."),
    ("Devanagari", "पैतृक अवकाश सोलह सप्ताह का है"),
]


@pytest.mark.parametrize("text", ENGLISH)
def test_english_is_not_flagged(text: str) -> None:
    assert unknown_language(text) == ""


@pytest.mark.parametrize(("name", "text"), OTHERS)
def test_other_languages_are_named(name: str, text: str) -> None:
    assert unknown_language(text).removesuffix(" script") == name


@pytest.mark.parametrize("text", ["Die Katze", "Le chat est noir", "La vita è bella", "über"])
def test_a_few_words_cannot_be_told(text: str) -> None:
    assert unknown_language(text) == ""


def test_one_word_of_another_script_can() -> None:
    assert unknown_language("漢字") == "CJK script"


def test_a_quotation_does_not_make_a_text_foreign() -> None:
    quoted = "The sign says „Das Betreten der Baustelle ist nicht erlaubt“ and it is old."
    assert unknown_language(quoted) == ""
    assert unknown_language("The board of 株式会社 met in Tokyo. It was a long day.") == ""


@given(st.text())
def test_any_text_is_taken(text: str) -> None:
    assert isinstance(unknown_language(text), str)
