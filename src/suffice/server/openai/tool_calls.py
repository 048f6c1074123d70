"""Tool calls of an upstream: which calls are passed on, and what their arguments state.

A call to a tool that was not offered is dropped. With `tools: check`, arguments are checked like an
answer, because structured output by function calling puts the answer there. If the request forces
the call, all arguments are the answer, rendered like one. Otherwise strings that state something
are checked, also names of fields: sentences, quantities with a unit, and unknown numbers in any
text. Markup in them is read as text, because a tool receives it. A string that states nothing, such
as a query, is listed as unchecked if it is longer than an identifier. For bare numbers see
`stated_numbers`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from typing import Any

from suffice.checks.unread import unread
from suffice.log.record import new_id
from suffice.server.openai.passthrough import beside, reads_as_text
from suffice.server.openai.reply import draft_of
from suffice.text.claims import claims
from suffice.text.digest import word_prefixes
from suffice.text.literals import QUANTITIES, LiteralKind, literals
from suffice.text.released import rendered_json, without_invisible
from suffice.text.words import auxiliaries
from suffice.types import Claim, Draft, Evidence

_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")
_PARTS = re.compile(r"(?<=[a-z])(?=[A-Z])|[\W_]+|\d+")
# "1,500" has a separator, "1,5" a decimal comma, which is no JSON number.
_GROUPED = re.compile(r",(?=\d{3}(?:\D|$))")
_LARGEST = 400
"""Maximum power of ten. Documents do not state larger numbers."""
_LONGEST = 60


@dataclass(frozen=True, slots=True)
class Known:
    """The numbers of the evidence and the conversation, and the words of the question."""

    numbers: frozenset[Decimal] = frozenset()
    question: frozenset[str] = frozenset()
    texts: tuple[str, ...] = ()

    @classmethod
    def of(cls, question: str, texts: Iterable[str]) -> Known:
        numbers: set[Decimal] = set()
        given = (question, *texts)
        for text in given:
            for literal in literals(text):
                numbers |= {
                    number for number in (literal.amount, literal.value, literal.high) if number
                }
            numbers |= {
                number for run in _DIGITS.findall(text) if (number := number_in(run)) is not None
            }
        return cls(frozenset(numbers), word_prefixes(question), given)

    def has(self, number: Decimal) -> bool:
        return number in self.numbers

    def says(self, text: str) -> bool:
        """Whether the evidence or the conversation contains the text."""
        return any(text in known_text for known_text in self.texts)

    def lacks_number(self, text: str) -> bool:
        """Whether a text has a number that occurs in neither."""
        runs = (number_in(run) for run in _DIGITS.findall(text))
        return any(run is not None and not self.has(run) for run in runs)

    def asked_for(self, path: str) -> bool:
        """Whether the name of a number shares a word with the question."""
        return bool(word_prefixes(_words(path)) & self.question)


def number_in(value: object) -> Decimal | None:
    """A JSON number, or a string that is a number, as a decimal."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        number = Decimal(_GROUPED.sub("", str(value).strip()))
    except InvalidOperation:
        return None
    return number if number.is_finite() and abs(number.adjusted()) <= _LARGEST else None


def stated(path: str, number: Decimal) -> str:
    """A named number as a sentence."""
    return f"The {_words(path)} is {number}."


def unknown_note(names: Iterable[str]) -> str:
    listed = ", ".join(f"'{name[:_LONGEST]}'" for name in names)
    return (
        "Not checked: numbers in tool arguments that are neither in the documents nor in the "
        f"conversation: {listed}."
    )


def unchecked_note(names: Iterable[str]) -> str:
    listed = ", ".join(f"'{name[:_LONGEST]}'" for name in names)
    return f"Not checked: text in tool arguments that states nothing: {listed}."


def _words(path: str) -> str:
    return " ".join(filter(None, _PARTS.split(path))).lower()


DROPPED = "Removed: a call to a tool that the request does not offer."
CALLS = ("tool_calls", "function_call")
_KINDS = {"function": "arguments", "custom": "input"}
_AMOUNTS = QUANTITIES - {LiteralKind.NUMBER}
_DEEPEST = 64
_LONGEST_NAME = 64
Call = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Offer:
    """The tools that a request offers. `forced`: the model must call one of them."""

    names: frozenset[str] = frozenset()
    forced: bool = False
    described: str = field(default="", compare=False)
    """The definitions of the tools, whose words and names the arguments may repeat."""


@dataclass(frozen=True, slots=True)
class Stated:
    """What the arguments of calls state: the texts to check, and where each was found."""

    texts: tuple[str, ...] = ()
    fields: tuple[Mapping[str, Any], ...] = ()
    """For each call, the name of the tool and the fields that were checked."""
    structured: bool = False
    unknown: tuple[str, ...] = ()
    """The names of unchecked numbers that occur neither in the evidence nor in the conversation."""
    unchecked: Mapping[str, str] = field(default_factory=dict)
    """The unchecked texts by the names of their fields: they state nothing."""

    def draft(self, evidence: Evidence, drafter: str) -> Draft:
        """The texts as a draft. Whatever adds information in them is a claim, also a heading."""
        text = "\n\n".join(self.texts)
        if not self.structured:
            text = _literal(text)
        read = draft_of(text, evidence.passages, drafter=drafter, structured=self.structured)
        outside = () if self.structured else unread(read, evidence)
        added = [
            Claim(statement.text, statement.start, statement.end, statement.cites)
            for statement in outside
        ]
        every = tuple(sorted((*read.claims, *added), key=lambda claim: claim.start))
        beside = sum(map(len, self.unchecked.values()))
        return replace(read, claims=every, unread=read.unread + beside)


def offer_of(body: Mapping[str, Any]) -> Offer:
    """The tools in a request body, including the older `functions`."""
    chosen = body.get("tool_choice") or body.get("function_call")
    if chosen == "none":
        return Offer()
    tools, functions = body.get("tools"), body.get("functions")
    described = [_described(tool) for tool in (tools if isinstance(tools, list) else ())]
    described += functions if isinstance(functions, list) else []
    names = (tool.get("name") for tool in described if isinstance(tool, dict))
    forced = isinstance(chosen, dict) or chosen in ("required", "any")
    offered = frozenset(name for name in names if isinstance(name, str))
    return Offer(offered, forced, json.dumps(described, ensure_ascii=False))


def only_offered(raw: Mapping[str, Any], offer: Offer) -> tuple[dict[str, Any], int]:
    """The completion with calls to offered tools only, and the number of dropped calls. Nothing in
    the arguments is hidden."""
    choices, dropped = raw.get("choices"), 0
    released = []
    for choice in choices if isinstance(choices, list) else ():
        message = choice.get("message") if isinstance(choice, dict) else None
        if not isinstance(message, dict) or not any(message.get(name) for name in CALLS):
            released.append(choice)
            continue
        calls = {name: cleaned(message.get(name), offer) for name in CALLS}
        dropped += sum(_count(message.get(name)) - _count(calls[name]) for name in CALLS)
        rest = {name: value for name, value in message.items() if name not in CALLS}
        cleaned_message = {
            **rest,
            **{name: calls_of_kind for name, calls_of_kind in calls.items() if calls_of_kind},
        }
        released.append({**choice, "message": cleaned_message})
    return {**raw, **({"choices": released} if isinstance(choices, list) else {})}, dropped


def cleaned(calls: Any, offer: Offer) -> Any:
    """A `tool_calls` list or `function_call` with calls to offered tools only, and no other
    text."""
    if isinstance(calls, list):
        return [_clean(call, offer) for call in calls if name_of(call) in offer.names]
    if isinstance(calls, dict) and calls.get("name") in offer.names:
        return {"name": calls["name"], "arguments": _shown(calls.get("arguments"), offer)}
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
    unchecked: dict[str, str] = {}
    for name, arguments in _calls(choice.get("message")):
        fields_of_call = _Found()
        if offer.forced:
            fields_of_call.stated += [("", arguments)] if arguments.strip(" \n{}[]") else []
        else:
            fields_of_call.read(arguments, known, offer)
        unknown += [f"{name}.{path}" for path in fields_of_call.unknown]
        unchecked |= {f"{name}.{path}".rstrip("."): text for path, text in fields_of_call.others}
        texts += [text for _, text in fields_of_call.stated]
        if fields_of_call.stated:
            paths = [path for path, _ in fields_of_call.stated if path] or ["*"]
            fields.append({"tool": name, "fields": paths})
    return Stated(tuple(texts), tuple(fields), offer.forced, tuple(unknown), unchecked)


@dataclass(slots=True)
class _Found:
    """The fields of a call: those that state something, those that are longer than an identifier
    but state nothing, and unknown numbers."""

    stated: list[tuple[str, str]] = field(default_factory=list)
    others: list[tuple[str, str]] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)

    def read(self, arguments: str, known: Known, offer: Offer) -> None:
        words: list[str] = []
        for path, value in _values(arguments):
            number = number_in(value)
            if number is not None:
                self._number(path, number, known)
            elif isinstance(value, str):
                words.append(value)
                self._text(path, value, known, offer)
        # A sentence may be cut into fields, each of which is only a word.
        if not self.stated and not self.others and states(_literal(" ".join(words))):
            self.others.append(("*", " ".join(words)))

    def _text(self, path: str, text: str, known: Known, offer: Offer) -> None:
        if states(_literal(text)) or (reads_as_text(text) and known.lacks_number(text)):
            self.stated.append((path, text))
        elif _is_text(text) and not known.says(text) and text not in offer.described:
            self.others.append((path, text))

    def _number(self, path: str, number: Decimal, known: Known) -> None:
        if known.has(number):
            return
        if known.asked_for(path):
            self.stated.append((path, stated(path, number)))
        else:
            self.unknown.append(path)


def _is_text(text: str) -> bool:
    """Whether a string is longer than an identifier."""
    return len(text) > _LONGEST_NAME or reads_as_text(text)


def _literal(text: str) -> str:
    """A text whose markup is read as text, because a tool receives it."""
    for markup, plain in (("<", "< "), ("](", "] ("), ("]:", "] :"), ("†", " ")):
        text = text.replace(markup, plain)
    return text


def states(text: str) -> bool:
    """Whether a text states something that can be checked: a sentence or a quantity."""
    for claim in claims(text):
        if not claim.checkable:
            continue
        if auxiliaries(claim.words) or claim.words.rstrip().endswith((".", "!")):
            return True
        if any(literal.kind in _AMOUNTS for literal in literals(claim.words)):
            return True
    return False


def _calls(message: Any) -> Iterator[tuple[str, str]]:
    message = message if isinstance(message, dict) else {}
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
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
        for n, item in enumerate(value):
            # Objects are parsed as lists of pairs, to keep duplicate names.
            if isinstance(item, tuple):
                name = "…" if reads_as_text(item[0]) else item[0]
                inner = f"{path}.{name}".lstrip(".")
                yield inner, item[0]
                yield from _leaves(item[1], inner, depth + 1)
            else:
                yield from _leaves(item, f"{path}[{n}]", depth + 1)


def _shown(arguments: Any, offer: Offer) -> str:
    """The arguments without anything hidden. Those of a forced call are the answer."""
    text = _text(arguments)
    return rendered_json(text).text if offer.forced else without_invisible(text).text


def _clean(call: Mapping[str, Any], offer: Offer) -> Call:
    kind = next((kind for kind in _KINDS if isinstance(call.get(kind), dict)), "function")
    inner, written = call[kind], _KINDS[kind]
    described = {"name": inner.get("name"), written: _shown(inner.get(written), offer)}
    return {
        **beside(call, "type", *_KINDS),
        "id": call_id(call.get("id")),
        "type": kind,
        kind: described,
    }


def _described(tool: Any) -> Any:
    """The function or custom tool object inside a tool definition or a call."""
    if not isinstance(tool, dict):
        return None
    return next((tool[kind] for kind in _KINDS if isinstance(tool.get(kind), dict)), None)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)


def _count(calls: Any) -> int:
    return len(calls) if isinstance(calls, list) else 1 if calls else 0
