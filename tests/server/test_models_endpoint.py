"""Of an upstream's models and embeddings, only documented fields of the right types leave."""

from __future__ import annotations

import base64
import json
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx2
import pytest

from suffice.evidence.library import Library
from suffice.settings import CollectionSettings, DraftSettings, RouteSettings
from tests.server.gateway import RunningGateway, routes, running
from tests.waiting import PATIENCE

KEY = "sk-upstream-0123456789"
SECRET = "sk-other-9876543210"
BOM = "\ufeff".encode()


@dataclass
class Raw:
    """An upstream that sends the same bytes to every request."""

    url: str = ""
    status: int = 200
    body: bytes = b"{}"


@contextmanager
def raw_upstream() -> Iterator[Raw]:
    raw = Raw()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            self.send_response(raw.status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(raw.body)))
            self.end_headers()
            self.wfile.write(raw.body)

        do_POST = do_GET

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    raw.url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield raw
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(scope="module")
def both(library: Library) -> Iterator[tuple[RunningGateway, Raw]]:
    with raw_upstream() as raw, pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAW_KEY", KEY)
        own = CollectionSettings(draft=DraftSettings(retries=0))
        route = RouteSettings(upstream=raw.url, key_env="RAW_KEY", own=own)
        with running(library, routes(route)) as gateway:
            yield gateway, raw


def listed(both: tuple[RunningGateway, Raw], body: bytes, path: str = "/models") -> httpx2.Response:
    gateway, raw = both
    raw.status, raw.body = 200, body
    return httpx2.get(f"{gateway.base}{path}", timeout=PATIENCE)


def embedded(
    both: tuple[RunningGateway, Raw], reply: Any, texts: Any = "a", **more: Any
) -> httpx2.Response:
    gateway, raw = both
    raw.status, raw.body = 200, reply if isinstance(reply, bytes) else json.dumps(reply).encode()
    return gateway.post("/embeddings", {"model": "m", "input": texts, **more})


def test_a_model_keeps_its_documented_fields_only(both: tuple[RunningGateway, Raw]) -> None:
    full = {"id": "a/b-1:c@d", "object": "x", "created": 5, "owned_by": "them", "text": "4 days"}
    known = {"id": "a/b-1:c@d", "object": "model", "created": 5, "owned_by": "them"}
    found = listed(both, json.dumps({"object": "list", "data": [full], "key": KEY}).encode())
    assert found.json() == {"object": "list", "data": [known]}
    assert listed(both, json.dumps(full).encode(), "/models/a").json() == known
    odd = {"id": "m", "created": 1e400, "owned_by": "<b>four days</b>"}
    plain = {"id": "m", "object": "model", "created": 0, "owned_by": "upstream"}
    for created in (-1, 1.5, True, "1", [1], 2**60, None):
        data = json.dumps({"data": [{**odd, "created": created}]}).encode()
        assert listed(both, data).json()["data"] == [plain]


BAD_IDS = [
    "",
    "a b",
    "a\n",
    "a\u0000",
    "\u202ea",
    "<script>x</script>",
    "a" * 300,
    5,
    None,
    ["a"],
    {},
]


@pytest.mark.parametrize("id", BAD_IDS)
def test_a_model_without_a_name_is_dropped(both: tuple[RunningGateway, Raw], id: Any) -> None:
    data = json.dumps({"data": [{"id": id}, {"id": "m"}, 5, None, [], "m"]}).encode()
    assert [one["id"] for one in listed(both, data).json()["data"]] == ["m"]
    alone = listed(both, json.dumps({"id": id}).encode(), "/models/m")
    assert (alone.status_code, alone.json()["error"]["code"]) == (502, "upstream_failed")


@pytest.mark.parametrize(
    "body",
    [
        *(b'{"data": %b}' % data for data in (b"5", b"{}", b'"m"', b"null", b"[NaN]", b"[1e999]")),
        *(b"[]", b"", b"\xff", b"<html>", b'{"data": [' + b"[" * 100_000),
    ],
)
def test_a_list_of_another_form_is_empty(both: tuple[RunningGateway, Raw], body: bytes) -> None:
    found = listed(both, body)
    assert (found.status_code, found.json()) == (200, {"object": "list", "data": []})


def test_a_list_of_many_models_is_cut(both: tuple[RunningGateway, Raw]) -> None:
    many = json.dumps({"data": [{"id": f"m{n}"} for n in range(100_000)]}).encode()
    assert len(listed(both, many).json()["data"]) == 2_000


def vectors(*rows: Any) -> dict[str, Any]:
    return {"data": [{"index": n, "embedding": row} for n, row in enumerate(rows)]}


def packed(*values: float) -> str:
    return base64.b64encode(struct.pack(f"<{len(values)}f", *values)).decode()


def test_embeddings_keep_their_documented_fields_only(both: tuple[RunningGateway, Raw]) -> None:
    reply = {
        "data": [
            {"index": 1, "embedding": [3, 4.5], "text": "four days"},
            {"index": 0, "embedding": [1, 2], "object": "x"},
        ],
        "model": "big-1",
        "usage": {"prompt_tokens": 3, "total_tokens": 3, "note": "four days"},
        "note": KEY,
    }
    assert embedded(both, reply, ["a", "b"]).json() == {
        "object": "list",
        "data": [
            {"object": "embedding", "index": 0, "embedding": [1, 2]},
            {"object": "embedding", "index": 1, "embedding": [3, 4.5]},
        ],
        "model": "big-1",
        "usage": {"prompt_tokens": 3, "total_tokens": 3},
    }
    odd = {**vectors([1.5]), "model": "four days a week", "usage": {"prompt_tokens": "5"}}
    shown = embedded(both, odd).json()
    assert (shown["model"], shown["usage"]) == ("m", {"prompt_tokens": 0, "total_tokens": 0})
    for tokens in ([1, 2, 3], [[1, 2, 3]]):
        assert embedded(both, vectors([1.5]), tokens).status_code == 200
    text = packed(1, 2)
    assert embedded(both, vectors(text), encoding_format="base64").json()["data"][0] == {
        "object": "embedding",
        "index": 0,
        "embedding": text,
    }
    assert embedded(both, vectors([1.5]), "").status_code == 400
    assert embedded(both, vectors([1.5]), []).status_code == 400


@pytest.mark.parametrize(
    "reply",
    [
        {},
        {"data": None},
        {"data": 5},
        {"data": "x"},
        {"data": {}},
        {"data": []},
        {"data": [5]},
        {"data": [{"index": [0], "embedding": [1]}]},
        {"data": [{"index": 1, "embedding": [1]}]},
        vectors([1], [2]),
        vectors([]),
        vectors(None),
        vectors(5),
        vectors("four days"),
        vectors(packed(1)),
        vectors([True]),
        vectors(["1"]),
        vectors([[1]]),
        vectors([None]),
        vectors([2**70]),
        vectors([1e30]),
        vectors([0.5] * 70_000),
        b'{"data": [{"index": 0, "embedding": [NaN]}]}',
        b'{"data": [{"index": 0, "embedding": [1e999]}]}',
        b"[]",
        b"<html>four days</html>",
    ],
)
def test_a_reply_that_holds_no_vectors_is_a_502(
    both: tuple[RunningGateway, Raw], reply: Any
) -> None:
    found = embedded(both, reply)
    assert (found.status_code, found.json()["error"]["code"]) == (502, "upstream_failed")
    assert "four days" not in found.text


@pytest.mark.parametrize(
    "text", ["x", "====", packed(float("nan")), packed(float("inf")), "AAA=", "", "AAAA AAAA"]
)
def test_encoded_vectors_hold_finite_numbers(both: tuple[RunningGateway, Raw], text: str) -> None:
    assert embedded(both, vectors(text), encoding_format="base64").status_code == 502


@pytest.mark.parametrize("status", [200, 302, 400, 401, 403, 404, 422, 429, 500, 503, 600])
@pytest.mark.parametrize(
    "error",
    [
        {"message": f"Incorrect key {KEY} or {SECRET}", "code": SECRET, "param": KEY},
        {"message": SECRET, "code": f"bad_{KEY}", "param": {"deep": [SECRET]}, "type": SECRET},
        {"code": "<script>alert(1)</script>", "param": "a\u0000\u202eb", "message": 5},
        f"{KEY} {SECRET}",
        [KEY, SECRET],
    ],
)
def test_an_error_of_the_upstream_leaks_nothing(
    both: tuple[RunningGateway, Raw], status: int, error: Any, caplog: pytest.LogCaptureFixture
) -> None:
    gateway, raw = both
    raw.status, raw.body = status, json.dumps({"error": error, "debug": KEY}).encode()
    question = {"messages": [{"role": "user", "content": "How many days?"}]}
    replies = [
        httpx2.get(f"{gateway.base}/models", timeout=PATIENCE),
        httpx2.get(f"{gateway.base}/models/m", timeout=PATIENCE),
        gateway.post("/embeddings", {"model": "m", "input": "a"}),
        gateway.post("/chat/completions", {**question, "model": "m"}),
    ]
    assert replies[2].status_code >= 400
    for reply in replies:
        leaked = (KEY, SECRET, "<script", "\\u202e", "\u202e")
        assert not [one for one in leaked if one in reply.text + str(reply.headers)], reply.text
        assert reply.status_code != 500
    assert KEY not in caplog.text


def test_a_byte_order_mark_before_json_is_skipped(both: tuple[RunningGateway, Raw]) -> None:
    gateway, raw = both
    assert listed(both, BOM + b'{"data": [{"id": "m"}]}').json()["data"][0]["id"] == "m"
    reply = BOM + json.dumps(vectors([1.5])).encode()
    assert embedded(both, reply).json()["data"][0]["embedding"] == [1.5]
    raw.status, raw.body = 400, BOM + b'{"error": {"code": "bad_value", "message": "no"}}'
    refused = gateway.post("/embeddings", {"model": "m", "input": "a"})
    assert refused.json()["error"]["code"] == "bad_value"
