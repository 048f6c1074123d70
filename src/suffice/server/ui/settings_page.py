"""The settings as they are in force, with secrets masked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from suffice.access.keys import Role
from suffice.server.ui.page import PageContext, page
from suffice.settings import Settings
from suffice.settings.checked import ABOUT
from suffice.settings.reader import masked

_LONGEST = 400


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One setting: its path, its value, the default if it differs, and what it means."""

    path: str
    value: str
    default: str
    about: str

    @property
    def changed(self) -> bool:
        return self.value != self.default


@dataclass(frozen=True, slots=True)
class SettingGroup:
    name: str
    rows: tuple[SettingRow, ...]

    @property
    def changed(self) -> int:
        return sum(row.changed for row in self.rows)


async def show(context: PageContext) -> Response:
    groups = await context.run(groups_of, context.gateway.state.settings)
    changed = [row for group in groups for row in group.rows if row.changed]
    return context.render("settings.html", groups=groups, changed=changed)


def groups_of(settings: Settings) -> list[SettingGroup]:
    """All settings by group; those outside groups come first."""
    plain, default = masked(settings), masked(Settings())
    abouts = dict(_abouts(settings, ""))
    rows_by_group: dict[str, list[SettingRow]] = {"": []}
    for path, value in _leaves(plain, ""):
        group = path.partition(".")[0] if "." in path else ""
        row = SettingRow(path, _shown(value), _shown(_at(default, path)), abouts.get(path, ""))
        rows_by_group.setdefault(group, []).append(row)
    return [
        SettingGroup(name or "general", tuple(rows)) for name, rows in rows_by_group.items() if rows
    ]


def _leaves(tree: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(tree, Mapping) and tree:
        for key, value in tree.items():
            yield from _leaves(value, f"{path}.{key}" if path else str(key))
    else:
        yield path, tree


def _at(tree: Any, path: str) -> Any:
    for part in path.split("."):
        tree = tree.get(part) if isinstance(tree, Mapping) else None
    return tree


def _abouts(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """The description of each setting, by its path."""
    if is_dataclass(value):
        for item in fields(value):
            below = f"{path}.{item.name}" if path else item.name
            yield below, item.metadata.get(ABOUT, "")
            yield from _abouts(getattr(value, item.name), below)
    elif isinstance(value, Mapping):
        for key, entry in value.items():
            yield from _abouts(entry, f"{path}.{key}")


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        value = ", ".join(map(str, value))
    text = "" if value is None or value == {} else str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


ROUTES = [Route("/settings", page(show, Role.ADMIN))]
