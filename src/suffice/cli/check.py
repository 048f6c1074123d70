"""`suffice check`: check an existing answer against the passages it was written from."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from html import escape
from importlib import resources
from itertools import pairwise
from pathlib import Path

import click

from suffice.cli import as_json as to_json
from suffice.cli.options import TIER, Options, shared
from suffice.cli.recording import RecordOption, open_log_of, recorded, show_record
from suffice.cli.show_verdict import show_checked
from suffice.engine import Caller, Engine
from suffice.errors import AnswerError, SourceMissing, SufficeError
from suffice.evidence.inputs import Given
from suffice.evidence.read.source import unix_lines
from suffice.evidence.sources import Cutting, check_exists, read_bundle, read_piece
from suffice.models.embedder import Embedder
from suffice.schema import CheckedAnswer
from suffice.settings import Settings
from suffice.text.one_line import without_controls
from suffice.types import Finding, Passage, Support, Verdict
from suffice.verdict.assess import ClaimStatus, claim_statuses

_CLASSES = {
    Support.BACKED: "backed",
    Support.CONTRADICTED: "contradicted",
    Support.UNBACKED: "unbacked",
    Support.UNCHECKED: "unchecked",
}
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def page(verdict: Verdict) -> str:
    """The HTML page. All text from the answer and the evidence is escaped."""
    found = claim_statuses(verdict)
    action = verdict.action.value
    parts = (
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{action}: checked answer</title><style>{_style()}</style></head><body>",
        _header(verdict, found),
        '<main><section class="left"><h2>Answer</h2>',
        f'<div class="answer">{_answer_html(verdict, found)}</div>',
        "<h2>Claims</h2>" if found else "",
        *map(_claim, found),
        '</section><section class="right"><h2>Evidence</h2>',
        *_passages_html(verdict, found),
        "</section></main></body></html>",
    )
    return "\n".join(part for part in parts if part)


def _style() -> str:
    return resources.files("suffice.cli").joinpath("check.css").read_text(encoding="utf-8")


def _header(verdict: Verdict, found: Sequence[ClaimStatus]) -> str:
    kind = "good" if verdict.action.value == "SERVE" else "mixed" if verdict.served else "bad"
    asked = f'<p class="asked">{_safe(verdict.question)}</p>' if verdict.question else ""
    notes = "".join(f"<li>{_safe(note)}</li>" for note in verdict.notes)
    return (
        f'<header class="{kind}"><p class="action">{verdict.action.value}</p>{asked}'
        f'<p class="why">{_safe(verdict.reason)}</p>'
        f"<dl>{''.join(_figures(verdict, found))}</dl>"
        f"{f'<ul>{notes}</ul>' if notes else ''}{_legend(found)}</header>"
    )


def _figures(verdict: Verdict, found: Sequence[ClaimStatus]) -> Iterator[str]:
    shares = {
        "confidence": verdict.confidence,
        "faithfulness": verdict.faithfulness,
        "fact score": verdict.fact_score,
        "share checked": verdict.share_read,
    }
    shown = {name: f"{value:.2f}" for name, value in shares.items() if value is not None}
    shown |= {"grade": verdict.grade.value} if verdict.grade else {}
    shown |= {"claims": str(len(found)), "passages": str(len(verdict.evidence))}
    for name, value in shown.items():
        yield f"<div><dt>{name}</dt><dd>{value}</dd></div>"


def _legend(found: Sequence[ClaimStatus]) -> str:
    counts = {support: sum(status.support is support for status in found) for support in _CLASSES}
    words = {status.support: status.word for status in found}
    shown = (
        f'<span class="claim {_CLASSES[support]}">{words[support]}: {count}</span>'
        for support, count in counts.items()
        if count
    )
    return f'<p class="legend">{" ".join(shown)}</p>' if found else ""


def _answer_html(verdict: Verdict, found: Sequence[ClaimStatus]) -> str:
    if verdict.draft is None or not verdict.draft.text:
        return "<em>empty</em>"
    text, place, parts = verdict.draft.text, 0, []
    for status in found:
        parts.append(_safe(text[place : status.claim.start]))
        shown = _safe(text[status.claim.start : status.claim.end])
        title = escape(_clean(f"{status.word}: {status.reason}"), quote=True)
        parts.append(
            f'<a class="claim {_CLASSES[status.support]}" id="a{status.n}" '
            f'href="{_target(status)}" title="{title}">{shown}</a>'
        )
        place = status.claim.end
    return "".join((*parts, _safe(text[place:])))


def _target(status: ClaimStatus) -> str:
    """The link target of a claim: the decisive words, else the passage, else its reasons."""
    if status.span:
        return f"#e{status.n}"
    return f"#p{status.passage[0]}" if status.passage else f"#c{status.n}"


def _claim(status: ClaimStatus) -> str:
    head = f'<span class="badge {_CLASSES[status.support]}">{status.word}</span>'
    near = "nearest: " if status.nearest else ""
    to = (
        f' <a href="{_target(status)}">{near}passage [{status.passage[0]}]</a>'
        if status.passage
        else ""
    )
    omitted = (
        f'<p class="omitted">Omits a condition: {_safe(status.omitted.reason)}</p>'
        if status.omitted
        else ""
    )
    rows = "".join(map(_finding, status.findings))
    return (
        f'<article class="card {_CLASSES[status.support]}" id="c{status.n}">'
        f'<p>{head} <a class="said" href="#a{status.n}">{_safe(status.claim.text)}</a></p>'
        f'<p class="reason">{_safe(status.reason)}{to}</p>{omitted}'
        f"<details><summary>all checks</summary><table>{rows}</table></details></article>"
    )


def _finding(finding: Finding) -> str:
    score = "" if finding.score is None else f"{finding.score:.2f}"
    code = finding.code.value if finding.code else ""
    cells = (finding.check, finding.support.value.lower(), code, score, finding.reason)
    return f"<tr>{''.join(f'<td>{_safe(cell)}</td>' for cell in cells)}</tr>"


def _passages_html(verdict: Verdict, found: Sequence[ClaimStatus]) -> Iterator[str]:
    for n, passage in enumerate(verdict.evidence.passages, 1):
        own = [status for status in found if status.passage and status.passage[0] == n]
        name = passage.title or passage.document
        about = [f"version {passage.declared}"] if passage.declared else []
        about += [f"in force since {passage.effective}"] if passage.effective else []
        about += [f"expires {passage.expires}"] if passage.expires else []
        about += [passage.place] if passage.place else []
        known = f'<p class="about">{_safe(" · ".join(about))}</p>' if about else ""
        yield (
            f'<article class="passage" id="p{n}"><h3><span class="n">[{n}]</span> {_safe(name)}'
            f'</h3>{known}<div class="text">{_marked(passage, own)}</div></article>'
        )


def _marked(passage: Passage, own: Sequence[ClaimStatus]) -> str:
    """The passage's text with the decisive words marked; marks of several claims may overlap."""
    spans = [(status, span) for status in own if (span := _within(status, passage))]
    cuts = sorted({0, len(passage.text), *(place for _, span in spans for place in span)})
    parts = []
    for start, end in pairwise(cuts):
        over = [status for status, span in spans if span[0] <= start and end <= span[1]]
        anchors = "".join(f'<i id="e{status.n}"></i>' for status, span in spans if span[0] == start)
        text = _safe(passage.text[start:end])
        parts.append(f"{anchors}{_mark(text, over)}" if over else text)
    return "".join(parts)


def _within(status: ClaimStatus, passage: Passage) -> tuple[int, int] | None:
    if status.span is None:
        return None
    start, end = max(status.span[0], 0), min(status.span[1], len(passage.text))
    return (start, end) if start < end else None


def _mark(text: str, over: Sequence[ClaimStatus]) -> str:
    worst = min(over, key=lambda status: (status.nearest, status.support is Support.BACKED))
    back = over[0].n
    numbers = ", ".join(str(status.n) for status in over)
    shown = "near" if worst.nearest else _CLASSES[worst.support]
    link = f'<a href="#a{back}" title="claim {numbers}">{text}</a>'
    return f'<mark class="{shown}">{link}</mark>'


def _clean(text: str) -> str:
    return without_controls(text, "\N{REPLACEMENT CHARACTER}")


def _safe(text: str) -> str:
    return escape(_clean(text), quote=True)


@click.command()
@click.option("--answer", required=True, help="File with the answer, or - for standard input.")
@click.option(
    "--evidence",
    required=True,
    help="Passages: a text file, a JSON list, a folder, or - for standard input.",
)
@click.option("--question", help="Question that was asked; helps to interpret short claims.")
@click.option(
    "--uncited", is_flag=True, help="The answer has no citations: check it against all passages."
)
@TIER
@click.option("--html", type=click.Path(path_type=Path), help="Write an HTML report to this file.")
@shared("config")
@click.option(
    "--store",
    metavar="FILE_OR_URL",
    help="Record the verdict in this store's log; the store is created if needed.",
)
@shared("as_json")
@recorded
def check(
    options: Options,
    answer: str,
    evidence: str,
    question: str | None,
    uncited: bool,
    tier: str | None,
    html: Path | None,
    store: str | None,
    record_option: RecordOption,
) -> int:
    """Check every claim of an answer against its evidence. The answer is not modified.

    The citation [n] refers to the n-th passage: an item of a JSON list, a part of a text that
    numbers its parts [1], [2] …, or a passage of a folder's files in alphabetical order.

    Exit code 0: the answer may be released. 2: it should be withheld or reviewed. 1: error.
    """
    if answer == evidence == "-":
        raise AnswerError(
            "Answer and evidence cannot both come from standard input.",
            remedy="Pass one of them as a file.",
        )
    settings = options.settings
    text = _answer(answer, settings)
    log = None
    if record_option.wanted(settings, kept=store is not None):
        from suffice.sql.database import Database  # only a record needs the store

        database = Database.open(
            store or settings.store, create=True, wait=settings.store_wait_seconds
        )
        log = open_log_of(database, settings)
    engine = Engine(settings, log=log, tier=tier or "")
    passages = _passages(evidence, settings, engine.embedder)
    caller = Caller(name=record_option.caller_name, tag=record_option.tag)
    checker = engine.checker(caller, settings.collection(""), uncited=uncited)
    verdict = checker.check(text, passages, question)
    if html is not None:
        _write(html, page(verdict))
    if options.as_json:
        to_json.show(CheckedAnswer.of(verdict))
    else:
        show_checked(verdict)
        show_record(verdict.record)
    return 0 if verdict.served else 2


def _answer(source: str, settings: Settings) -> str:
    """Read the answer's text. An empty answer is valid input and gets a verdict."""
    most = settings.read.max_bytes
    data = sys.stdin.buffer.read(most + 1) if source == "-" else _bytes(Path(source), most)
    if len(data) > most:
        raise AnswerError(
            f"The answer is over the limit of {most:,} bytes (read.max_bytes).",
            remedy="Check it in parts, or raise the limit.",
        )
    try:
        return unix_lines(data.decode("utf-8-sig"))
    except UnicodeDecodeError as problem:
        raise AnswerError(
            f"The answer is not valid UTF-8 (at byte {problem.start}).",
            remedy="Save it as UTF-8 text.",
        ) from problem


def _bytes(path: Path, most: int) -> bytes:
    check_exists(path)
    if not path.is_file():
        raise SourceMissing(
            f"{path} is not a file.", remedy="Pass the file that contains the answer."
        )
    try:
        with path.open("rb") as file:
            return file.read(most + 1)
    except OSError as problem:
        raise AnswerError(
            f"Cannot read {path}: {problem.strerror}.", remedy="Check the file permissions."
        ) from problem


def _passages(source: str, settings: Settings, embedder: Embedder) -> list[Given]:
    most = settings.read.max_bytes
    if source == "-":
        return read_piece(sys.stdin.buffer.read(most + 1), "standard input", most)
    cutting = Cutting(embedder, min(settings.passages.max_tokens, embedder.window))
    return read_bundle(Path(source), cutting, most)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as problem:
        raise SufficeError(
            f"Cannot write {path}: {problem.strerror}.", remedy="Choose another file."
        ) from problem
