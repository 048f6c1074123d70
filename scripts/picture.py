"""Draws docs/images/answers.svg: a served and a withheld answer, as the terminal shows them.

Run: .venv/bin/python scripts/picture.py
"""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.text import Text

from suffice import Library
from suffice.cli.show_verdict import show_verdict
from suffice.engine import Engine

ROOT = Path(__file__).parent.parent
QUESTIONS = (
    "How many days per week may I work remotely?",
    "Can I bring my dog to the office?",
)


TARGET = ROOT / "docs" / "images" / "answers.svg"


def main() -> None:
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(picture(), encoding="utf-8")


def picture() -> str:
    console = Console(record=True, width=92, force_terminal=True, file=StringIO())
    with TemporaryDirectory() as folder:
        library = Library.open(Path(folder) / "s.db", create=True)
        library.add(ROOT / "src" / "suffice" / "handbook")
        pipeline = Engine(library=library).pipeline()
        for question in QUESTIONS:
            command = f'suffice ask "{question}" --docs src/suffice/handbook'
            console.print(Text.assemble(("$ ", "bold green"), command))
            show_verdict(pipeline.answer(question), console)
            console.print()
    # Without the web fonts: a picture should not fetch anything.
    return re.sub(r"@font-face \{.*?\}", "", console.export_svg(title="suffice"), flags=re.S)


if __name__ == "__main__":
    main()
