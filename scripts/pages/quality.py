"""How good Suffice is, in short, and what each rule is worth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from scripts.pages.tables import Figures, cores, head, line, outcome_shares, result


def headline(figures: str) -> Iterator[str]:
    """Language, quality and speed, for the first screen.

    `figures` is a link to more.
    """
    found, speed = result("eval"), result("speed")
    alone, llm = _of_100(found), _of_100(found, recorded=True)
    seconds = speed["fast_ms"] / 1000
    yield "- **English only.** Text in another language is not judged and never counts as backed."
    yield (
        f"- **How good:** of 100 questions that real documents answer, the default (quotations) "
        f"answers {alone['right']:.0f} right, {alone['in part']:.0f} in part and "
        f"{alone['wrong']:.0f} wrong, and refuses {alone['refused']:.0f}; of 100 others it answers "
        f"{alone['answered']:.0f}. With a strong LLM that drafts, {llm['right']:.0f} are right, "
        f"{llm['in part']:.0f} right in part, {llm['wrong']:.0f} wrong; of 100 others it answers "
        f"{llm['answered']:.0f} ([all figures]({figures}))."
    )
    yield (
        f"- **How fast:** {seconds:.1f} s for the verifier to judge five sentences against five "
        f"passages on {cores(speed)}, without a GPU."
    )


CAN, CANNOT = ("right", "in part", "wrong", "refused"), ("answered", "gap named")
"""What becomes of an answerable question, and of another one if it is not refused."""
UNSEEN = ("frigate", "customs")
"""The collections on which no threshold for quotations was chosen. Their drafts of an LLM are
recorded."""


def _of_100(found: Figures, *, recorded: bool = False) -> dict[str, float]:
    """What becomes of 100 answerable questions and of 100 others to the unseen collections."""
    total: Counter[str] = Counter()
    for name in UNSEEN:
        own = found["collections"][name]
        answers = own["recorded"]["answers"] if recorded else own["answers"]
        for asked, kinds in (("answerable", CAN), ("others", CANNOT)):
            total[asked] += answers[asked]["questions"]
            total.update({kind: answers[asked][kind] for kind in kinds})
    shares = {kind: 100 * total[kind] / total["answerable"] for kind in CAN}
    return shares | {kind: 100 * total[kind] / total["others"] for kind in CANNOT}


def quality() -> Iterator[str]:
    """How good the whole path is on real documents."""
    found, speed = result("eval"), result("speed")
    yield from head(
        "of 100 answerable questions and of 100 others", *CAN, "others: answered", "gap named"
    )
    for name, recorded in (("quotations (the default)", False), ("a strong LLM drafts", True)):
        own = _of_100(found, recorded=recorded)
        yield line(name, *(f"{own[kind]:.0f}" for kind in (*CAN, *CANNOT)))
    yield ""
    right, wrong = (
        outcome_shares(found["outcomes"], f"{kind} draft: ") for kind in ("right", "wrong")
    )
    yield from head("labels and drafts", "share")
    for label in ("SERVE", "CAVEAT"):
        own = found["precision"][label]
        share = f"{own['right']:.0%} of {own['served']}"
        yield line(f"quotations labelled {label} that are right", share)
    yield line("right drafts that are released", f"{right['served']:.0%}")
    yield line("drafts with one error that are stopped", f"{1 - wrong['served']:.0%}")
    without = found["twins"]["not_served_without"]
    yield line("questions whose answer was removed, not answered", f"{without:.0%}")
    times = f"{1 / speed['deberta_ratio']:.0f} times"
    yield line("speed of the verifier beside one DeBERTa-base call per claim and passage", times)
    yield ""
    yield (
        "The questions are on a network video recorder's documentation and a customs authority's "
        "guidance; no threshold for quotations was chosen on them. The LLM's drafts are recorded: "
        "it read what an earlier search had found, and the gate before an LLM was chosen on them. "
        f"Labels, drafts and twins: {found['questions']} questions and {found['drafts']} drafts on "
        "four collections."
    )


def collections() -> Iterator[str]:
    """The same in numbers for each collection."""
    found = result("eval")
    yield from head("collection", "drafter", "answerable", *CAN, "others", *CANNOT)
    for collection, own in found["collections"].items():
        recorded = own["recorded"] and own["recorded"]["answers"]
        for name, answers in (("quotations", own["answers"]), ("a strong LLM", recorded)):
            if answers:
                can, cannot = answers["answerable"], answers["others"]
                counts = (*(can[kind] for kind in CAN), cannot["questions"])
                counts = (*counts, *(cannot[kind] for kind in CANNOT))
                yield line(collection, name, *map(str, (can["questions"], *counts)))


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
            f"{_of_100(found)['answered']:.0f}% of them",
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
