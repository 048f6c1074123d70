"""Read an upload: files in a multipart form, or one file as the raw body, and their metadata."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from suffice.errors import Unreadable
from suffice.evidence.read import FrontMatter
from suffice.evidence.read.frontmatter import declared
from suffice.server.errors import ApiError, bad
from suffice.server.request import RequestContext, body_parts, in_time, joined
from suffice.settings import LimitSettings
from suffice.sql.storable import is_storable

DECLARED = ("title", "version", "effective", "expires", "kind", "access", "id")
"""Metadata fields of an upload; they mean the same as in front matter."""
_OTHERS = ("name", "collection", "stream")
_LONGEST_NAME = 500
_FIELD = 65_536


@dataclass(frozen=True, slots=True)
class File:
    """A file to index and its document name."""

    name: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Upload:
    """The files of a request, and the metadata that applies to all of them."""

    files: tuple[File, ...]
    given: FrontMatter
    collection: str
    stream: bool


async def read_upload(context: RequestContext) -> Upload:
    limits = context.gateway.state.settings.server.limits
    kind = context.request.headers.get("content-type", "").partition(";")[0].strip().lower()
    fields = dict(context.request.query_params)
    if kind == "multipart/form-data":
        files, more = await in_time(limits, _form(context, limits))
        if twice := sorted(fields.keys() & more.keys()):
            raise bad(f"'{twice[0]}' is given both in the form and in the URL.", twice[0])
        fields |= more
    else:
        data = await in_time(limits, joined(context.request, limits.upload_bytes))
        files = [File("", data)]
    return _checked(files, fields)


async def _form(
    context: RequestContext, limits: LimitSettings
) -> tuple[list[File], dict[str, str]]:
    """The files and fields of a form. Large files are spooled to disk."""
    parser = MultiPartParser(
        context.request.headers,
        body_parts(context.request, limits.upload_bytes),
        max_files=limits.upload_files,
        max_fields=len(DECLARED) + len(_OTHERS),
        max_part_size=_FIELD,
    )
    try:
        form = await parser.parse()
    except MultiPartException as problem:
        raise bad(f"The form cannot be read: {problem.message}", code="invalid_form") from None
    except KeyError:
        raise bad("The form has no boundary.", code="invalid_form") from None
    files: list[File] = []
    fields: dict[str, str] = {}
    try:
        for key, value in form.multi_items():
            if isinstance(value, UploadFile):
                files.append(File(value.filename or "", await value.read()))
            elif key in fields:
                raise bad(f"'{key}' is given twice.", key)
            else:
                fields[key] = value
    finally:
        await form.close()
    return files, fields


def _checked(files: list[File], fields: Mapping[str, str]) -> Upload:
    for key in fields:
        if key not in (*DECLARED, *_OTHERS):
            allowed = ", ".join((*_OTHERS, *DECLARED))
            raise bad(f"Unknown field '{key[:60]}'. Allowed: {allowed}.", key[:60])
    if not files:
        raise bad("The form contains no file. Send the file as a part with a file name.", "file")
    if "name" in fields and len(files) > 1:
        raise bad("'name' can only be given for a single file.", "name")
    named = [File(document_name(fields.get("name") or one.name), one.data) for one in files]
    if len({one.name for one in named}) < len(named):
        raise bad("Two files have the same name.", "file")
    try:
        given = declared({key: fields[key] for key in DECLARED if fields.get(key)})
    except Unreadable as flaw:
        raise ApiError(422, f"The request {flaw.message}. {flaw.remedy}", "unreadable") from None
    return Upload(tuple(named), given, collection_of(fields), flag(fields, "stream"))


def collection_of(fields: Mapping[str, str]) -> str:
    name = fields.get("collection") or "default"
    if not is_storable(name) or len(name) > _LONGEST_NAME or not name.isprintable():
        raise bad("'collection' is not a valid name.", "collection")
    return name


def flag(fields: Mapping[str, str], name: str) -> bool:
    value = fields.get(name, "false")
    if value not in ("true", "false"):
        raise bad(f"'{name}' must be true or false.", name)
    return value == "true"


def document_name(name: str) -> str:
    """Validate a document name: a relative path, like those in an indexed folder."""
    if not name:
        raise bad("The file has no name. Add it to the URL, for example '?name=leave.md'.", "name")
    parts = name.split("/")
    odd = any(part in ("", ".", "..") or part != part.strip() for part in parts)
    if odd or "\\" in name or not name.isprintable() or not is_storable(name):
        raise bad(f"{name[:100]!r} is not a valid document name: use a relative path.", "name")
    if len(name) > _LONGEST_NAME:
        raise bad(f"A document name can have at most {_LONGEST_NAME} characters.", "name")
    return name
