"""Generated pages match the code, and the commands and links in the docs are valid."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

from suffice.settings import Settings, read_settings

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def docs_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_script", ROOT / "scripts" / "docs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_generated_pages_are_up_to_date() -> None:
    for name, text in docs_script().pages().items():
        stored = (ROOT / "docs" / name).read_text(encoding="utf-8")
        assert stored == text, f"docs/{name} is old. Run: python scripts/docs.py"


def test_every_settings_key_has_a_meaning() -> None:
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    assert len(rows) > 150
    for row in rows:
        meaning = row.rstrip(" |").rpartition(" | ")[2]
        assert meaning.endswith("."), f"no description: {row}"


def test_every_room_has_a_page() -> None:
    rooms = {p.name for p in (ROOT / "src" / "suffice").iterdir() if (p / "__init__.py").is_file()}
    pages = {page.stem for page in (ROOT / "docs").glob("*.md")}
    assert rooms <= pages


def test_ci_runs_the_test_command_of_the_readme() -> None:
    assert "\n./scripts/test\n" in README
    assert "exec ./scripts/test" in (ROOT / ".ci" / "run").read_text()


def test_links_of_the_readme_and_docs_exist() -> None:
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        for link in re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / link).exists(), f"{page.name} links to {link}"


def test_the_settings_example_is_valid(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    example = re.search(r"```yaml\n(.*?)```", page, re.DOTALL)
    assert example is not None
    file = tmp_path / "suffice.yaml"
    file.write_text(example[1])
    assert read_settings(file, {}).collection("legal").search.top_k == 8
    assert Settings().gate.policy == "learned"
