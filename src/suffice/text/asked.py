"""Validation of incoming questions, and what they leave out."""

from __future__ import annotations

import re

from suffice.errors import QuestionError

LONGEST_QUESTION = 8_000


def checked_question(question: str) -> str:
    """Return the question, stripped and without NUL characters. Raise `QuestionError` if it is
    unusable."""
    if not isinstance(question, str):
        kind = "None" if question is None else type(question).__name__
        raise QuestionError(
            f"The question must be text, not {kind}.", remedy="Ask a question in words."
        )
    asked = question.replace("\0", "\ufffd").strip()  # PostgreSQL stores no NUL
    try:
        asked.encode()
    except UnicodeEncodeError:
        raise QuestionError("The question is not valid text.", remedy="Send it as UTF-8.") from None
    if not asked:
        raise QuestionError("The question is empty.", remedy="Ask a question in words.")
    if len(asked) > LONGEST_QUESTION:
        raise QuestionError(
            f"The question has {len(asked):,} characters, over the limit of {LONGEST_QUESTION:,}.",
            remedy="Shorten the question, or add the long text as a document.",
        )
    return asked


def unnamed(subject: str, question: str) -> str:
    """The subject of the documents if the question does not name it; otherwise empty.

    >>> unnamed("Frigate", "Which Debian versions are supported?")
    'Frigate'
    """
    named = re.search(rf"(?<!\w){re.escape(subject)}(?!\w)", question, re.IGNORECASE)
    return "" if named else subject
