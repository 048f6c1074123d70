"""The requests that the gateway reads, and its replies.

Of OpenAI's and Anthropic's objects, only the fields that Suffice reads or sets are declared; the
others pass through. A field that is read as `Any` is checked by the code that reads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field

from suffice import types
from suffice.schema import (
    REFERENCE,
    Citation,
    Finding,
    FoundPassage,
    FullGate,
    Judgement,
    Nearest,
    Origin,
)
from suffice.text.question import LONGEST_QUESTION
from suffice.types import Action, Level, Rescue, Support
from suffice.validation import require_text, words

Text = Annotated[str, words("a string")]
# Some regex engines do not count these control characters as whitespace; Python does.
NonEmpty = Annotated[str, words("a non-empty string", pattern=r"[^\s\x85\x1c-\x1f]")]
Question = Annotated[NonEmpty, Meta(extra_json_schema={"maxLength": LONGEST_QUESTION})]
Source = Annotated[Literal["index", "request", "both"], words("one of index, request, both")]
_Name = str | float | bool | None


class Passage(Struct, frozen=True):
    """A passage that a request carries."""

    text: str
    title: _Name = None
    version: _Name = None
    document: _Name = None
    id: _Name = None


_PASSAGE = {"anyOf": [{"type": "string"}, {"$ref": REFERENCE.format(name="Passage")}]}
Passages = Annotated[list[Any], words("a list of passages", items=_PASSAGE)]


class SufficeOptions(Struct, frozen=True):
    """Options for the gateway in a request of another API; they are not forwarded."""

    evidence: Passages | None = None
    tag: str | None = None
    events: bool | None = None
    from_: Source | None = field(default=None, name="from")


class Part(Struct, frozen=True, tag_field="type", tag="text"):
    """Text of a message."""

    text: str


class InputText(Part, frozen=True, tag="input_text"):
    """Text of an item in a response request."""


class ImageURL(Struct, frozen=True):
    """Where an image is."""

    url: str


class Image(Struct, frozen=True, tag_field="type", tag="image_url"):
    """An image of a message."""

    image_url: ImageURL


class InputImage(Struct, frozen=True, tag_field="type", tag="input_image"):
    """An image of an item in a response request."""

    image_url: str


class Message(Struct, frozen=True):
    """A message of a conversation."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[Part | InputText | Image | InputImage] | None = None


class UserMessage(Struct, frozen=True):
    """The message that asks the question."""

    role: Literal["user"]
    content: Question


_ASKS = {"contains": {"$ref": REFERENCE.format(name="UserMessage")}}
Messages = Annotated[list[Message], Meta(min_length=1, extra_json_schema=_ASKS)]
Choices = Annotated[int, Meta(ge=1, le=8)]


class ChatRequest(Struct, frozen=True, kw_only=True):
    """The fields of a chat completion request that the gateway reads."""

    model: str | None = None
    messages: Messages
    n: Choices | None = None
    stream: bool | None = None
    suffice: SufficeOptions | None = None


class CompletionRequest(Struct, frozen=True, kw_only=True):
    """The fields of a legacy completion request that the gateway reads."""

    model: str | None = None
    prompt: Question | Annotated[list[Question], Meta(min_length=1, max_length=1)]
    n: Choices | None = None
    stream: bool | None = None
    suffice: SufficeOptions | None = None


class ResponseRequest(Struct, frozen=True, kw_only=True):
    """The fields of a response request that the gateway reads."""

    model: str | None = None
    input: Question | Messages
    instructions: str | None = None
    stream: bool | None = None
    suffice: SufficeOptions | None = None


class Turn(Struct, frozen=True):
    """A message of Anthropic's format."""

    role: Literal["user", "assistant"]
    content: str


class MessagesRequest(Struct, frozen=True, kw_only=True):
    """The fields of a request in Anthropic's format that the gateway reads."""

    model: str | None = None
    max_tokens: Annotated[int, Meta(ge=1)]
    messages: Annotated[list[Turn], Meta(min_length=1, extra_json_schema=_ASKS)]
    system: str | None = None
    stream: bool | None = None
    suffice: SufficeOptions | None = None


class EmbeddingsRequest(Struct, frozen=True, kw_only=True):
    """The fields of an embeddings request that the gateway reads."""

    input: Annotated[str, Meta(min_length=1)] | Annotated[list[Any], Meta(min_length=1)]
    model: str | None = None


class GateRequest(Struct, frozen=True, kw_only=True):
    """A question to gate."""

    question: Question
    evidence: Passages | None = None
    from_: Source | None = field(default=None, name="from")
    route: Text | None = None

    def __post_init__(self) -> None:
        require_text("question", self.question)


class CheckRequest(Struct, frozen=True, kw_only=True):
    """An answer to check against its evidence. `uncited`: it carries no marks like [1]."""

    answer: Text
    evidence: Annotated[
        list[Any], words("a list of the passages the answer is based on", items=_PASSAGE)
    ]
    question: Question | None = None
    uncited: bool | None = None
    route: Text | None = None

    def __post_init__(self) -> None:
        require_text("question", self.question)


class FeedbackRequest(Struct, frozen=True, kw_only=True):
    """A user's rating of an answer."""

    record: NonEmpty
    rating: Annotated[Literal["up", "down"], words("'up' or 'down'")]
    comment: Text | None = None

    def __post_init__(self) -> None:
        require_text("record", self.record)


class CouncilRequest(Struct, frozen=True, kw_only=True):
    """A question to vote on. Without an answer, the vote is on quotations from the documents."""

    question: Question
    answer: Text | None = None
    evidence: Passages | None = None
    route: Text | None = None


# The replies of the gateway.


class ErrorDetails(Struct, frozen=True):
    """What went wrong, and which parameter is wrong."""

    message: str
    type: str
    param: str | None
    code: str | None


class Error(Struct, frozen=True):
    """An error in OpenAI's format."""

    error: ErrorDetails


class AnthropicErrorDetails(Struct, frozen=True):
    """What went wrong."""

    type: str
    message: str


class AnthropicError(Struct, frozen=True):
    """An error in Anthropic's format."""

    type: Literal["error"]
    error: AnthropicErrorDetails


class Gate(Struct, frozen=True):
    """The gate's decision in short."""

    level: Level
    score: float
    policy: str

    @classmethod
    def of(cls, value: types.GateDecision) -> Gate:
        return cls(value.level, round(value.score, 4), value.policy)


class ClaimSource(Origin, frozen=True, kw_only=True):
    """The passage that decides on a claim; [n] cites it."""

    n: int
    quote: str | None


class Claim(Struct, frozen=True, kw_only=True):
    """A statement of an answer, with its character range, its findings and its source."""

    text: Annotated[str | None, Meta(description="`null`: withheld from this caller.")]
    span: tuple[int, int]
    support: Support
    reason: Annotated[str | None, Meta(description="`null`: withheld from this caller.")]
    findings: tuple[Finding, ...]
    evidence: ClaimSource | None


class Suffice(Struct, frozen=True, kw_only=True):
    """The decision on an answer and its reasons."""

    record: str | None
    question: str | UnsetType = UNSET
    gate: Gate | UnsetType = UNSET
    verdict: Annotated[Action | None, Meta(description="`null`: the reply is no answer.")]
    turn: str | UnsetType = UNSET
    reason: str
    checked: tuple[Any, ...] | UnsetType = UNSET
    unchecked: tuple[str, ...] | UnsetType = UNSET
    highlight: tuple[str, ...] | UnsetType = UNSET
    claims: tuple[Claim, ...]
    share_read: float
    confidence: float | UnsetType | None = UNSET
    faithfulness: float | UnsetType | None = UNSET
    sources: tuple[Citation, ...]
    missing: tuple[str, ...] | UnsetType = UNSET
    nearest: tuple[Nearest, ...] | UnsetType = UNSET
    rescue: Rescue | UnsetType | None = UNSET
    cached: bool | UnsetType = UNSET
    repeats: str | UnsetType | None = UNSET
    review_url: str | UnsetType | None = UNSET
    notes: tuple[str, ...] | UnsetType = UNSET


class Sufficiency(Struct, frozen=True):
    """The gate's decision in its published format."""

    score: float
    level: str
    factors: tuple[str, ...]
    missing: tuple[str, ...] | UnsetType = UNSET


class ReplyMessage(Struct, frozen=True):
    """The released message."""

    role: Literal["assistant"]
    content: str | None


class ReplyChoice(Struct, frozen=True):
    """One of the choices of a completion."""

    index: int
    message: ReplyMessage
    finish_reason: str


class TextChoice(Struct, frozen=True):
    """One of the choices of a legacy completion."""

    index: int
    text: str
    finish_reason: str


class Usage(Struct, frozen=True):
    """The tokens of all drafts, as the upstream counts them."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class Reply(Struct, frozen=True, kw_only=True):
    """What every checked reply carries."""

    suffice: Suffice
    sufficiency: Sufficiency | None


class Completion(Reply, frozen=True, kw_only=True):
    """A checked chat completion."""

    id: str
    object: Literal["chat.completion"]
    created: int
    model: str
    choices: tuple[ReplyChoice, ...]
    usage: Usage


class TextCompletion(Reply, frozen=True, kw_only=True):
    """A checked legacy completion."""

    id: str
    object: Literal["text_completion"]
    created: int
    model: str
    choices: tuple[TextChoice, ...]
    usage: Usage


class Response(Reply, frozen=True, kw_only=True):
    """A checked response."""

    id: str
    object: Literal["response"]
    status: Literal["completed", "incomplete"]
    output: tuple[Any, ...]
    usage: Any


class ContentBlock(Struct, frozen=True):
    """A block of a message in Anthropic's format."""

    type: Literal["text", "tool_use"]


class AnthropicUsage(Struct, frozen=True):
    """The tokens of all drafts, as the upstream counts them."""

    input_tokens: int
    output_tokens: int


class AnthropicMessage(Reply, frozen=True, kw_only=True):
    """A checked message in Anthropic's format."""

    id: str
    type: Literal["message"]
    role: Literal["assistant"]
    model: str
    content: tuple[ContentBlock, ...]
    stop_reason: Literal["end_turn", "max_tokens", "tool_use", "refusal"]
    usage: AnthropicUsage


class GateDecision(FullGate, frozen=True, kw_only=True):
    """Whether the evidence for a question is sufficient, with the passages."""

    question: str
    open: bool
    passages: tuple[FoundPassage, ...]
    notes: tuple[str, ...]
    sufficiency: Sufficiency
    record: str | None


class Checked(Judgement, frozen=True, kw_only=True):
    """Whether the evidence supports an answer, claim by claim."""

    claims: tuple[Claim, ...]
    gate: Gate
    review_url: str | None


class Feedback(Struct, frozen=True):
    """The stored feedback on a record."""

    id: str
    object: Literal["feedback"]
    record: str


REVIEW_STATES = ["not_queued", "open", "assigned", "decided", "dismissed"]


class Review(Struct, frozen=True, kw_only=True):
    """What became of an answer that was left to a person."""

    object: Literal["review"] = "review"
    record: str
    state: Annotated[str, Meta(extra_json_schema={"enum": REVIEW_STATES})]
    verdict: Action | None
    decision: str | None
    answer: Annotated[str | None, Meta(description="`null`: nothing is released.")]
    reason: str | None
    sources: tuple[Citation, ...]
    notes: tuple[str, ...]
    result: str | None
    queued: str | None
    decided: str | None


class CouncilVote(Struct, frozen=True):
    """The vote of one judge."""

    judge: str
    vote: Literal["APPROVE", "REJECT", "ABSTAIN"]
    reason: str
    confidence: float | None


class Tally(Struct, frozen=True):
    """The number of votes of each kind."""

    approve: int
    reject: int
    abstain: int


class ContextSufficiency(Struct, frozen=True):
    """The gate's decision on the evidence of a vote."""

    score: float
    level: Level
    missing: tuple[str, ...]


class CouncilAdvice(Struct, frozen=True):
    """The recommendation of the council, and its votes."""

    question: str
    answer: str | None
    recommendation: str
    votes: tuple[CouncilVote, ...]
    tally: Tally
    concerns: tuple[str, ...]
    context_sufficiency: ContextSufficiency
    record: str | None


class List(Struct, frozen=True, kw_only=True):
    """A list of objects."""

    object: Literal["list"] = "list"
    data: tuple[Any, ...]
    has_more: bool | UnsetType = UNSET


class Reindexed(Struct, frozen=True):
    """The search index was rebuilt."""

    object: Literal["reindex"] = "reindex"


class GuaranteedThresholds(Struct, frozen=True):
    """The thresholds in force."""

    gate: float | None
    confidence: float


class Guarantee(Struct, frozen=True, kw_only=True):
    """Whether the guarantee of the thresholds holds."""

    status: Literal["none", "active", "suspended"]
    since: str | None
    why: str
    certificate: str | None
    promise: str | None
    holds: bool
    thresholds: GuaranteedThresholds


class Monitor(Struct, frozen=True, kw_only=True):
    """The metrics, their alarms and the guarantee."""

    time: str | None
    records: int
    guarantee: Guarantee
    certificates: tuple[Guarantee, ...]
    metrics: Mapping[str, Any]
    alarms: tuple[str, ...]
    deep_checks: Mapping[str, Any]


class Status(Struct, frozen=True):
    """Whether the process is alive or ready."""

    status: str
