"""Template filters that format numbers and times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from markupsafe import Markup, escape


def percent(value: float | None, digits: int = 0) -> str:
    """0.914 → "91 %"; a missing value is a dash."""
    return "–" if value is None else f"{value * 100:.{digits}f} %"


def score(value: float | None) -> str:
    """0.91432 → "0.914"."""
    return "–" if value is None else f"{value:.3f}".rstrip("0").rstrip(".") or "0"


def count(value: float | None) -> str:
    """12345 → "12,345"."""
    return "–" if value is None else f"{value:,.10g}"


def moment(iso: str) -> str:
    """A log time for browsers without JavaScript: "2026-01-31 12:00 UTC"."""
    day, _, rest = iso.partition("T")
    return f"{day} {rest[:5]} UTC" if rest else day


def ticks(text: str) -> Markup:
    """Words between backticks as code; everything is escaped."""
    parts = [escape(part) for part in text.split("`")]
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if odd % 2 else part
        for odd, part in enumerate(parts)
    )


def lit(text: str, sentences: Sequence[str]) -> Markup:
    """The text with these sentences in bold; everything is escaped."""
    shown = escape(text)
    for sentence in map(escape, sentences):
        shown = Markup(shown.replace(sentence, Markup("<strong>{}</strong>").format(sentence), 1))
    return shown


FILTERS: Final[dict[str, Callable[..., Any]]] = {
    "percent": percent,
    "score": score,
    "count": count,
    "moment": moment,
    "ticks": ticks,
    "lit": lit,
    "pair": lambda value: (value, value),
}
