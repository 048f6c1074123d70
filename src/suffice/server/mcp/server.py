"""The MCP server: search, answers and checks as tools, and documents as resources.

A model may ignore the results of a tool; to enforce them, use the gateway.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal
from urllib.parse import quote

from suffice import __version__, schema
from suffice.access.keys import Role
from suffice.errors import ExtraMissing, SufficeError
from suffice.evidence.index import today
from suffice.evidence.rows import VersionInfo
from suffice.server.errors import fault_of
from suffice.server.telemetry.stats import StatsListener

try:
    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
    from mcp.server.mcpserver import Context
    from mcp.server.mcpserver.exceptions import ResourceNotFoundError
    from mcp.shared.exceptions import MCPError
    from mcp_types import (
        INVALID_PARAMS,
        INVALID_REQUEST,
        ListResourcesResult,
        Resource,
        ToolAnnotations,
    )
    from pydantic import Field

    from suffice.server.mcp.tools import ToolCaller, Tools, ToolServer, caller_of, no_role
except ImportError as problem:
    raise ExtraMissing("The MCP server", "mcp") from problem

DOCUMENT = "suffice://documents/{+name}{?version}"
_PAGE = 100
RESOURCES = Role.CALLER
"""The role that resources need."""
_READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
"""The tool changes no document. Recording its decision does not count as a change."""
_ADDS = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
)
INSTRUCTIONS = """\
Suffice holds documents, decides whether they are enough to answer a question, and checks answers \
against them. Before you answer a question that the documents may cover, call search_evidence and \
follow its gate: answer only if the level is SUFFICIENT or PARTIAL, only from the passages, and \
cite them as [1], [2] in their order. Before you show an answer, call validate_draft and show it \
only if the verdict is SERVE, CAVEAT or CONFLICT. Or call ask, which does all of this. An \
unchecked claim does not count as backed."""

Question = Annotated[str, Field(description="The question in full, as a person would ask it.")]
WhoAsks = Callable[[Context[Any, Any]], ToolCaller]


def open_server(
    tools: Tools, asking: ToolCaller, watches: Sequence[StatsListener] = ()
) -> ToolServer:
    """Create the MCP server for the tools. `asking` is the default caller; `watches` are called
    with the statistics of each tool call."""

    def who(context: Context[Any, Any]) -> ToolCaller:
        return caller_of(context.request_context.request, asking)

    async def listed(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """List only the resources that the caller may read, and nothing to others than callers.
        Refuse cursors that no list gave."""
        asks = caller_of(ctx.request, asking)
        if ctx.method.startswith("resources/") and not asks.has(RESOURCES):
            raise MCPError(INVALID_REQUEST, no_role(asks, RESOURCES))
        if not ctx.method.endswith("/list"):
            return await call_next(ctx)
        cursor = (ctx.params or {}).get("cursor") or None
        if ctx.method == "resources/list":
            return _listed(tools, asks, cursor)
        if cursor is not None:  # the other lists have one page
            raise _bad_cursor()
        return await call_next(ctx)

    server = ToolServer(
        asking,
        watches,
        title="Suffice",
        description="Evidence with a sufficiency gate, and answers checked claim by claim.",
        instructions=INSTRUCTIONS,
        version=__version__,
        log_level="WARNING",
        middleware=[listed],
    )
    _add_asking(server, tools, who)
    _add_showing(server, tools, who)
    return server


def _add_asking(server: ToolServer, tools: Tools, who: WhoAsks) -> None:
    @server.tool_for(Role.CALLER, "Search evidence", _READS)
    def search_evidence(
        context: Context[Any, Any],
        question: Question,
        top: Annotated[int | None, Field(ge=1, le=50, description="Number of passages.")] = None,
    ) -> schema.SearchResult:
        """Find passages for a question, with the gate's decision on whether they are sufficient.

        Call this first for anything that internal documents, policies or figures may answer. Follow
        `gate.level`. SUFFICIENT: answer from the passages and cite them. PARTIAL: answer that part
        and say what is missing. INSUFFICIENT or REVIEW: do not answer; tell the user `gate.missing`
        and `gate.next_steps`. CONFLICT: show both sides.
        """
        return tools.search(who(context), question, top)

    @server.tool_for(Role.CALLER, "Ask", _READS)
    def ask(context: Context[Any, Any], question: Question) -> schema.Answer:
        """Answer a question from the documents, checked and cited, or refuse with reasons.

        Call this if you want an answer that can be shown unchanged: `answer` is the only text to
        show, with its citations. If it is null, do not answer: tell the user `reason`, `missing`
        and `next_steps`, and add nothing from memory.
        """
        return tools.ask(who(context), question)

    @server.tool_for(Role.CALLER, "Validate a draft", _READS)
    def validate_draft(
        context: Context[Any, Any],
        draft: Annotated[str, Field(description="The answer to show; [n] cites the n-th passage.")],
        question: Annotated[str, Field(description="The question it answers.")] = "",
        passages: Annotated[
            list[str], Field(description="Ids of the passages it cites, from search_evidence.")
        ] = [],  # noqa: B006 - read only, and the schema shows it
        texts: Annotated[
            list[str], Field(description="Full texts of additional passages, numbered after those.")
        ] = [],  # noqa: B006
    ) -> schema.Validation:
        """Check every claim of a draft against its evidence before the user sees it.

        Call this on each answer you wrote from documents. If `verdict` is SERVE, show the draft;
        with CAVEAT or CONFLICT, show it together with `reason`; with WITHHOLD or REVIEW, do not
        show it: correct or remove the claims whose `support` is CONTRADICTED, UNBACKED or
        UNCHECKED, and validate again. With neither passages nor texts, the evidence comes from a
        search for the question.
        """
        return tools.validate(who(context), draft, question, passages, texts)

    @server.tool_for(Role.CALLER, "Report feedback", _ADDS)
    def report_feedback(
        context: Context[Any, Any],
        record: Annotated[str, Field(description="The `record` returned with the decision.")],
        rating: Annotated[
            Literal["up", "down"], Field(description="`up` if it was right, `down` if wrong.")
        ],
        comment: Annotated[str, Field(description="What was right or wrong.")] = "",
    ) -> schema.StoredFeedback:
        """Store the user's feedback on an answer with its record, for reviewers.

        Call this when the user says that an answer, a refusal or a verdict was right or wrong.
        Report the user's view, not your own.
        """
        return tools.feedback(who(context), record, rating, comment)


def _add_showing(server: ToolServer, tools: Tools, who: WhoAsks) -> None:
    @server.tool_for(Role.CALLER, "Show a passage", _READS)
    def show_passage(
        context: Context[Any, Any],
        passage: Annotated[str, Field(description="The passage id, from a search or a citation.")],
    ) -> schema.ShownPassage:
        """Show the full text of a passage, with the version of its document.

        Call this to read the source of a citation, or to see whether it is still in force.
        """
        return tools.passage(who(context), passage)

    @server.tool_for(Role.CALLER, "Show a document", _READS)
    def show_document(
        context: Context[Any, Any],
        document: Annotated[str, Field(description="The document name, as given in passages.")],
        version: Annotated[
            str, Field(description="The version (default: the version in force).")
        ] = "",
        start: Annotated[int, Field(ge=0, description="Offset of the first character.")] = 0,
    ) -> schema.ShownDocument:
        """Show a version of a document, and list all versions.

        Call this if a passage alone is not enough, or to compare the current version with an
        earlier version. Long texts are returned in pages: continue from `next_start`.
        """
        return tools.document(who(context), document, version, start)

    @server.resource(
        DOCUMENT,
        name="document",
        title="A document",
        description="The text of a document: the version in force, or the given version.",
        mime_type="text/plain",
    )
    def document_text(context: Context[Any, Any], name: str, version: str = "") -> str:
        try:
            chosen, text = tools.text(who(context), name, version)
        except SufficeError as problem:
            raise ResourceNotFoundError(fault_of(problem).message) from problem
        status = chosen.status(today())
        return text if status == "current" else f"[Not in force: {status}.]\n\n{text}"


def _listed(tools: Tools, who: ToolCaller, cursor: Any) -> ListResourcesResult:
    documents = tools.documents(who)
    starts = {str(n): n for n in range(_PAGE, len(documents), _PAGE)}
    if cursor is not None and not (isinstance(cursor, str) and cursor in starts):
        raise _bad_cursor()
    start = starts[cursor] if cursor else 0
    page = [
        Resource(
            uri=f"suffice://documents/{quote(one.document)}",
            name=one.document,
            title=one.title or None,
            description=_described(one),
            mime_type="text/plain",
        )
        for one in documents[start : start + _PAGE]
    ]
    more = start + _PAGE
    return ListResourcesResult(
        resources=page, next_cursor=str(more) if more < len(documents) else None
    )


def _bad_cursor() -> MCPError:
    return MCPError(
        INVALID_PARAMS, "The cursor is unknown, or the list has changed. List from the beginning."
    )


def _described(one: VersionInfo) -> str | None:
    status = one.status(today())
    parts = (f"Version {one.version}" if one.version else "", "" if status == "current" else status)
    return ", ".join(filter(None, parts)) or None
