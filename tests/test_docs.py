"""Generated pages match the code, and the commands and links in the docs are valid."""

from __future__ import annotations

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


def docs_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_script", ROOT / "scripts" / "docs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_generated_pages_are_up_to_date() -> None:
    for name, text in docs_script().pages().items():
        script = docs_script()
        assert script.place(name).read_text(encoding="utf-8") == text, (
            f"{name} is old. Run: python scripts/docs.py"
        )


def test_the_readme_names_every_package() -> None:
    packages = {p.parent.name for p in (ROOT / "src" / "suffice").glob("*/__init__.py")}
    named = set(re.findall(r"^\| `(\w+)/` \|", README, re.MULTILINE))
    assert named == packages


def test_files_that_the_readme_names_exist() -> None:
    for package, file in re.findall(r"^\| `(\w+)/` \|.*?`(\w+\.py)`", README, re.MULTILINE):
        assert (ROOT / "src" / "suffice" / package / file).is_file()


def test_every_settings_key_has_a_meaning() -> None:
    page = (ROOT / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    assert len(rows) > 150
    for row in rows:
        meaning = row.rstrip(" |").rpartition(" | ")[2]
        assert meaning.endswith("."), f"no description: {row}"


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
