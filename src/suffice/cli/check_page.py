"""A checked answer as a self-contained HTML page, without scripts, fonts or external URLs.

The answer with its claims is on the left, the passages with the decisive words are on the right.
Each claim links to its decisive words, and they link back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise

from suffice.cli.check_style import STYLE
from suffice.types import Finding, Passage, Support, Verdict
from suffice.verdict.claim_status import ClaimStatus, claim_statuses

_CLASSES = {
    Support.BACKED: "backed",
    Support.CONTRADICTED: "contradicted",
    Support.UNBACKED: "unbacked",
    Support.UNCHECKED: "unchecked",
}
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
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
        f"<title>{action}: checked answer</title><style>{STYLE}</style></head><body>",
        _header(verdict, found),
        '<main><section class="left"><h2>Answer</h2>',
        f'<div class="answer">{_answer(verdict, found)}</div>',
        "<h2>Claims</h2>" if found else "",
        *map(_claim, found),
        '</section><section class="right"><h2>Evidence</h2>',
        *_passages(verdict, found),
        "</section></main></body></html>",
    )
    return "\n".join(part for part in parts if part)


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


def _answer(verdict: Verdict, found: Sequence[ClaimStatus]) -> str:
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


def _passages(verdict: Verdict, found: Sequence[ClaimStatus]) -> Iterator[str]:
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
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def _safe(text: str) -> str:
    return escape(_clean(text), quote=True)
