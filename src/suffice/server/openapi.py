"""The OpenAPI document: the endpoints, and the objects of schema.py that they read and return."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec

from suffice import __version__, schema
from suffice.server import api

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}


_POSTS: dict[str, tuple[type[msgspec.Struct], type[msgspec.Struct], str]] = {
    "/v1/chat/completions": (
        api.ChatRequest,
        api.Completion,
        "A checked chat completion.",
    ),
    "/v1/responses": (api.ResponseRequest, api.Response, "A checked response."),
    "/v1/completions": (
        api.CompletionRequest,
        api.TextCompletion,
        "A checked completion.",
    ),
    "/v1/messages": (api.MessagesRequest, api.AnthropicMessage, "A checked message."),
    "/v1/embeddings": (
        api.EmbeddingsRequest,
        api.List,
        "Embeddings from the upstream.",
    ),
    "/v1/gate": (
        api.GateRequest,
        api.GateDecision,
        "Whether the evidence is sufficient.",
    ),
    "/v1/check": (
        api.CheckRequest,
        api.Checked,
        "Whether the evidence supports an answer.",
    ),
    "/v1/council/vote": (
        api.CouncilRequest,
        api.CouncilAdvice,
        "The votes of several judges.",
    ),
    "/v1/feedback": (
        api.FeedbackRequest,
        api.Feedback,
        "A user's rating of an answer.",
    ),
}
_GETS: dict[str, tuple[type[msgspec.Struct], str]] = {
    "/v1/models": (api.List, "The models that the caller may use."),
    "/v1/guarantee": (api.Guarantee, "Whether the guarantee of the thresholds holds."),
    "/v1/monitor": (api.Monitor, "The metrics, their alarms and the guarantee."),
    "/healthz": (api.Status, "Whether the process is alive."),
    "/readyz": (api.Status, "Whether the gateway accepts requests."),
}
_STREAMED = (
    api.Completion,
    api.TextCompletion,
    api.AnthropicMessage,
    api.Response,
    api.Reindexed,
)


_DECLARED = dict.fromkeys(
    "collection title version effective expires kind access id stream".split(), TEXT
)
"""Metadata of an upload, as form fields or query parameters."""
_COLLECTION: Schema = {"name": "collection", "in": "query", "schema": TEXT}
_DOCUMENT: Schema = {"name": "name", "in": "path", "required": True, "schema": TEXT}


def _documents() -> dict[str, Schema]:
    """The document endpoints. They stream progress if the request accepts `text/event-stream`."""
    files = {"type": "array", "items": {"type": "string", "format": "binary"}}
    form = {
        "type": "object",
        "properties": {"file": files, **_DECLARED},
        "required": ["file"],
    }
    beside = [{"name": name, "in": "query", "schema": TEXT} for name in ("name", *_DECLARED)]
    upload = {
        **_operation("/v1/documents/upload", api.List, "Upload documents."),
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
    listed = _operation("/v1/documents", api.List, "The documents that the caller may read.")
    show = _operation(
        "/v1/documents/show", schema.Document, "A document, its versions and its text."
    )
    retire = _operation("/v1/documents/retire", schema.Document, "Retire a document as of today.")
    version = {"name": "version", "in": "query", "schema": TEXT}
    return {
        "/v1/documents": {"get": {**listed, "parameters": page}, "post": upload},
        "/v1/documents/reindex": {
            "post": _operation("/v1/documents/reindex", api.Reindexed, "Rebuild the search index.")
        },
        "/v1/documents/{name}": {
            "get": {**show, "parameters": [_DOCUMENT, _COLLECTION, version]},
            "delete": {**retire, "parameters": [_DOCUMENT, _COLLECTION]},
        },
    }


_EVENT: Schema = {
    "type": "object",
    "properties": {"data": TEXT, "event": TEXT},
    "required": ["data"],
}
_NO_PASSAGES_FROM_THE_INDEX: list[Schema] = [
    {"properties": {"evidence": {"anyOf": [{"type": "array", "maxItems": 0}, {"type": "null"}]}}},
    {"properties": {"from": {"enum": ["request", "both", None]}}},
]
"""With `from: index`, a request cannot carry passages."""


@lru_cache(maxsize=1)
def schemas() -> Schema:
    """The schemas of all objects that the gateway reads and returns, by name."""
    shapes: set[type[msgspec.Struct]] = {
        api.UserMessage,
        api.Passage,
        api.Review,
    }
    shapes |= {
        api.Error,
        api.AnthropicError,
        api.List,
        api.Reindexed,
        schema.Document,
    }
    shapes |= {shape for request, response, _ in _POSTS.values() for shape in (request, response)}
    shapes |= {response for response, _ in _GETS.values()}
    ordered = sorted(shapes, key=lambda shape: shape.__name__)
    _, found = msgspec.json.schema_components(ordered, ref_template=schema.REFERENCE)
    found["SufficeOptions"]["anyOf"] = _NO_PASSAGES_FROM_THE_INDEX
    return found


@lru_cache(maxsize=1)
def document() -> Schema:
    paths: dict[str, Schema] = {}
    for path, (request, response, summary) in _POSTS.items():
        body = {"required": True, "content": _content(request)}
        paths[path] = {"post": {**_operation(path, response, summary), "requestBody": body}}
    for path, (response, summary) in _GETS.items():
        paths[path] = {"get": _operation(path, response, summary)}
    paths |= _documents()
    reviewed = _operation("/v1/reviews/show", api.Review, "What became of a reviewed answer.")
    record = {"name": "record", "in": "path", "required": True, "schema": TEXT}
    paths["/v1/reviews/{record}"] = {"get": {**reviewed, "parameters": [record]}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Suffice", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": schemas(),
            "securitySchemes": {
                "key": {"type": "http", "scheme": "bearer"},
                "x-api-key": {"type": "apiKey", "in": "header", "name": "x-api-key"},
            },
        },
        "security": [{"key": []}, {"x-api-key": []}, {}],
    }


def _operation(path: str, response: type[msgspec.Struct], summary: str) -> Schema:
    content = _content(response)
    error = api.AnthropicError if response is api.AnthropicMessage else api.Error
    if response in _STREAMED:
        content["text/event-stream"] = {"schema": _EVENT}
    return {
        "operationId": path.removeprefix("/v1").strip("/").replace("/", "_"),
        "summary": summary,
        "responses": {
            "200": {"description": summary, "content": content},
            "default": {"description": "An error.", "content": _content(error)},
        },
    }


def _content(shape: type[msgspec.Struct]) -> Schema:
    reference = {"$ref": schema.REFERENCE.format(name=shape.__name__)}
    return {"application/json": {"schema": reference}}
