"""How good Suffice is, in short, and what each rule is worth."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from scripts.pages.tables import Figures, cores, head, line, outcome_shares, result


def headline(figures: str) -> Iterator[str]:
    """Language, quality and speed in three lines, for the first screen.

    `figures` is a link to more.
    """
    found, speed = result("real"), result("speed")
    answerable = outcome_shares(found["outcomes"], "answerable: ")
    others = outcome_shares(found["outcomes"], "unanswerable: ")
    wrong = outcome_shares(found["outcomes"], "wrong draft: ")
    seconds = speed["fast_ms"] / 1000
    yield "- **English only.** Text in another language is not judged and never counts as backed."
    right, bad = answerable["right"], answerable["wrong"]
    yield (
        f"- **How good:** on real documents it was not trained on, it answers {right:.0%} of the "
        f"answerable questions right, {bad:.0%} wrong, and refuses the rest or answers it in part; "
        f"it answers {others['served']:.0%} of the unanswerable ones, and stops "
        f"{1 - wrong['served']:.0%} of an LLM's wrong drafts ([all figures]({figures}))."
    )
    yield (
        f"- **How fast:** {seconds:.1f} s for the verifier to judge five sentences against five "
        f"passages on {cores(speed)}, without a GPU."
    )


TIERS = {"fast tier": "real", "strong tier": "real-strong"}
"""The tiers with the result of each on the real documents."""


def quality(*names: str) -> Iterator[str]:
    """How good the whole path is on real documents with the named tiers."""
    tiers, speed = [result(TIERS[name]) for name in names], result("speed")

    def row(name: str, share: Callable[[Figures], float]) -> str:
        return line(name, *(f"{share(one):.0%}" for one in tiers))

    def outcome(kind: str, name: str) -> Callable[[Figures], float]:
        return lambda one: outcome_shares(one["outcomes"], f"{kind}: ")[name]

    yield from head("on real documents that were not trained on", *names)
    yield row("answerable questions answered right", outcome("answerable", "right"))
    yield row("answerable questions answered wrong", outcome("answerable", "wrong"))
    yield row("unanswerable questions answered", outcome("unanswerable", "served"))
    for label in ("SERVE", "CAVEAT"):
        name = f"answers labelled {label} that are right"
        yield row(name, lambda one, label=label: one["precision"][label]["right"])
    yield row("right drafts of an LLM that are released", outcome("right draft", "served"))
    stopped = outcome("wrong draft", "served")
    yield row("wrong drafts of an LLM that are stopped", lambda one: 1 - stopped(one))
    yield row(
        "questions whose answer was taken out of the documents, not answered",
        lambda one: one["twins"]["not_served_without"],
    )
    times = 1 / speed["deberta_ratio"]
    rates = {"fast tier": times, "strong tier": times / speed["strong_times_fast"]}
    faster = (f"{rates[name]:.0f}" for name in names)
    yield line("speed: times faster than one DeBERTa-base call per claim and passage", *faster)
    yield ""
    asked = f"{tiers[0]['questions']} questions and {tiers[0]['drafts']} drafts"
    yield (
        f"Measured with the {' and the '.join(names)} on {asked}. Thresholds were chosen on these "
        "sets: expect somewhat less on yours."
    )


def limits() -> Iterator[str]:
    """Where the system is weakest, in figures."""
    outcomes, attacks = result("real")["outcomes"], result("redteam")["attacks"]
    drafts = outcome_shares(outcomes, "wrong draft: ")
    kinds = result("written-fast")["sets"]["written answers"]["kinds"]
    several = result("sufficiency-fast")["sets"]["ud_musique"]
    conflicts = result("conflict")["pairs"]
    weakest = ", ".join(f"{kind} {kinds[kind]:.2f}" for kind in sorted(kinds, key=kinds.get)[:4])
    yield from head("weakness", "measured", "results/")
    for limit, figure, file in (
        ("an LLM's wrong draft is released", f"{drafts['served']:.0%} of them", "real"),
        (
            "an unanswerable question is answered",
            f"{outcome_shares(outcomes, 'unanswerable: ')['served']:.0%} of them",
            "real",
        ),
        (
            "the subject of one document is joined to the predicate of another",
            f"stopped in {attacks['synthesis']['right_share']:.0%} of the cases",
            "redteam",
        ),
        (
            "a condition is left out",
            f"stopped in {attacks['dropped-condition']['right_share']:.0%} of the cases",
            "redteam",
        ),
        (
            "an answer needs several passages",
            f"balanced accuracy {several['balanced_accuracy']:.2f} (0.5 is chance)",
            "sufficiency-fast",
        ),
        (
            "two documents contradict each other",
            f"{conflicts['recall']:.0%} found, {conflicts['precision']:.0%} of the reports right",
            "conflict",
        ),
        ("the hardest kinds of wrong answers", f"AUROC: {weakest}", "written-fast"),
    ):
        yield line(limit, figure, f"`{file}.json`")


def own_figures() -> Iterator[str]:
    """The figures that other projects publish for their detectors, measured for the fast tier."""
    ragtruth, speed = result("grounding-fast")["sets"]["ragtruth"], result("speed")
    yield (
        f"Suffice's fast tier by itself: F1 {ragtruth['f1']:.2f} for unsupported answers on "
        f"{ragtruth['n']:,} development rows of RAGTruth, {ragtruth['f1_flag_all']:.2f} if every "
        f"answer is flagged. Speed on {cores(speed)}, five sentences against five passages: "
        f"{speed['fast_ms'] / 1000:.1f} s; one pass of a model of LettuceDetect-base's shape takes "
        f"{1 / speed['modernbert_ratio']:.1f} times as long."
    )


RULE_SETS = {"real": "real documents", "written": "written dev", "ragtruth": "RAGTruth dev"}


def rules() -> Iterator[str]:
    """What each rule is worth, from `suffice eval --each`."""
    sets = {title: found for name, title in RULE_SETS.items() if (found := result(f"rules-{name}"))}
    if not sets:
        return
    yield from head("without", *sets)
    for name in sorted({rule for found in sets.values() for rule in found["without"]}):
        yield line(name, *(_changed(found["without"].get(name)) for found in sets.values()))
    yield ""
    for title, found in sets.items():
        share = f"{found['good']:.1%} decided well"
        yield f"- {title}: {found['cases']} cases, {share} ({found['model']})"


def _changed(row: Figures | None) -> str:
    if row is None:
        return ""
    low, high = row["interval"]
    return f"{row['better']} better, {row['worse']} worse ({low:+.3f} to {high:+.3f})"
