"""The documentation site builds without a warning, is complete, and needs no other host."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any

import pytest

from tests.test_docs import script

pytest.importorskip("mkdocs", reason="needs mkdocs: pip install '.[docs]'")
pytest.importorskip("material", reason="needs mkdocs-material: pip install '.[docs]'")

ROOT = Path(__file__).parent.parent
LOADED = re.compile(r'<(?:img|script|iframe|source|link)\b[^>]*? (?:src|href)="([^"]+)"')
"""What a page loads by itself; links that a reader may follow are none of it."""


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Any:
    from mkdocs.config import load_config

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NO_MKDOCS_2_WARNING", "1")  # a notice about later versions, on stderr
        return load_config(
            str(ROOT / "mkdocs.yaml"), strict=True, site_dir=str(tmp_path_factory.mktemp("site"))
        )


@pytest.fixture(scope="module")
def site(config: Any) -> Path:
    """The built site. In strict mode a warning is an error."""
    from mkdocs.commands.build import build

    warnings: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: warnings.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("mkdocs")
    logger.addHandler(handler)
    try:
        build(config)
    except SystemExit as stopped:
        pytest.fail(f"{stopped}: {warnings}")
    finally:
        logger.removeHandler(handler)
    assert warnings == []
    return Path(config.site_dir)


def test_every_page_is_built_and_in_the_navigation(site: Path) -> None:
    page_text = (site / "concepts.html").read_text(encoding="utf-8")
    navigation = page_text.partition("md-nav--primary")[2].partition("md-content")[0]
    listed = set(re.findall(r'href="([^":#]+\.html)"', navigation))
    for page in (ROOT / "docs").rglob("*.md"):
        name = page.relative_to(ROOT / "docs").with_suffix(".html").as_posix()
        if name not in ("README.html", "concepts.html"):
            assert (site / name).is_file(), f"{name} was not built"
            assert name in listed, f"{name} is not in the navigation"


def test_pages_load_nothing_from_another_host(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 40
    for page in pages:
        loaded = LOADED.findall(page.read_text(encoding="utf-8"))
        assert loaded, page.name
        for one in loaded:
            assert not re.match(r"(https?:)?//", one), f"{page.name} loads {one}"
    for sheet in site.rglob("*.css"):
        imported = re.findall(
            r"(?:@import|url\()\s*['\"]?((?:https?:)?//[^)'\"\s]+)", sheet.read_text()
        )
        assert not imported, f"{sheet.name} loads {imported}"


def test_links_between_pages_and_to_files_of_the_repository_lead_somewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        if page.name == "404.html":  # its links start at the root of the site
            continue
        text = page.read_text(encoding="utf-8")
        for link in re.findall(r'<(?:a|img)[^>]* (?:href|src)="([^"#?]+)', text):
            if not re.match(r"\w+:", link):
                assert (page.parent / link).exists(), f"{page.name} links to {link}"


def test_lists_and_tables_are_rendered(site: Path) -> None:
    """mkdocs needs an empty line before a list or a table; other renderers do not."""
    for page in site.rglob("*.html"):
        text = re.sub(
            r"<(pre|code)\b.*?</\1>", "", page.read_text(encoding="utf-8"), flags=re.DOTALL
        )
        for paragraph in re.findall(r"<p>(.*?)</p>", text, re.DOTALL):
            assert not re.search(r"^(?:- |\d+\. |\||#+ )", paragraph, re.MULTILINE), (
                f"{page.name}: {paragraph[:200]}"
            )


def test_files_with_secrets_are_not_published() -> None:
    hooks = script("mkdocs_hooks")
    for name in (".env", "metrics.key", "kubernetes/secret.yaml"):  # docs/how-to/deployment.md
        assert hooks.ignored(f"deploy/{name}"), name
    assert not hooks.ignored("deploy/kubernetes/secret.example.yaml")


def test_navigation_follows_the_index() -> None:
    hooks = script("mkdocs_hooks")
    index = "## Start\n\n| page | about |\n|---|---|\n| [Upgrade](upgrade.md) | notes |\n"
    assert hooks.navigation(index) == [
        {"Home": "README.md"},
        {"Start": [{"Upgrade": "upgrade.md"}]},
    ]
