"""Several processes decide what one decides, and one that ends is an error with its reason."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from suffice.cli import cli
from suffice.errors import WorkerFailed
from suffice.lab.eval.cases import Cases, Draft, Question, read_cases
from suffice.lab.eval.evaluation import evaluate
from suffice.lab.eval.worker import Job, Plan, processes
from suffice.models.catalog import open_verifier
from suffice.settings import Settings, VerifierSettings
from tests.lab.eval.overlap import silent, write
from tests.waiting import until

TEXTS = {
    "leave": "# Leave\n\nParents may take 16 weeks of paid leave after a birth.\n",
    "pets": "# Pets\n\nDogs are welcome on Fridays. They stay on a lead in the canteen.\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in TEXTS.items():
        (tmp_path / "docs" / name).mkdir(parents=True)
        (tmp_path / "docs" / name / "page.md").write_text(text, "utf-8")
    weeks = {"question": "How many weeks of paid leave may parents take?", "answerable": True}
    day = {"question": "On which day are dogs welcome?", "answerable": True}
    questions = [
        weeks | {"answers_all": [["16 weeks"]], "collection": "leave"},
        day | {"answers_all": [["Friday"]], "collection": "pets"},
        {"question": "Who won the cup?", "answerable": False, "collection": "pets"},
    ]
    drafts = [
        {"draft": "Leave is 16 weeks.", "correct": True, "evidence": [TEXTS["leave"]]},
        {"draft": "Leave is 61 weeks.", "correct": False, "evidence": [TEXTS["leave"]]},
    ]
    recorded = [
        weeks | {"evidence": [TEXTS["leave"]], "draft": "It is 16 weeks [1].", "label": "right"}
    ]
    for name, rows in {"questions": questions, "drafts": drafts, "llm_drafts": recorded}.items():
        write(tmp_path / f"{name}.jsonl", rows)
    return tmp_path


def test_processes_decide_as_one_does(folder: Path) -> None:
    settings, cases = Settings(), read_cases(folder)
    found = [
        evaluate(
            cases,
            settings,
            open_verifier(VerifierSettings()),
            silent,
            off=["facts"],
            twins=True,
            leave_out=True,
            workers=workers,
            resume=folder / f"{workers}.jsonl",
        )
        for workers in (1, 2)
    ]
    assert found[0] == found[1]
    one, two = ((folder / f"{n}.jsonl").read_text("utf-8") for n in (1, 2))
    assert one == two  # in the same order
    assert found[0]["answers"]["answerable"]["right"] == 2
    assert found[0]["recorded"]["answers"]["answerable"]["right"] == 1


def test_the_command_shows_all_tables(folder: Path) -> None:
    run = CliRunner().invoke(cli, ["eval", str(folder), "--leave-out", "--quiet"])
    assert run.exit_code == 0, run.output
    for words in ("answers with the recorded LLM", "thresholds chosen on the other collections"):
        assert words in run.output
    rows = [line.split() for line in run.output.splitlines()]
    assert ["pets", "1", "100", "0", "0", "0", "1", "0"] in rows
    assert ["together", "2", "100", "0", "0", "0", "1", "0"] in rows
    assert ["served", "1"] in rows


def test_a_process_that_is_killed_is_named_with_the_signal() -> None:
    draft = Draft("Leave is 16 weeks.", ({"text": "Leave is 16 weeks."},), correct=True)
    plan = Plan(Cases("n", drafts=(draft,)), Settings(), Path())
    with (  # noqa: PT012
        pytest.raises(WorkerFailed, match=r"killed by SIGKILL.*fewer --workers"),
        processes(plan, 2) as workers,
    ):
        os.kill(workers.pools[0].submit(os.getpid).result(), signal.SIGKILL)
        list(workers.decide([Job(0)]))


OPENS = """
import os, time
from pathlib import Path
from suffice.lab.eval.cases import Cases
from suffice.lab.eval.worker import processes
from suffice.lab.eval.worker import Plan
from suffice.settings import Settings

if __name__ == "__main__":
    with processes(Plan(Cases("n"), Settings(), Path()), 1) as workers:
        print(workers.pools[0].submit(os.getpid).result(), flush=True)
        time.sleep(600)
"""


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="this system has no /proc")
def test_workers_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    (tmp_path / "opens.py").write_text(OPENS, "utf-8")
    with subprocess.Popen(
        [sys.executable, str(tmp_path / "opens.py")], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        worker = int(parent.stdout.readline())
        parent.kill()
    until(lambda: not _alive(worker))


def _alive(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(") ")[2]
    except FileNotFoundError:
        return False
    return not state.startswith("Z")  # nobody has to collect an orphan


def test_what_fails_in_a_process_is_an_error_with_its_reason(folder: Path) -> None:
    (folder / "docs.tar.gz").write_text("no archive", "utf-8")
    cases = Cases(
        "n", (Question("How long?", True, (("16",),), "leave"),),
        documents={"leave": folder / "docs.tar.gz"},
    )  # fmt: skip
    with pytest.raises(WorkerFailed, match=r"“leave” could not be indexed.*cannot be unpacked"):
        evaluate(cases, Settings(), open_verifier(VerifierSettings()), silent, workers=2)
