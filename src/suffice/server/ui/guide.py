"""The guided first five minutes of `suffice demo`: a panel with steps, over the sample handbook."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from starlette.requests import Request

COOKIE, OFF = "suffice_guide", "off"
_ANSWERED = "How many days per week may I work remotely?"
_MISSING = "May I bring my dog to the office?"
_DISPUTED = "Above which amount do I need a receipt for a taxi on a business trip?"
_DRAFT = (
    "Eligible employees may work remotely up to 4 days per week [1]. Thursday is the anchor day "
    "[1]. The company pays for your internet connection at home [1]."
)
_EVIDENCE = (
    "Eligible employees may work remotely up to 3 days per week. Thursday is the anchor day: "
    "everyone is expected at the Harbour Street office, except when on leave or on a business trip."
)
EXAMPLES = (_ANSWERED, _MISSING, _DISPUTED, "How much may a hotel room in Paris cost?")


@dataclass(frozen=True, slots=True)
class GuideStep:
    """A step: what to look at, and the page it leads to."""

    title: str
    about: str
    path: str


def _try(**values: str) -> str:
    return f"/ui/try?{urlencode(values)}"


STEPS = (
    GuideStep(
        "Ask what the handbook answers",
        "The question is filled in: send it. Choose the claim in the answer, and the sentence in "
        "the evidence that backs it lights up.",
        _try(question=_ANSWERED),
    ),
    GuideStep(
        "Ask what it does not answer",
        "The gate stays closed, nothing is drafted, and the refusal says what is missing.",
        _try(question=_MISSING),
    ),
    GuideStep(
        "Ask where the documents disagree",
        "Two policies name different amounts. Both are quoted; neither is preferred.",
        _try(question=_DISPUTED),
    ),
    GuideStep(
        "Catch a wrong draft",
        "A model wrote one true sentence and two false ones. Check it, and compare the findings.",
        _try(way="draft", draft=_DRAFT, evidence=_EVIDENCE),
    ),
    GuideStep(
        "Decide as a reviewer",
        "Doubtful answers wait in the queue. Accept, overrule or correct one.",
        "/ui/queue",
    ),
    GuideStep(
        "See it in the log",
        "Every decision, including yours, is a record in a hash-chained log.",
        "/ui/log",
    ),
)


@dataclass(frozen=True, slots=True)
class Guide:
    """The panel as one browser sees it. `done` are the numbers of the steps that were opened."""

    done: frozenset[int]
    off: bool = False

    @property
    def steps(self) -> tuple[tuple[int, GuideStep], ...]:
        return tuple(enumerate(STEPS, 1))

    @property
    def current(self) -> int:
        """The first step that was not opened; 0 if all were."""
        return next((n for n, _ in self.steps if n not in self.done), 0)

    @property
    def value(self) -> str:
        """The cookie that holds it."""
        return OFF if self.off else "-".join(map(str, sorted(self.done)))


def guide_of(request: Request) -> Guide:
    value = request.cookies.get(COOKIE, "")
    numbers = {str(n): n for n in range(1, len(STEPS) + 1)}
    done = frozenset(numbers[part] for part in value.split("-") if part in numbers)
    return Guide(done, value == OFF)
