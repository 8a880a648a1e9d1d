"""The local web app: the whole way from a file to a defensible release, in a browser on the user's own machine.

`guard` admits those who may enter, `server` listens, `state` holds what is open, `jobs` run in processes of their own, and every
module of `screens` is one screen: to add one, write its module and its template, and name it in `screens`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from unveil.app.server import serve_app
from unveil.doors import lazily

__all__ = ["serve_app"]

if TYPE_CHECKING:
    from unveil.app.gate_server import serve_gate
    from unveil.app.server import Listening
else:
    __getattr__ = lazily(
        __name__,
        {
            "gate_server": ("serve_gate",),
            "server": ("Listening",),
        },
    )
