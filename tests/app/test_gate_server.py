"""The served gate: tokens, limits, and bodies that say no more than an answer."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import polars as pl
import pytest

import unveil
from unveil.app.gate_page import OPENAPI
from unveil.app.gate_server import application, read_tokens
from unveil.app.guard import HEADERS, Guard, Site

TABLE = pl.DataFrame({"town": ["a", "b"] * 20, "n": range(40), "pay": [float(x * x) for x in range(40)]})
TOKENS = {"eve": "e" * 20, "bob": "b" * 20}
EVE, BOB = ({"authorization": f"Bearer {TOKENS[who]}"} for who in ("eve", "bob"))
HALF = {"question": "SELECT AVG(pay) FROM t WHERE n < 20"}


class Client:
    """Calls an application in this process."""

    def __init__(self, app: Any) -> None:
        self._app = app

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        async def call() -> httpx.Response:
            transport = httpx.ASGITransport(self._app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8787") as client:
                return await client.request(method, path, **options)

        return asyncio.run(call())

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self.request("GET", path, **options)

    def post(self, path: str, **options: Any) -> httpx.Response:
        return self.request("POST", path, **options)


@pytest.fixture
def client(tmp_path: Path) -> Client:
    gate = unveil.Gate(TABLE, ledger=tmp_path / "g.db", sensitive="pay")
    return Client(Guard(application(gate, TOKENS, rate=10), Site(8787)))


def test_a_question_is_answered_and_remembered(client: Client) -> None:
    answer = client.post("/ask", json=HALF, headers=EVE)
    assert answer.status_code == 200
    assert answer.json()["value"] == pytest.approx(sum(x * x for x in range(20)) / 20)
    assert client.get("/spent", headers=EVE).json() == {"spent": {"restriction": 1.0}}
    assert client.get("/spent", headers=BOB).json() == {"spent": {"restriction": 0.0}}
    assert [row["decision"] for row in client.get("/history", headers=EVE).json()["rows"]] == ["answered"]
    assert client.get("/history", headers=BOB).json() == {"rows": []}


def test_two_analysts_get_no_more_than_one(client: Client) -> None:
    assert client.post("/ask", json=HALF, headers=EVE).json()["answered"]
    other = client.post("/ask", json={"question": "SELECT AVG(pay) FROM t WHERE n < 19"}, headers=BOB).json()
    assert (other["answered"], other["reason"], other["value"]) == (False, "audit", None)


def test_a_price_is_told_without_spending(client: Client) -> None:
    assert client.post("/explain", json=HALF, headers=EVE).json()["cost"] == 1.0
    assert client.get("/history", headers=EVE).json() == {"rows": []}


@pytest.mark.parametrize(
    "header", [{}, {"authorization": "Bearer x"}, {"authorization": f"Basic {TOKENS['eve']}"}, {"authorization": "\u00e9"}]
)
def test_nobody_asks_without_a_token(client: Client, header: dict[str, str]) -> None:
    encoded = {name: value.encode("latin-1") for name, value in header.items()}
    for method, path in (("POST", "/ask"), ("POST", "/explain"), ("GET", "/spent"), ("GET", "/history")):
        assert client.request(method, path, headers=encoded).status_code == 401


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"question": 1}', b'{"question": "' + b"x" * 70_000 + b'"}', b"[" * 50_000])
def test_a_body_that_is_no_question_is_refused(client: Client, body: bytes) -> None:
    answer = client.post("/ask", content=body, headers=EVE)
    assert answer.status_code == 400
    assert list(answer.json()) == ["error"]


def test_a_question_that_is_not_allowed_says_which_part(client: Client) -> None:
    answer = client.post("/ask", json={"question": "SELECT AVG(pay) FROM t WHERE town LIKE 'secret%'"}, headers=EVE)
    assert answer.status_code == 400
    assert "LIKE" in answer.json()["error"]
    assert "secret" not in answer.text


def test_questions_are_rationed(client: Client) -> None:
    answers = [client.post("/ask", json=HALF, headers=EVE) for _ in range(12)]
    assert {answer.status_code for answer in answers[:10]} == {200}
    assert answers[-1].status_code == 429
    assert int(answers[-1].headers["retry-after"]) >= 1
    assert client.post("/ask", json=HALF, headers=BOB).status_code == 200


def test_a_broken_ledger_closes_the_gate_without_details(client: Client, tmp_path: Path) -> None:
    client.post("/ask", json=HALF, headers=EVE)
    import sqlite3

    connection = sqlite3.connect(tmp_path / "g.db")
    with connection:
        connection.execute("DELETE FROM entries")
    connection.close()
    answer = client.post("/ask", json=HALF, headers=EVE)
    assert answer.status_code == 503
    assert str(tmp_path) not in answer.text


def test_a_failure_says_nothing(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("secret value 42")

    monkeypatch.setattr(unveil.Gate, "ask", broken)
    answer = client.post("/ask", json=HALF, headers=EVE)
    assert answer.status_code == 500
    assert "42" not in answer.text


def test_the_gate_describes_itself(client: Client) -> None:
    found = client.get("/openapi.json").json()
    assert found == json.loads(json.dumps(OPENAPI))
    page = client.get("/")
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    assert all(path in page.text for path in found["paths"])
    assert re.findall(r'(?:src|href)="([^"]*)"', page.text) == ["/style.css"]
    assert client.get("/style.css").headers["content-type"].startswith("text/css")
    assert client.get("/nothing").status_code == 404
    assert client.get("/ask").status_code == 405


def test_the_guard_of_the_app_stands_before_the_gate(client: Client) -> None:
    assert client.post("/ask", json=HALF, headers={**EVE, "host": "evil.example:8787"}).status_code == 403
    assert client.post("/ask", json=HALF, headers={**EVE, "origin": "http://evil.example"}).status_code == 403
    assert client.post("/ask", json=HALF, headers={**EVE, "origin": "http://127.0.0.1:8787"}).status_code == 200
    for answer in (client.get("/"), client.get("/spent", headers=EVE), client.get("/spent")):
        assert {name: answer.headers[name] for name in HEADERS} == HEADERS
        assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "content", ["[]", "{}", '{"eve": "short"}', '{"eve": 3}', "x", '{"a": "' + "t" * 20 + '", "b": "' + "t" * 20 + '"}']
)
def test_tokens_are_checked_and_never_repeated(tmp_path: Path, content: str) -> None:
    (tmp_path / "tokens.json").write_text(content)
    with pytest.raises(unveil.UnveilError) as problem:
        read_tokens(tmp_path / "tokens.json")
    assert "short" not in str(problem.value)
    with pytest.raises(unveil.UnveilError):
        read_tokens(tmp_path / "none.json")


def test_the_command_serves_until_it_is_interrupted(tmp_path: Path) -> None:
    TABLE.write_csv(tmp_path / "people.csv")
    words = [
        "query",
        str(tmp_path / "people.csv"),
        "--sensitive",
        "pay",
        "--ledger",
        str(tmp_path / "g.db"),
        "--serve",
        "--port",
        "0",
    ]
    command = [sys.executable, "-c", "from unveil.cli import main; main()", *words, "--as", "eve"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ) as process:
        assert process.stderr is not None
        token = process.stderr.readline().partition(": ")[2].strip()
        place = re.search(r"http://127\.0\.0\.1:\d+", process.stderr.readline())
        assert place is not None
        answer = httpx.post(
            f"{place[0]}/ask", json=HALF, headers={"authorization": f"Bearer {token}"}, trust_env=False, timeout=120
        )
        assert answer.json()["answered"]
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=120)
    assert process.returncode in (0, 130)
