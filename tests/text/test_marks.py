"""Citation marks: every form is found, whatever signs it consists of."""

from __future__ import annotations

import pytest

from suffice.text.marks import citations

FORMS = {
    "[1]": (1,),
    "[1, 2]": (1, 2),
    r"\[1\]": (1,),
    "([1])": (1,),
    "[[1]]": (1,),
    "【1】": (1,),
    "【4:0†source】": (4,),
    "［1］": (1,),
    "〔1〕": (1,),
    "⟦1⟧": (1,),
    "[¹]": (1,),
    "(source 1)": (1,),
    "①": (1,),
    "⑳": (20,),
    "⁰": (0,),
    "¹": (1,),
    "²": (2,),
    "³": (3,),
    "⁴": (4,),
    "⁹": (9,),
    "⁽¹⁾": (1,),
    "(1)": (1,),
}


@pytest.mark.parametrize("mark", FORMS)
def test_a_mark_of_any_form_is_found(mark: str) -> None:
    text = f"Leave is paid{'' if mark[0] in '①⑳⁰¹²³⁴⁹⁽' else ' '}{mark}."
    assert [numbers for _, numbers in citations(text)] == [FORMS[mark]]


def test_a_text_without_marks_has_none() -> None:
    assert citations("Leave is paid in full. It lasts 18 weeks.") == []
