"""How good Suffice is, in short, and what each rule is worth."""

from __future__ import annotations

from collections.abc import Iterator

from scripts.pages.tables import Figures, cores, head, line, outcome_shares, result

WITHOUT_LLM, WITH_LLM = "answers", "recorded"
"""Where the figures of an evaluation stand: quotations, and the drafts of a recorded LLM."""


def headline(figures: str) -> Iterator[str]:
    """Language, quality and speed, for the first screen.

    `figures` is a link to more.
    """
    found, speed = result("eval"), result("speed")
    alone, llm = _of_100(found, WITHOUT_LLM), _of_100(found, WITH_LLM)
    seconds = speed["fast_ms"] / 1000
    yield "- **English only.** Text in another language is not judged and never counts as backed."
    yield (
        f"- **How good:** on real documents it was not trained on, the default answers "
        f"{alone['right']:.0f} of 100 answerable questions right, {alone['in part']:.0f} in part "
        f"and {alone['wrong']:.0f} wrong, and refuses {alone['refused']:.0f}; of 100 questions "
        f"without an answer it answers {alone['answered']:.0f}. With a strong LLM that writes the "
        f"answers, {llm['right']:.0f} are right, {llm['wrong']:.0f} wrong, and "
        f"{llm['answered']:.0f} of 100 others are answered ([all figures]({figures}))."
    )
    yield (
        f"- **How fast:** {seconds:.1f} s for the verifier to judge five sentences against five "
        f"passages on {cores(speed)}, without a GPU."
    )


def _of_100(found: Figures, drafter: str) -> dict[str, float]:
    """Of 100 answerable questions and of 100 others, decided with thresholds that were chosen on
    the other collections."""
    own = found["left_out"][drafter]["all"]["left_out"]
    return {
        name: 100 * count / one["questions"]
        for one in (own["answerable"], {**own["others"], "refused": None})
        for name, count in one.items()
        if name != "questions" and count is not None
    }


def quality() -> Iterator[str]:
    """How good the whole path is on real documents."""
    found, speed = result("eval"), result("speed")
    kinds = ("right", "in part", "wrong", "refused", "answered", "gap named")
    drafters = ((WITHOUT_LLM, "quotations (the default)"), (WITH_LLM, "an LLM's drafts"))
    yield from head(
        "of 100 answerable questions and of 100 others",
        *kinds[:4],
        "others: answered",
        "others: gap named",
    )
    for drafter, name in drafters:
        own = _of_100(found, drafter)
        yield line(name, *(f"{own[kind]:.0f}" for kind in kinds))
    yield ""
    outcomes = found["outcomes"]
    right, wrong = (outcome_shares(outcomes, f"{kind} draft: ") for kind in ("right", "wrong"))
    yield from head("labels and drafts", "share")
    for label in ("SERVE", "CAVEAT"):
        yield line(f"quotations labelled {label} that are right", _label(found, label))
    yield line("right drafts that are released", f"{right['served']:.0%}")
    yield line("drafts with one error that are stopped", f"{1 - wrong['served']:.0%}")
    without = found["twins"]["not_served_without"]
    yield line("questions whose answer was removed, not answered", f"{without:.0%}")
    times = f"{1 / speed['deberta_ratio']:.0f} times"
    yield line("speed of the verifier beside one DeBERTa-base call per claim and passage", times)
    yield ""
    collections = ", ".join(found["left_out"][WITHOUT_LLM]["collections"])
    yield (
        f"{found['questions']} questions, {found['drafts']} drafts and "
        f"{found['recorded_drafts']} recorded answers of an LLM, on {collections}. Each collection "
        "was decided with thresholds that were chosen on the others. The recorded LLM read the "
        "passages of an earlier search."
    )


def _label(found: Figures, label: str) -> str:
    own = found["precision"][label]
    return f"{own['right']:.0%} of {own['served']}"


def collections() -> Iterator[str]:
    """The same for each collection, with the shipped thresholds beside those of the others."""
    found = result("eval")
    yield from head("collection", "drafter", "thresholds", "right", "in part", "wrong", "refused",
                    "others answered")  # fmt: skip
    for drafter, name in ((WITHOUT_LLM, "quotations"), (WITH_LLM, "recorded LLM")):
        for collection, own in found["left_out"][drafter]["collections"].items():
            for column, title in (("shipped", "shipped"), ("left_out", "of the others")):
                can, cannot = own[column]["answerable"], own[column]["others"]
                counts = (str(can[kind]) for kind in ("right", "in part", "wrong", "refused"))
                answered = f"{cannot['answered']} of {cannot['questions']}"
                yield line(collection, name, title, *counts, answered)


def limits() -> Iterator[str]:
    """Where the system is weakest, in figures."""
    found, attacks = result("eval"), result("redteam")["attacks"]
    drafts = outcome_shares(found["outcomes"], "wrong draft: ")
    kinds = result("written-fast")["sets"]["written answers"]["kinds"]
    several = result("sufficiency-fast")["sets"]["ud_musique"]
    conflicts = result("conflict")["pairs"]
    weakest = ", ".join(f"{kind} {kinds[kind]:.2f}" for kind in sorted(kinds, key=kinds.get)[:4])
    yield from head("weakness", "measured", "results/")
    for limit, figure, file in (
        ("an LLM's wrong draft is released", f"{drafts['served']:.0%} of them", "eval"),
        (
            "an unanswerable question is answered",
            f"{_of_100(found, WITHOUT_LLM)['answered']:.0f}% of them",
            "eval",
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
