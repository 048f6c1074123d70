"""The OpenAPI document: endpoints, request bodies and responses.

Objects are open: fields that are not listed here are passed through unchanged.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from suffice import __version__
from suffice.text.asked import LONGEST_QUESTION

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
# Some regex engines do not count these control characters as whitespace; Python does.
_WORDS: Schema = {"type": "string", "pattern": "[^\\s\\x85\\x1c-\\x1f]"}
_QUESTION: Schema = {**_WORDS, "maxLength": LONGEST_QUESTION}
_NAME: Schema = {"type": ["string", "number", "boolean", "null"]}
_FLAG: Schema = {"type": "boolean"}
_NUMBER: Schema = {"type": "number"}
_LIST: Schema = {"type": "array", "items": {}}
_FROM: Schema = {"enum": ["index", "request", "both"]}


def _object(required: str = "", /, **properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": required.split()}


def _request(required: str, /, **properties: Schema) -> Schema:
    """A request body: fields that are not required may also be null."""
    must = required.split()
    fields = {
        name: schema if name in must else _or_null(schema) for name, schema in properties.items()
    }
    return _object(required, **fields)


def _array(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _named(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


_SCHEMAS: dict[str, Schema] = {
    "Error": _object(
        "error",
        error=_object(
            "message type param code",
            message=_TEXT,
            type=_TEXT,
            param=_or_null(_TEXT),
            code=_or_null(_TEXT),
        ),
    ),
    "Passage": {
        "anyOf": [
            _TEXT,
            _object("text", text=_TEXT, title=_NAME, version=_NAME, document=_NAME, id=_NAME),
        ]
    },
    "Ours": {
        **_request(
            "", evidence=_array(_named("Passage")), tag=_TEXT, events=_FLAG, **{"from": _FROM}
        ),
        # With `from: index`, a request cannot carry passages.
        "anyOf": [
            _object(evidence=_or_null({**_LIST, "maxItems": 0})),
            _object(**{"from": {"enum": ["request", "both", None]}}),
        ],
    },
    "Message": _request(
        "role",
        role={"enum": ["system", "developer", "user", "assistant", "tool", "function"]},
        content={"anyOf": [_TEXT, _array({"anyOf": [_named("Part"), _named("Image")]})]},
    ),
    "Part": _object("type text", type={"enum": ["text", "input_text"]}, text=_TEXT),
    "Image": {
        "anyOf": [
            _object(
                "type image_url", type={"const": "image_url"}, image_url=_object("url", url=_TEXT)
            ),
            _object("type image_url", type={"const": "input_image"}, image_url=_TEXT),
        ]
    },
    "Asked": _object("role content", role={"const": "user"}, content=_QUESTION),
    "Messages": {**_array(_named("Message")), "minItems": 1, "contains": _named("Asked")},
    "ChatRequest": _request(
        "messages",
        model=_TEXT,
        messages=_named("Messages"),
        n={"type": "integer", "minimum": 1, "maximum": 8},
        stream=_FLAG,
        suffice=_named("Ours"),
    ),
    "Finding": _object("check support reason", check=_TEXT, support=_TEXT, reason=_TEXT),
    "Claim": _object(
        "text span findings evidence",
        text=_TEXT,
        span=_array({"type": "integer"}),
        support=_TEXT,
        findings=_array(_named("Finding")),
        evidence=_or_null({"type": "object"}),
    ),
    "Gate": _object("level score", level=_TEXT, score=_NUMBER, policy=_TEXT),
    "Suffice": _object(
        "record verdict reason claims share_read sources",
        record=_or_null(_TEXT),
        gate=_named("Gate"),
        verdict=_or_null({"enum": ["SERVE", "CAVEAT", "CONFLICT", "WITHHOLD", "REVIEW"]}),
        reason=_TEXT,
        claims=_array(_named("Claim")),
        share_read=_NUMBER,
        sources=_LIST,
    ),
    "Sufficiency": _object(
        "score level factors", score=_NUMBER, level=_TEXT, factors=_array(_TEXT)
    ),
    "Completion": _object(
        "id object created model choices usage suffice sufficiency",
        id=_TEXT,
        object={"const": "chat.completion"},
        created={"type": "integer"},
        model=_TEXT,
        choices=_array(
            _object(
                "index message finish_reason",
                index={"type": "integer"},
                message=_object("role content", role={"const": "assistant"}),
                finish_reason=_TEXT,
            )
        ),
        usage=_object("prompt_tokens completion_tokens total_tokens"),
        suffice=_named("Suffice"),
        sufficiency=_or_null(_named("Sufficiency")),
    ),
    "ResponseRequest": _request(
        "input",
        model=_TEXT,
        input={"anyOf": [_QUESTION, _named("Messages")]},
        instructions=_TEXT,
        stream=_FLAG,
        suffice=_named("Ours"),
    ),
    "Response": _object(
        "id object status output usage suffice sufficiency",
        id=_TEXT,
        object={"const": "response"},
        status={"enum": ["completed", "incomplete"]},
        output=_LIST,
        suffice=_named("Suffice"),
        sufficiency=_or_null(_named("Sufficiency")),
    ),
    "GateRequest": _request(
        "question", question=_QUESTION, evidence=_array(_named("Passage")), **{"from": _FROM}
    ),
    "GateDecision": _object(
        "question level score policy reasons missing open passages record sufficiency",
        question=_TEXT,
        level={"enum": ["SUFFICIENT", "PARTIAL", "INSUFFICIENT", "CONFLICT", "REVIEW"]},
        score=_NUMBER,
        policy=_TEXT,
        reasons=_array(_TEXT),
        missing=_array(_TEXT),
        open=_FLAG,
        passages=_LIST,
        record=_or_null(_TEXT),
        sufficiency=_named("Sufficiency"),
    ),
    "CheckRequest": _request(
        "answer evidence",
        answer=_TEXT,
        evidence=_array(_named("Passage")),
        question=_QUESTION,
        uncited=_FLAG,
    ),
    "Checked": _object(
        "answer verdict reason claims share_read record",
        answer=_TEXT,
        verdict={"enum": ["SERVE", "CAVEAT", "CONFLICT", "WITHHOLD", "REVIEW"]},
        reason=_TEXT,
        claims=_array(_named("Claim")),
        share_read=_NUMBER,
        record=_or_null(_TEXT),
    ),
    "FeedbackRequest": _request(
        "record rating", record=_WORDS, rating={"enum": ["up", "down"]}, comment=_TEXT
    ),
    "Feedback": _object("id object record", id=_TEXT, object=_TEXT, record=_TEXT),
    "CouncilRequest": _request(
        "question",
        question=_QUESTION,
        answer=_TEXT,
        evidence=_array(_named("Passage")),
        route=_TEXT,
    ),
    "CouncilAdvice": _object(
        "question answer recommendation votes tally concerns context_sufficiency record",
        question=_TEXT,
        answer=_or_null(_TEXT),
        recommendation=_TEXT,
        votes=_array(
            _object(
                "judge vote reason",
                judge=_TEXT,
                vote={"enum": ["APPROVE", "REJECT", "ABSTAIN"]},
                reason=_TEXT,
                confidence=_or_null(_NUMBER),
            )
        ),
        tally=_object("approve reject abstain"),
        concerns=_array(_TEXT),
        context_sufficiency=_object(
            "score level missing", score=_NUMBER, level=_TEXT, missing=_array(_TEXT)
        ),
        record=_or_null(_TEXT),
    ),
    "EmbeddingsRequest": _request("input", input={"anyOf": [_TEXT, _LIST]}, model=_TEXT),
    "List": _object("object data", object={"const": "list"}, data=_LIST),
    "Document": _object(
        "document collection title version status access",
        document=_TEXT,
        collection=_TEXT,
        title=_TEXT,
        version=_TEXT,
        status=_TEXT,
        effective=_or_null(_TEXT),
        expires=_or_null(_TEXT),
        access=_array(_TEXT),
    ),
    "Reindexed": _object("object embedded", object=_TEXT, embedded={"type": "integer"}),
    "Status": _object("status", status=_TEXT),
}

_POSTS = {
    "/v1/chat/completions": ("ChatRequest", "Completion", "A checked chat completion."),
    "/v1/responses": ("ResponseRequest", "Response", "A checked response."),
    "/v1/embeddings": ("EmbeddingsRequest", "List", "Embeddings from the upstream."),
    "/v1/gate": ("GateRequest", "GateDecision", "Whether the evidence is enough."),
    "/v1/check": ("CheckRequest", "Checked", "Whether a draft stays inside its evidence."),
    "/v1/council/vote": ("CouncilRequest", "CouncilAdvice", "The votes of several judges."),
    "/v1/feedback": ("FeedbackRequest", "Feedback", "A user's rating of an answer."),
}
_GETS = {
    "/v1/models": ("List", "The models that the caller may use."),
    "/healthz": ("Status", "Whether the process is alive."),
    "/readyz": ("Status", "Whether the gateway accepts requests."),
}
_STREAMED = ("Completion", "Response", "Reindexed")


_DECLARED = dict.fromkeys(
    "collection title version effective expires kind access id stream".split(), _TEXT
)
"""What may be sent beside a file, as form fields or in the URL."""
_COLLECTION: Schema = {"name": "collection", "in": "query", "schema": _TEXT}
_DOCUMENT: Schema = {"name": "name", "in": "path", "required": True, "schema": _TEXT}


def _documents() -> dict[str, Schema]:
    """The endpoints for documents. Their `progress` is sent as events if the request asks for
    `text/event-stream`."""
    form = _object("file", file=_array({"type": "string", "format": "binary"}), **_DECLARED)
    beside = [{"name": name, "in": "query", "schema": _TEXT} for name in ("name", *_DECLARED)]
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
        {"name": "after", "in": "query", "schema": _TEXT},
        {"name": "limit", "in": "query", "schema": {"type": "integer", "minimum": 1}},
    ]
    listed = _operation("/v1/documents", "List", "The documents that the caller may read.")
    show = _operation("/v1/documents/show", "Document", "A document, its versions and its text.")
    retire = _operation("/v1/documents/retire", "Document", "Retire a document as of today.")
    version = {"name": "version", "in": "query", "schema": _TEXT}
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
    return {
        "openapi": "3.1.0",
        "info": {"title": "Suffice", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": _SCHEMAS,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"key": []}, {}],
    }


def _operation(path: str, response: str, summary: str) -> Schema:
    content = _content(response)
    if response in _STREAMED:
        content["text/event-stream"] = {"schema": _object("data", data=_TEXT, event=_TEXT)}
    return {
        "operationId": path.removeprefix("/v1").strip("/").replace("/", "_"),
        "summary": summary,
        "responses": {
            "200": {"description": summary, "content": content},
            "default": {"description": "An error.", "content": _content("Error")},
        },
    }


def _content(name: str) -> Schema:
    return {"application/json": {"schema": _named(name)}}
