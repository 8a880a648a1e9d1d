"""A gate over HTTP: one token per analyst, a limit of questions per minute, JSON in and out, and a page that describes it.

It is protected by the guard of the app, listens on this machine only unless configured otherwise, and speaks plain HTTP (put a
proxy with TLS in front of it to let others in). It never reveals more than an answer: errors of the gate are sent in its own
words, which contain no data, and anything unexpected as one fixed line.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from unveil.app.gate_page import OPENAPI, PAGE, STYLE
from unveil.app.guard import Guard, Site
from unveil.app.server import Listening, bound_socket
from unveil.errors import ArgumentError, DataNotFoundError, MissingExtraError, UnveilError, reason_of, shown
from unveil.ledger import LedgerError
from unveil.queries import QuestionError

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from unveil.queries import Gate

__all__ = ["application", "read_tokens", "serve_gate"]

_LONGEST_BODY = 64 << 10
_SHORTEST_TOKEN = 16
_MINUTE = 60.0


@dataclass(slots=True)
class _Allowance:
    """The number of questions that each analyst may still ask; the allowance is refilled at an even pace."""

    rate: int
    _left: dict[str, tuple[float, float]] = field(default_factory=dict)
    _turn: Lock = field(default_factory=Lock)

    def wait(self, analyst: str) -> float:
        """Use up one question, or return the number of seconds that the analyst has to wait for one."""
        now = time.monotonic()
        with self._turn:
            left, then = self._left.get(analyst, (float(self.rate), now))
            left = min(left + (now - then) * self.rate / _MINUTE, float(self.rate))
            if left < 1.0:
                self._left[analyst] = (left, now)
                return (1.0 - left) * _MINUTE / self.rate
            self._left[analyst] = (left - 1.0, now)
        return 0.0


def read_tokens(path: Path) -> dict[str, str]:
    """Read a token for each analyst from a JSON file; no message ever contains one."""
    try:
        content = json.loads(path.read_bytes())
    except OSError as error:
        raise DataNotFoundError(f"{shown(path)} cannot be read: {reason_of(error)}.") from None
    except ValueError:
        content = None
    if not isinstance(content, dict) or not content or not all(isinstance(token, str) for token in content.values()):
        raise ArgumentError(f'{shown(path)} must hold a JSON object with one token per analyst: {{"eve": "..."}}.')
    if any(len(token) < _SHORTEST_TOKEN for token in content.values()) or len(set(content.values())) < len(content):
        raise ArgumentError(f"{shown(path)}: every analyst needs a token of their own, of at least {_SHORTEST_TOKEN} characters.")
    return content


def application(gate: Gate, tokens: Mapping[str, str], *, rate: int = 60) -> Starlette:
    """Return the application that serves a gate.

    Parameters
    ----------
    gate
        The gate.
    tokens
        The token of each analyst.
    rate
        The number of questions that each analyst may ask per minute.
    """
    try:
        from starlette.applications import Starlette
        from starlette.routing import Route
    except ImportError:
        raise MissingExtraError.needed("serving a gate", extra="serve") from None
    door = _Door(gate, tokens, _Allowance(rate))
    routes = [
        Route("/ask", door.ask, methods=["POST"]),
        Route("/explain", door.explain, methods=["POST"]),
        Route("/spent", door.spent, methods=["GET"]),
        Route("/history", door.history, methods=["GET"]),
        Route("/openapi.json", door.described, methods=["GET"]),
        Route("/style.css", door.style, methods=["GET"]),
        Route("/", door.page, methods=["GET"]),
    ]
    return Starlette(routes=routes, exception_handlers={404: door.nowhere, 405: door.nowhere, Exception: door.failed})


class _Door:
    def __init__(self, gate: Gate, tokens: Mapping[str, str], allowance: _Allowance) -> None:
        self._gate, self._allowance = gate, allowance
        self._marks = {analyst: hashlib.sha256(token.encode()).digest() for analyst, token in tokens.items()}

    async def ask(self, request: Any) -> Any:
        return await self._questioned(request, lambda question, analyst: self._gate.ask(question, analyst=analyst))

    async def explain(self, request: Any) -> Any:
        return await self._questioned(request, lambda question, analyst: self._gate.explain(question, analyst=analyst))

    async def spent(self, request: Any) -> Any:
        return await self._own(request, lambda analyst: {"spent": self._gate.spent(analyst)[analyst]})

    async def history(self, request: Any) -> Any:
        return await self._own(request, lambda analyst: {"rows": [_row(entry) for entry in self._gate.history(analyst)]})

    async def described(self, request: Any) -> Any:  # noqa: ARG002
        return _json(OPENAPI)

    async def page(self, request: Any) -> Any:  # noqa: ARG002
        from starlette.responses import HTMLResponse

        return HTMLResponse(PAGE)

    async def style(self, request: Any) -> Any:  # noqa: ARG002
        from starlette.responses import Response

        return Response(STYLE, media_type="text/css")

    async def nowhere(self, request: Any, error: Any) -> Any:  # noqa: ARG002
        return _problem(error.status_code, "there is nothing at this address; / lists the addresses")

    async def failed(self, request: Any, error: Any) -> Any:  # noqa: ARG002
        return _problem(500, "the gate failed and gave no answer")

    async def _questioned(self, request: Any, call: Any) -> Any:
        analyst = self._analyst(request)
        if analyst is None:
            return _unknown()
        if (wait := self._allowance.wait(analyst)) > 0.0:
            return _problem(429, "too many questions; wait a little", {"retry-after": str(int(wait) + 1)})
        question = await _question(request)
        if question is None:
            return _problem(400, 'send a JSON object with a "question" of up to 64 KiB')
        return await _called(lambda: call(question, analyst).to_dict())

    async def _own(self, request: Any, call: Any) -> Any:
        analyst = self._analyst(request)
        if analyst is None:
            return _unknown()
        if self._allowance.wait(analyst) > 0.0:
            return _problem(429, "too many questions; wait a little")
        return await _called(lambda: call(analyst))

    def _analyst(self, request: Any) -> str | None:
        """Return the analyst whose token a request carries; all tokens are compared, in constant time."""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        mark = hashlib.sha256(token.strip().encode(errors="surrogatepass")).digest()
        known = [analyst for analyst, one in self._marks.items() if hmac.compare_digest(one, mark)]
        return known[0] if known and scheme.lower() == "bearer" else None


async def _question(request: Any) -> str | None:
    """Read the question of a request, up to a limit; None if there is none."""
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > _LONGEST_BODY:
            return None
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        return None
    question = content.get("question") if isinstance(content, dict) else None
    return question if isinstance(question, str) else None


async def _called(call: Any) -> Any:
    """Run a call in a thread, and turn its errors into a response."""
    from starlette.concurrency import run_in_threadpool

    try:
        return _json(await run_in_threadpool(call))
    except (QuestionError, ArgumentError) as problem:
        return _problem(400, str(problem))
    except LedgerError:
        return _problem(503, "the gate is closed because its ledger cannot be used; ask the data steward")
    except UnveilError:
        return _problem(500, "the gate failed and gave no answer")


def _json(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Any:
    from starlette.responses import JSONResponse

    return JSONResponse(content, status_code=status, headers=dict(headers or {}))


def _problem(status: int, problem: str, headers: Mapping[str, str] | None = None) -> Any:
    return _json({"error": problem}, status, headers)


def _unknown() -> Any:
    return _problem(401, "send the token that you were given: Authorization: Bearer TOKEN", {"www-authenticate": "Bearer"})


def _row(entry: Any) -> dict[str, Any]:
    """Return an entry of the ledger as its analyst may see it."""
    return {
        "at": entry.at,
        "question": entry.question,
        "decision": entry.decision,
        "reason": entry.reason or None,
        "answer": {name: value for name, value in json.loads(entry.answer).items() if name != "notes"},
    }


def serve_gate(gate: Gate, *, host: str, port: int, tokens: Path | None, analyst: str, rate: int) -> None:
    """Serve a gate until it is stopped.

    Parameters
    ----------
    gate
        The gate.
    host, port
        The address to listen on; port 0 stands for a free one.
    tokens
        The file with the tokens. If None, a token for one analyst is drawn and printed once on standard error.
    analyst
        The analyst for whom a token is drawn.
    rate
        The number of questions that each analyst may ask per minute.
    """
    try:
        import uvicorn
    except ImportError:
        raise MissingExtraError.needed("serving a gate", extra="serve") from None
    known = read_tokens(tokens) if tokens is not None else {analyst: secrets.token_urlsafe(24)}
    app = application(gate, known, rate=rate)
    if tokens is None:
        sys.stderr.write(f"token of {analyst}: {known[analyst]}\n")
    where = Listening(port, host)
    with bound_socket(where) as bound:
        name, at = bound.getsockname()[:2]
        own = () if where.beyond else ("127.0.0.1", "localhost")  # beyond this machine, a proxy uses its own name for it
        guarded = Guard(app, Site(at, own))
        config = uvicorn.Config(guarded, log_level="warning", access_log=False, server_header=False, lifespan="off")
        sys.stderr.write(f"serving on http://{name}:{at} (stop with Ctrl-C)\n")
        sys.stderr.flush()
        uvicorn.Server(config).run(sockets=[bound])
