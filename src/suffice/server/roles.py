"""The roles that the endpoints need. Each endpoint names its roles where its route is declared; the
table of the documentation and its test read them from the app.

>>> Route("/gate", served(gate, Role.CALLER), methods=["POST"])
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from starlette.routing import BaseRoute, Mount, Route

from suffice.access.keys import Principal, Role
from suffice.server.errors import ApiError

E = TypeVar("E", bound=Callable[..., Any])
_ROLES = "needed_roles"


def needs(*roles: Role) -> Callable[[E], E]:
    """Declare that an endpoint is for callers with any of the roles."""

    def declared(endpoint: E) -> E:
        setattr(endpoint, _ROLES, roles)
        return endpoint

    return declared


def needs_no_role(endpoint: E) -> E:
    """Declare that anyone may call an endpoint, with or without a key."""
    return needs()(endpoint)


def check_role(caller: Principal, roles: Iterable[Role]) -> None:
    """Raise 403 unless the caller has one of the roles."""
    names = [role.value for role in roles]
    if any(caller.has(Role(name)) for name in names):
        return
    needed = " or ".join(f"'{name}'" for name in names)
    if caller.user:
        remedy = "This user has it if the key does and server.identity.roles gives it to a group."
    else:
        remedy = f"To create one, run: suffice keys create NAME --role {names[0]}"
    raise ApiError(403, f"This needs a key with the role {needed}. {remedy}", "no_right")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An endpoint of an app. `roles` is empty if it needs none, and `None` if it declares none."""

    method: str
    path: str
    roles: tuple[Role, ...] | None

    def allows(self, role: Role) -> bool:
        """Whether a caller that has this role alone may use the endpoint."""
        caller = Principal("", "", frozenset({role}))
        return self.roles is not None and (
            not self.roles or any(caller.has(needed) for needed in self.roles)
        )


def endpoints(routes: Iterable[BaseRoute], above: str = "") -> Iterator[Endpoint]:
    """All endpoints of an app, in the order of its routes."""
    for route in routes:
        path = above + getattr(route, "path", "")
        if isinstance(route, Mount):
            yield from endpoints(route.routes, path)
        elif isinstance(route, Route):
            for method in sorted((route.methods or {"GET"}) - {"HEAD"}):
                yield Endpoint(method, path, getattr(route.endpoint, _ROLES, None))
        else:
            yield Endpoint("", path, None)
