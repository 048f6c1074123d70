"""The endpoints of the OpenAPI document. Its schemas are in openapi_schemas.py."""

from __future__ import annotations

from functools import lru_cache

from suffice import __version__
from suffice.server.json_schema import TEXT, Schema, array, named, object_of
from suffice.server.openapi_schemas import SCHEMAS

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
