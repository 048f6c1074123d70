"""A question as it comes in."""

from __future__ import annotations

from suffice.errors import QuestionError

LONGEST_QUESTION = 8_000


def checked_question(question: str) -> str:
    """The question as it is asked, or a clear word on why it cannot be."""
    asked = question.strip()
    try:
        asked.encode()
    except UnicodeEncodeError:
        raise QuestionError("The question is not valid text.", remedy="Send it as UTF-8.") from None
    if not asked:
        raise QuestionError("The question is empty.", remedy="Ask something in words.")
    if len(asked) > LONGEST_QUESTION:
        raise QuestionError(
            f"The question has {len(asked):,} characters, over the limit of {LONGEST_QUESTION:,}.",
            remedy="Ask a shorter question; put long material among the documents.",
        )
    return asked
