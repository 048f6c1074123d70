"""Tool calls of an upstream: which calls are passed on, and what their arguments state.

A call to a tool that was not offered is dropped. With `tools: check`, arguments are checked like an
answer, because structured output by function calling puts the answer there. If the request forces
the call, all arguments are the answer. Otherwise only strings that state something are checked:
sentences, and quantities with a unit, but not queries or names. For bare numbers see
`stated_numbers`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from suffice.log.record import new_id
from suffice.server.openai.passthrough import beside, reads_as_text
from suffice.server.openai.stated_numbers import Known, number_in, stated
from suffice.server.openai.upstream_drafts import draft_of
from suffice.text.claims import claims
from suffice.text.literals import QUANTITIES, LiteralKind, literals
from suffice.text.words import auxiliaries
from suffice.types import Draft, Passage

DROPPED = "Removed: a call to a tool that the request does not offer."
CALLS = ("tool_calls", "function_call")
_KINDS = {"function": "arguments", "custom": "input"}
_AMOUNTS = QUANTITIES - {LiteralKind.NUMBER}
_DEEPEST = 64
Call = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Offer:
    """The tools that a request offers. `forced`: the model must call one of them."""

    names: frozenset[str] = frozenset()
    forced: bool = False


@dataclass(frozen=True, slots=True)
class Stated:
    """What the arguments of calls state: the texts to check, and where each was found."""

    texts: tuple[str, ...] = ()
    fields: tuple[Mapping[str, Any], ...] = ()
    """For each call, the name of the tool and the fields that were checked."""
    structured: bool = False
    unknown: tuple[str, ...] = ()
    """The names of unchecked numbers that occur neither in the evidence nor in the conversation."""

    def draft(self, passages: Sequence[Passage], drafter: str) -> Draft:
        text = "\n\n".join(self.texts)
        return draft_of(text, passages, drafter=drafter, structured=self.structured)


def offer_of(body: Mapping[str, Any]) -> Offer:
    """The tools in a request body, including the older `functions`."""
    chosen = body.get("tool_choice") or body.get("function_call")
    if chosen == "none":
        return Offer()
    tools, functions = body.get("tools"), body.get("functions")
    found = [_described(tool) for tool in (tools if isinstance(tools, list) else ())]
    found += functions if isinstance(functions, list) else []
    names = (one.get("name") for one in found if isinstance(one, dict))
    forced = isinstance(chosen, dict) or chosen in ("required", "any")
    return Offer(frozenset(name for name in names if isinstance(name, str)), forced)


def only_offered(raw: Mapping[str, Any], names: frozenset[str]) -> tuple[dict[str, Any], int]:
    """The completion with calls to offered tools only, and the number of dropped calls."""
    choices, dropped = raw.get("choices"), 0
    kept = []
    for choice in choices if isinstance(choices, list) else ():
        message = choice.get("message") if isinstance(choice, dict) else None
        if not isinstance(message, dict) or not any(message.get(name) for name in CALLS):
            kept.append(choice)
            continue
        calls = {name: cleaned(message.get(name), names) for name in CALLS}
        dropped += sum(_count(message.get(name)) - _count(calls[name]) for name in CALLS)
        rest = {name: value for name, value in message.items() if name not in CALLS}
        said = {**rest, **{name: made for name, made in calls.items() if made}}
        kept.append({**choice, "message": said})
    return {**raw, **({"choices": kept} if isinstance(choices, list) else {})}, dropped


def cleaned(made: Any, names: frozenset[str]) -> Any:
    """A `tool_calls` list or `function_call` with calls to offered tools only, and no other
    text."""
    if isinstance(made, list):
        return [_clean(one) for one in made if name_of(one) in names]
    if isinstance(made, dict) and made.get("name") in names:
        return {"name": made["name"], "arguments": _text(made.get("arguments"))}
    return None


def name_of(call: Any) -> str | None:
    """The name of the called tool."""
    inner = _described(call) if isinstance(call, dict) else None
    name = inner.get("name") if isinstance(inner, dict) else None
    return name if isinstance(name, str) else None


def call_id(value: Any) -> str:
    """The upstream's id of a call, or a new id if it reads as text."""
    usable = isinstance(value, str) and value.isascii() and value.isprintable()
    return value if usable and len(value) <= 64 and not reads_as_text(value) else f"call_{new_id()}"


def stated_in(choice: Mapping[str, Any], offer: Offer, known: Known) -> Stated:
    """What the arguments of a choice's calls state. Slow: do not call it on the event loop."""
    texts: list[str] = []
    fields: list[Mapping[str, Any]] = []
    unknown: list[str] = []
    for name, arguments in _calls(choice.get("message")):
        if offer.forced:
            found = [("", arguments)] if arguments.strip(" \n{}[]") else []
        else:
            found, others = _found(arguments, known)
            unknown += [f"{name}.{path}" for path in others]
        texts += [text for _, text in found]
        if found:
            fields.append({"tool": name, "fields": [path for path, _ in found if path] or ["*"]})
    return Stated(tuple(texts), tuple(fields), offer.forced, tuple(unknown))


def _found(arguments: str, known: Known) -> tuple[list[tuple[str, str]], list[str]]:
    """The fields that state something, with their texts, and the names of unknown numbers."""
    found: list[tuple[str, str]] = []
    unknown: list[str] = []
    for path, value in _values(arguments):
        number = number_in(value)
        if number is None:
            found += [(path, value)] if isinstance(value, str) and states(value) else []
        elif not known.has(number):
            if known.asked_for(path):
                found.append((path, stated(path, number)))
            else:
                unknown.append(path)
    return found, unknown


def states(text: str) -> bool:
    """Whether a text states something that can be checked: a sentence or a quantity."""
    for one in claims(text):
        if not one.checkable:
            continue
        if auxiliaries(one.words) or one.words.rstrip().endswith((".", "!")):
            return True
        if any(literal.kind in _AMOUNTS for literal in literals(one.words)):
            return True
    return False


def _calls(message: Any) -> Iterator[tuple[str, str]]:
    message = message if isinstance(message, dict) else {}
    made = message.get("tool_calls")
    for call in made if isinstance(made, list) else ():
        inner = _described(call)
        if isinstance(inner, dict):
            written = next((inner[key] for key in _KINDS.values() if inner.get(key)), "")
            yield str(inner.get("name")), _text(written)
    if isinstance(call := message.get("function_call"), dict):
        yield str(call.get("name")), _text(call.get("arguments"))


def _values(arguments: str) -> Iterator[tuple[str, str | int | float]]:
    """The strings and numbers in the arguments, with their paths. Invalid JSON is one string."""
    try:
        value = json.loads(arguments, object_pairs_hook=list)
    except (ValueError, RecursionError):
        yield "", arguments
        return
    yield from _leaves(value, "", 0)


def _leaves(value: Any, path: str, depth: int) -> Iterator[tuple[str, str | int | float]]:
    if isinstance(value, str | int | float):
        yield path, value
    elif depth > _DEEPEST:
        yield path, json.dumps(value)
    elif isinstance(value, list):
        for n, one in enumerate(value):
            # Objects are parsed as lists of pairs, to keep duplicate names.
            if isinstance(one, tuple):
                name = "…" if reads_as_text(one[0]) else one[0]
                yield from _leaves(one[1], f"{path}.{name}".lstrip("."), depth + 1)
            else:
                yield from _leaves(one, f"{path}[{n}]", depth + 1)


def _clean(call: Mapping[str, Any]) -> Call:
    kind = next((kind for kind in _KINDS if isinstance(call.get(kind), dict)), "function")
    inner, field = call[kind], _KINDS[kind]
    made = {"name": inner.get("name"), field: _text(inner.get(field))}
    return {
        **beside(call, "type", *_KINDS),
        "id": call_id(call.get("id")),
        "type": kind,
        kind: made,
    }


def _described(tool: Any) -> Any:
    """The function or custom tool object inside a tool definition or a call."""
    if not isinstance(tool, dict):
        return None
    return next((tool[kind] for kind in _KINDS if isinstance(tool.get(kind), dict)), None)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)


def _count(made: Any) -> int:
    return len(made) if isinstance(made, list) else 1 if made else 0
