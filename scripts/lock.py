"""Writes deploy/requirements.lock: every package of the container with its version and hashes.

    python scripts/lock.py            # resolve anew, for the platforms and the Python of the image
    python scripts/lock.py --check    # say whether the file still fits pyproject.toml; no network

Needs a package index to resolve. The file names no index, so it works with any.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
LOCK = ROOT / "deploy" / "requirements.lock"
IMAGE = (ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8")
MACHINES = ("x86_64", "aarch64")
TAGS = ("manylinux_2_28", "manylinux_2_27", "manylinux_2_17", "manylinux2014")
HEAD = """\
# Packages of the container image with the SHA-256 of their wheels for Linux x86-64 and ARM.
# Written by scripts/lock.py.
"""


def python() -> str:
    """The Python version of the image, as in `3.11`."""
    (version,) = re.findall(r"^ARG PYTHON=(\d+\.\d+)", IMAGE, re.MULTILINE)
    return str(version)


def wanted() -> list[str]:
    """What the image installs, as pyproject.toml requires it: the package with the extras that the
    Dockerfile names, and the build backend."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (extras,) = re.findall(r"suffice\[([\w,]+)\]", IMAGE)
    optional = project["project"]["optional-dependencies"]
    found, left = set(project["project"]["dependencies"]), extras.split(",")
    seen = set(left)
    while left:
        for line in optional[left.pop()]:
            one = Requirement(line)
            if canonicalize_name(one.name) != "suffice":
                found.add(line)
                continue
            left += sorted(one.extras - seen)
            seen |= one.extras
    return sorted({*found, *project["build-system"]["requires"]}, key=str.lower)


def resolved(machine: str) -> dict[tuple[str, str], str]:
    """The SHA-256 of each package's wheel by name and version, on this machine."""
    with TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "--quiet", "install", "--dry-run", "--report", "-"]
        command += ["--ignore-installed", "--only-binary=:all:", "--target", folder]
        command += ["--python-version", python(), "--implementation", "cp"]
        for tag in TAGS:
            command += ["--platform", f"{tag}_{machine}"]
        told = subprocess.run([*command, *wanted()], check=True, capture_output=True, text=True)
    return {
        (canonicalize_name(one["metadata"]["name"]), one["metadata"]["version"]): one[
            "download_info"
        ]["archive_info"]["hashes"]["sha256"]
        for one in json.loads(told.stdout)["install"]
    }


def written() -> str:
    """The lock file. A package that only some machines have, or have in another version, is marked
    with its machine."""
    hashes: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for machine in MACHINES:
        for package, digest in resolved(machine).items():
            hashes[package][machine] = digest
    lines = [HEAD]
    for (name, version), digests in sorted(hashes.items()):
        marks = [f"platform_machine == '{one}'" for one in digests]
        where = f" ; {' or '.join(marks)}" if len(digests) < len(MACHINES) else ""
        shown = "".join(f" \\\n    --hash=sha256:{one}" for one in sorted(set(digests.values())))
        lines.append(f"{name}=={version}{where}{shown}\n")
    return "".join(lines)


def locked() -> dict[str, str]:
    """The version of each package in the lock file."""
    text = LOCK.read_text(encoding="utf-8")
    return dict(re.findall(r"^([\w.-]+)==([^\s;\\]+)", text, re.MULTILINE))


def problems() -> list[str]:
    """What in pyproject.toml the lock file does not fulfil."""
    versions, found = locked(), []
    for one in map(Requirement, wanted()):
        version = versions.get(canonicalize_name(one.name))
        if version is None:
            found.append(f"{one} is missing.")
        elif version not in one.specifier:
            found.append(f"{one.name} {version} does not fulfil {one}.")
    return found


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--check", action="store_true", help="only compare with pyproject.toml")
    if options.parse_args().check:
        if found := problems():
            raise SystemExit("\n".join([*found, "Run: python scripts/lock.py"]))
        return
    LOCK.write_text(written(), encoding="utf-8")


if __name__ == "__main__":
    main()
