"""The groups of options of verbs that look at an original beside its release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from unveil.cli.options import note_read, pair_of

__all__ = ["MatchOptions"]


@dataclass(frozen=True, slots=True)
class MatchOptions:
    """Which column and record of an original belongs to which of its release."""

    mapping: Annotated[
        list[str] | None, typer.Option("--map", metavar="COLUMN=COLUMN", help="An original column and its protected counterpart.")
    ] = None
    identity: Annotated[str | None, typer.Option("--id", metavar="COLUMN", help="A column of both that names each record.")] = (
        None
    )
    link: Annotated[str | None, typer.Option("--link", metavar="FILE", help="The private correspondence file.")] = None
    same_order: Annotated[bool, typer.Option("--same-order", help="The rows of both are in the same order.")] = False

    def pairs(self, columns: Sequence[str]) -> list[tuple[str, str]]:
        """Return the columns of the original that have another name in the release, with that name."""
        return [pair_of(text, columns, "--map", "COLUMN=COLUMN") for text in self.mapping or ()]

    def arguments(self, columns: Sequence[str]) -> dict[str, Any]:
        """Return the arguments of a call, given the columns of the original."""
        if self.link is not None:
            note_read("link", self.link)
        return {"mapping": self.pairs(columns), "id": self.identity, "link": self.link, "same_order": self.same_order}
