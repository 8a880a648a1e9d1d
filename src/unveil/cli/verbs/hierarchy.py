"""The verbs of hierarchies, which make columns coarser: they build them by a rule, propose, check and show them."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import typer

from unveil.cli.application import Program, app, grouped, refuse_without
from unveil.cli.options import Data, Encoding, Json, Missing, Separator, TextColumns, give
from unveil.cli.study_options import ReadingOptions, gather, gather_two
from unveil.credentials import without_credentials
from unveil.errors import ArgumentError, shown
from unveil.output import check_replaceable

if TYPE_CHECKING:
    from unveil.cli.study_options import Inputs
    from unveil.partitions import Builder
    from unveil.project import Project
    from unveil.results import Result
    from unveil.search import HierarchyReport
    from unveil.sources import Source


@dataclass(frozen=True, slots=True)
class RuleOptions:
    """The single rule by which a hierarchy is built, and its details; without one, a rule is proposed."""

    interval: Annotated[str | None, typer.Option(metavar="W1,W2,...", help="Intervals of these widths, from narrow to wide.")] = (
        None
    )
    origin: Annotated[str | None, typer.Option(metavar="X", help="Where an interval begins; default: 0.")] = None
    bottom: Annotated[str | None, typer.Option(metavar="X", help="All values below it form one group.")] = None
    top: Annotated[str | None, typer.Option(metavar="X", help="All values from this one on form one group.")] = None
    groups: Annotated[str | None, typer.Option(metavar="N1,N2,...", help="Groups of this many neighbours, from few to many.")] = (
        None
    )
    order: Annotated[str | None, typer.Option(metavar="V1,V2,...", help="The values in order; default: their natural order.")] = (
        None
    )
    redact: Annotated[str | None, typer.Option(metavar="right|left", help="The side from which codes are masked.")] = None
    characters: Annotated[
        str | None, typer.Option(metavar="N1,N2,...", help="Characters masked at each level; default: one more per level.")
    ] = None
    mask: Annotated[str | None, typer.Option(metavar="CHAR", help="The mask; default: *.")] = None
    pad: Annotated[str | None, typer.Option(metavar="CHAR", help="Pads shorter codes; default: the mask.")] = None
    pad_side: Annotated[
        str | None, typer.Option("--pad-side", metavar="right|left", help="Which side to pad; default: the side that is masked.")
    ] = None
    postal: Annotated[
        str | None,
        typer.Option(
            metavar="N1,N2,...", help="Postal codes without their last N1, N2, ... digits; lost leading zeros are restored."
        ),
    ] = None
    dates: Annotated[
        str | None, typer.Option(metavar="PERIOD,...", help="Periods: day, week, month, quarter, year, 5-years, decade.")
    ] = None
    rare: Annotated[
        str | None, typer.Option(metavar="N1,N2,...", help="Merge values with fewer records than this, from few to many.")
    ] = None
    other: Annotated[str | None, typer.Option(metavar="LABEL", help="What merged values are called; default: 'other'.")] = None
    arx_rule: Annotated[
        str | None, typer.Option("--arx-rule", metavar="FILE", help="The rule that ARX saved as an .ahs file.")
    ] = None
    similar: Annotated[
        str | None, typer.Option(metavar="COLUMN,...", help="Group values whose records look alike in these columns.")
    ] = None

    def report(self, inputs: Inputs, column: str | None) -> HierarchyReport:
        """Build a hierarchy of a column by the rule, or propose one."""
        from unveil.search import build_hierarchy, propose_hierarchy

        if column is None:
            raise ArgumentError("no column is named; use --column to name the one to make coarser.")
        rule = _rule(self._named(), _order(inputs.project, column))
        if rule is None:
            alike = None if self.similar is None else [name.strip() for name in self.similar.split(",")]
            return propose_hierarchy(inputs.source, column, similar=alike)
        if self.similar is not None:
            raise ArgumentError("a hierarchy is built by one rule; --similar is a second one.")
        return build_hierarchy(inputs.source, column, rule)

    def _named(self) -> dict[str, tuple[str | None, dict[str, str | None]]]:
        """Return the rules by their options, each with its steps and the options that belong to it."""
        masked = {"--characters": self.characters, "--mask": self.mask, "--pad": self.pad, "--pad-side": self.pad_side}
        return {
            "--interval": (self.interval, {"--origin": self.origin, "--bottom": self.bottom, "--top": self.top}),
            "--groups": (self.groups, {"--order": self.order}),
            "--redact": (self.redact, masked),
            "--postal": (self.postal, {}),
            "--dates": (self.dates, {}),
            "--rare": (self.rare, {"--other": self.other}),
            "--arx-rule": (self.arx_rule, {}),
        }


def _rule(choices: dict[str, tuple[str | None, dict[str, str | None]]], order: tuple[Any, ...] | None) -> Builder | None:
    """Return the rule that the options name; None if they name none."""
    named = [option for option, (steps, _) in choices.items() if steps is not None]
    if len(named) > 1:
        raise ArgumentError(f"a hierarchy is built by one rule; {' and '.join(named)} are two.")
    for option, (steps, extras) in choices.items():
        lone = [extra for extra, value in extras.items() if value is not None]
        if lone and steps is None:
            raise ArgumentError(f"{lone[0]} goes with {option}.")
    if not named:
        return None
    steps, extras = choices[named[0]]
    if named[0] == "--arx-rule":
        from unveil.project import arx_rule

        return arx_rule(steps or "")
    return _built(named[0], steps or "", {name: value for name, value in extras.items() if value is not None}, order)


def _built(option: str, steps: str, extras: dict[str, str], order: tuple[Any, ...] | None) -> Builder:
    from unveil.partitions import Dates, Groups, Intervals, PostalCodes, Rare, Redaction

    details: dict[str, Any] = {name.lstrip("-").replace("-", "_"): value for name, value in extras.items()}
    if option == "--interval":
        ends = {name: _number(f"--{name}", value) for name, value in details.items()}
        return Intervals(tuple(_number(option, text) for text in steps.split(",")), **ends)
    if option == "--groups":
        values = tuple(value.strip() for value in details["order"].split(",")) if "order" in details else order
        return Groups(_whole(option, steps), values)
    if option == "--redact":
        if "characters" in details:
            details["characters"] = _whole("--characters", details["characters"])
        return Redaction(**{"side": steps, **details})
    if option == "--postal":
        return PostalCodes(_whole(option, steps))
    if option == "--dates":
        units: list[Any] = [unit.strip() for unit in steps.split(",")]
        return Dates(tuple(units))
    return Rare(_whole(option, steps), **details)


def _number(option: str, text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        raise ArgumentError(f"{option} takes numbers, not {shown(text)}.") from None


def _whole(option: str, text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise ArgumentError(f"{option} takes whole numbers, such as 2,4,8, not {shown(text)}.") from None


def _order(project: Project | None, column: str) -> tuple[Any, ...] | None:
    """Return the order of a column's values that the project states."""
    attribute = project.attributes.get(column) if project is not None else None
    return tuple(attribute.order) if attribute is not None and attribute.order else None


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
    from unveil.search import check_hierarchy

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
    from unveil.search import check_hierarchy

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
    from unveil.attacks import propose_partitions
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
