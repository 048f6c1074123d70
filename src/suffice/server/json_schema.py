"""Types and constructors for the JSON schemas of the OpenAPI document."""

from __future__ import annotations

from typing import Any

from suffice.text.asked import LONGEST_QUESTION

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
