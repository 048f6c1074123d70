"""The reply of an upstream as it arrives: what to forward, and which claims are complete."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from suffice.draft.reading import answer_begins, draft_of_rendered, storable, thought_aloud
from suffice.models.chat import content_in, refusal_in
from suffice.server.openai.completion import CALLS
from suffice.server.openai.passthrough import logprobs_of, without_reasoning
from suffice.server.openai.reply import DraftedChoice, beginning, choices_in, draft_of
from suffice.server.openai.tool_calls import call_id, name_of
from suffice.server.sending import offload
from suffice.text.released import Rendered, Renderer
from suffice.types import Draft, Passage

# A sentence ends when a space follows its citation marks, or when the next sentence begins.
_OVER = re.compile(
    r"[.!?][\"”’)*_]*+(?P<marks>(?:\s*\[\d[\d, –-]*\])+)?(?(marks)\s+|\s+(?=[^\s\[]))|\n"
)
_MORE = 12
_SAID = frozenset({"role", "content", "refusal", *CALLS})
_CHOICE = frozenset({"index", "message", "delta", "finish_reason", "logprobs"})


@dataclass(slots=True)
class StreamedChoice:
    """`text` is the text forwarded so far, as a reader sees it, and `raw` its source. `held` is the
    reasoning before it, which is not forwarded. `checked` is the offset up to which claims were
    checked, and `again` the text length at which to look for more. `over` is the end of the last
    complete sentence in the text `scanned` so far. `calls` has the last chunk of a tool call;
    `dropped` is set if a tool was called that is not `offered` (`None`: any), and `long` if the
    text was truncated to `most` characters."""

    index: int
    offered: frozenset[str] | None = None
    most: int = 100_000
    long: bool = False
    text: str = ""
    raw: str = ""
    finish: str = ""
    held: str = ""
    checked: int = 0
    again: int = 0
    over: int = -1
    scanned: int = 0
    calls: dict[str, Any] = field(default_factory=dict)
    others: dict[str, Any] = field(default_factory=dict)
    rest: dict[str, Any] = field(default_factory=dict)
    dropped: bool = False
    _calling: dict[int, bool] = field(default_factory=dict)
    _renderer: Renderer = field(default_factory=Renderer)
    _arguments: dict[int, Renderer] = field(default_factory=dict)
    _refused: str = ""
    _thinking: bool = False
    _begun: bool = False

    def size(self, choice: Mapping[str, Any]) -> int:
        """The length of the text that `hear` renders."""
        delta = choice.get("delta") or choice.get("message")
        text = content_in(delta) if isinstance(delta, dict) else ""
        return min(len(text), self.most)

    def hear(self, choice: Mapping[str, Any]) -> dict[str, Any]:
        """The part of an upstream's chunk to forward. The finish reason and fields other than text
        and tool calls wait for the verdict."""
        delta = choice.get("delta") or choice.get("message")
        delta = delta if isinstance(delta, dict) else {}
        self.finish = str(choice.get("finish_reason") or self.finish)
        self._refused += self._kept(refusal_in(delta), len(self._refused))
        content = self._kept(content_in(delta), len(self.held) + len(self.raw))
        forwarded: dict[str, Any] = {}
        if content and (text := self._grow(content)):
            forwarded["content"] = text
        for name in CALLS:
            if (calls := delta.get(name)) and (offered := self._offered(calls)):
                self.calls[name] = forwarded[name] = offered
        if not delta.keys() <= _SAID:
            self._beside(delta)
        if not choice.keys() <= _CHOICE:
            self.rest |= {k: v for k, v in choice.items() if k not in _CHOICE and v is not None}
        return self._piece(forwarded, choice.get("logprobs")) if forwarded else {}

    def _offered(self, calls: Any) -> Any:
        """The parts of calls to offered tools. The first part of a call names its tool."""
        if self.offered is None:
            return calls
        if isinstance(calls, dict):
            calls = [{"index": -1, "function": calls}]
            return next((call["function"] for call in self._offered(calls)), None)
        offered = []
        for n, part in enumerate(calls if isinstance(calls, list) else ()):
            index = part.get("index", n) if isinstance(part, dict) else None
            if not isinstance(index, int):
                continue
            if (name := name_of(part)) is not None:
                self._calling[index] = name in self.offered
                self.dropped |= name not in self.offered
            if self._calling.get(index):
                named = {"id": call_id(part["id"])} if part.get("id") else {}
                offered.append({**part, **named, **self._visible(index, part)})
        return offered

    def _visible(self, index: int, part: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments in a part of a call, without invisible characters."""
        inner = part.get("function")
        if not isinstance(inner, dict) or not isinstance(inner.get("arguments"), str):
            return {}
        renderer = self._arguments.setdefault(index, Renderer())
        return {"function": {**inner, "arguments": renderer.visible(inner["arguments"])}}

    def flush(self) -> dict[str, Any]:
        """The text held back until the end: incomplete markup, or a refusal without other text."""
        if not (self.held or self.raw):
            self.held = storable(self._refused)
        text = ""
        if not self.raw and (thought := thought_aloud(self.held)) is not None:
            answer = self.held[thought:].lstrip()
            self.held = self.held.removesuffix(answer)
            text = self._shown(answer)
        text += self._shown("", closes=True)
        return self._piece({"content": text}, None) if text else {}

    def _kept(self, more: str, length: int) -> str:
        """The part of a text that fits within the limit."""
        if length + len(more) <= self.most:
            return more
        self.long, self.finish = True, "length"
        return more[: self.most - length]

    def _grow(self, content: str) -> str:
        """Add text and return the part to forward: nothing until the answer has begun."""
        content = storable(content)
        if self.raw:
            return self._shown(content)
        self.held += content
        if self._thinking and ">" not in content:  # no tag can end here
            return ""
        begins = answer_begins(self.held)
        if begins is None:
            self._thinking = thought_aloud(self.held) is None
            return ""
        answer, self.held = self.held[begins:], self.held[:begins]
        return self._shown(answer)

    def _shown(self, content: str, *, closes: bool = False) -> str:
        """Add a part of the answer and return the text that it shows by now."""
        self.raw += content
        text = self._renderer.feed(content)
        text += self._renderer.close() if closes else ""
        text = text if self.text else text.lstrip()
        self.text += text
        return text

    def _beside(self, delta: Mapping[str, Any]) -> None:
        for name, value in without_reasoning(delta, *_SAID).items():
            before = self.others.get(name)
            same = type(before) is type(value) and isinstance(value, str | list)
            grown = before + value if before is not None and same else value
            if not isinstance(grown, str | list) or len(grown) <= self.most:
                self.others[name] = grown

    def _piece(self, delta: dict[str, Any], logprobs: Any) -> dict[str, Any]:
        if not self._begun:
            self._begun, delta = True, {"role": "assistant", **delta}
        piece = {"index": self.index, "delta": delta, "finish_reason": None}
        if logprobs and (fitting := logprobs_of(logprobs, delta.get("content", ""))):
            piece["logprobs"] = fitting
        return piece

    @property
    def grown(self) -> bool:
        """Whether `finished` may find new claims. Called for every chunk, so it scans only new
        text."""
        for match in _OVER.finditer(self.text, self.scanned):
            self.over = match.start()
        # Only the last punctuation mark so far can still become the end of a sentence.
        last = max(self.text.rfind(mark, self.scanned) for mark in ".!?")
        self.scanned = len(self.text) if last < 0 else last
        return self.over >= self.checked and len(self.text) >= self.again

    def finished(self, passages: Sequence[Passage]) -> Draft | None:
        """The text up to the last complete sentence, with its unchecked claims; `None` if there are
        none. It reads the whole text, so do not call it on the event loop."""
        text = self.text
        overs = list(_OVER.finditer(text, self.checked))
        if not overs or len(text) < self.again:
            return None
        over = overs[-1]
        # Citation marks end a sentence; without them, the following text shows whether it ended.
        shown = text[: over.end()] if over["marks"] else text
        draft = draft_of_rendered(Rendered(shown), passages)
        new = tuple(
            claim
            for claim in draft.claims
            if claim.start >= self.checked and claim.end <= over.end()
        )
        self.again = len(text) + max(_MORE, (len(text) - self.checked) // 4)
        if not new:
            return None
        self.checked, self.again = new[-1].end, 0
        return replace(draft, text=draft.text[: over.end()].rstrip(), claims=new)

    def drafted(self, passages: Sequence[Passage], model: str, *, tokens: int = 0) -> DraftedChoice:
        """The complete choice. A text without a finish reason counts as truncated."""
        if self.calls:
            return DraftedChoice(self.choice, None)
        text = self.held + self.raw
        if self.long:
            return DraftedChoice(self.choice, beginning(text, self.most, model), long=True)
        finish = self.finish or "length"
        draft = draft_of(text, passages, drafter=model, finish=finish, tokens=tokens)
        return DraftedChoice(self.choice, draft)

    @property
    def choice(self) -> dict[str, Any]:
        """The choice in the format of a non-streamed reply."""
        message = {**self.others, **self.calls, "content": self.held + self.raw}
        return {**self.rest, "message": message, "finish_reason": self.finish or "length"}


@dataclass(slots=True)
class StreamedReply:
    """A reply of at most `n` choices of at most `most` characters. Calls to tools that are not
    `offered` are dropped (`None`: any may be called)."""

    n: int = 1
    most: int = 100_000
    offered: frozenset[str] | None = None
    frame: dict[str, Any] = field(default_factory=dict)
    """The fields that all chunks share, such as id and model."""
    usage: dict[str, Any] = field(default_factory=dict)
    choices: dict[int, StreamedChoice] = field(default_factory=dict)

    @property
    def model(self) -> str:
        return str(self.frame.get("model") or "")

    @property
    def begun(self) -> bool:
        """Whether there is anything to judge."""
        return any(choice.text or choice.finish for choice in self.choices.values())

    @property
    def long(self) -> bool:
        return any(choice.long for choice in self.choices.values())

    @property
    def length(self) -> int:
        """The number of characters so far, with the reasoning before the answers."""
        return sum(len(choice.held) + len(choice.text) for choice in self.choices.values())

    async def add(self, chunk: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Add a chunk, and return the parts of its choices to forward."""
        if not self.frame:
            self.frame = {key: chunk[key] for key in chunk if key not in ("choices", "usage")}
        if isinstance(chunk.get("usage"), dict):
            self.usage = dict(chunk["usage"])
        parts = []
        for part in choices_in(chunk):
            choice = self._choice(part)
            if choice is None:
                continue
            if forwarded := await offload(choice.size(part), choice.hear, part):
                parts.append(forwarded)
        return parts

    def _choice(self, part: Mapping[str, Any]) -> StreamedChoice | None:
        """The choice that a part belongs to; `None` if its index exceeds the requested `n`."""
        index = part.get("index")
        index = index if isinstance(index, int) else 0
        if not 0 <= index < self.n:
            return None
        return self.choices.setdefault(index, StreamedChoice(index, self.offered, self.most))
