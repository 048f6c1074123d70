"""Hooks of mkdocs for the documentation site (mkdocs.yaml).

- The navigation is the tables of docs/README.md: a page that is listed there is in the navigation.
- A file outside docs/ that a page links to becomes a page of its own, so that the site is complete
  without the repository. Pictures are copied.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page
from pathspec import GitIgnoreSpec

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
FOLDER = "repository"
"""Where files from outside docs/ are on the site."""
LINK = re.compile(r"(?<=\]\()(?!https?:|#)([^)\s#]+)(#[^)\s]*)?(?=\))")
ROW = re.compile(r"^\| \[(.+?)\]\((\S+?\.md)\) \|")
HEAD = re.compile(r"^## (.+)$")
PICTURES = {".png", ".svg"}
LANGUAGES = {
    ".json": "json",
    ".py": "python",
    ".yaml": "yaml",
    ".md": "markdown",
    ".service": "ini",
}

Nav = list[dict[str, str | list[dict[str, str]]]]


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    config.nav = navigation((DOCS / "README.md").read_text(encoding="utf-8"))
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    outside = {
        target
        for page in DOCS.rglob("*.md")
        for link in LINK.finditer(page.read_text(encoding="utf-8"))
        if (target := _outside(page.relative_to(DOCS).as_posix(), link[1]))
    }
    for target in sorted(outside | {one for path in outside for one in _below(path)}):
        path = ROOT / target
        content: str | bytes = path.read_bytes() if path.suffix in PICTURES else _page(target)
        files.append(
            File.generated(
                config, _place(target), content=content, inclusion=InclusionLevel.NOT_IN_NAV
            )
        )
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    here = page.file.src_uri

    def moved(link: re.Match[str]) -> str:
        target = _outside(here, link[1])
        if target is None:
            return link[0]
        return posixpath.relpath(_place(target), posixpath.dirname(here)) + (link[2] or "")

    return markdown if here.startswith(f"{FOLDER}/") else LINK.sub(moved, markdown)


def navigation(index: str) -> Nav:
    """The sections and pages that the tables of the index list, after the index itself.

    >>> navigation("## Start\\n\\n| [Concepts](concepts.md) | the words |")
    [{'Home': 'README.md'}, {'Start': [{'Concepts': 'concepts.md'}]}]
    """
    found: Nav = [{"Home": "README.md"}]
    section: list[dict[str, str]] = []
    for line in index.splitlines():
        if head := HEAD.match(line):
            section = []
            found.append({head[1]: section})
        elif row := ROW.match(line):
            section.append({row[1]: row[2]})
    return found


def _outside(page: str, link: str) -> str | None:
    """The path in the repository of a link that leaves docs/, or None."""
    target = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), link))
    return None if target.startswith("docs/") else target


def _below(target: str) -> Iterator[str]:
    """The files of a folder that belong to the repository: a local file with secrets does not."""
    for path in (ROOT / target).rglob("*"):
        name = path.relative_to(ROOT).as_posix()
        if path.is_file() and not ignored(name):
            yield name


def ignored(name: str) -> bool:
    return _ignore_rules().match_file(name)


@cache
def _ignore_rules() -> GitIgnoreSpec:
    return GitIgnoreSpec.from_lines((ROOT / ".gitignore").read_text().splitlines())


def _place(target: str) -> str:
    picture = (ROOT / target).suffix in PICTURES
    return f"{FOLDER}/{target}" if picture else f"{FOLDER}/{target}.md"


def _page(target: str) -> str:
    """A page that lists a folder, or shows the text of a file."""
    path = ROOT / target
    if path.is_dir():
        names = sorted(posixpath.relpath(one, target) for one in _below(target))
        base = posixpath.basename(target)
        return f"# {target}/\n\n" + "".join(f"- [{n}]({base}/{n}.md)\n" for n in names)
    text = path.read_text(encoding="utf-8").rstrip("\n")
    return f"# {target}\n\n~~~~~~ {LANGUAGES.get(path.suffix, 'text')}\n{text}\n~~~~~~\n"
