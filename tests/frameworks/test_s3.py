"""Documents and batch rows in S3, against a real S3 server on loopback: moto's.

The suite skips these tests where the packages are not installed. To run them:
./scripts/test frameworks s3
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from suffice.cli import cli
from suffice.errors import SourceMissing
from suffice.evidence.library import Library

moto: Any = pytest.importorskip("moto.server")
boto3: Any = pytest.importorskip("boto3")
s3fs: Any = pytest.importorskip("s3fs")
URL = "s3://handbook/policies"
LEAVE = b"# Leave\n\nParental leave is 18 weeks.\n"


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A client of an S3 server with a bucket of documents."""
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    s3fs.S3FileSystem.clear_instance_cache()  # its clients keep the URL of an earlier server
    client = boto3.client("s3")
    client.create_bucket(Bucket="handbook")
    for key, data in {
        "policies/leave.md": LEAVE,
        "policies/more/office.md": b"# Office\n\nLunch is at noon.\n",
        "policies/picture.png": b"no document",
        "other/travel.md": b"# Travel\n\nTake the train.\n",
    }.items():
        client.put_object(Bucket="handbook", Key=key, Body=data)
    yield client
    server.stop()


def index(store: Path, url: str = URL) -> dict[str, Any]:
    done = CliRunner().invoke(cli, ["index", url, "--store", str(store), "--json"])
    assert done.exit_code == 0, done.output
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def counts(report: dict[str, Any]) -> list[int]:
    return [report[name] for name in ("added", "changed", "unchanged", "retired")]


def test_a_folder_of_documents(s3: Any, tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    assert counts(index(store)) == [2, 0, 0, 0]
    s3.put_object(Bucket="handbook", Key="policies/leave.md", Body=LEAVE)  # the same ETag
    assert counts(index(store)) == [0, 0, 2, 0]
    s3.put_object(Bucket="handbook", Key="policies/leave.md", Body=LEAVE.replace(b"18", b"20"))
    s3.delete_object(Bucket="handbook", Key="policies/more/office.md")
    assert counts(index(store)) == [0, 1, 0, 1]
    library = Library.open(store)
    found = library.search()("How long is parental leave?")
    assert [one.passage.text.strip() for one in found.items] == ["Parental leave is 20 weeks."]
    assert library.store.known("default")["leave.md"].root == URL


def test_an_unchanged_object_is_not_read(
    s3: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index(tmp_path / "s.db")
    read: list[str] = []
    monkeypatch.setattr(s3fs.S3FileSystem, "cat_file", lambda self, key, *_: read.append(key))
    assert counts(index(tmp_path / "s.db")) == [0, 0, 2, 0]
    assert read == []


@pytest.mark.usefixtures("s3")
def test_a_bucket_that_does_not_exist(tmp_path: Path) -> None:
    library = Library.open(tmp_path / "s.db", create=True)
    for url in ("s3://nowhere/policies", "s3://handbook/nothing"):
        with pytest.raises(SourceMissing):
            library.add(url)


@pytest.mark.parametrize("name", ["rows/*.jsonl", "rows"])
def test_batch_rows(s3: Any, tmp_path: Path, name: str) -> None:
    pytest.importorskip("pyarrow")
    for part in ("a", "b"):
        row = {
            "id": part,
            "question": "How long is parental leave?",
            "evidence": ["Parental leave is 18 weeks."],
            "answer": "Parental leave is 18 weeks. [1]",
        }
        s3.put_object(Bucket="handbook", Key=f"rows/{part}.jsonl", Body=json.dumps(row).encode())
    out = tmp_path / "out.jsonl"
    done = CliRunner().invoke(cli, ["batch", "check", f"s3://handbook/{name}", str(out)])
    assert done.exit_code == 0, done.output
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["id"] for row in rows] == ["a", "b"]
    assert rows[0]["file"] == "s3://handbook/rows/a.jsonl"
