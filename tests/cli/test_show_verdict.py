"""The terminal shows the full text of an answer."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from suffice.cli.show_verdict import show_verdict
from tests.record.examples import VERDICT


@pytest.mark.parametrize(
    "said", ["Run git checkout <branch-name> first.", "Keep `a <b> c` as it is, and x < 5."]
)
def test_what_looks_like_a_tag_is_shown(said: str) -> None:
    written = StringIO()
    show_verdict(replace(VERDICT, released=said), Console(file=written, width=120))
    assert said.replace("`", "") in written.getvalue()
