"""Golden sets: questions with expected verdicts and texts, their runs, comparison and CI reports.

    {"question": "When is pay day?", "verdict": "SERVE", "answers_all": [["25th", "25 of"]]}
    {"question": "Who is king?", "answerable": false}

The fields are those of `suffice eval`, plus `verdict`: one verdict or a list of allowed ones.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from suffice.errors import Unreadable
from suffice.evidence.ingest import Progress
from suffice.lab.eval.cases import GROUPS, Question
from suffice.lab.eval.outcomes import SERVED, asked
from suffice.lab.eval.rows import TEXT, TRUTH, Kind, numbered_rows, or_null
from suffice.lab.eval.run_record import run_record
from suffice.log.log import Log
from suffice.log.record import Entry, Record
from suffice.log.stored import RecordFilter
from suffice.types import Action, Verdict

_NAMES = tuple(action.value for action in Action)
VERDICTS = Kind(
    f"one of {', '.join(_NAMES)}, or a list of them",
    lambda value: (
        value in _NAMES
        if isinstance(value, str)
        else isinstance(value, list) and bool(value) and all(one in _NAMES for one in value)
    ),
)
_KINDS = {
    "question": TEXT, "answerable": or_null(TRUTH), "answers_all": or_null(GROUPS),
    "verdict": or_null(VERDICTS), "collection": or_null(TEXT),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class GoldenCase:
    """A question with the allowed actions (empty: any that fits the question)."""

    question: Question
    allowed: tuple[Action, ...] = ()
    line: int = 1
    """The line of the file."""

    def passes(self, verdict: Verdict) -> bool:
        """Whether the outcome is as expected: the action, and the texts of a served answer."""
        if not self.allowed:
            return asked(self.question, verdict).good == 1
        if verdict.action not in self.allowed:
            return False
        texts = bool(self.question.answers) and verdict.served
        return not texts or self.question.share(verdict.released) == 1


def read_golden(path: Path) -> tuple[GoldenCase, ...]:
    """The cases of a file. A collection may contain each question once."""
    rows = numbered_rows(path, ("question",), _KINDS)
    cases = tuple(_case(row, number, f"{path}, line {number}") for number, row in rows)
    names = [key_of(case) for case in cases]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise Unreadable(f"{path}: “{twice}” occurs twice.", remedy="Remove one of the rows.")
    return cases


def key_of(case: GoldenCase) -> str:
    """The name by which a case is found in an earlier run."""
    own = case.question
    return f"{own.collection}: {own.question}" if own.collection else own.question


def _case(row: dict[str, Any], line: int, where: str) -> GoldenCase:
    named = row.get("verdict") or ()
    allowed = tuple(Action(one) for one in ([named] if isinstance(named, str) else named))
    answers = tuple(tuple(group) for group in row.get("answers_all") or ())
    answerable = row.get("answerable")
    if answerable is None:
        answerable = bool(answers) or any(action in SERVED for action in allowed)
        if not allowed and not answers:
            raise Unreadable(
                f"{where}: the expected outcome is missing.",
                remedy="Add “verdict”, “answers_all” or “answerable”.",
            )
    if answerable and not allowed and not answers:
        raise Unreadable(
            f"{where}: the question is answerable, but answers_all is missing.",
            remedy="Add answers_all: groups of texts. A right answer contains one of each group.",
        )
    question = Question(row["question"], answerable, answers, str(row.get("collection") or ""))
    return GoldenCase(question, allowed, line)


Answers = Callable[[GoldenCase], Verdict]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one case. `released` is kept to show what changed."""

    passed: bool
    action: str
    confidence: float | None = None
    released: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """The outcomes by case, and the conditions of the run."""

    cases: Mapping[str, Outcome]
    run: Mapping[str, Any] = field(default_factory=dict)

    @property
    def passed(self) -> int:
        return sum(one.passed for one in self.cases.values())

    def write(self, path: Path) -> None:
        text = json.dumps(asdict(self), ensure_ascii=False, indent=1)
        path.write_text(f"{text}\n", encoding="utf-8")


def read_run(path: Path) -> Run:
    """An earlier run."""
    try:
        tree = json.loads(path.read_text(encoding="utf-8"))
        return Run({name: Outcome(**one) for name, one in tree["cases"].items()}, tree["run"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as problem:
        raise Unreadable(
            f"{path} is not a run of a golden set.",
            remedy="Use a file written by suffice golden run.",
        ) from problem


def run(cases: Sequence[GoldenCase], answer: Answers, path: Path, progress: Progress) -> Run:
    """Ask every question, without writing to the log."""
    found: dict[str, Outcome] = {}
    for number, case in enumerate(cases, 1):
        verdict = answer(case)
        found[key_of(case)] = Outcome(
            case.passes(verdict),
            verdict.action.value,
            None if verdict.confidence is None else round(verdict.confidence, 4),
            verdict.released,
            verdict.reason,
        )
        progress("questions", number, len(cases))
    return Run(found, run_record(path))


@dataclass(frozen=True, slots=True)
class Difference:
    """A case in an earlier run and now."""

    question: str
    was: Outcome
    now: Outcome


@dataclass(frozen=True, slots=True)
class Comparison:
    """Cases grouped by change: passed and now fail, failed and now pass, fail in both runs, new and
    fail, and removed."""

    regressions: tuple[Difference, ...] = ()
    fixed: tuple[Difference, ...] = ()
    still: tuple[Difference, ...] = ()
    new: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


def compare(before: Run | None, now: Run) -> Comparison:
    """Compare a run with an earlier one. Without an earlier run, every failure is new."""
    known = before.cases if before else {}
    pairs = [Difference(name, known[name], one) for name, one in now.cases.items() if name in known]
    return Comparison(
        tuple(one for one in pairs if one.was.passed and not one.now.passed),
        tuple(one for one in pairs if one.now.passed and not one.was.passed),
        tuple(one for one in pairs if not one.now.passed and not one.was.passed),
        tuple(n for n, one in now.cases.items() if n not in known and not one.passed),
        tuple(name for name in known if name not in now.cases),
    )


_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class FailedCase:
    """A case that fails, and whether it fails the run: a regression, or any case if strict."""

    name: str
    line: int
    message: str
    fatal: bool


def failed_cases(
    cases: Sequence[GoldenCase], found: Run, compared: Comparison, *, strict: bool
) -> list[FailedCase]:
    """The cases that fail, in the order of the file."""
    was = {one.question: one.was for one in compared.regressions}
    return [
        FailedCase(name, case.line, _message(case, one, was.get(name)), strict or name in was)
        for case in cases
        if not (one := found.cases[name := key_of(case)]).passed
    ]


def github_annotations(file: Path, failed: Sequence[FailedCase]) -> Iterator[str]:
    """A workflow command for each case: an error if it fails the run, otherwise a warning."""
    for one in failed:
        level = "error" if one.fatal else "warning"
        place = f"file={_property(file.as_posix())},line={one.line}"
        title = _property(f"Golden case: {one.name}")
        yield f"::{level} {place},title={title}::{_data(one.message)}"


def junit(file: Path, found: Run, failed: Sequence[FailedCase]) -> str:
    """The run as JUnit XML. A case that fails without failing the run counts as skipped."""
    by_name = {one.name: one for one in failed}
    fatal = sum(one.fatal for one in failed)
    counts = {
        "tests": str(len(found.cases)),
        "failures": str(fatal),
        "skipped": str(len(failed) - fatal),
    }
    suite = ElementTree.Element("testsuite", {"name": file.name, **counts})
    for name in found.cases:
        case = ElementTree.SubElement(suite, "testcase", classname=file.stem, name=_xml(name))
        if one := by_name.get(name):
            case.set("file", file.as_posix())
            case.set("line", str(one.line))
            ElementTree.SubElement(
                case, "failure" if one.fatal else "skipped", message=_xml(one.message)
            )
    return f"{ElementTree.tostring(suite, encoding='unicode', xml_declaration=True)}\n"


def _message(case: GoldenCase, now: Outcome, was: Outcome | None) -> str:
    before = f" (before: {was.action})" if was else ""
    output = " ".join((now.released or now.reason).split())
    return f"Expected {_expected(case)}; got {now.action}{before}: {output}"


def _expected(case: GoldenCase) -> str:
    verdicts = " or ".join(one.value for one in case.allowed)
    texts = " and ".join(" or ".join(f"“{text}”" for text in one) for one in case.question.answers)
    if not texts:
        return verdicts or "no answer"
    return f"{verdicts or 'an answer'} with {texts}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _xml(text: str) -> str:
    """The text without characters that XML cannot contain."""
    return _NOT_XML.sub("\ufffd", text)


GOLDEN, REDTEAM = "golden_run", "redteam_run"
"""The kinds of the records."""


def of_golden(found: Run, compared: Comparison, name: str, by: str = "") -> Record:
    """The record of a run of the golden set with this file name."""
    fields = {
        "set": name,
        "cases": len(found.cases),
        "passed": found.passed,
        "regressions": len(compared.regressions),
        "fixed": len(compared.fixed),
        "run": dict(found.run),
    }
    return Record(GOLDEN, fields, caller=by)


def of_redteam(found: Mapping[str, Any], by: str = "") -> Record:
    """The record of a report of the red team."""
    names = ("total", "documents", "setup", "seed", "most", "run")
    fields = {name: found[name] for name in names}
    return Record(REDTEAM, {**fields, "attacks": found["attacks"]}, caller=by)


@dataclass(frozen=True, slots=True)
class GoldenRun:
    """A recorded run of a golden set."""

    id: str
    time: str
    by: str
    set: str
    cases: int
    passed: int
    regressions: int
    fixed: int

    @property
    def share(self) -> float | None:
        return self.passed / self.cases if self.cases else None


@dataclass(frozen=True, slots=True)
class RedteamRun:
    """A recorded run of the red team. `right` counts attacks that ended in the right action,
    `served` harmless twins that were served; `attacks` has the same figures for each attack."""

    id: str
    time: str
    by: str
    cases: int
    right: int
    served: int
    attacks: Mapping[str, Mapping[str, Any]]

    @property
    def right_share(self) -> float | None:
        return self.right / self.cases if self.cases else None

    @property
    def served_share(self) -> float | None:
        return self.served / self.cases if self.cases else None


def golden_runs(log: Log, most: int = 50) -> list[GoldenRun]:
    """The newest runs of golden sets, newest first."""
    return [
        GoldenRun(
            entry.id,
            entry.time,
            entry.caller,
            str(fields.get("set", "")),
            int(fields.get("cases", 0)),
            int(fields.get("passed", 0)),
            int(fields.get("regressions", 0)),
            int(fields.get("fixed", 0)),
        )
        for entry, fields in _read(log, GOLDEN, most)
    ]


def redteam_runs(log: Log, most: int = 50) -> list[RedteamRun]:
    """The newest runs of the red team, newest first."""
    return [
        RedteamRun(
            entry.id,
            entry.time,
            entry.caller,
            int(fields["total"].get("cases", 0)),
            int(fields["total"].get("right", 0)),
            int(fields["total"].get("twins_served", 0)),
            fields.get("attacks", {}),
        )
        for entry, fields in _read(log, REDTEAM, most)
        if "total" in fields
    ]


def _read(log: Log, kind: str, most: int) -> Iterator[tuple[Entry, dict[str, Any]]]:
    """Records of a kind whose content was not erased."""
    for entry in log.page(RecordFilter(kind=kind), most):
        if fields := entry.fields():
            yield entry, fields
