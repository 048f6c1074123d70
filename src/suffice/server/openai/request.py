"""Parse a chat completion request: question, carried evidence and options."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

from suffice.draft.prompt import Rank, shown
from suffice.draft.prompt import messages as prompt
from suffice.draft.reading import Brief
from suffice.evidence.inputs import Given, given
from suffice.evidence.sanitize import flagged, sanitized
from suffice.server.errors import bad, too_large
from suffice.server.openai.carried_evidence import Shape, evidence_of, question_of, read_shape
from suffice.server.openai.tool_calls import Offer, offer_of
from suffice.settings import LimitSettings, RouteSettings
from suffice.text.question import checked_question
from suffice.types import Evidence, Retrieved

T = TypeVar("T")
OURS = "suffice"
"""The request field with options for the gateway; it is not forwarded."""
_NO_MARKS = (
    "Write no numbers of passages and no marks like [1] into the answer. Where a format is asked"
    " for, keep to it."
)
_SYSTEM = ("system", "developer")


def forwarded(body: Mapping[str, Any], model: str) -> dict[str, Any]:
    """The request to forward: all fields except `suffice`, with the upstream's model name and
    without streaming."""
    rest = {key: value for key, value in body.items() if key not in (OURS, "stream_options")}
    if model:
        rest["model"] = model
    return {**rest, "stream": False} if "stream" in rest else rest


def with_evidence(
    body: Mapping[str, Any],
    evidence: Evidence,
    brief: Brief,
    rank: Rank,
    room: int,
    *,
    marks: bool = True,
) -> dict[str, Any]:
    """The request with rules and passages in its system message. For a revision, the earlier draft
    and the findings on it are appended."""
    parts = shown(sanitized(evidence), room, rank)
    # The question is already part of the conversation.
    system, user, *again = prompt("", parts, brief, flagged(evidence))
    rules = system.content if marks else f"{system.content}\n{_NO_MARKS}"
    passages = user.content.removesuffix("Question: ").rstrip()
    added = "\n\n".join(filter(None, (rules, passages)))
    return {
        **body,
        "messages": [
            *_with_system(body["messages"], added),
            *({"role": message.role, "content": message.content} for message in again),
        ],
    }


def _with_system(messages: Sequence[Mapping[str, Any]], added: str) -> list[Mapping[str, Any]]:
    """Append to an existing system message, because some models accept only one."""
    first, rest = messages[0], list(messages[1:])
    if first.get("role") not in _SYSTEM:
        return [{"role": "system", "content": added}, *messages]
    content = first.get("content")
    if isinstance(content, list):
        return [{**first, "content": [*content, {"type": "text", "text": added}]}, *rest]
    return [{**first, "content": f"{content}\n\n{added}" if content else added}, *rest]


NO_TOOLS = Offer()
_NUMBER = re.compile(r"\d+")
_FROM = ("index", "request", "both")
_KINDS: dict[type, str] = {bool: "true or false", str: "a string", dict: "an object"}
_ROLES = ("system", "developer", "user", "assistant", "tool", "function")


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A parsed request. `body` is the original body. `structured`: the answer has a format, such as
    JSON, that added text would break. `tools`: the model may call tools instead of answering.
    `events`: send findings as named events in the stream."""

    body: Mapping[str, Any]
    question: str
    given: tuple[Retrieved, ...] = ()
    indexed: bool = True
    n: int = 1
    stream: bool = False
    usage: bool = False
    structured: bool = False
    tools: bool = False
    events: bool = False
    tag: str = ""
    offer: Offer = NO_TOOLS
    most: int = 100_000
    """Maximum length of a draft, in characters."""
    judged: bool = True
    """Whether its answer can be judged; shadow mode forwards other requests too."""

    @property
    def model(self) -> str:
        """The model name that the caller sent."""
        model = self.body.get("model")
        return model if isinstance(model, str) and model else "suffice"


def read_request(body: Any, route: RouteSettings, limits: LimitSettings) -> ChatRequest:
    """Parse and validate a request. Unknown fields are passed through unchanged."""
    if not isinstance(body, dict):
        raise bad("The request body must be a JSON object.")
    messages = _messages(body.get("messages"))
    ours = _field(body, OURS, dict) or {}
    named = ours.get("from")
    source = _source(route.evidence if named is None else named, route)
    shape = route_shape(route.prompt)
    carried = _carried(ours, messages, source, limits, route) if route.grounding else ()
    question = question_of(messages, shape)
    return ChatRequest(
        body,
        checked_question(question) if route.grounding else question,
        given=carried,
        indexed=source != "request",
        n=_n(body.get("n"), limits),
        stream=bool(_field(body, "stream", bool)),
        usage=bool((_field(body, "stream_options", dict) or {}).get("include_usage")),
        structured=_structured(body),
        tools=bool(body.get("tools") or body.get("functions"))
        and body.get("tool_choice") != "none",
        events=bool(_field(ours, "events", bool)),
        tag=_field(ours, "tag", str, f"{OURS}.tag") or "",
        offer=_offered(body, route),
        most=limits.draft_characters,
    )


def _offered(body: Mapping[str, Any], route: RouteSettings) -> Offer:
    offer = offer_of(body)
    if offer.names and route.tools == "refuse" and not route.shadow:
        raise bad("This route accepts no tools.", "tools" if body.get("tools") else "functions")
    return offer


def _messages(messages: Any) -> Sequence[Mapping[str, Any]]:
    if not isinstance(messages, list) or not messages:
        raise bad("'messages' must be a non-empty list of messages.", "messages")
    for n, message in enumerate(messages):
        if not isinstance(message, dict) or message.get("role") not in _ROLES:
            raise bad(f"Message {n} has a missing or unknown role.", f"messages[{n}].role")
        if not isinstance(message.get("content"), str | list | None):
            raise bad(
                f"The content of message {n} must be a string or a list of parts.",
                f"messages[{n}].content",
            )
    return messages


def _source(source: Any, route: RouteSettings) -> str:
    """The evidence source. A request can narrow what its route allows."""
    if source not in _FROM:
        raise bad(f"'{OURS}.from' must be one of {', '.join(_FROM)}.", f"{OURS}.from")
    if route.evidence != "both" and source != route.evidence:
        raise bad(f"This route only accepts evidence from the {route.evidence}.", f"{OURS}.from")
    return str(source)


def _carried(
    ours: Mapping[str, Any],
    messages: Sequence[Mapping[str, Any]],
    source: str,
    limits: LimitSettings,
    route: RouteSettings,
) -> tuple[Retrieved, ...]:
    named = ours.get("evidence")
    if named is not None and not isinstance(named, list):
        raise bad(f"'{OURS}.evidence' must be a list of passages.", f"{OURS}.evidence")
    if named and source == "index":
        raise bad("This request takes its evidence from the index.", f"{OURS}.evidence")
    if source == "index":
        return ()
    if named is not None:
        return read_given(named, limits)
    all_of_it = source == "request"
    users = all_of_it if route.user_evidence == "auto" else route.user_evidence == "always"
    shape = route_shape(route.prompt)
    return _within(evidence_of(messages, all_of_it=all_of_it, users=users, shape=shape), limits)


@lru_cache(maxsize=256)
def route_shape(template: str) -> Shape | None:
    """The prompt shape of a route; `None` if it has none."""
    return read_shape(template) if template else None


def _within(passages: Sequence[Given], limits: LimitSettings) -> tuple[Retrieved, ...]:
    """The passages in messages, up to the limits. Exceeding them is not an error here; the
    remaining passages are not used."""
    read = given(passages[: limits.evidence_passages])
    fitting = next((n for n, _ in _exceeded(read, limits)), len(read))
    return tuple(item for item in read[:fitting] if item.passage.text.strip())


def read_given(passages: Sequence[Given], limits: LimitSettings) -> tuple[Retrieved, ...]:
    """The passages that a request carries, checked against the limits."""
    if len(passages) > limits.evidence_passages:
        raise too_large(
            f"The request has {len(passages):,} passages; at most {limits.evidence_passages:,} are "
            "allowed (server.limits.evidence_passages).",
            f"{OURS}.evidence",
        )
    read = given(passages)
    if exceeded := next(_exceeded(read, limits), None):
        raise too_large(exceeded[1], f"{OURS}.evidence")
    return tuple(item for item in read if item.passage.text.strip())


def _exceeded(read: Sequence[Retrieved], limits: LimitSettings) -> Iterator[tuple[int, str]]:
    """Each passage by its place that exceeds a limit, alone or with those before it, and why."""
    characters = numbers = 0
    for n, item in enumerate(read):
        text = item.passage.text
        characters += len(text)
        if len(text) > limits.passage_characters:
            most, unit, name = limits.passage_characters, "characters each", "passage_characters"
        elif characters > limits.evidence_characters:
            most, unit, name = limits.evidence_characters, "characters", "evidence_characters"
        elif (numbers := numbers + len(_NUMBER.findall(text))) > limits.evidence_numbers:
            most, unit, name = limits.evidence_numbers, "numbers", "evidence_numbers"
        else:
            continue
        yield n, f"The passages exceed the limit of {most:,} {unit} (server.limits.{name})."


def _n(n: Any, limits: LimitSettings) -> int:
    if n is None:
        return 1
    whole = isinstance(n, int | float) and not isinstance(n, bool) and n == int(n)
    if not whole or not 1 <= n <= limits.max_choices:
        raise bad(f"'n' must be a whole number from 1 to {limits.max_choices}.", "n")
    return int(n)


def _field(tree: Mapping[str, Any], name: str, kind: type[T], label: str = "") -> T | None:
    """A field of a request that may be missing."""
    value = tree.get(name)
    if value is None or isinstance(value, kind):
        return value
    label = label or name
    raise bad(f"'{label}' must be {_KINDS[kind]}.", label)


def _structured(body: Mapping[str, Any]) -> bool:
    response_format = _field(body, "response_format", dict)
    return response_format is not None and response_format.get("type", "text") != "text"
