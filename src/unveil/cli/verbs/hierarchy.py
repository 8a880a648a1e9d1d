"""The verbs of hierarchies, which make columns coarser: they build, propose, check and show them."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import typer

from unveil.cli.application import Program, app
from unveil.cli.groups import grouped, refuse_without
from unveil.cli.hierarchy_options import RuleOptions
from unveil.cli.options import Data, Encoding, Json, Missing, Separator, TextColumns, give
from unveil.cli.study_options import ReadingOptions, gather, gather_two
from unveil.credentials import without_credentials
from unveil.errors import ArgumentError
from unveil.output import check_replaceable

if TYPE_CHECKING:
    from unveil.results import Result
    from unveil.sources import Source

hierarchy = Program(help="Build, check and show generalisation hierarchies.")
app.add_typer(hierarchy, name="hierarchy")


def _writable(out: Path | None) -> Path | None:
    if out is not None:
        check_replaceable(out)
    return out


File = Annotated[Path, typer.Argument(metavar="FILE", help="A hierarchy: value;level 1;level 2;... without a header.")]
Column = Annotated[str | None, typer.Option("--column", metavar="COLUMN", help="The column that it is for.")]
Out = Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write the hierarchy to a CSV file.", callback=_writable)]
PartitionOut = Annotated[
    Path | None, typer.Option("--out", metavar="FILE", help="Write the proposed partition to a JSON file.", callback=_writable)
]


@dataclass(frozen=True, slots=True)
class _FileOptions:
    """The settings for reading a table without a project."""

    separator: Separator = None
    encoding: Encoding = None
    missing: Missing = None

    def source(self, place: str | None, text: list[str] | None = None) -> Source | None:
        """Open a table, if one is named; how it is read means nothing without one."""
        if place is None:
            refuse_without("--data", self, "separator", "encoding", "missing")
            if text:
                raise ArgumentError("--text goes with --data.")
        return ReadingOptions(None, self.separator, self.encoding, self.missing, text).source_if_named(place, "data")


@dataclass(frozen=True, slots=True)
class _MatchOptions:
    """The correspondence of records of an original and its release."""

    identity: Annotated[str | None, typer.Option("--id", metavar="COLUMN", help="A column of both that names each record.")] = (
        None
    )
    link: Annotated[str | None, typer.Option("--link", metavar="FILE", help="The private correspondence file.")] = None
    same_order: Annotated[bool, typer.Option("--same-order", help="The rows of both are in the same order.")] = False

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of the call."""
        return {"id": self.identity, "link": self.link, "same_order": self.same_order}


@hierarchy.command(epilog="Example: unveil hierarchy build adult --column age --interval 5,10,20 --out age.csv")
@grouped
def build(
    rule: RuleOptions,
    reading: ReadingOptions,
    data: Data = None,
    column: Column = None,
    as_json: Json = False,
    out: Out = None,
) -> None:
    """Build a hierarchy of a column's values by a rule; without one, propose the rule that fits, and say why."""
    report = rule.report(gather(data, reading), column)
    _give(report, report.hierarchy, as_json=as_json, out=out)


@hierarchy.command(
    epilog="Example: unveil hierarchy build adult --column age --interval 5,10 --out age.csv && "
    "unveil hierarchy check age.csv --data adult --column age"
)
@grouped
def check(
    file: File,
    reading: _FileOptions,
    data: Annotated[
        str | None,
        typer.Option("--data", metavar="DATA", help="A file or a built-in data set; default: only the chain is checked."),
    ] = None,
    column: Column = None,
    as_json: Json = False,
) -> None:
    """Is every level coarser than the one before, and does the hierarchy cover every value of the column?"""
    from unveil.search.hierarchies import check_hierarchy

    give(check_hierarchy(file, reading.source(data), column), as_json=as_json, out=None)


@hierarchy.command(
    epilog="Example: unveil hierarchy build adult --column age --interval 5,10 --out age.csv && "
    "unveil hierarchy show age.csv --data adult --column age"
)
@grouped
def show(
    file: File,
    reading: _FileOptions,
    data: Annotated[
        str | None, typer.Option("--data", metavar="DATA", help="A file or a built-in data set: how many records each group has.")
    ] = None,
    column: Column = None,
    text: TextColumns = None,
    as_json: Json = False,
) -> None:
    """Show a hierarchy: ten values at every level, how large the groups are, and the groups as a tree."""
    from unveil.search.hierarchies import check_hierarchy

    give(check_hierarchy(file, reading.source(data, text), column), as_json=as_json, out=None)


@hierarchy.command(
    epilog="Example: unveil anonymize adult --mechanism add_noise --attribute age --keep-order --out noisy.csv && "
    "unveil hierarchy partitions adult noisy.csv --column age --same-order --out age.json"
)
@grouped
def partitions(
    original: Annotated[str, typer.Argument(help="The original table.", show_default=False)],
    release: Annotated[str, typer.Argument(help="A release with changed values, such as noise makes.", show_default=False)],
    column: Annotated[str, typer.Option("--column", metavar="COLUMN", help="The column to compare.")],
    match: _MatchOptions,
    reading: _FileOptions,
    released: Annotated[
        str | None, typer.Option("--released", metavar="COLUMN", help="Its name in the release; default: the same.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--hierarchy", metavar="FILE", help="For categories: the hierarchy whose levels are tried.")
    ] = None,
    tolerance: Annotated[float, typer.Option(help="The share of the rate that may be due to chance.")] = 0.1,
    as_json: Json = False,
    out: PartitionOut = None,
) -> None:
    """Under which partition can noisy values be compared with the original ones? Propose one, with the bias measured."""
    from unveil.attacks.comparable import propose_partitions
    from unveil.partitions import Hierarchy

    one, other = gather_two(original, release, ReadingOptions(None, reading.separator, reading.encoding, reading.missing))
    levels = None if file is None else Hierarchy.read(file, column=column)
    report = propose_partitions(
        one.source, other.source, column, released=released, hierarchy=levels, tolerance=tolerance, **match.arguments()
    )
    _give(report, report, as_json=as_json, out=out)


class _Product(Protocol):
    """The product of a verb beside its report."""

    def write(self, path: Path, /) -> None: ...


def _give(report: Result, product: _Product, *, as_json: bool, out: Path | None) -> None:
    """Write the product on request, and the report as JSON or, if no product is written, to the terminal."""
    if out is not None:
        product.write(out)
        sys.stderr.write(f"written: {without_credentials(out)}\n")
    if as_json or out is None:
        give(report, as_json=as_json, out=None)
