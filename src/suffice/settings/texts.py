"""Own texts for the readers of a route: what they read instead of an answer, or beside one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from string import Formatter

from suffice.errors import SettingsError
from suffice.settings.checked import bad_value


class Occasion(StrEnum):
    """Why a reader gets another text than an answer alone."""

    NOT_ANSWERED = "not_answered"
    """The documents do not answer the question."""
    NOT_VERIFIED = "not_verified"
    """An answer was written, but the checks did not confirm it."""
    REVIEW = "review"
    """A person has to look at it."""
    UNAVAILABLE = "unavailable"
    """The model or a check failed."""
    CONFLICT = "conflict"
    """The documents contradict each other; both sides follow."""
    PARTIAL = "partial"
    """The answer above is incomplete."""
    CAVEAT = "caveat"
    """The answer above is not certain."""
    SMALL_TALK = "small_talk"
    """The reply to a greeting was not released."""


CONTACT = "contact"
PLACEHOLDERS = frozenset({CONTACT, "record"})


def checked_texts(texts: Mapping[str, str]) -> None:
    """Raise an error if a text is for an unknown occasion or has an unknown placeholder."""
    for name, text in texts.items():
        if name not in tuple(Occasion):
            raise bad_value("RouteSettings", "texts", name, ", ".join(Occasion))
        try:
            unknown = sorted(set(placeholders(text)) - PLACEHOLDERS)
        except ValueError as problem:
            raise SettingsError(
                f"RouteSettings: 'texts.{name}' cannot be read: {problem}.",
                remedy="Write {{ and }} for braces that are no placeholder.",
            ) from None
        if unknown:
            allowed = ", ".join(f"{{{one}}}" for one in sorted(PLACEHOLDERS))
            raise bad_value("RouteSettings", f"texts.{name}", f"{{{unknown[0]}}}", allowed)


def placeholders(text: str) -> Iterator[str]:
    """The names of the placeholders in a text."""
    return (name for _, name, _, _ in Formatter().parse(text) if name is not None)
