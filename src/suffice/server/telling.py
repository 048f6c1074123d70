"""One choice of a stream, as it grows: what was told, and which of its claims are finished."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from suffice.server.drafts import Written, draft_of
from suffice.types import Draft, Passage

# A sentence is over when its marks are followed by a space, or the next one has begun.
_OVER = re.compile(
    r"[.!?][\"”’)*_]*(?P<marks>(?:\s*\[\d[\d, –-]*\])+)?(?(marks)\s+|\s+(?=[^\s\[]))|\n"
)
_MORE = 12
_UNCHECKED = frozenset({"reasoning", "reasoning_content", "reasoning_details", "thinking", "audio"})


@dataclass(slots=True)
class Telling:
    """`text` is what the upstream has said so far, `checked` how far its claims were looked at, and
    `again` from which length on new ones are looked for."""

    index: int
    text: str = ""
    finish: str = ""
    calls: bool = False
    checked: int = 0
    again: int = 0

    def hear(self, choice: Mapping[str, Any]) -> dict[str, Any]:
        """What of an upstream's piece goes on: its end waits for the verdict, and what nobody
        checks does not go on at all."""
        delta = choice.get("delta") or choice.get("message")
        delta = delta if isinstance(delta, dict) else {}
        self.finish = str(choice.get("finish_reason") or self.finish)
        if isinstance(said := delta.get("content"), str):
            self.text += said
        if delta.get("tool_calls") or delta.get("function_call"):
            self.calls = True
        kept = {key: value for key, value in delta.items() if key not in _UNCHECKED}
        rest = {k: v for k, v in choice.items() if k not in ("message", "delta", "finish_reason")}
        telling = any(value not in (None, "") for key, value in kept.items() if key != "role")
        if not telling and not delta.get("role"):
            return {}
        return {**rest, "index": self.index, "delta": kept, "finish_reason": None}

    def finished(self, passages: Sequence[Passage]) -> tuple[Draft, int] | None:
        """The text up to the last sentence that is over, with those of its claims that were not
        looked at yet, and where in the text it begins; `None` where no new one is."""
        overs = list(_OVER.finditer(self.text, self.checked))
        if not overs or len(self.text) < self.again:
            return None
        over = overs[-1]
        # Marks end a sentence; where there are none, what follows tells whether it ended.
        told = self.text[: over.end()] if over["marks"] else self.text
        draft = draft_of(told, passages)
        begin = len(told.rstrip()) - len(draft.text)
        new = tuple(
            claim
            for claim in draft.claims
            if begin + claim.start >= self.checked and begin + claim.end <= over.end()
        )
        self.again = len(self.text) + _MORE
        if not new:
            return None
        self.checked, self.again = begin + new[-1].end, 0
        return replace(draft, text=draft.text[: over.end() - begin].rstrip(), claims=new), begin

    def written(
        self, passages: Sequence[Passage], model: str, *, structured: bool, tokens: int = 0
    ) -> Written:
        """All of it; a text without a reason for its end broke off."""
        finish = self.finish or "length"
        choice = {"message": {"content": self.text}, "finish_reason": finish}
        if self.calls:
            return Written({"message": {"tool_calls": True}, "finish_reason": finish}, None)
        draft = draft_of(
            self.text,
            passages,
            drafter=model,
            finish=finish,
            structured=structured,
            tokens=tokens,
        )
        return Written(choice, draft)
