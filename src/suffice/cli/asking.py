"""Arguments shared by `ask`, `gate` and `search`: the question, the documents and the filter."""

from __future__ import annotations

import getpass
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import wraps
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.text import Text

from suffice.cli import as_json as to_json
from suffice.cli.options import check_collection, common, open_library, piped
from suffice.cli.progress import bars
from suffice.cli.show import show_evidence, show_failures, show_gate
from suffice.cli.show_verdict import show_verdict
from suffice.errors import SourceMissing
from suffice.evidence.index import Filter
from suffice.evidence.ingest import Report
from suffice.evidence.library import Library
from suffice.evidence.sanitize import examined, flag_exclusions, flag_notes
from suffice.evidence.search import Search, StoredDocuments
from suffice.gate.policies.policy import known_policy
from suffice.models.catalog import open_verifier
from suffice.settings import (
    CollectionSettings,
    DraftSettings,
    Settings,
    VerifierSettings,
    read_settings,
)
from suffice.text.question import checked_question, unnamed
from suffice.types import Action, Evidence, Kind, Verdict

if TYPE_CHECKING:
    from suffice.evidence.library import Library
    from suffice.log.entry import Record
    from suffice.log.librarian import Librarian
    from suffice.log.log import Recorder
    from suffice.log.setup import Setup
    from suffice.pipeline import Pipeline
    from suffice.sql.database import Database


@dataclass(frozen=True, slots=True)
class RecordOption:
    """Whether to write a record (`None`: use the settings), and its caller and tag."""

    record: bool | None = None
    caller: str | None = None
    tag: str = ""

    def wanted(self, settings: Settings, *, kept: bool) -> bool:
        """Whether to write a record. `kept`: the store still exists after the command."""
        if self.record is not None:
            return self.record
        return {"auto": kept, "always": True, "never": False}[settings.record.enabled]


NO_RECORD = RecordOption(record=False)


def recorded(command: Callable[..., int]) -> Callable[..., int]:
    """Add `--record`, `--caller` and `--tag`, and pass them to the command as `record_option`."""

    @wraps(command)
    def called(record: bool | None, caller: str | None, tag: str, **options: Any) -> int:
        return command(record_option=RecordOption(record, caller, tag), **options)

    options = [
        click.option(
            "--record/--no-record",
            default=None,
            help="Record the decision in the store's log (default: yes with a permanent store).",
        ),
        click.option("--caller", help="Caller name in the record (default: your user name)."),
        click.option("--tag", default="", help="Tag in the record, such as a person or a case."),
    ]
    wrapped: Callable[..., int] = called
    for option in reversed(options):
        wrapped = option(wrapped)
    return wrapped


RECORD_RUN = click.option(
    "--record/--no-record",
    default=None,
    help="Record the figures of the run in the store's log (default: yes with a permanent store).",
)


def record_run(library: Library, made: Record, *, record: bool | None, kept: bool) -> None:
    """Append the record of a run to the log, if wanted; `kept` says that the store is permanent."""
    from suffice.log.log import Log

    if RecordOption(record).wanted(library.settings, kept=kept):
        log = Log(library.store.database, library.settings.record)
        log.append(made)
        log.close()


def recorder(
    database: Database, settings: Settings, record_option: RecordOption, setup: Setup
) -> Recorder:
    """A recorder for the store's log. The log is closed when the command ends."""
    from suffice.log.log import Log, Recorder

    log = Log(database, settings.record)
    click.get_current_context().call_on_close(log.close)
    caller = user() if record_option.caller is None else record_option.caller
    return Recorder(log, setup.filing(caller, record_option.tag))


def librarian(library: Library) -> Librarian:
    """A librarian that changes the documents of a library, and records this unless disabled."""
    from suffice.log.librarian import Librarian
    from suffice.log.log import Log

    if library.settings.record.enabled == "never":
        return Librarian(library, None)
    log = Log(library.store.database, library.settings.record)
    click.get_current_context().call_on_close(log.close)
    return Librarian(library, log, user())


def show_record(id: str) -> None:
    """Print the id of the record, if there is one."""
    if id:
        Console().print(Text(f"Record {id}", style="dim"))


def user() -> str:
    with suppress(OSError, KeyError, ImportError):
        return getpass.getuser()
    return ""


VERIFY = click.option(
    "--verify/--no-verify",
    default=True,
    help="With --llm: that LLM also verifies claims of which the verifier is unsure (default).",
)
_DAY = click.DateTime(["%Y-%m-%d"])


@dataclass(frozen=True, slots=True)
class OpenedQuestion:
    """A question with the search, library and settings that answer it."""

    question: str
    search: Search
    library: Library
    settings: CollectionSettings
    as_json: bool
    skipped: tuple[str, ...] = ()
    """Files that could not be read, each with its reason."""
    record_option: RecordOption | None = None
    """How the decision is recorded; `None` disables recording."""
    verifier: VerifierSettings | None = None
    """Overrides the verifier of the library's settings."""

    def verified_by(self, draft: DraftSettings) -> OpenedQuestion:
        """The question with an LLM verifier: that of the settings, or else the drafter's."""
        verifier = self.library.settings.verifier
        llm = verifier.llm.by_drafter(draft.llm, draft.model, draft.key_env)
        return replace(self, verifier=replace(verifier, llm=llm))

    def pipeline(self, settings: CollectionSettings | None = None) -> Pipeline:
        """Return the pipeline for the question; `settings` overrides those of the collection."""
        # `search` needs neither gate nor checks.
        from suffice.log.setup import Setup, settings_in_force, suspended_certificates
        from suffice.pipeline import Pipeline

        own, database = self.library.settings, self.library.store.database
        own = replace(own, verifier=self.verifier or own.verifier)
        chosen = settings or self.settings
        chosen = settings_in_force(chosen, suspended_certificates(chosen, own, database))
        embedder, verifier = self.library.embedder, open_verifier(own.verifier, "", chosen.draft)
        documents = StoredDocuments(self.library.store, self.search.allowed)
        pipeline = Pipeline.of(self.search, embedder, chosen, verifier, documents)
        if self.record_option is None:
            return pipeline
        setup = Setup.of(own, chosen, embedder.id, verifier.id)
        kept = recorder(database, own, self.record_option, setup)
        return replace(pipeline, record=kept)


def asking(
    command: Callable[..., int], own: tuple[str, ...] = ("policy", "llm", "model", "verify")
) -> Callable[..., int]:
    """Add the shared arguments to a command and pass them to it as an `OpenedQuestion`; the
    options named in `own` are passed through unchanged."""

    @wraps(command)
    def called(**options: Any) -> int:
        kept = {name: options.pop(name) for name in own if name in options}
        return command(_open(**options), **kept)

    kinds = click.Choice([kind.value for kind in Kind])
    decorators = [
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
    wrapped: Callable[..., int] = called
    for decorate in reversed(decorators):
        wrapped = decorate(wrapped)
    return wrapped


def _open(
    question: str,
    docs: str | None,
    strict: bool,
    labels: tuple[str, ...],
    as_of: datetime | None,
    history: bool,
    kinds: tuple[str, ...],
    top: int | None,
    config: str | None,
    store: str | None,
    collection: str,
    as_json: bool,
    quiet: bool,
    record_option: RecordOption = NO_RECORD,
) -> OpenedQuestion:
    question = checked_question(question)
    settings = read_settings(config)
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
        report = bring_in(library, docs, collection, strict=strict, quiet=quiet)
    check_collection(library.store, collection)
    allowed = Filter(
        as_of=as_of.date() if as_of else None,
        history=history,
        collection=collection,
        kinds=frozenset(map(Kind, kinds)),
        labels=frozenset(labels),
    )
    search = library.search(allowed, top=top)
    skipped = tuple(f"Skipped: {failure.reason}" for failure in report.failures)
    own = settings.collection(collection)
    return OpenedQuestion(
        question, search, library, own, as_json, skipped, record_option if wanted else None
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
@click.option("--llm", help="Drafter: extractive, or the base URL of an LLM endpoint.")
@click.option("--model", help="Model name at that endpoint.")
@VERIFY
@recorded
@asking
def ask(asked: OpenedQuestion, llm: str | None, model: str | None, verify: bool) -> int:
    """Answer QUESTION from documents with citations, or refuse and give the reason.

    Exit code 0: served. 2: withheld. 1: error.
    """
    own = asked.settings.draft
    draft = replace(own, llm=llm or own.llm, model=model or own.model)
    if llm and verify:
        asked = asked.verified_by(draft)
    verdict = asked.pipeline(replace(asked.settings, draft=draft)).answer(asked.question)
    verdict = replace(verdict, notes=(*verdict.notes, *asked.skipped)) if asked.as_json else verdict
    if asked.as_json:
        to_json.show({**to_json.verdict(verdict), "draft": _for_review(verdict)})
    else:
        show_verdict(verdict)
        show_record(verdict.record)
    return 0 if verdict.served else 2


def _for_review(verdict: Verdict) -> dict[str, Any] | None:
    """The draft that waits for a person, with the passages behind its claims; `None` otherwise."""
    if verdict.action is not Action.REVIEW or verdict.draft is None:
        return None
    found = to_json.checked(verdict)
    return {"text": found["answer"], "claims": found["claims"], "passages": found["passages"]}


@click.command()
@click.option(
    "--policy", help="Gate policy: tiers, coverage, bound, checkpoint, reranked or learned."
)
@recorded
@asking
def gate(asked: OpenedQuestion, policy: str | None) -> int:
    """Check whether the documents suffice to answer QUESTION, without answering it.

    Exit code 0: the gate is open. 2: closed. 1: error.
    """
    settings = asked.settings
    if policy:
        settings = replace(settings, gate=replace(settings.gate, policy=known_policy(policy)))
    evidence, decision = asked.pipeline(settings).retrieve_and_gate(asked.question)
    if asked.as_json:
        found = {"question": asked.question, **to_json.gate(decision)}
        notes = [*evidence.notes, *asked.skipped]
        to_json.show({**found, "notes": notes, "record": decision.record or None})
    else:
        show_gate(decision, evidence)
        show_record(decision.record)
    return 0 if decision.open else 2


@click.command()
@asking
def search(asked: OpenedQuestion) -> int:
    """Search for the passages most relevant to QUESTION.

    Exit code 0: passages found. 2: none found. 1: error.
    """
    subject = unnamed(asked.settings.subject, asked.question)
    question = Evidence(asked.question, subject=subject)
    found = asked.search(question.in_context(asked.question))
    evidence = examined(replace(found, question=asked.question, subject=subject))
    notes = (*evidence.notes, *flag_notes(evidence), *asked.skipped)
    evidence = replace(evidence, notes=notes)
    if asked.as_json:
        left_out = to_json.excluded(flag_exclusions(evidence))
        to_json.show({**to_json.evidence(evidence), "excluded": left_out})
    else:
        show_evidence(evidence)
    return 0 if evidence.items else 2
