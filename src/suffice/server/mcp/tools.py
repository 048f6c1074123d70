"""The tools of the MCP server, without the protocol.

Results are plain values. Documents that a caller's labels do not allow look as if they do not
exist.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from time import perf_counter
from typing import Any, TypeVar, get_type_hints

import msgspec
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import ValidationError

from suffice import schema
from suffice.access.keys import Principal, Role
from suffice.access.visibility import Reader
from suffice.engine import Caller, Engine
from suffice.errors import DocumentMissing, EvidenceError, StoreError, SufficeError
from suffice.evidence.index import Filter, today
from suffice.evidence.inputs import Given
from suffice.evidence.library import Library
from suffice.evidence.rows import VersionInfo
from suffice.evidence.search import StoredDocuments
from suffice.log.log import Log
from suffice.review.case import Rating
from suffice.review.review import Review
from suffice.server.errors import fault_of
from suffice.server.telemetry.stats import CURRENT_STATS, RequestStats, StatsListener
from suffice.types import Level, Verdict

PAGE = 20_000
"""Number of characters per page of a document."""
_ADVICE = {
    Level.SUFFICIENT: "The evidence is sufficient. Answer only from these passages and cite them.",
    Level.PARTIAL: "Answer only what the passages say, and say what is missing.",
    Level.INSUFFICIENT: "Do not answer from memory. Say what is missing and what to do next.",
    Level.CONFLICT: "The sources disagree. State both sides; do not silently choose one.",
    Level.REVIEW: "Could not decide whether the evidence is sufficient. Have a person review it.",
}


@dataclass(frozen=True, slots=True)
class ToolCaller:
    """The caller: the name in its records, and the labels it may read."""

    name: str = ""
    labels: frozenset[str] = frozenset()
    by_key: bool = False
    """Whether the caller sent an API key. It may then rate only its own answers."""
    user: str = ""
    """The user on whose behalf the key is used."""
    team: str = ""
    roles: frozenset[Role] = frozenset({Role.CALLER})

    def has(self, role: Role) -> bool:
        return Principal("", self.name, self.roles).has(role)


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools for a collection. They are opened once and shared by all callers."""

    engine: Engine
    collection: str = "default"

    @property
    def library(self) -> Library:
        """The library of the engine."""
        return self.engine.library

    @property
    def log(self) -> Log | None:
        return self.engine.log

    def search(self, who: ToolCaller, question: str, top: int | None = None) -> schema.SearchResult:
        """Search for passages and return them with the gate's decision."""
        caller = self._caller(who)
        search = self.engine.search(caller.allowed, top=top)
        pipeline = self.engine.pipeline(caller, retriever=search)
        evidence, decision = pipeline.retrieve_and_gate(question)
        if stats := CURRENT_STATS.get():
            stats.gates.append(decision)
        return schema.SearchResult(
            gate=schema.FullGate.of(decision),
            advice=_ADVICE[decision.level],
            question=evidence.question,
            passages=tuple(map(schema.FoundPassage.of, evidence)),
            notes=evidence.notes,
            record=decision.record or None,
        )

    def ask(self, who: ToolCaller, question: str) -> schema.Answer:
        """Write, check and cite an answer; return the verdict on it."""
        verdict = self.engine.pipeline(self._caller(who)).answer(question)
        return schema.Answer.of(_noted(verdict))

    def validate(
        self,
        who: ToolCaller,
        draft: str,
        question: str = "",
        passages: Sequence[str] = (),
        texts: Sequence[str] = (),
    ) -> schema.Validation:
        """Check a draft, claim by claim, against the passages with these ids, followed by the
        texts. If neither is given, the evidence comes from a search."""
        caller = self._caller(who)
        evidence: list[Given] = [*self._named(who, passages), *texts]
        gate: schema.FullGate | None = None
        if not evidence:
            if not question.strip():
                raise EvidenceError(
                    "There is nothing to check the draft against.",
                    remedy="Pass the question, passage ids or texts.",
                )
            pipeline = replace(self.engine.pipeline(caller), record=None)
            found, decision = pipeline.retrieve_and_gate(question)
            gate, evidence = schema.FullGate.of(decision), list(found.items)
        checker = self.engine.checker(caller)
        verdict = _noted(checker.check(draft, evidence, question or None))
        return schema.Validation(**schema.checked_fields(verdict), gate=gate)

    def passage(self, who: ToolCaller, id: str) -> schema.ShownPassage:
        """A passage with its full text and the version of its document."""
        (found,) = self._named(who, [id])
        versions = self._versions(who, found.document)
        known = [one for one in versions if found.id.startswith(f"{one.document}@{one.key}#")]
        return schema.ShownPassage(
            **schema.origin(found),
            text=found.text,
            kind=found.kind,
            span=(found.start, found.end),
            of=schema.Version.of(known[0], today()) if known else None,
        )

    def document(
        self, who: ToolCaller, name: str, version: str = "", start: int = 0
    ) -> schema.ShownDocument:
        """A version of a document (default: in force), a page of its text, and all versions."""
        chosen, text = self.text(who, name, version)
        page = text[start : start + PAGE]
        more = start + PAGE if start + PAGE < len(text) else None
        return schema.ShownDocument(
            **schema.version_fields(chosen, today()),
            text=page,
            characters=len(text),
            next_start=more,
            versions=tuple(
                schema.VersionName(version.version, version.key, version.status(today()))
                for version in self._versions(who, name)
            ),
        )

    def text(self, who: ToolCaller, name: str, version: str = "") -> tuple[VersionInfo, str]:
        """A version of a document with its full text."""
        versions = self._versions(who, name)
        if version:
            versions = [one for one in versions if version in (one.version, one.key)]
        if not versions:
            raise _missing(f"{name}' in the version '{version}" if version else name)
        # The name of a file means that file, even if a newer file replaced it.
        versions = [one for one in versions if one.document == name] or versions
        current = [one for one in versions if one.status(today()) == "current"]
        chosen = (current or versions)[-1]
        store = self.library.store
        return chosen, store.text(chosen.collection, chosen.document, chosen.key, chosen.access)

    def feedback(
        self, who: ToolCaller, record: str, rating: str, comment: str = ""
    ) -> schema.StoredFeedback:
        """Store feedback on a recorded decision. A caller with a key can rate only its own
        decisions. Other records, and those that the caller may not read, are reported as
        missing."""
        if self.log is None:
            raise EvidenceError(
                "Decisions are not recorded, so feedback cannot be stored.",
                remedy="Start the server with --record.",
            )
        unknown = EvidenceError(
            f"There is no record '{record}'.", remedy="Pass the id returned with the answer."
        )
        try:
            filed = self.log.entry(record)
            mine = filed.caller == who.name and who.user in ("", filed.tag)
            if who.by_key and not mine:
                raise unknown
            by, reader = who.user or who.name, Reader(who.labels)
            kept = Review(self.log).feedback(record, Rating(rating), comment, by, reader)
        except StoreError:
            raise unknown from None
        return schema.StoredFeedback(kept)

    def documents(self, who: ToolCaller) -> list[VersionInfo]:
        """All documents, each in the version in force, else in its newest version."""
        chosen: dict[str, VersionInfo] = {}
        for one in self.library.store.versions(collection=self.collection):
            held = chosen.get(one.document)
            if self._allowed(who).may_read(one) and (
                held is None or held.status(today()) != "current"
            ):
                chosen[one.document] = one
        return list(chosen.values())

    def _named(self, who: ToolCaller, ids: Sequence[str]) -> list[Any]:
        known = StoredDocuments(self.library.store, self._allowed(who)).lookup(ids)
        for id in ids:
            if id not in known:
                raise EvidenceError(
                    f"There is no passage '{id}'.", remedy="Use ids returned by a search."
                )
        return [known[id] for id in ids]

    def _versions(self, who: ToolCaller, name: str) -> list[VersionInfo]:
        """The versions that the caller may read. Raise `DocumentMissing` if there are none."""
        try:
            found = self.library.store.history(self.collection, name)
        except DocumentMissing:
            raise _missing(name) from None
        readable = [one for one in found if self._allowed(who).may_read(one)]
        if not readable:
            raise _missing(name)
        return readable

    def _allowed(self, who: ToolCaller) -> Filter:
        return Filter(collection=self.collection, labels=who.labels)

    def _caller(self, who: ToolCaller) -> Caller:
        return Caller(self._allowed(who), who.name, who.user)


def _noted(verdict: Verdict) -> Verdict:
    """Add the verdict to the statistics of the current call."""
    if stats := CURRENT_STATS.get():
        stats.verdicts.append(verdict)
    return verdict


def _missing(name: str) -> DocumentMissing:
    return DocumentMissing(
        f"There is no document '{name}'.", remedy="Search for words from its text."
    )


F = TypeVar("F", bound=Callable[..., Any])
CALLER = "suffice.caller"
"""The key of the caller in the ASGI scope of an HTTP request."""


def caller_of(request: Any, otherwise: ToolCaller) -> ToolCaller:
    """The caller of an HTTP request, or `otherwise` if it has none."""
    found = request.scope.get(CALLER) if request is not None else None
    return found if isinstance(found, ToolCaller) else otherwise


def no_role(who: ToolCaller, role: Role | None) -> str:
    """Why a caller may not call what needs this role."""
    if role is None:
        return "Nobody may call this: it names no role."
    return (
        f"This needs a key with the role '{role.value}', which '{who.name}' does not have. "
        f"To create one, run: suffice keys create NAME --role {role.value}"
    )


class ToolServer(MCPServer[Any]):
    """An MCP server that reports each tool call to its listeners. `asking` is the default
    caller."""

    def __init__(
        self, asking: ToolCaller, watches: Sequence[StatsListener], **options: Any
    ) -> None:
        super().__init__("suffice", **options)
        self._asking = asking
        self._watches = watches
        self.roles: dict[str, Role] = {}
        """The role that each tool needs. A tool without a role is refused to everyone."""

    def tool_for(self, role: Role, title: str, annotations: ToolAnnotations) -> Callable[[F], F]:
        """Decorator that registers a tool for callers with this role. The tool returns an object of
        the schema; errors of this package become tool errors, with their remedy."""
        register = self.tool(title=title, annotations=annotations, structured_output=False)

        def registered(call: F) -> F:
            name = call.__name__

            @wraps(call)
            def tool(*arguments: Any, **named: Any) -> CallToolResult:
                try:
                    return _result(call(*arguments, **named))
                except SufficeError as problem:
                    raise ToolError(fault_of(problem).message) from problem

            register(tool)
            self.roles[name] = role
            described = self._tool_manager.get_tool(name)
            assert described is not None
            described.fn_metadata.output_schema = _schema_of(get_type_hints(call)["return"])
            return call

        return registered

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> Any:
        properties = {one.name: one.input_schema["properties"] for one in await self.list_tools()}
        stats = self._stats(name if name in properties else "unknown", context)
        token = CURRENT_STATS.set(stats)
        try:
            unknown = sorted(arguments.keys() - properties.get(name, arguments).keys())
            if unknown:
                allowed = ", ".join(properties[name])
                raise ToolError(f"Unknown argument '{unknown[0][:60]}'. Allowed: {allowed}.")
            if name in properties:
                self._check_role(name, context)
            return await super().call_tool(name, arguments, context)
        except UnexpectedToolError:
            stats.status = 500
            raise
        except ToolError as problem:
            stats.status = 400
            raise ToolError(_explained(problem, properties.get(name, {}))) from problem
        finally:
            CURRENT_STATS.reset(token)
            stats.end()
            for watch in self._watches:
                watch(stats)

    def _check_role(self, tool: str, context: Context[Any, Any] | None) -> None:
        request = context.request_context.request if context is not None else None
        who, role = caller_of(request, self._asking), self.roles.get(tool)
        if role is None or not who.has(role):
            raise ToolError(no_role(who, role))

    def _stats(self, tool: str, context: Context[Any, Any] | None) -> RequestStats:
        request = context.request_context.request if context is not None else None
        who = caller_of(request, self._asking)
        stats = RequestStats(f"/mcp/{tool}", perf_counter())
        stats.caller, stats.team, stats.user = who.name, who.team, who.user
        return stats


def _result(value: Any) -> CallToolResult:
    """An object of the schema as a result: as structured content, and as text."""
    content = schema.tree(value)
    text = json.dumps(content, ensure_ascii=False, indent=2)
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=content)


def _schema_of(shape: Any) -> dict[str, Any]:
    """The JSON schema of a result. Its root must be an object, not a reference."""
    _, definitions = msgspec.json.schema_components([shape], ref_template="#/$defs/{name}")
    root = definitions.pop(shape.__name__)
    return {**root, "$defs": definitions}


def _explained(problem: ToolError, properties: Mapping[str, Any]) -> str:
    """The error message of a call, without the SDK's prefix."""
    cause = problem.__cause__
    if isinstance(cause, ValidationError):
        return " ".join(_invalid(cause, properties))
    return str(cause) if isinstance(cause, ToolError) else str(problem)


def _invalid(problem: ValidationError, properties: Mapping[str, Any]) -> Iterator[str]:
    """A message for each invalid argument: its name, what is wrong, and what to pass."""
    for error in problem.errors(include_input=False, include_url=False):
        name = ".".join(map(str, error["loc"]))
        about = properties.get(str(error["loc"][0]), {}).get("description", "")
        if error["type"] == "missing":
            yield f"The argument '{name}' is missing. Pass it: {about}"
        else:
            yield f"The argument '{name}' is invalid: {error['msg']}. Pass: {about}"
