"""The local web app: the whole way from a file to a defensible release, in a browser on the user's own machine.

`guard` admits those who may enter, `server` listens, `state` holds what is open, `jobs` run in processes of their own, and every
module of `screens` is one screen: to add one, write its module and its template, and name it in `screens`.
"""

from __future__ import annotations

from unveil.app.server import serve_app

__all__ = ["serve_app"]

OPEN_MODULES = (
    "gate_server",
    "server",
)
"""Modules of this room that other rooms may import from; all others are private to it."""
