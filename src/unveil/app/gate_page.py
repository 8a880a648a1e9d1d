"""The self-description of a served gate: its OpenAPI document, and a page for people."""

from __future__ import annotations

from html import escape
from typing import Any

from unveil import __version__
from unveil.queries import REASONS

__all__ = ["OPENAPI", "PAGE", "STYLE"]

_NUMBER = {"type": ["number", "null"]}
_ANSWER: dict[str, Any] = {
    "type": "object",
    "required": ["answered", "reason", "cost", "spent", "unit"],
    "properties": {
        "answered": {"type": "boolean"},
        "value": {**_NUMBER, "description": "the number, exact or with noise"},
        "low": {**_NUMBER, "description": "the lower end of an interval that contains the exact number"},
        "high": {**_NUMBER, "description": "the upper end of that interval"},
        "error": {**_NUMBER, "description": "the standard error of noise"},
        "numbers": {"type": "array", "description": "several numbers, or groups", "items": {"type": "object"}},
        "reason": {"type": ["string", "null"], "enum": [*REASONS, None]},
        "message": {"type": ["string", "null"]},
        "cost": {"type": "number"},
        "spent": {"type": "number"},
        "unit": {"type": "string"},
    },
}
_QUESTION = {
    "required": True,
    "content": {
        "application/json": {
            "schema": {"type": "object", "required": ["question"], "properties": {"question": {"type": "string"}}},
            "example": {"question": "SELECT AVG(salary) FROM people WHERE town = 'Rennes'"},
        }
    },
}
_PROBLEMS = {
    "400": "the question was not understood or is not allowed",
    "401": "the token is missing or unknown",
    "429": "too many questions in this minute",
    "503": "the gate is closed",
}


def _operation(summary: str, schema: dict[str, Any], *, body: bool = False) -> dict[str, Any]:
    answers = {status: {"description": text} for status, text in _PROBLEMS.items()}
    good = {"description": summary, "content": {"application/json": {"schema": schema}}}
    return {"summary": summary, **({"requestBody": _QUESTION} if body else {}), "responses": {"200": good, **answers}}


OPENAPI: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "unveil query gate", "version": __version__, "description": "Protected access to a table."},
    "security": [{"token": []}],
    "components": {
        "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        "schemas": {"Answer": _ANSWER},
    },
    "paths": {
        "/ask": {"post": _operation("ask a question", {"$ref": "#/components/schemas/Answer"}, body=True)},
        "/explain": {"post": _operation("get what a question would cost", {"type": "object"}, body=True)},
        "/spent": {"get": _operation("get what you have spent", {"type": "object"})},
        "/history": {"get": _operation("list the questions you have asked", {"type": "object"})},
    },
}
"""The description of a served gate, for machines."""

_PATHS = "".join(
    f"<tr><td><code>{method.upper()} {path}</code></td><td>{escape(operation['summary'])}</td></tr>"
    for path, methods in OPENAPI["paths"].items()
    for method, operation in methods.items()
)
_WHY = "".join(f"<tr><td><code>{name}</code></td><td>{escape(text)}</td></tr>" for name, text in REASONS.items())

PAGE = f"""<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>A query gate</title>
<link rel="stylesheet" href="/style.css">
<h1>A query gate</h1>
<p>Ask a table for counts, sums and averages. Depending on the policy that protects the people in the table, the answer is
exact, noisy, an interval, or a refusal with its reason. Every question is recorded in a ledger.</p>
<pre>curl -H "Authorization: Bearer TOKEN" http://127.0.0.1:PORT/ask \\
  -d '{{"question": "SELECT COUNT(*) FROM data"}}'</pre>
<h2>Addresses</h2><table>{_PATHS}<tr><td><code>GET /openapi.json</code></td><td>this description, for machines</td></tr></table>
<h2>Why a number is refused</h2><table>{_WHY}</table>
</html>
"""  # noqa: S608 - an example of a question
"""The description of a served gate, for people."""

STYLE = """\
body { font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 3rem auto; padding: 0 1rem; color: #1b1f24 }
h1 { font-size: 1.6rem } h2 { font-size: 1.15rem; margin-top: 2rem }
table { border-collapse: collapse; width: 100% }
td:first-child { white-space: nowrap }
td { border-top: 1px solid #d9dee4; padding: .4rem .8rem .4rem 0; vertical-align: top }
code, pre { font: 14px/1.5 ui-monospace, monospace; background: #f3f5f7; border-radius: 4px; padding: .1rem .3rem }
pre { padding: .8rem; overflow-x: auto }
@media (prefers-color-scheme: dark) {
body { background: #14171a; color: #e3e7eb } code, pre { background: #22272c } td { border-color: #343b42 } }
"""
"""The style sheet of the page."""
