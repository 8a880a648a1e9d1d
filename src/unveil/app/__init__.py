"""The local web app: the whole way from a file to a defended release in a browser, on one's own machine.

`guard` lets in who may come in, `server` listens, `state` holds what is open, `jobs` work in processes of their own, and every
module of `screens` is one screen: to add one, write its module and its template, and name it in `screens`.
"""

from __future__ import annotations

from unveil.app.server import serve_app

__all__ = ["serve_app"]

OPEN_MODULES = (
    "gate_server",
    "server",
)
"""Modules of this room that others may import from; the rest is its own."""
