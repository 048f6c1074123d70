"""Documents in a folder of S3, or of any other file system that fsspec knows.

>>> with remote_folder("s3://bucket/handbook") as folder, suffice.open(folder) as corpus:
...     corpus.ask("How long is leave?")
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from suffice.errors import ExtraMissing, SourceMissing

try:
    import fsspec
except ImportError as problem:
    raise ExtraMissing("A remote folder", "s3") from problem


@contextmanager
def remote_folder(url: str, **options: Any) -> Iterator[Path]:
    """A local copy of the folder, deleted on exit. `options` go to the file system of fsspec.

    Its last part names the copy, so a store that is indexed from it again updates its documents.
    """
    try:
        files, root = fsspec.core.url_to_fs(url, **options)
    except ImportError as problem:
        raise ExtraMissing(f"{url} ({problem})", "s3") from problem
    found = files.find(root)
    if not found:
        raise SourceMissing(f"{url} has no files.", remedy="Check the URL and your access to it.")
    with TemporaryDirectory(prefix="suffice-") as made:
        folder = Path(made) / (PurePosixPath(root).name or "documents")
        for name in found:
            target = folder / _inside(name, root, url)
            target.parent.mkdir(parents=True, exist_ok=True)
            files.get_file(name, str(target))
        yield folder


def _inside(name: str, root: str, url: str) -> PurePosixPath:
    """The path of a file in the folder. An object may be named `../x`, which is no path in it."""
    path = PurePosixPath(name).relative_to(root)
    if path.is_absolute() or ".." in path.parts:
        raise SourceMissing(f"{url} has a file outside of it: {name}.", remedy="Rename the file.")
    return path
