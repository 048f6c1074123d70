"""`suffice ask`, `suffice gate` and `suffice search`, and the arguments that they share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import wraps
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click
import msgspec

from suffice import schema
from suffice.cli import as_json as to_json
from suffice.cli.options import (
    LLM,
    MODEL,
    POLICY,
    Options,
    check_collection,
    common,
    open_library,
    piped,
    with_options,
)
from suffice.cli.progress import bars
from suffice.cli.recording import (
    NO_RECORD,
    RecordOption,
    open_log_of,
    recorded,
    show_record,
)
from suffice.cli.show import show_evidence, show_failures, show_gate
from suffice.cli.show_verdict import show_verdict
from suffice.errors import SourceMissing
from suffice.evidence.index import Filter
from suffice.evidence.ingest import Report
from suffice.evidence.library import Library
from suffice.evidence.sanitize import examined, flag_exclusions, flag_notes
from suffice.gate.policies.policy import known_policy
from suffice.settings import (
    CollectionSettings,
    VerifierSettings,
)
from suffice.text.question import checked_question, unnamed
from suffice.types import Action, Evidence, Kind, Verdict

if TYPE_CHECKING:
    from suffice.evidence.search import Search
    from suffice.pipeline import Pipeline


VERIFY = click.option(
    "--verify/--no-verify",
    default=True,
    help="With --llm: that LLM also verifies claims of which the verifier is unsure (default).",
)
_DAY = click.DateTime(["%Y-%m-%d"])


@dataclass(frozen=True, slots=True)
class QuestionRequest:
    """A question, and the library and settings that answer it."""

    question: str
    library: Library
    allowed: Filter
    top: int | None
    settings: CollectionSettings
    as_json: bool
    skipped: tuple[str, ...] = ()
    """Files that could not be read, each with its reason."""
    record_option: RecordOption | None = None
    """How the decision is recorded; `None` disables recording."""

    def search(self) -> Search:
        return self.library.search(self.allowed, top=self.top)

    def pipeline(
        self, settings: CollectionSettings | None = None, verifier: VerifierSettings | None = None
    ) -> Pipeline:
        """The pipeline for the question. `settings` replace those of the collection, `verifier`
        those of the verifier."""
        from suffice.engine import Caller, Engine  # `search` needs neither gate nor checks

        settings, general = settings or self.settings, self.library.settings
        general = replace(general, draft=settings.draft, verifier=verifier or general.verifier)
        log, caller = None, Caller(self.allowed)
        if option := self.record_option:
            log = open_log_of(self.library.store.database, general)
            caller = Caller(self.allowed, option.caller_name, option.tag)
        engine = Engine(general, self.library, log)
        search = engine.search(self.allowed, settings, top=self.top)
        return engine.pipeline(caller, settings, search)


def asking(
    command: Callable[..., int], own: tuple[str, ...] = ("policy", "llm", "model", "verify")
) -> Callable[..., int]:
    """Add the shared arguments to a command and pass them to it as an `QuestionRequest`; the
    options named in `own` are passed through unchanged."""

    @wraps(command)
    def called(**options: Any) -> int:
        kept = {name: options.pop(name) for name in own if name in options}
        return command(_open(**options), **kept)

    kinds = click.Choice([kind.value for kind in Kind])
    decorators: list[Callable[[Any], Any]] = [
        click.argument("question"),
        click.option("--docs", help="Folder, file, or - for standard input; indexed if needed."),
        click.option("--strict", is_flag=True, help="Fail on the first unreadable file."),
        click.option(
            "--label", "labels", multiple=True, help="Access label you hold (repeatable)."
        ),
        click.option("--as-of", type=_DAY, metavar="DATE", help="Use versions in force on DATE."),
        click.option("--history", is_flag=True, help="Include versions no longer in force."),
        click.option(
            "--kind", "kinds", multiple=True, type=kinds, help="Only passages of this kind."
        ),
        click.option("--top", type=click.IntRange(1, 1000), help="Number of passages to retrieve."),
        common,
    ]
    return with_options(called, *decorators)


def _open(
    options: Options,
    question: str,
    docs: str | None,
    strict: bool,
    labels: tuple[str, ...],
    as_of: datetime | None,
    history: bool,
    kinds: tuple[str, ...],
    top: int | None,
    record_option: RecordOption = NO_RECORD,
) -> QuestionRequest:
    question = checked_question(question)
    settings, store, collection = options.settings, options.store, options.collection
    wanted = record_option.wanted(settings, kept=store is not None or docs is None)
    if docs == "-" and store is None:
        # Piped documents are indexed in a temporary store, which is deleted afterwards.
        if record_option.record:
            raise SourceMissing(
                "A decision on piped documents cannot be recorded without a store.",
                remedy="Add --store FILE_OR_URL.",
            )
        wanted = False
        folder = click.get_current_context().with_resource(TemporaryDirectory())
        store = str(Path(folder) / "suffice.db")
    library = open_library(settings, store, docs)
    report = Report()
    if docs is not None:
        report = bring_in(library, docs, collection, strict=strict, quiet=options.quiet)
    check_collection(library.store, collection)
    allowed = Filter(
        as_of=as_of.date() if as_of else None,
        history=history,
        collection=collection,
        kinds=frozenset(map(Kind, kinds)),
        labels=frozenset(labels),
    )
    skipped = tuple(f"Skipped: {failure.reason}" for failure in report.failures)
    return QuestionRequest(
        question,
        library,
        allowed,
        top,
        settings.collection(collection),
        options.as_json,
        skipped,
        record_option if wanted else None,
    )


def bring_in(library: Library, docs: str, collection: str, *, strict: bool, quiet: bool) -> Report:
    """Index a folder, a file or standard input. Raise an error if no file can be read."""
    with bars(quiet=quiet) as progress:
        if docs == "-":
            data = piped(library.settings)
            return library.add_input(data, "stdin.md", collection=collection, progress=progress)
        report = library.add(docs, collection=collection, strict=strict, progress=progress)
    report.require_any(docs)
    show_failures(report)
    return report


@click.command()
@LLM
@MODEL
@VERIFY
@recorded
@asking
def ask(request: QuestionRequest, llm: str | None, model: str | None, verify: bool) -> int:
    """Answer QUESTION from documents with citations, or refuse and give the reason.

    Exit code 0: served. 2: withheld. 1: error.
    """
    own = request.settings.draft
    draft = replace(own, llm=llm or own.llm, model=model or own.model)
    verifier = request.library.settings.verifier
    if llm and verify:  # the LLM verifier of the settings, or else the drafter's
        by_drafter = verifier.llm.by_drafter(draft.llm, draft.model, draft.key_env)
        verifier = replace(verifier, llm=by_drafter)
    settings = replace(request.settings, draft=draft)
    verdict = request.pipeline(settings, verifier).answer(request.question)
    verdict = (
        replace(verdict, notes=(*verdict.notes, *request.skipped)) if request.as_json else verdict
    )
    if request.as_json:
        answer = schema.tree(schema.Answer.of(verdict))
        to_json.show({**answer, "draft": _for_review(verdict)})
    else:
        show_verdict(verdict)
        show_record(verdict.record)
    return 0 if verdict.served else 2


def _for_review(verdict: Verdict) -> schema.Draft | None:
    """The draft that waits for a person, with the passages behind its claims; `None` otherwise."""
    if verdict.action is not Action.REVIEW or verdict.draft is None:
        return None
    checked = schema.CheckedAnswer.of(verdict)
    return schema.Draft(checked.answer, checked.claims, checked.passages)


@click.command()
@POLICY
@recorded
@asking
def gate(request: QuestionRequest, policy: str | None) -> int:
    """Check whether the documents suffice to answer QUESTION, without answering it.

    Exit code 0: the gate is open. 2: closed. 1: error.
    """
    settings = request.settings
    if policy:
        settings = replace(settings, gate=replace(settings.gate, policy=known_policy(policy)))
    evidence, decision = request.pipeline(settings).retrieve_and_gate(request.question)
    if request.as_json:
        found = {"question": request.question, **schema.gate_fields(decision)}
        notes = [*evidence.notes, *request.skipped]
        to_json.show({**found, "notes": notes, "record": decision.record or None})
    else:
        show_gate(decision, evidence)
        show_record(decision.record)
    return 0 if decision.open else 2


@click.command()
@asking
def search(request: QuestionRequest) -> int:
    """Search for the passages most relevant to QUESTION.

    Exit code 0: passages found. 2: none found. 1: error.
    """
    subject = unnamed(request.settings.subject, request.question)
    question = Evidence(request.question, subject=subject)
    found = request.search()(question.in_context(request.question))
    evidence = examined(replace(found, question=request.question, subject=subject))
    notes = (*evidence.notes, *flag_notes(evidence), *request.skipped)
    evidence = replace(evidence, notes=notes)
    if request.as_json:
        excluded = tuple(map(schema.Excluded.of, flag_exclusions(evidence)))
        to_json.show(msgspec.structs.replace(schema.Evidence.of(evidence), excluded=excluded))
    else:
        show_evidence(evidence)
    return 0 if evidence.items else 2
