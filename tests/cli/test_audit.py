"""`suffice audit`, and the records written by `ask`, `gate` and `check`."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from suffice.cli import cli
from suffice.cli.recording import RecordOption
from suffice.errors import SettingsError, SourceMissing, StoreDamaged, StoreError, StoreMissing
from suffice.settings import RecordSettings, Settings

HANDBOOK = str(Path(__file__).parents[2] / "src" / "suffice" / "handbook")
ASKED = "How many days per week may I work remotely?"
UNKNOWN = "Who is the king of Spain?"


def run(*arguments: object, **more: Any) -> tuple[int, str]:
    done = CliRunner().invoke(cli, [str(one) for one in arguments], standalone_mode=False, **more)
    if done.exception is not None:
        raise done.exception
    return done.return_value, done.stdout


def loaded(*arguments: object) -> Any:
    return json.loads(run(*arguments, "--json")[1])


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A store with records of every command that records decisions."""
    folder = tmp_path_factory.mktemp("audit")
    store = folder / "s.db"
    run("index", HANDBOOK, "--store", store, "--quiet")
    answer, evidence = folder / "answer.txt", folder / "evidence.txt"
    answer.write_text("Leave lasts 20 weeks [1].")
    evidence.write_text("Leave lasts 18 weeks.")
    who = ("--caller", "alice@example.org", "--tag", "case-7")
    config = folder / "suffice.yaml"
    config.write_text("record: {review_borderline: 0}\n")  # nothing waits for a person
    common = ("--store", store, *who, "--config", config)
    ids = {
        "ask": loaded("ask", ASKED, *common)["record"],
        "gap": loaded("ask", UNKNOWN, *common)["record"],
        "gate": loaded("gate", ASKED, *common, "--policy", "coverage")["record"],
        "check": loaded("check", "--answer", answer, "--evidence", evidence, *common)["record"],
    }
    assert all(ids.values())
    return store, ids


@pytest.fixture
def store(asked: tuple[Path, dict[str, str]], tmp_path: Path) -> Path:
    """A copy that a test may damage."""
    source = sqlite3.connect(asked[0])
    with closing(source), closing(sqlite3.connect(tmp_path / "s.db")) as copy:
        source.backup(copy)
    return tmp_path / "s.db"


def test_every_door_leaves_a_record(asked: tuple[Path, dict[str, str]]) -> None:
    store, ids = asked
    lines = loaded("audit", "show", "--store", store)
    kinds = [line["kind"] for line in reversed(lines)]
    assert kinds[:2] == ["document", "document"]
    kinds, lines = kinds[2:], lines[:-2]
    assert kinds == ["setup", "verdict", "verdict", "gap", "setup", "gate", "setup", "verdict"]
    assert {line["caller"] for line in lines if line["kind"] != "setup"} == {"alice@example.org"}
    entry = loaded("audit", "show", ids["ask"], "--store", store)
    assert entry["fields"]["question"] == ASKED
    assert entry["fields"]["outcome"]["action"] == "SERVE"
    assert {stage for stage, _ in entry["fields"]["timings"]} >= {"search", "gate", "total"}
    setup = loaded("audit", "show", entry["fields"]["setup"], "--store", store)["fields"]
    assert setup["models"]["verifier"].startswith("minilm-l12-verifier")
    assert setup["packages"]["suffice"]
    assert setup["settings"]["gate"]["policy"] == "learned"
    gap = loaded("audit", "show", "--kind", "gap", "--store", store)
    assert len(gap) == 1
    text = run("audit", "show", "--store", store)[1]
    assert ids["ask"] in text
    assert "How many days" in run("audit", "show", ids["ask"], "--store", store)[1]


def test_a_whole_log_is_said_to_be(asked: tuple[Path, dict[str, str]]) -> None:
    code, said = run("audit", "verify", "--store", asked[0], "--quiet")
    assert code == 0
    assert "Intact." in said
    assert "No checkpoints were given" in said
    found = loaded("audit", "verify", "--store", asked[0], "--deep")
    assert (found["whole"], found["records"], found["faults"]) == (True, 10, [])


def test_a_log_that_was_changed_is_told_where(store: Path) -> None:
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("UPDATE records SET payload = payload || 'x' WHERE sequence = 3")
    code, said = run("audit", "verify", "--store", store, "--quiet")
    assert code == 2
    assert "record 3" in said
    found = loaded("audit", "verify", "--store", store)
    assert [(one["what"], one["sequence"]) for one in found["faults"]] == [("edited", 3)]


def test_every_decision_is_made_again(asked: tuple[Path, dict[str, str]]) -> None:
    store, ids = asked
    for id in ids.values():
        code, said = run("audit", "replay", id, "--store", store)
        assert code == 0, said
        assert "Same decision." in said
    found = loaded("audit", "replay", ids["ask"], "--store", store)
    assert (found["same"], found["differences"]) == (True, [])
    with pytest.raises(StoreError, match="contains no decision"):
        run("audit", "replay", "1", "--store", store)


def test_export_gives_json_lines(asked: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    store, ids = asked
    lines = run("audit", "export", "--store", store)[1].splitlines()
    assert [json.loads(line)["sequence"] for line in lines] == list(range(1, 11))
    out = tmp_path / "out.jsonl"
    run("audit", "export", "--store", store, "--record", ids["gate"], "--proof", "--out", out)
    (entry,) = map(json.loads, out.read_text().splitlines())
    assert entry["id"] == ids["gate"]
    assert entry["payload"].count("\n") > 5
    assert run("audit", "export", "--store", store, "--until", "2020-01-01")[1] == ""
    assert (
        len(run("audit", "export", "--store", store, "--since", "2020-01-01")[1].splitlines()) == 10
    )


def test_a_checkpoint_shows_what_was_cut_off(store: Path, tmp_path: Path) -> None:
    key, points = tmp_path / "key", tmp_path / "points.jsonl"
    assert loaded("audit", "key", "--out", key)["public"].startswith("ed25519:")
    told = ("--checkpoints", points, "--key", f"{key}.pub")
    run("audit", "checkpoint", "--store", store, "--key", key, "--to", points)
    assert run("audit", "verify", "--store", store, *told, "--quiet")[0] == 0
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("DELETE FROM records WHERE sequence > 5")
        connection.execute(
            "UPDATE record_head SET sequence = 5, link = "
            "(SELECT link FROM records WHERE sequence = 5)"
        )
    assert run("audit", "verify", "--store", store, "--quiet")[0] == 0
    code, said = run("audit", "verify", "--store", store, *told, "--quiet")
    assert code == 2
    assert "truncated" in said
    with pytest.raises(SettingsError, match="audit key"):
        run("audit", "checkpoint", "--store", store)


def test_a_subject_is_erased(store: Path, asked: tuple[Path, dict[str, str]]) -> None:
    code, said = run("audit", "erase", "alice@example.org", "--store", store, input="y\n")
    assert code == 0
    assert "Erased the content of 5 records." in said
    assert loaded("audit", "show", asked[1]["ask"], "--store", store)["fields"] == {}
    assert run("audit", "verify", "--store", store, "--quiet")[0] == 0
    assert loaded("audit", "erase", "nobody", "--yes", "--store", store)["records"] == 0


def test_what_is_old_is_erased_by_setting(store: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"record\.retention_days is 0"):
        run("audit", "retain", "--store", store)
    assert loaded("audit", "retain", "--days", "1", "--store", store)["records"] == 0
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("UPDATE records SET time = '2020' || substr(time, 5)")
    done = loaded("audit", "retain", "--days", "30", "--field", "texts", "--store", store)
    assert done["records"] == 4
    assert len(done["erasures"]) == 1


@pytest.mark.parametrize(
    ("enabled", "asked", "kept", "wanted"),
    [
        ("auto", None, True, True),
        ("auto", None, False, False),
        ("always", None, False, True),
        ("never", None, True, False),
        ("never", True, False, True),
        ("always", False, True, False),
    ],
)
def test_whether_a_record_is_kept(
    enabled: Any, asked: bool | None, kept: bool, wanted: bool
) -> None:
    settings = Settings(record=RecordSettings(enabled=enabled))
    assert RecordOption(asked).wanted(settings, kept=kept) is wanted


def test_a_folder_that_is_only_looked_at_leaves_no_record_unless_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    docs = tmp_path / "docs"
    docs.mkdir()
    shutil.copy(Path(HANDBOOK) / "remote-work.md", docs)
    assert loaded("gate", ASKED, "--docs", docs)["record"] is None
    assert loaded("gate", ASKED, "--docs", docs, "--record")["record"]
    monkeypatch.setenv("SUFFICE_RECORD__ENABLED", "always")
    piped = run("gate", ASKED, "--docs", "-", "--json", input="Remote work.")
    assert json.loads(piped[1])["record"] is None
    with pytest.raises(SourceMissing, match="cannot be recorded without a store"):
        run("gate", ASKED, "--docs", "-", "--record", input="Remote work.")


def test_what_is_no_store_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreMissing):
        run("audit", "verify", "--store", tmp_path / "nowhere.db")
    broken = tmp_path / "broken.db"
    broken.write_bytes(b"SQLite format 3\0" + b"\xff" * 8_000)
    with pytest.raises(StoreDamaged):
        run("audit", "verify", "--store", broken)
    with pytest.raises(StoreDamaged):
        run("audit", "show", "--store", broken)


def test_a_log_in_a_damaged_file_is_told(store: Path) -> None:
    """Overwrite some pages in the middle of the file."""
    data = bytearray(store.read_bytes())
    with closing(sqlite3.connect(store)) as connection:
        (root,) = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'records'"
        ).fetchone()
    start = (root - 1) * 4096
    data[start : start + 4096] = b"\xff" * 4096
    store.write_bytes(data)
    with pytest.raises(StoreDamaged):
        run("audit", "verify", "--store", store)
