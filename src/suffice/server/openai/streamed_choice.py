"""One choice of a stream, as it grows: what of it goes on, and which of its claims are finished."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from suffice.draft.reading import answer_begins, storable, thought_aloud
from suffice.models.chat import content_in, refusal_in
from suffice.server.openai.passthrough import logprobs_of, unheard
from suffice.server.openai.upstream_drafts import Written, draft_of
from suffice.types import Draft, Passage

# A sentence is over when its marks are followed by a space, or the next one has begun.
_OVER = re.compile(
    r"[.!?][\"”’)*_]*+(?P<marks>(?:\s*\[\d[\d, –-]*\])+)?(?(marks)\s+|\s+(?=[^\s\[]))|\n"
)
_MORE = 12
_CALLS = ("tool_calls", "function_call")
_SAID = frozenset({"role", "content", "refusal", *_CALLS})
_CHOICE = frozenset({"index", "message", "delta", "finish_reason", "logprobs"})


@dataclass(slots=True)
class StreamedChoice:
    """`text` is what was told so far. Before it the upstream may have thought aloud (`held`): that
    goes on as little as a field that nobody checks. `checked` is how far claims were looked at, and
    `again` from which length on new ones are looked for; `over` is where the last sentence
    ends that is over, as far as the text was `scanned`. `calls` has the last piece of a call."""

    index: int
    text: str = ""
    finish: str = ""
    held: str = ""
    checked: int = 0
    again: int = 0
    over: int = -1
    scanned: int = 0
    calls: dict[str, Any] = field(default_factory=dict)
    others: dict[str, Any] = field(default_factory=dict)
    rest: dict[str, Any] = field(default_factory=dict)
    _refused: str = ""
    _thinking: bool = False
    _begun: bool = False

    def hear(self, choice: Mapping[str, Any]) -> dict[str, Any]:
        """What of an upstream's piece goes on. Its end waits for the verdict, and so does what is
        said beside the text: it belongs to it."""
        delta = choice.get("delta") or choice.get("message")
        delta = delta if isinstance(delta, dict) else {}
        self.finish = str(choice.get("finish_reason") or self.finish)
        self._refused += refusal_in(delta)
        said = content_in(delta)
        told: dict[str, Any] = {}
        if said and (text := self._told(said)):
            told["content"] = text
        for name in _CALLS:
            if made := delta.get(name):
                self.calls[name] = told[name] = made
        if not delta.keys() <= _SAID:
            self._beside(delta)
        if not choice.keys() <= _CHOICE:
            self.rest |= {k: v for k, v in choice.items() if k not in _CHOICE and v is not None}
        return self._piece(told, choice.get("logprobs")) if told else {}

    def flush(self) -> dict[str, Any]:
        """What waited for more and goes on now that there is none: the beginning of a tag that
        never came, or a refusal where nothing else was said."""
        if not (self.held or self.text):
            self.held = storable(self._refused)
        thought = None if self.text else thought_aloud(self.held)
        text = "" if thought is None else self.held[thought:].lstrip()
        if not text:
            return {}
        self.held, self.text = self.held.removesuffix(text), text
        return self._piece({"content": text}, None)

    def _told(self, said: str) -> str:
        """What of more text goes on: nothing before it is known that the answer has begun."""
        said = storable(said)
        if self.text:
            self.text += said
            return said
        self.held += said
        if self._thinking and ">" not in said:  # no tag ends in it
            return ""
        begins = answer_begins(self.held)
        if begins is None:
            self._thinking = thought_aloud(self.held) is None
            return ""
        self.text, self.held = self.held[begins:], self.held[:begins]
        return self.text

    def _beside(self, delta: Mapping[str, Any]) -> None:
        for name, value in unheard(delta, *_SAID).items():
            before = self.others.get(name)
            same = type(before) is type(value) and isinstance(value, str | list)
            self.others[name] = before + value if same else value

    def _piece(self, told: dict[str, Any], logprobs: Any) -> dict[str, Any]:
        if not self._begun:
            self._begun, told = True, {"role": "assistant", **told}
        piece = {"index": self.index, "delta": told, "finish_reason": None}
        if logprobs and (own := logprobs_of(logprobs, told.get("content", ""))):
            piece["logprobs"] = own
        return piece

    @property
    def grown(self) -> bool:
        """Whether `finished` may find more than it did before; asked of every piece, so that it
        reads no more than what is new."""
        for found in _OVER.finditer(self.text, self.scanned):
            self.over = found.start()
        # Of the marks so far, only the last can still become the end of a sentence.
        last = max(self.text.rfind(mark, self.scanned) for mark in ".!?")
        self.scanned = len(self.text) if last < 0 else last
        return self.over >= self.checked and len(self.text) >= self.again

    def finished(self, passages: Sequence[Passage]) -> Draft | None:
        """The text up to the last sentence that is over, with those of its claims that were not
        looked at yet; `None` where no new one is. All of the text is read for it: not a thing to do
        between two pieces of a stream."""
        text = self.text
        overs = list(_OVER.finditer(text, self.checked))
        if not overs or len(text) < self.again:
            return None
        over = overs[-1]
        # Marks end a sentence; where there are none, what follows tells whether it ended.
        draft = draft_of(text[: over.end()] if over["marks"] else text, passages)
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

    def written(
        self, passages: Sequence[Passage], model: str, *, structured: bool, tokens: int = 0
    ) -> Written:
        """All of it; a text without a reason for its end broke off."""
        if self.calls:
            return Written(self.choice, None)
        draft = self.drafted(passages, model, structured=structured, tokens=tokens)
        return Written(self.choice, draft)

    def drafted(
        self, passages: Sequence[Passage], model: str, *, structured: bool, tokens: int = 0
    ) -> Draft:
        """The text that was told, as a draft."""
        return draft_of(
            self.held + self.text,
            passages,
            drafter=model,
            finish=self.finish or "length",
            structured=structured,
            tokens=tokens,
        )

    @property
    def choice(self) -> dict[str, Any]:
        """As it would have come in one piece."""
        message = {**self.others, **self.calls, "content": self.held + self.text}
        return {**self.rest, "message": message, "finish_reason": self.finish or "length"}
