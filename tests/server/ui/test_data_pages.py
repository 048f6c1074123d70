"""Overview, log, documents and health: what each person sees of what was decided."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Page

from suffice.access.keys import Principals
from suffice.evidence.index import today
from suffice.evidence.library import Library
from suffice.lab.golden import Comparison, Outcome, Run, of_golden
from suffice.lab.monitor.gaps import Answered, Topic, backlog
from suffice.log.index import DecisionIndex
from suffice.log.log import Log
from suffice.log.record import Record
from suffice.log.stored import RecordFilter
from suffice.log.verify import Verified
from suffice.server.ui import gaps_page
from suffice.server.ui.page import PageContext
from suffice.settings import RouteSettings, ServerSettings, Settings
from tests.conftest import HANDBOOK
from tests.server.gateway import OFF_TOPIC, QUESTION, RunningGateway, running
from tests.waiting import PATIENCE, until

WAGES = """---
title: Wages of the board
access: [staff]
version: "1"
expires: {expires}
---

# Wages of the board

The chair of the board is paid 9000 euros per month.
"""
SECRET_QUESTION = "How much is the chair of the board paid per month?"
SECRET = "9000"
HOSTILE = "<script>alert(1)</script> How many days per week may I work remotely?"
PAGES = (
    "/ui/overview",
    "/ui/overview?period=24h",
    "/ui/log",
    "/ui/documents",
    "/ui/documents?view=calendar",
    "/ui/documents/remote-work.md",
    "/ui/health",
    "/ui/health/gaps",
    "/ui/health/tests",
)
EXPORT = "/ui/log/export"
WEIGHT = 300_000


@dataclass(frozen=True)
class Served:
    """A gateway with recorded decisions, the keys of the people, and the decisions' ids."""

    gateway: RunningGateway
    keys: dict[str, str]
    secret: str
    withheld: str
    refused: str

    def as_(self, name: str) -> httpx2.Client:
        headers = {"Authorization": f"Bearer {self.keys[name]}"}
        return httpx2.Client(base_url=self.gateway.url, headers=headers, timeout=60)

    def text(self, name: str, path: str) -> str:
        with self.as_(name) as client:
            found = client.get(path)
            assert found.status_code == 200, found.text
            return found.text

    def ask(self, name: str, question: str) -> str:
        """Ask a question; return the id of the record."""
        body = {"model": "any", "messages": [{"role": "user", "content": question}]}
        headers = {"Authorization": f"Bearer {self.keys[name]}"}
        found = self.gateway.post("/chat/completions", body, headers=headers).json()
        return str(found["suffice"]["record"])

    def post(self, name: str, path: str, page: str, **fields: str) -> httpx2.Response:
        with self.as_(name) as client:
            token = re.search(r'name="csrf" value="([0-9a-f]{64})"', client.get(page).text)
            assert token
            return client.post(path, data={"csrf": token[1], **fields}, follow_redirects=True)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("data")
    docs = folder / "docs"
    docs.mkdir()
    for name in ("remote-work.md", "remote-work-2023.md"):
        (docs / name).write_text((HANDBOOK / name).read_text(encoding="utf-8"), encoding="utf-8")
    expires = today() + timedelta(days=100)
    (docs / "wages.md").write_text(WAGES.format(expires=expires), encoding="utf-8")
    library = Library.open(folder / "s.db", Settings(), create=True)
    library.add(docs)
    principals = Principals(library.store.database)
    keys = {
        "viewer": principals.create("viewer", ["viewer"]).secret,
        "reviewer": principals.create("reviewer", ["reviewer"]).secret,
        "staff": principals.create("staff", ["reviewer", "caller"], labels=["staff"]).secret,
        "admin": principals.create("admin", ["admin"], labels=["staff"]).secret,
        "web": principals.create("web", ["caller"]).secret,
        "other": principals.create("other", ["viewer"], collections=["elsewhere"]).secret,
    }
    routes = {"default": RouteSettings(upstream="extractive")}
    server = replace(ServerSettings(), keys="required", routes=routes)
    with running(library, Settings(server=server)) as gateway:
        yield _asked(gateway, keys)
    library.store.close()


def _asked(gateway: RunningGateway, keys: dict[str, str]) -> Served:
    asked = Served(gateway, keys, "", "", "").ask
    asked("web", QUESTION)
    secret = asked("staff", SECRET_QUESTION)
    evidence = [{"text": "You may work remotely 3 days per week."}]
    wrong = {"answer": "You may work remotely 5 days per week. [1]", "evidence": evidence}
    headers = {"Authorization": f"Bearer {keys['web']}"}
    checked = gateway.post("/check", {**wrong, "question": HOSTILE}, headers=headers).json()
    refused = asked("web", OFF_TOPIC)
    return Served(gateway, keys, secret, str(checked["record"]), refused)


def rows(text: str) -> list[str]:
    """The questions in the list of the log."""
    return [found.strip() for found in re.findall(r'<a class="clip"[^>]*>([^<]*)</a>', text)]


@pytest.mark.parametrize("path", PAGES)
def test_each_page_is_there_light_and_without_inline_code(served: Served, path: str) -> None:
    with served.as_("viewer") as client:
        found = client.get(path)
        assert found.status_code == 200
        files = set(re.findall(r'(?:href|src)="(/ui/static/[^"]+)"', found.text))
        weight = len(found.content) + sum(len(client.get(one).content) for one in files)
    assert weight < WEIGHT
    assert "script-src 'self'" in found.headers["content-security-policy"]
    assert not re.search(r"<script(?! src)|\sstyle=|\son\w+=", found.text)


@pytest.mark.parametrize(
    "path",
    [
        "/ui/overview?period=never",
        "/ui/log?before=x&after=-1&since=soon&until=9999-12-31&action=EVIL",
        "/ui/log?text=%00&document=%ff&before=99999999999999999999",
        "/ui/documents?view=none&collection=none&after=%00",
        "/ui/documents/remote-work.md?old=x&new=y",
    ],
)
def test_odd_addresses_do_no_harm(served: Served, path: str) -> None:
    served.text("viewer", path)


def test_the_overview_counts_verdicts(served: Served) -> None:
    text = served.text("viewer", "/ui/overview")
    assert re.search(r"<dt>Verdicts</dt><dd class=\"value\">3</dd>", text)
    text = served.text("staff", "/ui/overview")
    assert re.search(r"<dt>Verdicts</dt><dd class=\"value\">4</dd>", text)
    assert "Show as a table" in text
    elsewhere = served.text("other", "/ui/overview")
    assert "No verdicts in this period" in elsewhere


def test_the_log_is_filtered(served: Served) -> None:
    everything = rows(served.text("viewer", "/ui/log"))
    assert len(everything) == 3
    assert len(rows(served.text("staff", "/ui/log"))) == 4
    assert rows(served.text("viewer", "/ui/log?action=SERVE&caller=web")) == [QUESTION]
    assert rows(served.text("viewer", "/ui/log?text=WORLD+cup")) == [OFF_TOPIC]
    found = rows(served.text("viewer", "/ui/log?document=remote-work.md"))
    assert QUESTION in found
    assert SECRET_QUESTION not in found
    assert rows(served.text("viewer", "/ui/log?since=2001-01-01&until=2001-01-02")) == []
    assert "No decision matches" in served.text("viewer", "/ui/log?text=nowhere")
    assert "No decisions yet" in served.text("other", "/ui/log")


def test_what_people_ask_is_text_and_no_markup(served: Served) -> None:
    for path in ("/ui/log", f"/ui/log/{served.withheld}"):
        text = served.text("reviewer", path)
        assert "<script>alert" not in text
        assert "&lt;script&gt;alert(1)" in text


def test_without_the_label_nothing_of_a_document_is_shown(served: Served) -> None:
    paths = (
        "/ui/log",
        f"/ui/log?text={SECRET}",
        "/ui/log?document=wages.md",
        "/ui/documents",
        "/ui/documents?text=wages",
        "/ui/documents?view=calendar",
        "/ui/overview",
        "/ui/health/gaps",
    )
    for path in paths:
        for name in ("viewer", "reviewer"):
            text = served.text(name, path).replace(f'value="{SECRET}"', "")
            assert "Wages" not in text, (name, path)
            assert f"{SECRET} euros" not in text, (name, path)
            assert SECRET_QUESTION not in text, (name, path)
    for name in ("viewer", "reviewer"):
        exported = served.post(name, EXPORT, "/ui/log").text
        assert exported
        assert "Wages" not in exported
        assert f"{SECRET} euros" not in exported
        assert served.secret not in exported
    assert rows(served.text("reviewer", "/ui/log?document=wages.md")) == []
    assert rows(served.text("reviewer", f"/ui/log?text={SECRET}")) == []
    record = f"/ui/log/{served.secret}"
    for path in ("/ui/documents/wages.md", record, f"{record}/json", f"/ui/queue/{served.secret}"):
        for name in ("other", "reviewer"):
            with served.as_(name) as client:
                assert client.get(path).status_code in (403, 404)
    assert rows(served.text("staff", "/ui/log?document=wages.md")) == [SECRET_QUESTION]
    assert f"{SECRET} euros" in served.text("staff", f"/ui/log/{served.secret}")
    assert "Wages of the board" in served.text("staff", "/ui/documents")
    assert "Wages of the board" in served.text("staff", "/ui/documents?view=calendar")


def test_only_reviewers_read_a_withheld_draft(served: Served) -> None:
    draft = "5 days per week"
    path = f"/ui/log/{served.withheld}"
    assert draft in served.text("reviewer", path)
    for shown in (path, f"{path}/json"):
        assert draft not in served.text("viewer", shown), shown
    assert draft not in served.post("viewer", EXPORT, "/ui/log").text
    assert "The record as JSON" not in served.text("viewer", path)


def test_a_record_shows_its_chain(served: Served) -> None:
    text = served.text("admin", f"/ui/log/{served.refused}")
    assert "✓ Intact" in text
    assert "not verified yet" in text
    done = served.post("admin", "/ui/log/verify", "/ui/log")
    assert "no faults" in done.text
    assert "✓ Chain intact" in done.text
    log = served.gateway.inner.log
    assert log is not None
    (made,) = log.page(RecordFilter(kind="verification"))
    assert made.caller == "admin"
    assert "intact up to record" in served.text("admin", f"/ui/log/{served.refused}")
    # The state of the chain and the number of a record depend on all other records.
    for name in ("viewer", "reviewer"):
        for path in ("/ui/log", f"/ui/log/{served.refused}"):
            text = served.text(name, path)
            assert "intact" not in text.replace("hash chain", ""), (name, path)
            assert "up to record" not in text
        with served.as_(name) as client:
            assert client.post("/ui/log/verify").status_code == 403


def test_a_replay_compares_then_and_now(served: Served) -> None:
    page = f"/ui/log/{served.withheld}"
    done = served.post("reviewer", f"{page}/replay", page)
    assert done.status_code == 200
    assert "Same decision" in done.text, re.findall(r"class=.mono.>[^!]*?<.tr>", done.text)
    assert '<th scope="row">faithfulness</th>' in done.text
    with served.as_("viewer") as client:
        assert client.post(f"{page}/replay").status_code == 403


def test_an_export_is_a_line_for_each_decision(served: Served) -> None:
    page = "/ui/log?action=SERVE"
    assert '<input type="hidden" name="action" value="SERVE">' in served.text("staff", page)
    found = served.post("staff", EXPORT, page, action="SERVE")
    lines = [json.loads(line) for line in found.text.splitlines()]
    assert [line["fields"]["question"] for line in lines] == [QUESTION, SECRET_QUESTION]
    assert "attachment" in found.headers["content-disposition"]
    text = served.post("viewer", EXPORT, "/ui/log").text
    other = [json.loads(line) for line in text.splitlines()]
    assert len(other) == 3
    assert not any(line.keys() & {"fields", "sequence", "link"} for line in other)
    whole = served.post("admin", EXPORT, "/ui/log").text
    assert {"fields", "sequence", "link"} <= json.loads(whole.splitlines()[0]).keys()
    log = served.gateway.inner.log
    assert log is not None
    made = log.page(RecordFilter(kind="export", caller="staff"))[0]
    assert made.fields()["filters"] == {"action": "SERVE"}
    before = log.head().sequence
    with served.as_("staff") as client:  # neither a link nor a form of another site
        assert client.get(f"{EXPORT}?action=SERVE").status_code == 404
        assert client.post(EXPORT, data={"csrf": ""}).status_code == 403
    assert log.head().sequence == before


def test_pages_and_exports_say_that_the_index_is_behind(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    notice = "still being indexed"
    paths = ("/ui/log", "/ui/documents", "/ui/documents/remote-work.md")
    log = served.gateway.inner.log
    assert log is not None
    served.gateway.inner.indexing.catch_up()
    for path in paths:
        assert notice not in served.text("viewer", path), path

    def stuck(self: DecisionIndex) -> bool:
        raise RuntimeError("a bug")

    with monkeypatch.context() as patched:
        patched.setattr(DecisionIndex, "update", stuck)
        log.append(Record("note", {}))
        exports = len(log.page(RecordFilter(kind="export")))
        for path in paths:
            assert notice in served.text("viewer", path), path
        found = served.post("viewer", EXPORT, "/ui/log")
        assert (found.status_code, found.headers["retry-after"]) == (503, "10")
        assert notice in found.text
        assert len(log.page(RecordFilter(kind="export"))) == exports
    assert served.post("viewer", EXPORT, "/ui/log").status_code == 200


def test_documents_tell_what_is_cited_and_what_changed(served: Served) -> None:
    cited = served.text("staff", "/ui/documents?view=cited")
    assert "Wages of the board" in cited
    never = served.text("staff", "/ui/documents?view=never")
    assert "Wages of the board" not in never
    document = served.text("viewer", "/ui/documents/remote-work.md")
    assert "<del>" in document
    assert "remote-work-2023.md" in document
    with served.as_("viewer") as client:
        missing = client.get("/ui/documents/none.md")
    assert (missing.status_code, "There is no document" in missing.text) == (404, True)


def test_admins_see_who_may_read_a_document(served: Served) -> None:
    path = "/ui/documents/wages.md"
    assert '<dd class="note">admin, staff</dd>' in served.text("admin", path)
    assert "people with one of these labels" in served.text("staff", path)


def test_gaps_are_listed_and_asked_again(served: Served) -> None:
    assert OFF_TOPIC in served.text("viewer", "/ui/health/gaps")
    log = served.gateway.inner.log
    assert log is not None
    before = log.head().sequence
    done = served.post("reviewer", "/ui/health/gaps", "/ui/health/gaps")
    assert "the documents now answer 0 of them" in done.text
    assert OFF_TOPIC in done.text
    assert log.head().sequence == before


def test_a_check_of_gaps_is_for_reviewers_admitted_and_alone(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = "/ui/health/gaps"
    assert "Check which are still open" not in served.text("viewer", path)
    with served.as_("viewer") as client:
        assert client.post(path).status_code == 403
    asking, started, go_on = gaps_page._asking, threading.Event(), threading.Event()

    def slow(context: PageContext) -> Answered:
        started.set()
        assert go_on.wait(PATIENCE)
        return asking(context)

    monkeypatch.setattr(gaps_page, "_asking", slow)
    work = served.gateway.inner.work
    until(lambda: work.under_way == 0)
    with ThreadPoolExecutor(1) as threads:
        first = threads.submit(served.post, "reviewer", path, path)
        try:
            assert started.wait(PATIENCE)
            assert work.under_way == 1
            second = served.post("staff", path, path)
            assert (second.status_code, second.headers["retry-after"]) == (503, "10")
        finally:
            go_on.set()
        assert first.result().status_code == 200
    assert served.post("staff", path, path).status_code == 200


def test_topics_are_grouped_once_for_each_reader(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, grouped = "/ui/health/gaps", 0

    def counted(*args: Any) -> list[Topic]:
        nonlocal grouped
        grouped += 1
        return backlog(*args)

    monkeypatch.setattr(gaps_page, "backlog", counted)
    # The hour is part of the cache key: it must not change during the test.
    monkeypatch.setattr(gaps_page, "now", lambda: datetime(2026, 1, 5, tzinfo=UTC))
    served.ask("web", "Who won the chess title in 1972?")
    log = served.gateway.inner.log
    assert log is not None
    for name, times in (("viewer", 1), ("reviewer", 1), ("staff", 2), ("other", 3)):
        served.text(name, path)
        log.append(Record("note", {}))  # does not change the gaps
        served.text(name, path)
        assert grouped == times, name
    assert "chess title" in served.text("viewer", path)
    served.ask("web", "Which horse won the derby in 1988?")
    assert "derby" in served.text("viewer", path)
    assert grouped == 4


def test_one_job_reads_the_whole_log_at_a_time(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    verify, started, go_on = Log.verify, threading.Event(), threading.Event()

    def slow(self: Log) -> Verified:
        started.set()
        assert go_on.wait(PATIENCE)
        return verify(self)

    monkeypatch.setattr(Log, "verify", slow)
    with ThreadPoolExecutor(1) as threads:
        first = threads.submit(served.post, "admin", "/ui/log/verify", "/ui/log")
        try:
            assert started.wait(PATIENCE)
            second = served.post("admin", "/ui/log/verify", "/ui/log")
            assert (second.status_code, second.headers["retry-after"]) == (503, "10")
            served.text("viewer", "/ui/log")
        finally:
            go_on.set()
        assert "no faults" in first.result().text
    assert "no faults" in served.post("admin", "/ui/log/verify", "/ui/log").text


def test_test_runs_are_shown(served: Served) -> None:
    assert "suffice golden run golden.jsonl" in served.text("admin", "/ui/health/tests")
    log = served.gateway.inner.log
    assert log is not None
    run = Run({"a": Outcome(True, "SERVE"), "b": Outcome(False, "SERVE")})
    log.append(of_golden(run, Comparison(), "set.jsonl", "ci"))
    text = served.text("admin", "/ui/health/tests")
    assert "set.jsonl" in text
    assert "50 %" in text
    for name in ("other", "staff"):
        assert "set.jsonl" not in served.text(name, "/ui/health/tests")


def test_a_person_walks_through_the_pages(served: Served, tab: Page) -> None:
    weights: dict[str, int] = {}
    errors: list[str] = []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
    tab.on(
        "response",
        lambda answer: weights.update({answer.url: int(answer.headers["content-length"])}),
    )
    url = served.gateway.url
    tab.goto(f"{url}/ui/sign-in?next=/ui/overview")
    tab.get_by_label("API key").fill(served.keys["admin"])
    tab.get_by_role("button", name="Sign in with the key").click()
    tab.wait_for_url("**/ui/overview")
    tab.locator("#verdicts .chart-wide-only .hit").last.hover()
    assert "SERVE: 2" in tab.locator(".chart-tip").inner_text()
    tab.locator("#verdicts summary").click()
    assert tab.locator("#verdicts table").is_visible()
    for title in ("Documents", "Guarantee", "Log"):
        tab.get_by_role("navigation", name="Pages").get_by_role("link", name=title).click()
        assert tab.locator("h1").inner_text().startswith(title)
    tab.get_by_label("Verdict").select_option("SERVE")
    tab.get_by_label("Text").fill("remotely")
    tab.get_by_role("button", name="Filter").click()
    assert tab.locator("tbody tr").count() == 1
    tab.get_by_role("link", name=QUESTION).click()
    assert tab.get_by_text("✓ Intact").is_visible()
    tab.get_by_role("button", name="Replay").click()
    assert tab.get_by_text("Same decision").is_visible()
    assert sum(weights.values()) < WEIGHT  # of all these pages together
    assert errors == []
