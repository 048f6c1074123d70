"""The queue and its cases as pages: made on the server, plain forms."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest

from suffice.access.accounts import Accounts
from suffice.evidence.library import Library
from suffice.lab.calibrate.labels import read_labels
from suffice.log.decision import Filing
from suffice.log.setup import Setup
from suffice.log.stored import RecordFilter
from suffice.review.actions import Assign, Prioritize, Priority
from suffice.review.case import Act, State
from suffice.review.review import Review
from suffice.settings import RecordSettings, Settings
from suffice.types import Action, Conflict, Level, Passage
from tests.review import examples as some
from tests.server.gateway import RunningGateway, running
from tests.server.ui.conftest import People
from tests.server.ui.visitors import PASSWORD, Visitor, signed_in

LABELS = "/ui/queue/labels.jsonl"
SECRET = "SECRET-QUESTION"
HOSTILE = "<script>document.title='hacked'</script>"


@pytest.fixture
def review(site: RunningGateway) -> Review:
    assert site.inner.log is not None
    return Review(site.inner.log)


@pytest.fixture
def client(site: RunningGateway, people: People) -> Iterator[Visitor]:
    """A reviewer who signed in."""
    with signed_in(site, people.name("reviewer")) as found:
        yield found


def held(review: Review, question: str) -> str:
    verdict = replace(some.HELD, question=question)
    return review.log.write(
        replace(verdict, evidence=replace(some.EVIDENCE, question=question)),
        filing=Filing("website"),
    )


def send(client: Visitor, id: str, do: str, seen: int, **fields: str) -> httpx2.Response:
    path = f"/ui/queue/{id}"
    return client.submit(path, path, do=do, seen=str(seen), **fields)


def test_only_reviewers_see_the_queue(site: RunningGateway, people: People, review: Review) -> None:
    id = held(review, "Who may see this?")
    with signed_in(site, people.name("viewer")) as viewer:
        for path in ("/ui/queue", f"/ui/queue/{id}"):
            shown = viewer.get(path)
            assert shown.status_code == 403
            assert "needs the role reviewer" in shown.text
            assert "remotely 4 days" not in shown.text
        for path in (f"/ui/queue/{id}", LABELS):
            sent = viewer.submit("/ui/try", path, do="decide")
            assert sent.status_code == 403


def test_the_list_filters_counts_and_sorts(client: Visitor, review: Review) -> None:
    urgent, mine, gone = (held(review, f"Filter {name}?") for name in ("urgent", "mine", "gone"))
    review.act(urgent, Prioritize(Priority.URGENT), by="Bob")
    review.act(mine, Assign("ada-reviewer"), by="Bob")
    review.decide(gone, Act.DISMISS, reason="x", by="Bob")
    page = client.get("/ui/queue?why=review&priority=urgent").text
    assert "Filter urgent?" in page
    assert "Filter mine?" not in page
    page = client.get("/ui/queue?view=mine").text
    assert "Filter mine?" in page
    assert "Filter urgent?" not in page
    assert "Filter gone?" in client.get("/ui/queue?view=dismissed").text
    assert "Filter gone?" not in client.get("/ui/queue").text
    assert "Filter urgent?" in client.get("/ui/queue?assignee=&order=newest").text
    assert "No case fits these filters" in client.get("/ui/queue?assignee=nobody-else").text
    for odd in ("view=x&why=y&priority=z&order=w&page=-1", "page=99999999", f"why={HOSTILE}"):
        answer = client.get(f"/ui/queue?{odd}")
        assert answer.status_code == 200
        assert HOSTILE not in answer.text


def test_a_case_is_judged_claim_by_claim_and_released(client: Visitor, review: Review) -> None:
    id = held(review, "A whole review?")
    page = client.get(f"/ui/queue/{id}").text
    assert "claim-contradicted" in page
    assert "3, not 4" in page
    seen = review.case(id).latest
    wrong = "You may work remotely 3 days per week [1]."
    fixed = {"claim": "1", "judgement": "correct", "text": wrong, "comment": "§1", "next": "2"}
    done = send(client, id, "judge", seen, **fixed)
    assert (done.status_code, done.headers["location"]) == (303, f"/ui/queue/{id}#claim-2")
    done = send(client, id, "judge", seen, claim="2", judgement="accept", next="")
    assert done.headers["location"].endswith("#decide")
    answer = f"{wrong} Managers approve the days [1]."
    page = client.get(f"/ui/queue/{id}").text
    assert answer in page
    assert "Claim 1 corrected; claim 2 accepted" in page
    send(client, id, "mark", seen, passage=some.REMOTE.id, mark="stale", comment="Old.")
    assert "MARKED STALE" in client.get(f"/ui/queue/{id}").text
    send(client, id, "comment", seen, comment="Looks fine now.")
    send(client, id, "assign", seen, take="1")
    send(client, id, "prioritize", seen, priority="3")
    case = review.case(id)
    assert (case.state, case.assignee, case.priority) == (State.ASSIGNED, "ada-reviewer", 3)
    done = send(client, id, "decide", seen, choice="release", answer=answer, reason="Corrected.")
    assert done.status_code == 303
    (decided,) = review.case(id).decided
    assert (decided.act, decided.by, decided.text) == (Act.CORRECT, "ada-reviewer", answer)
    page = client.get(f"/ui/queue/{id}").text
    assert "Corrected by ada-reviewer: Corrected." in page
    for event in ("Looks fine now.", "Passage marked stale", "Assigned to ada-reviewer", "urgent"):
        assert event in page


@pytest.mark.parametrize(
    ("verdict", "choice", "answer", "act"),
    [
        (some.HELD, "release", some.TEXT, Act.RELEASE),
        (some.HELD, "release", "Up to 3 days.", Act.CORRECT),
        (some.HELD, "withhold", some.TEXT, Act.CONFIRM),
        (some.SERVED, "release", some.TEXT.replace("\n", "\r\n"), Act.CONFIRM),
        (some.SERVED, "release", "Up to 3 days.", Act.CORRECT),
        (some.SERVED, "withhold", some.TEXT, Act.WITHDRAW),
        (some.SERVED, "dismiss", some.TEXT, Act.DISMISS),
    ],
)
def test_what_a_choice_means_depends_on_whether_the_answer_is_out(
    client: Visitor, review: Review, verdict: object, choice: str, answer: str, act: Act
) -> None:
    id = review.log.write(verdict)  # type: ignore[arg-type]
    seen = review.case(id).latest
    done = send(client, id, "decide", seen, choice=choice, answer=answer, reason="x")
    assert done.status_code == 303, done.text
    assert review.case(id).decided[-1].act is act


def test_who_is_too_late_is_told(client: Visitor, review: Review) -> None:
    id = held(review, "Too late?")
    seen = review.case(id).latest
    review.decide(id, Act.CONFIRM, reason="x", by="Bob")
    told = send(client, id, "decide", seen, choice="release", answer=some.TEXT, reason="y")
    assert told.status_code == 409
    assert "Bob acted first: confirm at" in told.text
    assert [one.by for one in review.case(id).decided] == ["Bob"]


def test_a_form_that_does_not_fit_is_refused_and_what_was_written_is_kept(
    client: Visitor, review: Review
) -> None:
    id = held(review, "Which form?")
    seen = review.case(id).latest
    for fields in (
        {"do": "decide", "choice": "release", "answer": "My words.", "reason": " "},
        {"do": "decide", "choice": "destroy", "reason": "x"},
        {"do": "judge", "claim": "9", "judgement": "accept"},
        {"do": "judge", "claim": "x", "judgement": "accept"},
        {"do": "mark", "passage": "other", "mark": "wrong"},
        {"do": "prioritize", "priority": "11"},
        {"do": "nothing"},
    ):
        answer = send(client, id, seen=seen, **fields)
        assert answer.status_code == 400, fields
    told = send(client, id, "decide", seen, choice="release", answer="My words.", reason=" ")
    assert "requires a reason" in told.text
    assert "My words." in told.text
    assert review.case(id).latest == seen
    without = client.post(f"/ui/queue/{id}", data={"do": "decide", "seen": str(seen)})
    assert without.status_code == 403  # no token of the site


def test_both_sides_of_a_conflict_stand_beside_each_other(client: Visitor, review: Review) -> None:
    old = Passage("old@1#0-9", "2 days per week.", "old.md", title="Old rules")
    conflict = Conflict(some.REMOTE, old, "3 days per week", "2 days per week", 0.9, "They differ.")
    gate = replace(some.GATE, level=Level.CONFLICT, conflicts=(conflict,))
    id = review.log.write(replace(some.SERVED, action=Action.CONFLICT, gate=gate))
    page = client.get(f"/ui/queue/{id}").text
    assert "The documents disagree" in page
    assert "<mark>3 days per week</mark>" in page
    assert "<mark>2 days per week</mark>" in page
    seen = review.case(id).latest
    assert send(client, id, "mark", seen, passage=old.id, mark="wrong").status_code == 303
    assert [one.document for one in review.marked_passages(document="old.md")] == ["old.md"]


def test_a_gate_decision_without_an_answer_is_a_case_too(client: Visitor, review: Review) -> None:
    id = review.log.write_gate(some.EVIDENCE, replace(some.GATE, level=Level.REVIEW))
    page = client.get(f"/ui/queue/{id}").text
    assert "Confirm the gate" in page
    assert "Answer to release" not in page
    seen = review.case(id).latest
    assert send(client, id, "decide", seen, choice="confirm", reason="x").status_code == 303


def test_a_gate_that_was_wrongly_closed_is_opened(client: Visitor, review: Review) -> None:
    shut = replace(some.GATE, level=Level.INSUFFICIENT)
    bare = replace(some.HELD, action=Action.WITHHOLD, gate=shut, draft=None, findings=())
    id = review.log.write(bare, filing=Filing("website"))
    assert "Open the gate" in client.get(f"/ui/queue/{id}").text
    seen = review.case(id).latest
    refused = send(client, id, "decide", seen, choice="open", answer="", reason=" ")
    assert refused.status_code == 400
    done = send(client, id, "decide", seen, choice="open", answer="", reason="It is there.")
    assert done.status_code == 303, done.text
    (decided,) = review.case(id).decided
    assert (decided.act, decided.by) == (Act.OPEN, "ada-reviewer")
    made = review.case(decided.result)
    assert made.entry.caller == "website"  # who asked can poll for it
    assert made.verdict is not None
    assert "3 days" in made.verdict.released
    assert decided.result in client.get(f"/ui/queue/{id}").text
    late = send(client, id, "decide", seen, choice="open", answer="", reason="Me too.")
    assert late.status_code == 409
    held_open = held(review, "Is the gate open?")
    assert "Open the gate" not in client.get(f"/ui/queue/{held_open}").text


def test_a_reviewer_without_the_label_sees_nothing_of_it(
    site: RunningGateway, site_library: Library, review: Review
) -> None:
    accounts = Accounts(site_library.store.database)
    accounts.add("eve-blind", PASSWORD, ["reviewer"])
    accounts.add("eve-board", PASSWORD, ["reviewer"], labels=["board"])
    verdict = some.labelled(some.HELD, "board")
    evidence = replace(verdict.evidence, question=SECRET)
    id = review.log.write(replace(verdict, question=SECRET, evidence=evidence))
    review.act(id, Assign("eve-board"), by="Bob")
    seen = review.case(id).latest
    with signed_in(site, "eve-blind") as blind, signed_in(site, "eve-board") as board:
        for client, there in ((board, True), (blind, False)):
            listed = client.get("/ui/queue?order=newest").text
            assert (SECRET in listed) is there
            assert ("eve-board (1)" in listed) is there  # not even in a count
            shown = client.get(f"/ui/queue/{id}")
            assert (shown.status_code == 200) is there
            assert ("3 days per week" in shown.text) is there
        data = {"do": "decide", "choice": "withhold", "reason": "x", "seen": str(seen)}
        done = blind.submit("/ui/queue", f"/ui/queue/{id}", **data)
        assert done.status_code == 404
        assert SECRET not in done.text
        assert review.case(id).latest == seen


def test_hostile_text_is_shown_as_text(client: Visitor, review: Review) -> None:
    passage = replace(some.REMOTE, text=f"{HOSTILE} 3 days.", title=HOSTILE)
    evidence = replace(
        some.EVIDENCE,
        question=HOSTILE,
        items=(replace(some.EVIDENCE.items[0], passage=passage),),
    )
    draft = replace(some.DRAFT, text=some.TEXT + HOSTILE)
    verdict = replace(some.HELD, question=HOSTILE, evidence=evidence, draft=draft, reason=HOSTILE)
    id = review.log.write(verdict, filing=Filing(HOSTILE))
    for path in ("/ui/queue?order=newest", f"/ui/queue/{id}"):
        page = client.get(path).text
        assert "&lt;script&gt;" in page
        assert HOSTILE not in page


def test_labels_that_would_mislead_are_refused(client: Visitor, review: Review) -> None:
    review.log.write(some.SERVED)  # it could not be drawn
    refused = client.submit("/ui/queue", LABELS)
    assert refused.status_code == 400
    assert "record.review_sample" in refused.text


def test_the_labels_are_downloaded_as_calibration_reads_them(tmp_path: Path) -> None:
    sampling = Settings(record=RecordSettings(review_sample=1, review_borderline=0))
    library = Library.open(tmp_path / "s.db", Settings(), create=True)
    with running(library, sampling) as gateway, Visitor(gateway) as client:
        assert gateway.inner.log is not None
        review = Review(gateway.inner.log)
        ids = [review.log.write(some.SERVED, filing=Setup().filing()) for _ in range(2)]
        for id, choice in zip(ids, ("release", "withhold"), strict=True):
            fields = {"choice": choice, "answer": some.TEXT, "reason": "x"}
            send(client, id, "judge", review.case(id).latest, claim="1", judgement="overrule")
            assert send(client, id, "decide", review.case(id).latest, **fields).status_code == 303
        before = review.log.head().sequence
        assert client.get(LABELS).status_code == 404
        assert client.post(LABELS, data={"csrf": ""}).status_code == 403  # no token of the site
        assert review.log.head().sequence == before
        file = client.submit("/ui/queue", LABELS)
        (told,) = review.log.page(RecordFilter(kind="export"))
        assert (told.caller, told.fields()["what"], told.fields()["rows"]) == ("local", "labels", 2)
    library.store.close()
    assert "attachment" in file.headers["content-disposition"]
    path = tmp_path / "labels.jsonl"
    path.write_bytes(file.content)
    labels = read_labels(path)
    assert [(label.correct, label.probability) for label in labels] == [(True, 1), (False, 1)]
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert [row["claims"][0]["correct"] for row in rows] == [True, True]
