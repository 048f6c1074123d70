"""Reads documents in a process of its own, which is killed if a file needs too much time or memory.

A file can be built so that reading it takes hours or all memory of the machine. The process is
started with the first file, reads one file after the other, and is replaced after it was killed.
What it returns is data only (JSON and UTF-8), so that a file that took over a parser could forge a
text, but run nothing here.

>>> Reader(settings.read).read(data, ".docx", "leave.docx").text
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import IO, Any

from suffice.errors import SufficeError, Unreadable
from suffice.evidence.read import check_size, read_bytes
from suffice.evidence.read.source import Content, FrontMatter
from suffice.settings import ReadSettings
from suffice.types import Kind

_LENGTH = 8  # bytes
_LONGEST_REPLY = 64_000_000
"""Bytes of a reply besides the text: front matter and the offsets of pages."""
_LONGEST_LINE = 100_000
_RETIRES_FROM = 150_000_000
"""Bytes of memory from which the process ends after a file: an idle one shall be small."""
_PROGRAM = (
    "import sys; sys.path[:] = {path!r}; "
    "from suffice.evidence.read.process import main; main({memory}, {characters})"
)


class Reader:
    """Reads files within the limits of the settings. Thread-safe: it reads one file at a time."""

    def __init__(self, settings: ReadSettings) -> None:
        self.settings = settings
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._pid = 0
        self._ends: weakref.finalize[..., Any] | None = None

    def read(self, data: bytes, suffix: str, name: str) -> Content:
        """Read a document. Bad data, and data over a limit, raise `Unreadable`."""
        try:
            check_size(len(data), self.settings.max_bytes)
        except Unreadable as flaw:
            raise Unreadable(f"{name} {flaw.message}.", remedy=flaw.remedy) from flaw
        with self._lock:
            process = self._started()
            late = threading.Event()
            timer = threading.Timer(self.settings.seconds, _kill, (process, late))
            timer.daemon = True
            timer.start()
            try:
                fields, text = self._exchange(process, data, suffix, name)
            except (OSError, EOFError, ValueError) as problem:
                self._stop()
                raise self._ended(name, process, late=late.is_set()) from problem
            finally:
                timer.cancel()
            if fields.get("last"):
                self._stop()
        if "error" in fields:
            raise Unreadable(str(fields["error"]), remedy=str(fields["remedy"]))
        return _content(fields, text)

    def close(self) -> None:
        """End the process. A file that is being read becomes unreadable; a later one starts a new
        process."""
        if self._process is not None and self._pid == os.getpid():
            self._process.kill()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._pid == os.getpid() and self._process.poll() is None:
            return self._process
        self._stop()
        program = _PROGRAM.format(
            path=sys.path,
            memory=self.settings.memory_bytes,
            characters=self.settings.max_characters,
        )
        try:
            process = subprocess.Popen(
                [sys.executable, "-c", program],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except OSError as problem:
            raise SufficeError(
                f"The process that reads documents cannot be started: {problem}.",
                remedy="Allow this user another process (ulimit -u), or free some memory.",
            ) from problem
        self._process, self._pid = process, os.getpid()
        self._ends = weakref.finalize(self, _end, process, self._pid)
        return process

    def _stop(self) -> None:
        if self._ends is not None:
            self._ends()
        self._process, self._ends = None, None

    def _exchange(
        self, process: subprocess.Popen[bytes], data: bytes, suffix: str, name: str
    ) -> tuple[Mapping[str, Any], str]:
        assert process.stdin is not None
        assert process.stdout is not None
        asked = {"suffix": suffix, "name": name, "bytes": len(data)}
        asked["seconds"] = int(self.settings.seconds) + 1
        process.stdin.write(json.dumps(asked).encode() + b"\n")
        process.stdin.write(data)
        process.stdin.flush()
        fields = json.loads(_block(process.stdout, _LONGEST_REPLY))
        if not isinstance(fields, dict):
            raise ValueError("not an object")
        return fields, _block(process.stdout, 4 * self.settings.max_characters).decode()

    def _ended(self, name: str, process: subprocess.Popen[bytes], *, late: bool) -> Unreadable:
        if late:
            return Unreadable(
                f"{name} takes longer than {self.settings.seconds:g} s to read.",
                remedy="Split the file, or raise read.seconds in the settings.",
            )
        status = process.returncode
        return Unreadable(
            f"{name} could not be read: its reader ended (status {status}), probably because it "
            f"needed more than {self.settings.memory_bytes / 1e6:.0f} MB.",
            remedy="Split the file, or raise read.memory_bytes in the settings.",
        )


def _kill(process: subprocess.Popen[bytes], late: threading.Event) -> None:
    late.set()
    process.kill()


def _end(process: subprocess.Popen[bytes], pid: int) -> None:
    """Kill a process of ours and close its pipes. After a fork it belongs to the parent."""
    if pid == os.getpid():
        process.kill()
    for pipe in (process.stdin, process.stdout):
        with suppress(OSError):
            if pipe is not None:
                pipe.close()
    if pid == os.getpid():
        process.wait()


def _block(pipe: IO[bytes], most: int) -> bytes:
    """A block of bytes after its length."""
    size = int.from_bytes(_exactly(pipe, _LENGTH), "big")
    if size > most:
        raise ValueError("too long a reply")
    return _exactly(pipe, size)


def _exactly(pipe: IO[bytes], size: int) -> bytes:
    data = pipe.read(size)
    if len(data) < size:
        raise EOFError
    return data


def _content(fields: Mapping[str, Any], text: str) -> Content:
    front = dict(fields["front"])
    for key in ("effective", "expires"):
        front[key] = date.fromisoformat(front[key]) if front[key] else None
    front["kind"] = Kind(front["kind"]) if front["kind"] else None
    front |= {"access": frozenset(front["access"]), "unread": tuple(front["unread"])}
    return Content(
        text, FrontMatter(**front), fields["body"], tuple(fields["pages"]), fields["markdown"]
    )


def main(memory: int, characters: int) -> None:
    """Read files from standard input until it ends. This runs in the process of its own."""
    _limit_memory(memory)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one ends it
    source, target = sys.stdin.buffer, sys.stdout.buffer
    while line := source.readline(_LONGEST_LINE):
        asked = json.loads(line)
        if hasattr(signal, "alarm"):
            signal.alarm(asked["seconds"])  # even if nobody is left to kill this process
        try:
            data = _exactly(source, asked["bytes"])
            content = read_bytes(data, asked["suffix"], asked["name"], max_characters=characters)
            fields = {**asdict(content), "text": ""}
            text = content.text.encode()
            header = json.dumps(fields, default=_plain).encode()
        except Unreadable as flaw:
            header = json.dumps({"error": flaw.message, "remedy": flaw.remedy}).encode()
            text = b""
        content = data = None  # type: ignore[assignment]
        if hasattr(signal, "alarm"):
            signal.alarm(0)
        last = _memory() > _RETIRES_FROM
        if last:
            header = header[:-1] + b', "last": true}'
        for block in (header, text):
            target.write(len(block).to_bytes(_LENGTH, "big"))
            target.write(block)
        target.flush()
        if last:
            return


def _plain(value: object) -> object:
    return sorted(value) if isinstance(value, frozenset) else str(value)


def _limit_memory(size: int) -> None:
    """Limit the address space. Windows has no such limit, and macOS does not enforce it."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (size, size))


def _memory() -> int:
    """The memory of this process in bytes; 0 where it cannot be known."""
    with suppress(OSError, AttributeError):
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")
    return 0
