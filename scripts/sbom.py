"""Writes a software bill of materials (CycloneDX 1.6, JSON) for wheels and all that they install.

    python scripts/sbom.py dist/suffice-*.whl [dist/suffice_*.whl] [--extras all] [--out F]

Installs the wheels into a new virtual environment, lists the environment with `cyclonedx-py` in
another one, and adds what no package manager knows: the weights of the models and the table of
currencies, with hashes and licences. Needs a package index; the list is valid for this platform.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import venv
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

TOOL = "cyclonedx-bom>=7,<8"
VALIDATE = """
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
sys.exit(JsonStrictValidator(SchemaVersion.V1_6).validate_str(sys.stdin.read()))
"""
Component = dict[str, Any]


def environment(folder: Path, *packages: str) -> Path:
    """A virtual environment with these packages and without pip: its interpreter."""
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--python", str(python), "install", *packages], check=True)
    return python


def listed(tool: Path, python: Path) -> Component:
    """The packages of an environment."""
    command = [str(tool), "-m", "cyclonedx_py", "environment", "--output-reproducible"]
    shown = subprocess.run(
        [*command, "--short-PURLs", "--spec-version", "1.6", str(python)],
        check=True,
        capture_output=True,
        text=True,
    )
    found: Component = json.loads(shown.stdout)
    for component in found["components"]:  # where this machine took a package from is no matter
        kept = [
            link
            for link in component.pop("externalReferences", ())
            if link["type"] != "distribution"
        ]
        component.update({"externalReferences": kept} if kept else {})
    return found


def weights(site: Path) -> Iterator[Component]:
    """The models inside the installed packages, as their cards describe them."""
    for path in sorted(site.glob("suffice*/**/weights/*/card.json")):
        card = json.loads(path.read_text(encoding="utf-8"))
        base, file = card["base"], path.with_name("model.onnx")
        yield {
            "bom-ref": f"weights/{card['name']}",
            "type": "machine-learning-model",
            "name": card["name"],
            "version": card["version"],
            "hashes": hashed(file),
            "licenses": licensed(card["licence"]),
            "pedigree": {
                "ancestors": [
                    {
                        "type": "machine-learning-model",
                        "name": base["name"],
                        "version": base["version"],
                        "licenses": licensed(base.get("licence", card["licence"])),
                    }
                ]
            },
            "properties": [{"name": "suffice:file", "value": str(file.relative_to(site))}],
        }


def currencies(site: Path) -> Component:
    file = site / "suffice" / "text" / "literals" / "currencies.tsv"
    return {
        "bom-ref": "data/currencies",
        "type": "data",
        "name": "Unicode CLDR: English names of currencies",
        "hashes": hashed(file),
        "licenses": licensed("Unicode-3.0"),
        "properties": [{"name": "suffice:file", "value": str(file.relative_to(site))}],
    }


def identify(bill: Component, wheels: Sequence[Path]) -> None:
    """Say which files these are: a bill is about one build."""
    for wheel in wheels:
        name = wheel.name.partition("-")[0].replace("_", "-")
        (own,) = (one for one in bill["components"] if one["name"].replace("_", "-") == name)
        own["hashes"] = hashed(wheel)


def hashed(file: Path) -> list[dict[str, str]]:
    return [{"alg": "SHA-256", "content": hashlib.sha256(file.read_bytes()).hexdigest()}]


def licensed(identifier: str) -> list[Component]:
    return [{"license": {"id": identifier}}]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("wheels", type=Path, nargs="+")
    options.add_argument("--extras", default="", help="extras of the first, for example: all")
    options.add_argument("--out", type=Path, default=Path("sbom.json"))
    asked = options.parse_args()
    first, *more = (str(wheel.resolve()) for wheel in asked.wheels)
    wanted = f"{first}[{asked.extras}]" if asked.extras else first
    with TemporaryDirectory() as folder:
        python = environment(Path(folder, "installed"), wanted, *more)
        tool = environment(Path(folder, "tool"), TOOL, "cyclonedx-python-lib[json-validation]")
        bill = listed(tool, python)
        (site,) = Path(folder, "installed").glob("[Ll]ib/**/site-packages")
        identify(bill, asked.wheels)
        bill["components"] += [*weights(site), currencies(site)]
        text = json.dumps(bill, indent=2, sort_keys=True) + "\n"
        subprocess.run([str(tool), "-c", VALIDATE], input=text, text=True, check=True)
    asked.out.write_text(text, encoding="utf-8")
    print(f"{asked.out}: {len(bill['components'])} components")


if __name__ == "__main__":
    main()
