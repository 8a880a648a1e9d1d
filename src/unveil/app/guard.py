"""The guard of a server on this machine: a layer around every page, asset, upload and stream that decides who may connect.

Any page in the browser can send requests to a port of this machine, so the following are checked for each request, in this order:

- its `Host`, exactly: a foreign name that was made to lead here (DNS rebinding) is refused;
- its `Origin`, if it changes something: a form or script of another page is refused. Our pages have no referrer, so the browser
  sends the origin ``null`` with a plain form; its own header that the page is of this site (`Sec-Fetch-Site`) is then accepted;
- its key: the cookie that is given to those who present the token or the password.

Every response gets the headers that keep a page from running, loading or sending anything but its own files.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import Any, TypeAlias
from urllib.parse import parse_qs, parse_qsl

__all__ = ["HEADERS", "Application", "Guard", "Key", "Site"]

_Scope: TypeAlias = MutableMapping[str, Any]
_Message: TypeAlias = MutableMapping[str, Any]
_Receive: TypeAlias = Callable[[], Awaitable[_Message]]
_Send: TypeAlias = Callable[[_Message], Awaitable[None]]
Application: TypeAlias = Callable[[_Scope, _Receive, _Send], Awaitable[None]]
"""An ASGI application."""

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
"""The headers of every response; `Cache-Control: no-store` is added unless the response sets its own."""

_SAFE = frozenset({"GET", "HEAD"})
_ENTER = "/enter"
_LONGEST_PASSWORD = 4096
_PATIENCE = 5
"""The number of wrong passwords after which everyone has to wait."""
_WAIT = 30.0
"""The length of that wait, in seconds."""


@dataclass(frozen=True, slots=True)
class Site:
    """The addresses of a server: its port, the exact names it answers to (empty for any), and whether it uses TLS."""

    port: int
    names: tuple[str, ...] = ("127.0.0.1", "localhost")
    tls: bool = False

    @property
    def scheme(self) -> str:
        """The scheme of its addresses."""
        return "https" if self.tls else "http"

    @property
    def hosts(self) -> frozenset[str]:
        """The values of `Host` that are answered."""
        plain = 443 if self.tls else 80
        return frozenset(name if self.port == plain else f"{name}:{self.port}" for name in self.names)

    @property
    def origins(self) -> frozenset[str]:
        """The values of `Origin` of its own pages."""
        return frozenset(f"{self.scheme}://{host}" for host in self.hosts)

    @property
    def address(self) -> str:
        """Its first address."""
        name = self.names[0]
        return f"{self.scheme}://{next(host for host in self.hosts if host.partition(':')[0] == name or host == name)}"


@dataclass(slots=True)
class Key:
    """What grants access: a token in the first address, or a password; afterwards a cookie.

    Attributes
    ----------
    token
        The value that ``/?token=`` must have; None if no token grants access.
    password
        The password requested by the entrance form; None if there is no form.
    """

    token: str | None = None
    password: str | None = None
    _cookie: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    _failures: int = 0
    _closed_until: float = 0.0

    def has(self, cookies: str, name: str) -> bool:
        """Whether the cookies of a request contain ours."""
        try:
            cookie = SimpleCookie(cookies).get(name)
        except CookieError:
            return False
        return cookie is not None and _same(cookie.value, self._cookie)

    def is_token(self, query: bytes) -> bool:
        """Whether the query of an address is the token and nothing else."""
        fields = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
        return self.token is not None and [name for name, _ in fields] == ["token"] and _same(fields[0][1], self.token)

    def is_password(self, body: bytes) -> bool | None:
        """Whether a form contains the password; None after too many wrong ones, until the wait is over."""
        if time.monotonic() < self._closed_until:
            return None
        entered = parse_qs(body.decode("utf-8", "replace")).get("password", [""])[0]
        if self.password is not None and _same(entered, self.password):
            self._failures = 0
            return True
        self._failures += 1
        if self._failures >= _PATIENCE:
            self._closed_until = time.monotonic() + _WAIT
        return False

    def cookie(self, site: Site) -> str:
        """Return the header that sets our cookie."""
        secure = "; Secure" if site.tls else ""
        return f"{cookie_name(site)}={self._cookie}; HttpOnly; SameSite=Strict; Path=/{secure}"


def cookie_name(site: Site) -> str:
    """Return the name of the cookie of a site; it contains the port because the ports of one machine share cookies."""
    return f"unveil-{site.port}"


class Guard:
    """An ASGI application around another one that admits those who may enter.

    Parameters
    ----------
    app
        The application that is guarded.
    site
        The addresses at which it is reached.
    key
        The key that grants access; None if the application requests its own credentials.
    """

    def __init__(self, app: Application, site: Site, key: Key | None = None) -> None:
        self._app, self._site, self._key = app, site, key

    async def __call__(self, scope: _Scope, receive: _Receive, send: _Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        guarded = _with_headers(send)
        if problem := self._foreign(scope):
            await _refused(scope, guarded, 403, problem)
        elif self._key is None or self._key.has(_joined(scope, b"cookie"), cookie_name(self._site)):
            await self._app(scope, receive, guarded)
        else:
            await self._entered(scope, receive, guarded, self._key)

    def _foreign(self, scope: _Scope) -> str:
        """Return the problem with the origin of a request; empty if it comes from here."""
        if self._site.names and _one(scope, b"host") not in self._site.hosts:
            return "This server answers to its own name only."
        if scope["type"] == "http" and scope["method"] in _SAFE:
            return ""
        if self._key is None and not _joined(scope, b"origin"):
            return ""  # no page sent it: a page could not send the credentials that are required
        origin = _one(scope, b"origin")
        own = origin in self._site.origins or (origin == "null" and _one(scope, b"sec-fetch-site") == "same-origin")
        return "" if own else "This did not come from a page of this server."

    async def _entered(self, scope: _Scope, receive: _Receive, send: _Send, key: Key) -> None:
        """Admit those who have the token or the password, and show the others how to enter."""
        if scope["type"] != "http":
            await _refused(scope, send, 401, "")
        elif scope["method"] in _SAFE and scope["path"] == "/" and key.is_token(scope["query_string"]):
            await _answer(send, 200, _WELCOME, [("set-cookie", key.cookie(self._site))])
        elif key.password is None:
            await _refused(scope, send, 401, "Open the address that unveil printed; it contains the token of this run.")
        elif scope["method"] == "POST" and scope["path"] == _ENTER:
            right = key.is_password(await _body(receive))
            if right:
                await _answer(send, 200, _WELCOME, [("set-cookie", key.cookie(self._site))])
            elif right is None:
                await _answer(send, 429, _form("Too many wrong passwords; wait a little."), [("retry-after", f"{_WAIT:.0f}")])
            else:
                await _answer(send, 401, _form("This is not the password."))
        else:
            await _answer(send, 401, _form(""))


# Reading --------------------------------------------------------------------------------------------------------------


def _one(scope: _Scope, name: bytes) -> str | None:
    """Return the value of a header that occurs exactly once."""
    values = [value for key, value in scope["headers"] if key == name]
    return values[0].decode("latin-1") if len(values) == 1 else None


def _joined(scope: _Scope, name: bytes) -> str:
    return "; ".join(value.decode("latin-1") for key, value in scope["headers"] if key == name)


def _same(received: str, known: str) -> bool:
    """Compare two secrets in constant time."""
    return hmac.compare_digest(received.encode(errors="surrogatepass"), known.encode(errors="surrogatepass"))


async def _body(receive: _Receive) -> bytes:
    """Read a short form; a longer one is truncated, and is then wrong."""
    body = b""
    while len(body) <= _LONGEST_PASSWORD:
        message = await receive()
        body += message.get("body", b"")
        if message["type"] != "http.request" or not message.get("more_body", False):
            break
    return body[:_LONGEST_PASSWORD]


# Answering ------------------------------------------------------------------------------------------------------------


def _with_headers(send: _Send) -> _Send:
    """Add the headers of every response."""

    async def guarded(message: _Message) -> None:
        if message["type"] == "http.response.start":
            headers = list(message.get("headers", ()))
            names = {name.lower() for name, _ in headers}
            own = HEADERS if b"cache-control" in names else {**HEADERS, "cache-control": "no-store"}
            kept = [(name, value) for name, value in headers if name.lower().decode("latin-1") not in HEADERS]
            message = {**message, "headers": [*kept, *((name.encode(), value.encode()) for name, value in own.items())]}
        await send(message)

    return guarded


async def _refused(scope: _Scope, send: _Send, status: int, problem: str) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008})
    else:
        await _answer(send, status, _page(f"<p>{problem}</p>"))


async def _answer(send: _Send, status: int, html: str, headers: Sequence[tuple[str, str]] = ()) -> None:
    body = html.encode()
    plain = [("content-type", "text/html; charset=utf-8"), ("content-length", str(len(body))), *headers]
    start = [(name.encode(), value.encode()) for name, value in plain]
    await send({"type": "http.response.start", "status": status, "headers": start})
    await send({"type": "http.response.body", "body": body})


def _page(body: str, head: str = "") -> str:
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">{head}<title>unveil</title></head>'
        f"<body><main><h1>unveil</h1>{body}</main></body></html>\n"
    )


def _form(problem: str) -> str:
    alert = f'<p role="alert">{problem}</p>' if problem else ""
    return _page(
        f'{alert}<form method="post" action="{_ENTER}"><label>Password '
        '<input type="password" name="password" autocomplete="current-password" required autofocus></label> '
        "<button>Enter</button></form>"
    )


# After a redirect the request would still count as coming from elsewhere, and the browser would withhold the cookie.
_WELCOME = _page('<p><a href="/">Continue</a></p>', '<meta http-equiv="refresh" content="0;url=/">')
