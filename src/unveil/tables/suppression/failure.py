"""The failure to protect a cell."""

from __future__ import annotations

__all__ = ["Unprotectable"]


class Unprotectable(Exception):  # noqa: N818 - it is caught and reported with the name of the cell
    """A cell that cannot be protected, by its number in the problem, and whether an insider can compute it."""

    def __init__(self, cell: int, *, insider: bool) -> None:
        super().__init__(cell)
        self.cell, self.insider = cell, insider
