"""`/v1/documents`: upload, list, show, retire and re-index, for keys with the role `librarian`.

A librarian can access only the collections of its key and the documents that its labels permit.
Documents that it may not read change nothing in a reply: an upload of the same name becomes a
document of its own, and no number counts them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.responses import Response

from suffice import schema
from suffice.access.keys import ALL
from suffice.errors import (
    DocumentMissing,
    EvidenceError,
    LabelNotHeld,
    SufficeError,
    Unreadable,
)
from suffice.evidence.index import Filter, today
from suffice.evidence.ingest import Progress
from suffice.evidence.read import FrontMatter
from suffice.evidence.read.frontmatter import declared
from suffice.evidence.rows import VersionInfo, newest
from suffice.log.librarian import Librarian
from suffice.server import api
from suffice.server.errors import EVENTS_TYPE, ApiError, bad, event, fault_of
from suffice.server.gateway import Job, Work
from suffice.server.request import RequestContext, as_response, body_parts, in_time, joined
from suffice.server.sending import Emit, Events
from suffice.settings import LimitSettings
from suffice.text.storable import is_storable

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
    named = [File(document_name(fields.get("name") or file.name), file.data) for file in files]
    if len({file.name for file in named}) < len(named):
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


_PAGE, _MOST = 100, 1_000


async def add(context: RequestContext) -> Response:
    """Upload files. A file that cannot be read does not stop the others."""
    upload = await read_upload(context)
    _may_use(context, upload.collection)
    librarian = _librarian(context)

    def work(progress: Progress) -> dict[str, Any]:
        done: list[dict[str, Any]] = []
        refused: list[EvidenceError] = []
        for n, file in enumerate(upload.files):
            step = _only(progress, "files", n, len(upload.files))
            step()
            try:
                done.append(_uploaded(context, librarian, upload, file, step))
            except (Unreadable, LabelNotHeld) as problem:
                error = {"document": file.name, "collection": upload.collection}
                done.append({**error, "error": str(problem)})
                refused.append(problem)
        if len(refused) == len(done):
            raise refused[0] if len(done) == 1 else Unreadable(_all_reasons(done))
        return {"object": "list", "data": done}

    stream = upload.stream or _wants_events(context)
    return await _answer(context, work, stream=stream)


def _uploaded(
    context: RequestContext, librarian: Librarian, upload: Upload, file: File, progress: Progress
) -> dict[str, Any]:
    store, collection = librarian.library.store, upload.collection
    report, labels = librarian.upload(
        file.data,
        file.name,
        upload.given,
        collection=collection,
        labels=context.caller.labels,
        progress=progress,
    )
    versions = store.versions(collection=collection, document=file.name)
    shown = newest([version for version in versions if version.access == labels], today())
    result: Literal["added", "changed", "unchanged"]
    result = "added" if report.added else "changed" if report.changed else "unchanged"
    unread = [key for _, key in report.unread]
    fields = schema.version_fields(shown[0], today())
    uploaded: dict[str, Any] = schema.tree(
        schema.Document(**fields, result=result, unread=tuple(unread))
    )
    return uploaded


def _all_reasons(done: list[dict[str, Any]]) -> str:
    return "None of the files could be read. " + " ".join(entry["error"] for entry in done)


async def list_(context: RequestContext) -> Response:
    """List the readable documents by name. `after` is the last name of the previous page."""
    fields = dict(context.request.query_params)
    collection, after = collection_of(fields), fields.get("after", "")
    _may_use(context, collection)
    limit = fields.get("limit", str(_PAGE))
    if not limit.isascii() or not limit.isdecimal() or not 1 <= int(limit[:9]) <= _MOST:
        raise bad(f"'limit' must be a whole number from 1 to {_MOST}.", "limit")
    store = context.gateway.library.store

    def readable() -> list[VersionInfo]:
        mine = [
            version for version in store.versions(collection=collection) if _reads(context, version)
        ]
        return sorted(newest(mine, today()), key=lambda info: info.document)

    rest = [info for info in await context.gateway.work.run(readable) if info.document > after]
    page = tuple(schema.Version.of(info, today()) for info in rest[: int(limit)])
    return as_response(api.List(data=page, has_more=len(rest) > len(page)))


async def show(context: RequestContext) -> Response:
    """Show a document: all its versions, and the text of one version."""
    name, collection, version = _named(context)

    def shown() -> schema.Document:
        store = context.gateway.library.store
        line = _mine(context, partial(store.history, collection, name), name)
        chosen = [info for info in line if version in (info.version, info.key)]
        if not version:
            current = [info for info in line if info.document == name]
            chosen = newest(current, today())
        if not chosen:
            raise DocumentMissing(f"'{name}' has no version '{version}'.")
        info = chosen[-1]
        versions = tuple(schema.Version.of(item, today()) for item in line)
        text = store.text(collection, info.document, info.key, info.access)
        fields = schema.version_fields(info, today())
        return schema.Document(**fields, versions=versions, text=text)

    return as_response(await context.gateway.work.run(shown))


async def retire(context: RequestContext) -> Response:
    """Retire a document as of today. Its versions stay in the store."""
    name, collection, _ = _named(context)
    librarian = _librarian(context)

    def work(progress: Any) -> dict[str, Any]:
        store = librarian.library.store
        named = partial(store.versions, collection=collection, document=name)
        _mine(context, named, name)
        may_read = Filter(collection=collection, labels=context.caller.labels).may_use
        librarian.retire(name, collection=collection, may_read=may_read)
        retired = newest(_mine(context, named, name), today())[0]
        shown: dict[str, Any] = schema.tree(schema.Version.of(retired, today()))
        return shown

    return await _answer(context, work, stream=_wants_events(context))


async def reindex(context: RequestContext) -> Response:
    """Rebuild the search index of the whole store."""
    if ALL not in context.caller.collections:
        raise _no_right("Re-indexing needs a key for all collections.")
    stream = flag(dict(context.request.query_params), "stream") or _wants_events(context)
    librarian = _librarian(context)

    def work(progress: Progress) -> dict[str, Any]:
        step = _only(progress, "index", 0, 1)
        step()
        librarian.reindex(step)
        return {"object": "reindex"}

    return await _answer(context, work, stream=stream)


def _only(progress: Progress, what: str, done: int, total: int) -> Callable[..., None]:
    """Report one step whatever is reported: the steps of indexing count all passages of the store,
    also those that the caller may not read."""

    def step(*_: object) -> None:
        progress(what, done, total)

    return step


async def _answer(context: RequestContext, work: Work, *, stream: bool) -> Response:
    job = context.gateway.document_jobs.start(work)
    if stream:
        keep_alive = context.gateway.state.settings.server.keep_alive_seconds
        return Events(partial(_emit_progress, job), keep_alive)
    return as_response(await asyncio.shield(asyncio.wrap_future(job.result)))


async def _emit_progress(job: Job, emit: Emit) -> None:
    """Emit the steps of a job, then its result or an error."""
    while (step := await job.steps.get()) is not None:
        what, done, total = step
        await emit([event({"step": what, "done": done, "total": total}, "progress")])
    try:
        last = event(await asyncio.wrap_future(job.result), "result")
    except (ApiError, SufficeError) as problem:
        last = event(fault_of(problem).body, "error")
    await emit([last])


def _may_use(context: RequestContext, collection: str) -> None:
    if not context.caller.may_use(collection):
        raise _no_right(f"This key may not use the collection '{collection}'.")


def _no_right(message: str) -> ApiError:
    return ApiError(403, message, "no_right")


def _librarian(context: RequestContext) -> Librarian:
    gateway, caller = context.gateway, context.caller
    return Librarian(gateway.library, gateway.log, caller.name, caller.user)


def _wants_events(context: RequestContext) -> bool:
    return EVENTS_TYPE in context.request.headers.get("accept", "")


def _named(context: RequestContext) -> tuple[str, str, str]:
    fields = dict(context.request.query_params)
    collection = collection_of(fields)
    _may_use(context, collection)
    return context.request.path_params["name"], collection, fields.get("version", "")


def _reads(context: RequestContext, version: VersionInfo) -> bool:
    allowed = Filter(collection=version.collection, labels=context.caller.labels)
    return allowed.may_read(version)


def _mine(
    context: RequestContext, versions: Callable[[], list[VersionInfo]], name: str
) -> list[VersionInfo]:
    """The versions that the caller may read. Raise `DocumentMissing` if there are none, with the
    same message whether or not there are others."""
    readable: list[VersionInfo] = []
    with suppress(DocumentMissing):
        readable = [version for version in versions() if _reads(context, version)]
    if not readable:
        raise DocumentMissing(f"There is no document '{name}'.")
    return readable
