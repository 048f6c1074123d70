"""The endpoints of the OpenAPI document. Its schemas are in openapi_schemas.py."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from suffice import __version__
from suffice.text.question import LONGEST_QUESTION

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
# Some regex engines do not count these control characters as whitespace; Python does.
WORDS: Schema = {"type": "string", "pattern": "[^\\s\\x85\\x1c-\\x1f]"}
QUESTION: Schema = {**WORDS, "maxLength": LONGEST_QUESTION}
NAME: Schema = {"type": ["string", "number", "boolean", "null"]}
FLAG: Schema = {"type": "boolean"}
NUMBER: Schema = {"type": "number"}
LIST: Schema = {"type": "array", "items": {}}
FROM: Schema = {"enum": ["index", "request", "both"]}


def object_of(required: str = "", /, **properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": required.split()}


def request(required: str, /, **properties: Schema) -> Schema:
    """The schema of a request body. Optional fields may also be null."""
    must = required.split()
    fields = {
        name: schema if name in must else or_null(schema) for name, schema in properties.items()
    }
    return object_of(required, **fields)


def array(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def named(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


SCHEMAS: dict[str, Schema] = {
    "Error": object_of(
        "error",
        error=object_of(
            "message type param code",
            message=TEXT,
            type=TEXT,
            param=or_null(TEXT),
            code=or_null(TEXT),
        ),
    ),
    "Passage": {
        "anyOf": [
            TEXT,
            object_of("text", text=TEXT, title=NAME, version=NAME, document=NAME, id=NAME),
        ]
    },
    "SufficeOptions": {
        **request("", evidence=array(named("Passage")), tag=TEXT, events=FLAG, **{"from": FROM}),
        # With `from: index`, a request cannot carry passages.
        "anyOf": [
            object_of(evidence=or_null({**LIST, "maxItems": 0})),
            object_of(**{"from": {"enum": ["request", "both", None]}}),
        ],
    },
    "Message": request(
        "role",
        role={"enum": ["system", "developer", "user", "assistant", "tool", "function"]},
        content={"anyOf": [TEXT, array({"anyOf": [named("Part"), named("Image")]})]},
    ),
    "Part": object_of("type text", type={"enum": ["text", "input_text"]}, text=TEXT),
    "Image": {
        "anyOf": [
            object_of(
                "type image_url", type={"const": "image_url"}, image_url=object_of("url", url=TEXT)
            ),
            object_of("type image_url", type={"const": "input_image"}, image_url=TEXT),
        ]
    },
    "UserMessage": object_of("role content", role={"const": "user"}, content=QUESTION),
    "Messages": {**array(named("Message")), "minItems": 1, "contains": named("UserMessage")},
    "ChatRequest": request(
        "messages",
        model=TEXT,
        messages=named("Messages"),
        n={"type": "integer", "minimum": 1, "maximum": 8},
        stream=FLAG,
        suffice=named("SufficeOptions"),
    ),
    "Finding": object_of("check support reason", check=TEXT, support=TEXT, reason=or_null(TEXT)),
    "Claim": object_of(
        "text span findings evidence",
        text=or_null(TEXT),  # null: withheld from this caller
        span=array({"type": "integer"}),
        support=TEXT,
        findings=array(named("Finding")),
        evidence=or_null({"type": "object"}),
    ),
    "Gate": object_of("level score", level=TEXT, score=NUMBER, policy=TEXT),
    "Suffice": object_of(
        "record verdict reason claims share_read sources",
        record=or_null(TEXT),
        gate=named("Gate"),
        verdict=or_null({"enum": ["SERVE", "CAVEAT", "CONFLICT", "WITHHOLD", "REVIEW"]}),
        reason=TEXT,
        claims=array(named("Claim")),
        share_read=NUMBER,
        sources=LIST,
        cached=FLAG,
        repeats=or_null(TEXT),
        review_url=or_null(TEXT),
    ),
    "Sufficiency": object_of("score level factors", score=NUMBER, level=TEXT, factors=array(TEXT)),
    "Completion": object_of(
        "id object created model choices usage suffice sufficiency",
        id=TEXT,
        object={"const": "chat.completion"},
        created={"type": "integer"},
        model=TEXT,
        choices=array(
            object_of(
                "index message finish_reason",
                index={"type": "integer"},
                message=object_of("role content", role={"const": "assistant"}),
                finish_reason=TEXT,
            )
        ),
        usage=object_of("prompt_tokens completion_tokens total_tokens"),
        suffice=named("Suffice"),
        sufficiency=or_null(named("Sufficiency")),
    ),
    "CompletionRequest": request(
        "prompt",
        model=TEXT,
        prompt={"anyOf": [QUESTION, {**array(QUESTION), "minItems": 1, "maxItems": 1}]},
        n={"type": "integer", "minimum": 1, "maximum": 8},
        stream=FLAG,
        suffice=named("SufficeOptions"),
    ),
    "TextCompletion": object_of(
        "id object created model choices usage suffice sufficiency",
        id=TEXT,
        object={"const": "text_completion"},
        created={"type": "integer"},
        model=TEXT,
        choices=array(
            object_of(
                "index text finish_reason", index={"type": "integer"}, text=TEXT, finish_reason=TEXT
            )
        ),
        usage=object_of("prompt_tokens completion_tokens total_tokens"),
        suffice=named("Suffice"),
        sufficiency=or_null(named("Sufficiency")),
    ),
    "Turn": object_of("role content", role={"enum": ["user", "assistant"]}, content=TEXT),
    "MessagesRequest": request(
        "messages max_tokens",
        model=TEXT,
        max_tokens={"type": "integer", "minimum": 1},
        messages={**array(named("Turn")), "minItems": 1, "contains": named("UserMessage")},
        system=TEXT,
        stream=FLAG,
        suffice=named("SufficeOptions"),
    ),
    "AnthropicMessage": object_of(
        "id type role model content stop_reason usage suffice sufficiency",
        id=TEXT,
        type={"const": "message"},
        role={"const": "assistant"},
        model=TEXT,
        content=array(object_of("type", type={"enum": ["text", "tool_use"]})),
        stop_reason={"enum": ["end_turn", "max_tokens", "tool_use", "refusal"]},
        usage=object_of("input_tokens output_tokens"),
        suffice=named("Suffice"),
        sufficiency=or_null(named("Sufficiency")),
    ),
    "AnthropicError": object_of(
        "type error",
        type={"const": "error"},
        error=object_of("type message", type=TEXT, message=TEXT),
    ),
    "ResponseRequest": request(
        "input",
        model=TEXT,
        input={"anyOf": [QUESTION, named("Messages")]},
        instructions=TEXT,
        stream=FLAG,
        suffice=named("SufficeOptions"),
    ),
    "Response": object_of(
        "id object status output usage suffice sufficiency",
        id=TEXT,
        object={"const": "response"},
        status={"enum": ["completed", "incomplete"]},
        output=LIST,
        suffice=named("Suffice"),
        sufficiency=or_null(named("Sufficiency")),
    ),
    "GateRequest": request(
        "question", question=QUESTION, evidence=array(named("Passage")), **{"from": FROM}
    ),
    "GateDecision": object_of(
        "question level score policy reasons missing open passages record sufficiency",
        question=TEXT,
        level={"enum": ["SUFFICIENT", "PARTIAL", "INSUFFICIENT", "CONFLICT", "REVIEW"]},
        score=NUMBER,
        policy=TEXT,
        reasons=array(TEXT),
        missing=array(TEXT),
        open=FLAG,
        passages=LIST,
        record=or_null(TEXT),
        sufficiency=named("Sufficiency"),
    ),
    "CheckRequest": request(
        "answer evidence",
        answer=TEXT,
        evidence=array(named("Passage")),
        question=QUESTION,
        uncited=FLAG,
    ),
    "Checked": object_of(
        "answer verdict reason claims share_read record",
        answer=TEXT,
        verdict={"enum": ["SERVE", "CAVEAT", "CONFLICT", "WITHHOLD", "REVIEW"]},
        reason=TEXT,
        claims=array(named("Claim")),
        share_read=NUMBER,
        record=or_null(TEXT),
    ),
    "FeedbackRequest": request(
        "record rating", record=WORDS, rating={"enum": ["up", "down"]}, comment=TEXT
    ),
    "Feedback": object_of("id object record", id=TEXT, object=TEXT, record=TEXT),
    "Review": object_of(
        "object record state verdict decision answer reason sources notes result queued decided",
        object={"const": "review"},
        record=TEXT,
        state={"enum": ["not_queued", "open", "assigned", "decided", "dismissed"]},
        verdict=or_null({"enum": ["SERVE", "CAVEAT", "CONFLICT", "WITHHOLD", "REVIEW"]}),
        decision=or_null(TEXT),
        answer=or_null(TEXT),  # null: nothing is released
        reason=or_null(TEXT),
        sources=LIST,
        notes=array(TEXT),
        result=or_null(TEXT),
        queued=or_null(TEXT),
        decided=or_null(TEXT),
    ),
    "CouncilRequest": request(
        "question",
        question=QUESTION,
        answer=TEXT,
        evidence=array(named("Passage")),
        route=TEXT,
    ),
    "CouncilAdvice": object_of(
        "question answer recommendation votes tally concerns context_sufficiency record",
        question=TEXT,
        answer=or_null(TEXT),
        recommendation=TEXT,
        votes=array(
            object_of(
                "judge vote reason",
                judge=TEXT,
                vote={"enum": ["APPROVE", "REJECT", "ABSTAIN"]},
                reason=TEXT,
                confidence=or_null(NUMBER),
            )
        ),
        tally=object_of("approve reject abstain"),
        concerns=array(TEXT),
        context_sufficiency=object_of(
            "score level missing", score=NUMBER, level=TEXT, missing=array(TEXT)
        ),
        record=or_null(TEXT),
    ),
    "EmbeddingsRequest": request(
        "input", input={"anyOf": [{**TEXT, "minLength": 1}, {**LIST, "minItems": 1}]}, model=TEXT
    ),
    "List": object_of("object data", object={"const": "list"}, data=LIST),
    "Document": object_of(
        "document collection title version status access",
        document=TEXT,
        collection=TEXT,
        title=TEXT,
        version=TEXT,
        status=TEXT,
        effective=or_null(TEXT),
        expires=or_null(TEXT),
        access=array(TEXT),
    ),
    "Reindexed": object_of("object", object=TEXT),
    "Guarantee": object_of(
        "status since why certificate promise holds thresholds",
        status={"enum": ["none", "active", "suspended"]},
        since=or_null(TEXT),
        why=TEXT,
        certificate=or_null(TEXT),
        promise=or_null(TEXT),
        holds=FLAG,
        thresholds=object_of(),
    ),
    "Monitor": object_of(
        "time records guarantee certificates metrics alarms",
        time=or_null(TEXT),
        records={"type": "integer"},
        guarantee=named("Guarantee"),
        certificates=array(named("Guarantee")),
        metrics=object_of(),
        alarms=array(TEXT),
        deep_checks=object_of(),
    ),
    "Status": object_of("status", status=TEXT),
}


_POSTS = {
    "/v1/chat/completions": ("ChatRequest", "Completion", "A checked chat completion."),
    "/v1/responses": ("ResponseRequest", "Response", "A checked response."),
    "/v1/completions": ("CompletionRequest", "TextCompletion", "A checked completion."),
    "/v1/messages": ("MessagesRequest", "AnthropicMessage", "A checked message."),
    "/v1/embeddings": ("EmbeddingsRequest", "List", "Embeddings from the upstream."),
    "/v1/gate": ("GateRequest", "GateDecision", "Whether the evidence is sufficient."),
    "/v1/check": ("CheckRequest", "Checked", "Whether the evidence supports an answer."),
    "/v1/council/vote": ("CouncilRequest", "CouncilAdvice", "The votes of several judges."),
    "/v1/feedback": ("FeedbackRequest", "Feedback", "A user's rating of an answer."),
}
_GETS = {
    "/v1/models": ("List", "The models that the caller may use."),
    "/v1/guarantee": ("Guarantee", "Whether the guarantee of the thresholds holds."),
    "/v1/monitor": ("Monitor", "The metrics, their alarms and the guarantee."),
    "/healthz": ("Status", "Whether the process is alive."),
    "/readyz": ("Status", "Whether the gateway accepts requests."),
}
_STREAMED = ("Completion", "TextCompletion", "AnthropicMessage", "Response", "Reindexed")


_DECLARED = dict.fromkeys(
    "collection title version effective expires kind access id stream".split(), TEXT
)
"""Metadata of an upload, as form fields or query parameters."""
_COLLECTION: Schema = {"name": "collection", "in": "query", "schema": TEXT}
_DOCUMENT: Schema = {"name": "name", "in": "path", "required": True, "schema": TEXT}


def _documents() -> dict[str, Schema]:
    """The document endpoints. They stream progress if the request accepts `text/event-stream`."""
    form = object_of("file", file=array({"type": "string", "format": "binary"}), **_DECLARED)
    beside = [{"name": name, "in": "query", "schema": TEXT} for name in ("name", *_DECLARED)]
    upload = {
        **_operation("/v1/documents/upload", "List", "Upload documents."),
        "parameters": beside,
        "requestBody": {
            "required": True,
            "content": {
                "multipart/form-data": {"schema": form},
                "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
            },
        },
    }
    page = [
        _COLLECTION,
        {"name": "after", "in": "query", "schema": TEXT},
        {"name": "limit", "in": "query", "schema": {"type": "integer", "minimum": 1}},
    ]
    listed = _operation("/v1/documents", "List", "The documents that the caller may read.")
    show = _operation("/v1/documents/show", "Document", "A document, its versions and its text.")
    retire = _operation("/v1/documents/retire", "Document", "Retire a document as of today.")
    version = {"name": "version", "in": "query", "schema": TEXT}
    return {
        "/v1/documents": {"get": {**listed, "parameters": page}, "post": upload},
        "/v1/documents/reindex": {
            "post": _operation("/v1/documents/reindex", "Reindexed", "Rebuild the search index.")
        },
        "/v1/documents/{name}": {
            "get": {**show, "parameters": [_DOCUMENT, _COLLECTION, version]},
            "delete": {**retire, "parameters": [_DOCUMENT, _COLLECTION]},
        },
    }


@lru_cache(maxsize=1)
def document() -> Schema:
    paths: dict[str, Schema] = {}
    for path, (request, response, summary) in _POSTS.items():
        body = {"required": True, "content": _content(request)}
        paths[path] = {"post": {**_operation(path, response, summary), "requestBody": body}}
    for path, (response, summary) in _GETS.items():
        paths[path] = {"get": _operation(path, response, summary)}
    paths |= _documents()
    reviewed = _operation("/v1/reviews/show", "Review", "What became of a reviewed answer.")
    record = {"name": "record", "in": "path", "required": True, "schema": TEXT}
    paths["/v1/reviews/{record}"] = {"get": {**reviewed, "parameters": [record]}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Suffice", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": SCHEMAS,
            "securitySchemes": {
                "key": {"type": "http", "scheme": "bearer"},
                "x-api-key": {"type": "apiKey", "in": "header", "name": "x-api-key"},
            },
        },
        "security": [{"key": []}, {"x-api-key": []}, {}],
    }


def _operation(path: str, response: str, summary: str) -> Schema:
    content = _content(response)
    error = "AnthropicError" if response == "AnthropicMessage" else "Error"
    if response in _STREAMED:
        content["text/event-stream"] = {"schema": object_of("data", data=TEXT, event=TEXT)}
    return {
        "operationId": path.removeprefix("/v1").strip("/").replace("/", "_"),
        "summary": summary,
        "responses": {
            "200": {"description": summary, "content": content},
            "default": {"description": "An error.", "content": _content(error)},
        },
    }


def _content(name: str) -> Schema:
    return {"application/json": {"schema": named(name)}}
