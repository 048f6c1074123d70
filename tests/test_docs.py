"""Generated pages match the code, and the commands and links in the docs are valid."""

from __future__ import annotations

import ast
import importlib.util
import re
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_generated_pages_are_up_to_date() -> None:
    docs = script("docs")
    for name, text in docs.pages().items():
        written = docs.place(name).read_text(encoding="utf-8")
        assert written == text, f"{name} is old. Run: python scripts/docs.py"


def test_the_picture_shows_what_the_command_prints() -> None:
    picture = script("picture")
    drawn, shown = picture.picture(), picture.TARGET.read_text(encoding="utf-8")
    assert words(shown) == words(drawn), "The picture is old. Run: python scripts/picture.py"


def words(svg: str) -> list[str]:
    """The text of a picture. Scores differ in the last digit from processor to processor."""
    text = re.sub(r"<style>.*?</style>|<[^>]+>", " ", svg, flags=re.DOTALL)
    return re.sub(r"0\.\d+", "0.nn", text.replace("&#160;", " ")).split()


def test_the_readme_names_every_package() -> None:
    packages = {p.parent.name for p in (ROOT / "src" / "suffice").glob("*/__init__.py")}
    named = set(re.findall(r"^\| `(\w+)/` \|", README, re.MULTILINE))
    assert named == packages


def test_functions_that_the_readme_names_exist() -> None:
    rows = re.findall(r"^\| [^|]+ \| `([\w/]+\.py)` \| (.*?) \|$", README, re.MULTILINE)
    assert len(rows) > 5
    for file, names in rows:
        tree = ast.parse((ROOT / "src" / "suffice" / file).read_text(encoding="utf-8"))
        for name in re.findall(r"`([\w.]+)`", names):
            body: list[ast.stmt] = tree.body
            for part in name.split("."):
                found = [
                    node
                    for node in body
                    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
                    and node.name == part
                ]
                assert found, f"{file} has no {name}"
                body = found[0].body


def test_every_settings_key_has_a_meaning() -> None:
    page = (ROOT / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    assert len(rows) > 150
    for row in rows:
        meaning = row.rstrip(" |").rpartition(" | ")[2]
        assert meaning.endswith("."), f"no description: {row}"


def test_settings_that_the_docs_name_exist() -> None:
    """In the groups whose names are not also those of values in Python (`verdict.released`)."""
    page = (ROOT / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")
    keys = set(re.findall(r"^\| `([\w.]+)` \|", page, re.MULTILINE))
    groups = {".".join(key.split(".")[:n]) for key in keys for n in range(1, key.count(".") + 1)}
    named = re.compile(r"`((?:gate|search|checks|filter|server|passages)\.[a-z_.]+)")
    for path in PAGES:
        for key in named.findall(path.read_text(encoding="utf-8")):
            assert key.rstrip(".") in keys | groups, f"{path.name} names {key}, which is no setting"


def test_ci_runs_the_test_command_of_the_readme() -> None:
    assert "\n./scripts/test\n" in README
    assert "exec ./scripts/test" in (ROOT / ".ci" / "run").read_text()


def test_links_of_the_readme_and_docs_exist() -> None:
    for page in PAGES:
        for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", page.read_text(encoding="utf-8")):
            path, _, anchor = link.partition("#")
            target = page.parent / path if path else page
            assert target.exists(), f"{page.name} links to {link}"
            if anchor:
                assert anchor in anchors(target), f"{page.name} links to {link}"


def test_the_index_names_every_page() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    for page in (ROOT / "docs").rglob("*.md"):
        name = page.relative_to(ROOT / "docs").as_posix()
        assert name == "README.md" or f"]({name})" in index, f"docs/README.md does not list {name}"


def anchors(page: Path) -> set[str]:
    """The anchors that Markdown renderers give the headings of a page."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}
