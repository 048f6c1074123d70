"""A request for a chat completion, read: what it asks, what it carries, what it allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from suffice.evidence.inputs import Given, given
from suffice.server.errors import bad
from suffice.server.openai.carried_evidence import evidence_of, question_of
from suffice.server.openai.prompt import OURS
from suffice.settings import LimitSettings, RouteSettings
from suffice.text.asked import checked_question
from suffice.types import Retrieved

_FROM = ("index", "request", "both")
_ROLES = ("system", "developer", "user", "assistant", "tool", "function")


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """`body` is the request as it came. `structured`: the answer has a format that text of ours
    would break. `tools`: the model may call tools instead of answering. `events`: named events are
    wanted in a stream."""

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

    @property
    def model(self) -> str:
        """As the caller names it."""
        model = self.body.get("model")
        return model if isinstance(model, str) and model else "suffice"


def read_asked(body: Any, route: RouteSettings, limits: LimitSettings) -> ChatRequest:
    """The request, or a word on what is wrong with it. What we do not know of goes on as it is."""
    if not isinstance(body, dict):
        raise bad("The body is no JSON object.")
    messages = _messages(body.get("messages"))
    ours = body.get(OURS)
    ours = {} if ours is None else ours
    if not isinstance(ours, dict):
        raise bad(f"'{OURS}' is no object.", OURS)
    named = ours.get("from")
    wanted = _wanted(route.evidence if named is None else named, route)
    carried = _carried(ours, messages, wanted, limits) if route.grounding else ()
    question = question_of(messages)
    return ChatRequest(
        body,
        checked_question(question) if route.grounding else question,
        carried,
        wanted != "request",
        _n(body.get("n"), limits),
        _flag(body, "stream"),
        _usage(body.get("stream_options")),
        _structured(body.get("response_format")),
        bool(body.get("tools") or body.get("functions")) and body.get("tool_choice") != "none",
        _flag(ours, "events"),
        _tag(ours.get("tag")),
    )


def _messages(messages: Any) -> Sequence[Mapping[str, Any]]:
    if not isinstance(messages, list) or not messages:
        raise bad("'messages' is no list of messages, or an empty one.", "messages")
    for n, message in enumerate(messages):
        if not isinstance(message, dict) or message.get("role") not in _ROLES:
            raise bad(f"Message {n} has no role that is known.", f"messages[{n}].role")
        if not isinstance(message.get("content"), str | list | None):
            raise bad(f"The content of message {n} is no text.", f"messages[{n}].content")
    return messages


def _wanted(wanted: Any, route: RouteSettings) -> str:
    """Where evidence comes from: a request may ask for less than its route allows."""
    if wanted not in _FROM:
        raise bad(f"'{OURS}.from' is one of {', '.join(_FROM)}.", f"{OURS}.from")
    if route.evidence != "both" and wanted != route.evidence:
        raise bad(f"This route takes its evidence from the {route.evidence}.", f"{OURS}.from")
    return str(wanted)


def _carried(
    ours: Mapping[str, Any],
    messages: Sequence[Mapping[str, Any]],
    wanted: str,
    limits: LimitSettings,
) -> tuple[Retrieved, ...]:
    named = ours.get("evidence")
    if named is not None and not isinstance(named, list):
        raise bad(f"'{OURS}.evidence' is no list of passages.", f"{OURS}.evidence")
    if named and wanted == "index":
        raise bad("This request takes its evidence from the index.", f"{OURS}.evidence")
    if wanted == "index":
        return ()
    found = named if named is not None else evidence_of(messages, all_of_it=wanted == "request")
    return read_given(found, limits)


def read_given(found: Sequence[Given], limits: LimitSettings) -> tuple[Retrieved, ...]:
    """Passages that a request carries, within the limits."""
    if len(found) > limits.evidence_passages:
        raise bad(f"At most {limits.evidence_passages} passages.", f"{OURS}.evidence")
    read = given(found)
    if sum(len(one.passage.text) for one in read) > limits.evidence_characters:
        most = limits.evidence_characters
        raise bad(f"The passages have more than {most:,} characters.", f"{OURS}.evidence")
    return tuple(one for one in read if one.passage.text.strip())


def _n(n: Any, limits: LimitSettings) -> int:
    if n is None:
        return 1
    whole = isinstance(n, int | float) and not isinstance(n, bool) and n == int(n)
    if not whole or not 1 <= n <= limits.choices:
        raise bad(f"'n' is a whole number from 1 to {limits.choices}.", "n")
    return int(n)


def _flag(tree: Mapping[str, Any], name: str) -> bool:
    value = tree.get(name)
    if value is not None and not isinstance(value, bool):
        raise bad(f"'{name}' is true or false.", name)
    return bool(value)


def _tag(tag: Any) -> str:
    if not isinstance(tag, str | None):
        raise bad(f"'{OURS}.tag' is no text.", f"{OURS}.tag")
    return tag or ""


def _usage(options: Any) -> bool:
    if options is not None and not isinstance(options, dict):
        raise bad("'stream_options' is no object.", "stream_options")
    return bool(options and options.get("include_usage"))


def _structured(wanted: Any) -> bool:
    if wanted is not None and not isinstance(wanted, dict):
        raise bad("'response_format' is no object.", "response_format")
    return wanted is not None and wanted.get("type", "text") != "text"
