"""How can a column be made coarser? Hierarchies built, proposed, checked and shown."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unveil.cli.application import app
from unveil.cli.options import Data, Encoding, Json, Missing, ProjectFile, Separator, TextColumns, gather, gather_two, give
from unveil.credentials import without_credentials
from unveil.errors import ArgumentError, shown
from unveil.output import check_replaceable

if TYPE_CHECKING:
    from unveil.partitions.builders import Builder
    from unveil.project import Project

hierarchy = typer.Typer(help="Build, check and show generalisation hierarchies.")
app.add_typer(hierarchy, name="hierarchy")


def _writable(out: Path | None) -> Path | None:
    if out is not None:
        check_replaceable(out)
    return out


File = Annotated[Path, typer.Argument(metavar="FILE", help="A hierarchy: value;level 1;level 2;... without a header.")]
Column = Annotated[str | None, typer.Option("--column", metavar="COLUMN", help="The column that it is for.")]
Out = Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write the hierarchy to a CSV file.", callback=_writable)]


@hierarchy.command(epilog="Example: unveil hierarchy build adult --column age --interval 5,10,20 --out age.csv")
def build(
    data: Data = None,
    column: Column = None,
    interval: Annotated[str | None, typer.Option(metavar="W1,W2,...", help="Intervals of these widths, growing.")] = None,
    origin: Annotated[str | None, typer.Option(metavar="X", help="Where an interval begins; 0 when not given.")] = None,
    bottom: Annotated[str | None, typer.Option(metavar="X", help="All below it is one group.")] = None,
    top: Annotated[str | None, typer.Option(metavar="X", help="All from it on is one group.")] = None,
    groups: Annotated[str | None, typer.Option(metavar="N1,N2,...", help="Groups of so many neighbours, growing.")] = None,
    order: Annotated[str | None, typer.Option(metavar="V1,V2,...", help="The values in order; none: their own.")] = None,
    redact: Annotated[str | None, typer.Option(metavar="SIDE", help="Mask codes from the right or the left.")] = None,
    characters: Annotated[
        str | None, typer.Option(metavar="N1,N2,...", help="Characters masked at each level; none: one more each.")
    ] = None,
    mask: Annotated[str | None, typer.Option(metavar="CHAR", help="The mask; * when not given.")] = None,
    pad: Annotated[str | None, typer.Option(metavar="CHAR", help="Fills shorter codes up; the mask when not given.")] = None,
    pad_side: Annotated[
        str | None, typer.Option("--pad-side", metavar="SIDE", help="Where to fill up; none: the side that is masked.")
    ] = None,
    postal: Annotated[
        str | None,
        typer.Option(metavar="N1,N2,...", help="Postal codes without their last N1, N2, ... digits; lost zeros are put back."),
    ] = None,
    dates: Annotated[
        str | None, typer.Option(metavar="U1,U2,...", help="Periods: day, week, month, quarter, year, 5-years, decade.")
    ] = None,
    rare: Annotated[
        str | None, typer.Option(metavar="N1,N2,...", help="Merge values of fewer records than this, growing.")
    ] = None,
    other: Annotated[str | None, typer.Option(metavar="LABEL", help="What merged values are called; 'other'.")] = None,
    similar: Annotated[
        str | None, typer.Option(metavar="C1,C2,...", help="Group values whose records look alike in these columns.")
    ] = None,
    project: ProjectFile = None,
    separator: Separator = None,
    encoding: Encoding = None,
    missing: Missing = None,
    text: TextColumns = None,
    as_json: Json = False,
    out: Out = None,
) -> None:
    """Build a hierarchy of a column's values by a rule; without one, propose the rule that fits, and say why."""
    from unveil.search.hierarchies import build_hierarchy, propose_hierarchy

    inputs = gather(
        data, key=None, sensitive=None, partition=None, nulls=None, weights=None, project=project,
        separator=separator, encoding=encoding, missing=missing, text=text,
    )  # fmt: skip
    if column is None:
        raise ArgumentError("no column is named; name the one to make coarser with --column.")
    rule = _rule(
        {
            "--interval": (interval, {"--origin": origin, "--bottom": bottom, "--top": top}),
            "--groups": (groups, {"--order": order}),
            "--redact": (redact, {"--characters": characters, "--mask": mask, "--pad": pad, "--pad-side": pad_side}),
            "--postal": (postal, {}),
            "--dates": (dates, {}),
            "--rare": (rare, {"--other": other}),
        },
        _order(inputs.project, column),
    )
    if rule is not None and similar is not None:
        raise ArgumentError("a hierarchy is built by one rule; --similar is a second one.")
    by = None if similar is None else [name.strip() for name in similar.split(",")]
    report = (
        propose_hierarchy(inputs.source, column, similar=by) if rule is None else build_hierarchy(inputs.source, column, rule)
    )
    if out is not None:
        report.hierarchy.write(out)
        sys.stderr.write(f"written: {without_credentials(out)}\n")
    if as_json or out is None:
        give(report, as_json=as_json, out=None)


@hierarchy.command(epilog="Example: unveil hierarchy check age.csv --data adult --column age")
def check(
    file: File,
    data: Annotated[
        str | None, typer.Option("--data", metavar="DATA", help="A file or a built-in data set; none: only the chain is checked.")
    ] = None,
    column: Column = None,
    separator: Separator = None,
    encoding: Encoding = None,
    missing: Missing = None,
    as_json: Json = False,
) -> None:
    """Is every level coarser than the one before, and does the hierarchy cover every value of the column?"""
    from unveil.search.hierarchies import check_hierarchy
    from unveil.sources import source

    opened = None if data is None else source(data, separator=separator, encoding=encoding, missing=tuple(missing or ()))
    give(check_hierarchy(file, opened, column), as_json=as_json, out=None)


@hierarchy.command(epilog="Example: unveil hierarchy show age.csv --data adult --column age")
def show(
    file: File,
    data: Annotated[
        str | None, typer.Option("--data", metavar="DATA", help="A file or a built-in data set: how many records each group has.")
    ] = None,
    column: Column = None,
    separator: Separator = None,
    encoding: Encoding = None,
    missing: Missing = None,
    text: TextColumns = None,
    as_json: Json = False,
) -> None:
    """Show a hierarchy: ten values at every level, how large the groups are, and the groups as a tree."""
    from unveil.search.hierarchies import check_hierarchy
    from unveil.sources import source

    opened = (
        None
        if data is None
        else source(data, separator=separator, encoding=encoding, missing=tuple(missing or ()), text=tuple(text or ()))
    )
    give(check_hierarchy(file, opened, column), as_json=as_json, out=None)


@hierarchy.command(epilog="Example: unveil hierarchy partitions people.csv noisy.csv --column age --same-order --out age.json")
def partitions(
    original: Annotated[str, typer.Argument(help="The original table.", show_default=False)],
    release: Annotated[str, typer.Argument(help="A release with other values, as noise makes them.", show_default=False)],
    column: Annotated[str, typer.Option("--column", metavar="COLUMN", help="The column to compare.")],
    released: Annotated[
        str | None, typer.Option("--released", metavar="COLUMN", help="Its name in the release; none: the same.")
    ] = None,
    identity: Annotated[
        str | None, typer.Option("--id", metavar="COLUMN", help="A column of both that names each record.")
    ] = None,
    link: Annotated[str | None, typer.Option("--link", metavar="FILE", help="The private correspondence file.")] = None,
    same_order: Annotated[bool, typer.Option("--same-order", help="The rows of both stand in the same order.")] = False,
    tree: Annotated[
        Path | None, typer.Option("--hierarchy", metavar="FILE", help="Of names: the hierarchy whose levels are tried.")
    ] = None,
    tolerance: Annotated[float, typer.Option(help="The share of the rate that may be what chance gives.")] = 0.1,
    separator: Separator = None,
    encoding: Encoding = None,
    missing: Missing = None,
    as_json: Json = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Write the proposed partition to a JSON file.", callback=_writable),
    ] = None,
) -> None:
    """Under which partition can noisy values be compared with the original ones? Propose one, with the bias measured."""
    from unveil.attacks.comparable import propose_partitions
    from unveil.partitions import Hierarchy

    before, after = gather_two(original, release, project=None, separator=separator, encoding=encoding, missing=missing)
    report = propose_partitions(
        before.source, after.source, column, released=released, id=identity, link=link, same_order=same_order,
        hierarchy=None if tree is None else Hierarchy.read(tree, column=column), tolerance=tolerance,
    )  # fmt: skip
    if out is not None:
        report.write(out)
        sys.stderr.write(f"written: {without_credentials(out)}\n")
    if as_json or out is None:
        give(report, as_json=as_json, out=None)


def _rule(asked: dict[str, tuple[str | None, dict[str, str | None]]], order: tuple[Any, ...] | None) -> Builder | None:
    """Return the one rule that the options name; none of them: none."""
    named = [option for option, (steps, _) in asked.items() if steps is not None]
    if len(named) > 1:
        raise ArgumentError(f"a hierarchy is built by one rule; {' and '.join(named)} are two.")
    for option, (steps, extras) in asked.items():
        lone = [extra for extra, given in extras.items() if given is not None]
        if lone and steps is None:
            raise ArgumentError(f"{lone[0]} goes with {option}.")
    if not named:
        return None
    steps, extras = asked[named[0]]
    return _built(named[0], steps or "", {name: given for name, given in extras.items() if given is not None}, order)


def _built(option: str, steps: str, extras: dict[str, str], order: tuple[Any, ...] | None) -> Builder:
    from unveil.partitions.builders import Dates, Groups, Intervals, PostalCodes, Rare, Redaction

    given: dict[str, Any] = {name.lstrip("-").replace("-", "_"): value for name, value in extras.items()}
    if option == "--interval":
        ends = {name: _number(f"--{name}", value) for name, value in given.items()}
        return Intervals(tuple(_number(option, text) for text in steps.split(",")), **ends)
    if option == "--groups":
        values = tuple(value.strip() for value in given["order"].split(",")) if "order" in given else order
        return Groups(_whole(option, steps), values)
    if option == "--redact":
        if "characters" in given:
            given["characters"] = _whole("--characters", given["characters"])
        return Redaction(**{"side": steps, **given})
    if option == "--postal":
        return PostalCodes(_whole(option, steps))
    if option == "--dates":
        units: list[Any] = [unit.strip() for unit in steps.split(",")]
        return Dates(tuple(units))
    return Rare(_whole(option, steps), **given)


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
