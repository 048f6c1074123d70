"""What the tests of all frameworks ask and answer."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parent.parent.parent / "examples" / "integrations"

QUESTION = "How long is parental leave?"
TEXTS = ["Parental leave lasts 18 weeks.", "The office in Berlin closes at six."]
RIGHT = "Parental leave lasts 18 weeks."
WRONG = "Parental leave lasts 52 weeks."
UNANSWERED = "Who won the cup in 1954?"


def blocked(answer: object) -> bool:
    """Whether a refusal stands in place of the wrong answer."""
    return isinstance(answer, str) and "52" not in answer and "documents" in answer


def example(name: str) -> str:
    """What an example prints."""
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
