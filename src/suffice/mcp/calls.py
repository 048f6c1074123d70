"""Tool calls of the MCP server: explain invalid arguments, and log and count every call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from time import perf_counter
from typing import Any, TypeVar

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp_types import ToolAnnotations
from pydantic import ValidationError

from suffice.access.keys import Role
from suffice.mcp.tools import Caller
from suffice.server.telemetry.stats import NOW, RequestStats, StatsListener

F = TypeVar("F", bound=Callable[..., Any])
CALLER = "suffice.caller"
"""The key of the caller in the ASGI scope of an HTTP request."""


def caller_of(request: Any, otherwise: Caller) -> Caller:
    """The caller of an HTTP request, or `otherwise` if it has none."""
    found = request.scope.get(CALLER) if request is not None else None
    return found if isinstance(found, Caller) else otherwise


def no_role(who: Caller, role: Role | None) -> str:
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

    def __init__(self, asking: Caller, watches: Sequence[StatsListener], **options: Any) -> None:
        super().__init__("suffice", **options)
        self._asking = asking
        self._watches = watches
        self.roles: dict[str, Role] = {}
        """The role that each tool needs. A tool without a role is refused to everyone."""

    def tool_for(self, role: Role, title: str, annotations: ToolAnnotations) -> Callable[[F], F]:
        """Decorator that registers a tool for callers with this role."""
        register = self.tool(title=title, annotations=annotations)

        def registered(call: F) -> F:
            self.roles[call.__name__] = role
            return register(call)

        return registered

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> Any:
        properties = {one.name: one.input_schema["properties"] for one in await self.list_tools()}
        stats = self._stats(name if name in properties else "unknown", context)
        token = NOW.set(stats)
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
            NOW.reset(token)
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
