"""Who is let in: exact host, own origin, token or cookie, on whatever is asked for; and the headers of every answer."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from browsing import SITE, TOKEN, Browser
from unveil.app.application import application
from unveil.app.guard import HEADERS, Guard, Key, Site
from unveil.app.state import Desk

PASSWORD = "correct horse"  # noqa: S105 - of this test
OWN = {"host": "127.0.0.1:8123"}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


def guarded(folder: Path, **key: Any) -> Browser:
    return Browser(Guard(application(Desk(folder)), SITE, Key(**(key or {"token": TOKEN}))))


@pytest.fixture
def stranger(tmp_path: Path) -> Browser:
    return guarded(tmp_path)


@pytest.fixture
def friend(tmp_path: Path) -> Browser:
    browser = guarded(tmp_path)
    assert browser.get(f"/?token={TOKEN}").status_code == 200
    return browser


EVERYWHERE = [
    "/",
    "/open",
    "/static/app.js",
    "/static/app.css",
    "/version",
    "/jobs/1/stream",
    "/nowhere",
    "/?token=x",
    f"/open?token={TOKEN}",
]


@pytest.mark.parametrize("path", EVERYWHERE)
def test_nobody_sees_anything_without_the_token(stranger: Browser, path: str) -> None:
    answer = stranger.get(path)
    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers
    assert "nothing is open" not in answer.text


@pytest.mark.parametrize("path", ["/undo", "/open/file", "/stop", "/jobs/1/cancel"])
def test_nobody_does_anything_without_the_token(stranger: Browser, path: str) -> None:
    assert stranger.post(path).status_code == 401


def test_the_token_gives_a_cookie_that_scripts_and_other_sites_do_not_get(stranger: Browser) -> None:
    answer = stranger.get(f"/?token={TOKEN}")
    assert answer.status_code == 200, "a redirect from elsewhere would not carry the cookie"
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("unveil-8123=")
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= {part.strip() for part in cookie.split(";")}
    assert TOKEN not in answer.text
    assert TOKEN not in cookie
    assert re.search(r'http-equiv="refresh" content="0;url=/"', answer.text), "the address bar loses the token"
    assert stranger.get("/open").status_code == 200


@pytest.mark.parametrize("token", [TOKEN[:-1], TOKEN + "t", "", "%74" * 42, f"{TOKEN}&token={TOKEN}x", f"{TOKEN}&next=/"])
def test_another_token_gives_nothing(stranger: Browser, token: str) -> None:
    answer = stranger.get(f"/?token={token}")
    assert (answer.status_code, "set-cookie" in answer.headers) == (401, False)


HOSTS = [
    "evil.example",
    "evil.example:8123",
    "127.0.0.1",
    "127.0.0.1:80",
    "127.0.0.1:8123.evil.example",
    "LOCALHOST:8123",
    "[::1]:8123",
    "",
]


@pytest.mark.parametrize("host", HOSTS)
def test_a_foreign_name_of_this_machine_is_refused(friend: Browser, host: str) -> None:
    assert friend.get("/open", host=host).status_code == 403
    assert friend.get(f"/?token={TOKEN}", host=host).status_code == 403


def test_both_own_names_are_answered(friend: Browser) -> None:
    assert friend.get("/open", **OWN).status_code == 200
    cookie = f"unveil-8123={friend.cookies['unveil-8123']}"
    assert friend.get("/open", host="localhost:8123", cookie=cookie).status_code == 200


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://127.0.0.1:8123", "http://127.0.0.1", "http://127.0.0.1:8124"]
)
def test_what_another_page_sends_changes_nothing(friend: Browser, origin: str) -> None:
    assert friend.post("/undo", origin=origin).status_code == 403
    assert friend.post("/undo", origin=origin, sec_fetch_site="cross-site").status_code == 403


def test_a_form_without_an_origin_changes_nothing(friend: Browser) -> None:
    assert friend.request("POST", "/undo", headers={}).status_code == 403


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_every_other_method_needs_the_origin_too(friend: Browser, method: str) -> None:
    assert friend.request(method, "/open").status_code == 403


def test_a_plain_form_of_our_own_page_is_taken(friend: Browser) -> None:
    assert friend.post("/undo").status_code == 303
    own = friend.request("POST", "/undo", headers={"origin": "null", "sec-fetch-site": "same-origin"})
    assert own.status_code == 303, "a page without a referrer sends the origin null"


@pytest.mark.parametrize("path", ["/open", "/static/app.js", "/nowhere", "/version"])
def test_every_answer_has_the_headers(friend: Browser, path: str) -> None:
    answer = friend.get(path)
    assert answer.headers["content-security-policy"] == POLICY
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert path.startswith("/static") or answer.headers["cache-control"] == "no-store"


def test_a_refusal_has_the_headers_too(stranger: Browser) -> None:
    for answer in (stranger.get("/"), stranger.get("/", host="evil.example"), stranger.get(f"/?token={TOKEN}")):
        assert {name: answer.headers[name] for name in HEADERS} == HEADERS
        assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "headers", [[], [(b"host", b"127.0.0.1:8123")], [(b"host", b"127.0.0.1:8123"), (b"origin", b"http://127.0.0.1:8123")]]
)
def test_a_websocket_is_refused(headers: list[tuple[bytes, bytes]]) -> None:
    async def app(*_: Any) -> None:
        raise AssertionError("it went through")

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(Guard(app, SITE, Key(TOKEN))({"type": "websocket", "path": "/", "headers": headers}, receive, send))
    assert [message["type"] for message in sent] == ["websocket.close"]


def test_two_hosts_in_one_request_are_none() -> None:
    async def app(*_: Any) -> None:
        raise AssertionError("it went through")

    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": "/", "headers": [(b"host", b"127.0.0.1:8123")] * 2, "query_string": b""}
    asyncio.run(Guard(app, SITE)(scope, lambda: asyncio.sleep(0, {}), send))
    assert sent[0]["status"] == 403


# A password, beyond this machine --------------------------------------------------------------------------------------


def test_a_password_lets_in_and_wrong_ones_have_to_wait(tmp_path: Path) -> None:
    browser = guarded(tmp_path, password=PASSWORD)
    assert "password" in browser.get("/").text
    assert browser.get(f"/?token={TOKEN}").status_code == 401
    for _ in range(5):
        assert browser.post("/enter", {"password": "wrong"}).status_code == 401
    assert browser.post("/enter", {"password": PASSWORD}).status_code == 429, "five failures delay"


def test_the_right_password_gives_the_cookie(tmp_path: Path) -> None:
    browser = guarded(tmp_path, password=PASSWORD)
    assert browser.post("/enter", {"password": PASSWORD}, origin="http://evil.example").status_code == 403
    assert browser.post("/enter", {"password": PASSWORD}).status_code == 200
    assert browser.get("/open").status_code == 200


def test_with_tls_the_cookie_is_secure_and_the_origin_https() -> None:
    site = Site(443, ("unveil.example",), tls=True)
    assert site.origins == {"https://unveil.example"}
    assert site.address == "https://unveil.example"
    assert "Secure" in Key(TOKEN).cookie(site)
