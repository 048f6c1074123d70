"""Reports a golden run to a CI system: annotations of GitHub Actions, and a JUnit file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from suffice.learn.golden.cases import GoldenCase, key_of
from suffice.learn.golden.run import Comparison, Outcome, Run

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
