"""The verb loss: the information loss of a release against its original."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unveil.cli.application import app, grouped
from unveil.cli.options import Key, MatchOptions, showing_progress
from unveil.cli.study_options import AnswerOptions, ReadingOptions, gather_two, named_hierarchies, orders

if TYPE_CHECKING:
    from collections.abc import Sequence

    from unveil.study import Study


@dataclass(frozen=True, slots=True)
class _PairOptions:
    """The two tables, their reading, and the correspondence of their records and columns."""

    original: Annotated[str, typer.Argument(help="The original table.", show_default=False)]
    release: Annotated[str, typer.Argument(help="The release.", show_default=False)]
    match: MatchOptions = field(default_factory=MatchOptions)
    reading: ReadingOptions = field(default_factory=ReadingOptions)

    def studies(self) -> tuple[Study, Study]:
        """Open both tables."""
        return gather_two(self.original, self.release, self.reading)


@dataclass(frozen=True, slots=True)
class _KindOptions:
    """The kinds of values in the columns."""

    key: Key = None
    continuous: Annotated[
        list[str] | None, typer.Option("--continuous", metavar="COLUMN", help="A column to be taken as numbers.")
    ] = None
    categorical: Annotated[
        list[str] | None, typer.Option("--categorical", metavar="COLUMN", help="A column to be taken as categories.")
    ] = None
    order: Annotated[
        list[str] | None, typer.Option("--order", metavar="COLUMN=V1,V2,...", help="An ordinal column's values, lowest first.")
    ] = None
    hierarchy: Annotated[
        list[str] | None, typer.Option("--hierarchy", metavar="COLUMN=FILE", help="A column's hierarchy (ARX CSV).")
    ] = None

    def arguments(self, columns: Sequence[str]) -> dict[str, Any]:
        """Return the arguments of the call that say so, given the columns of the original."""
        return {
            "key": self.key,
            "continuous": self.continuous,
            "categorical": self.categorical,
            "orders": orders(self.order, None, columns),
            "hierarchies": named_hierarchies(self.hierarchy, columns),
        }


@dataclass(frozen=True, slots=True)
class _ComparisonOptions:
    """The comparisons beside those of single columns."""

    ways: Annotated[int, typer.Option(help="Contingency tables of up to this many columns, 0 to 3.")] = 3
    pmse: Annotated[bool, typer.Option("--pmse", help="Measure whether release and original can be distinguished.")] = False
    task: Annotated[
        list[str] | None, typer.Option("--task", metavar="COLUMN", help="A column to be predicted from all others.")
    ] = None
    clusters: Annotated[int | None, typer.Option(metavar="N", help="Compare clusterings into N clusters.")] = None
    seed: Annotated[int, typer.Option(min=0, help="The seed of what is drawn at random.")] = 0

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of the call that ask for them."""
        from unveil.utility import Task

        clustering = [] if self.clusters is None else [Task("clustering", kind="clustering", clusters=self.clusters)]
        return {"ways": self.ways, "pmse": self.pmse, "tasks": [*(self.task or ()), *clustering], "seed": self.seed}


@app.command(epilog="Example: unveil loss paper-4 paper-3 --map 'ZIP=ZIP*' --map 'Age=Age*' --same-order")
@grouped
def loss(pair: _PairOptions, kinds: _KindOptions, comparison: _ComparisonOptions, answer: AnswerOptions) -> None:
    """How much has the release lost against its original? In numbers, categories, classes, and on request tasks."""
    from unveil.utility.loss import loss as lost

    one, other = pair.studies()
    matched = pair.match.arguments(one.names)
    with showing_progress():
        result = lost(one, other, **matched, **kinds.arguments(one.names), **comparison.arguments())
    answer.give(result)
    for line in result.failed:
        sys.stderr.write(f"unveil: {line}\n")
    if result.failed:
        raise typer.Exit(2)
