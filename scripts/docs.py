"""Writes the generated parts of docs/: the command line from its own help, the settings from the
code, the figures from results/. A test fails when a page is not what this command would write.

Run: .venv/bin/python scripts/docs.py
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))  # runs from any folder

from scripts.pages.benches import answers, conflict, gate, judged, retrieval, written
from scripts.pages.growth import cost, scale_cost, scale_queue
from scripts.pages.peers import peers_proxy, peers_published, peers_quality, peers_speed
from scripts.pages.performance import gateway, gateway_sizing, indexing, record, soak, speed
from scripts.pages.practice import calibration, cautious, redteam
from scripts.pages.quality import collections, headline, limits, own_figures, quality, rules
from scripts.pages.reference import commands, embedder, keys, roles, schemas
from scripts.pages.tables import DOCS

BEGIN, END = "<!-- generated: {} -->", "<!-- end -->"


def main() -> None:
    for name, text in pages().items():
        place(name).write_text(text, encoding="utf-8")


def place(name: str) -> Path:
    outside = name == "README.md" or name.startswith(("docs/", "examples/"))
    return DOCS.parent / name if outside else DOCS / name


def pages() -> dict[str, str]:
    """Every page that has a generated part, as it should be."""
    parts = {
        "headline": ("README.md", "\n".join(headline("#how-good-it-is"))),
        "start": ("docs/README.md", "\n".join(headline("quality.md"))),
        "quality": ("README.md", "\n".join(quality())),
        "real": ("quality.md", "\n".join(quality())),
        "collections": ("quality.md", "\n".join(collections())),
        "commands": ("reference/cli.md", "\n".join(commands())),
        "keys": ("reference/settings.md", "\n".join(keys())),
        "roles": ("how-to/access.md", "\n".join(roles())),
        "embedder": ("reference/models.md", "\n".join(embedder())),
        "retrieval": ("quality.md", "\n".join(retrieval())),
        "indexing": ("quality.md", "\n".join(indexing())),
        "grounding": ("quality.md", "\n".join(judged("grounding", "length_auroc"))),
        "sufficiency": ("quality.md", "\n".join(judged("sufficiency", "evidence_length_auroc"))),
        "gate": ("quality.md", "\n".join(gate())),
        "conflict": ("quality.md", "\n".join(conflict())),
        "answers": ("quality.md", "\n".join(answers())),
        "speed": ("quality.md", "\n".join(speed())),
        "record": ("quality.md", "\n".join(record())),
        "gateway": ("quality.md", "\n".join(gateway())),
        "gateway sizing": ("how-to/deployment.md", "\n".join(gateway_sizing())),
        "soak": ("quality.md", "\n".join(soak())),
        "schemas": ("reference/schemas.md", "\n".join(schemas())),
        "written": ("reference/models.md", "\n".join(written())),
        "cautious": ("examples/cautious/README.md", "\n".join(cautious())),
        "redteam": ("how-to/red-team.md", "\n".join(redteam())),
        "calibration": ("how-to/guarantee.md", "\n".join(calibration())),
        "rules": ("quality.md", "\n".join(rules())),
        "limits": ("limits.md", "\n".join(limits())),
        "own figures": ("comparison.md", "\n".join(own_figures())),
        "scale cost": ("how-to/scale.md", "\n".join(scale_cost())),
        "scale queue": ("how-to/scale.md", "\n".join(scale_queue())),
        "cost": ("how-to/scale.md", "\n".join(cost())),
        "peers speed": ("peers.md", "\n".join(peers_speed())),
        "peers quality": ("peers.md", "\n".join(peers_quality())),
        "peers published": ("peers.md", "\n".join(peers_published())),
        "peers proxy": ("peers.md", "\n".join(peers_proxy())),
    }
    found: dict[str, str] = {}
    for part, (name, text) in parts.items():
        page = found.get(name) or place(name).read_text(encoding="utf-8")
        begin = BEGIN.format(part)
        head, _, rest = page.partition(begin)
        _, _, tail = rest.partition(END)
        body = f"\n{text.strip()}\n\n" if text else ""
        found[name] = f"{head}{begin}\n{body}{END}{tail}"
    return found


if __name__ == "__main__":
    main()
