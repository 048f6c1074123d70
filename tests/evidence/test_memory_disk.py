"""An index in a memory file system: where it is full, reading an empty block of a mapped file would
kill the process."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from suffice.errors import StoreFull
from suffice.evidence import edge
from suffice.evidence.edge import reserve
from suffice.evidence.library import Library
from suffice.evidence.store import Store
from suffice.settings import Settings
from tests.fakes import HashEmbedder

ROOT = Path(__file__).parent.parent.parent
READS = """
import sys
from pathlib import Path
from tests.evidence.test_memory_disk import opened
print(len(opened(Path(sys.argv[1]), sys.argv[2]).search()("Leave number 7").items))
"""


def opened(folder: Path, index: str) -> Library:
    store = Store.open(folder / "s.db", create=True, index=index)
    return Library(store, HashEmbedder(), Settings(index=index))


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A memory file system of 400 MB."""
    place = tmp_path / "memory"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=400m", "tmpfs", str(place)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("only root can mount a file system")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=False)


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    for n in range(20):
        (folder / f"{n}.md").write_text(f"# Leave {n}\n\nLeave number {n} is {n} days.\n")
    return folder


def fill(disk: Path) -> Path:
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        while free := shutil.disk_usage(disk).free:
            file.write(b"x" * min(free, 1 << 20))
    return filler


def reads(folder: Path, index: str) -> subprocess.CompletedProcess[str]:
    """Open the index in a process of its own, which the operating system may kill."""
    command = [sys.executable, "-c", READS, str(folder), index]
    path = {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "PATH": "/usr/bin:/bin"}
    return subprocess.run(command, capture_output=True, text=True, env=path, check=False)


def test_a_full_memory_disk_is_an_error_with_a_remedy(
    tmp_path: Path, disk: Path, documents: Path
) -> None:
    index = str(disk / "index")
    library = opened(tmp_path, index)
    library.add(documents)
    filler = fill(disk)
    found = reads(tmp_path, index)
    assert found.returncode == 1, found.stderr
    assert "StoreFull" in found.stderr
    assert "Free some space there" in found.stderr
    filler.unlink()
    search = library.search()
    assert search("Leave number 7").items
    filler = fill(disk)  # what is open is complete, and goes on
    assert search("Leave number 9").items
    (documents / "more.md").write_text("Leave number 99 is 99 days.")
    with pytest.raises(StoreFull):
        library.add(documents)
    assert search("Leave number 7").items
    filler.unlink()
    library.store.close()


def test_a_new_index_asks_for_the_space_that_it_will_be_given(
    tmp_path: Path, documents: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(free=200_000_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage)
    monkeypatch.setattr(edge, "_in_memory", lambda folder: True)
    library = opened(tmp_path, str(tmp_path / "index"))
    with pytest.raises(StoreFull, match="only 200 MB are free"):
        library.add(documents)
    monkeypatch.setattr(edge, "_in_memory", lambda folder: False)
    assert library.add(documents).failures == ()
    library.store.close()


def test_only_memory_disks_are_given_their_space_in_advance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "page.dat"
    with file.open("wb") as empty:
        empty.truncate(1_000_000)
    monkeypatch.setattr(edge, "_in_memory", lambda folder: False)
    reserve(tmp_path)
    assert file.stat().st_blocks == 0
    monkeypatch.setattr(edge, "_in_memory", lambda folder: True)
    reserve(tmp_path)
    assert file.stat().st_blocks * 512 >= 1_000_000
