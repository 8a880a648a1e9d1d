"""The rules that build a hierarchy, in the words of the command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unveil.errors import ArgumentError, shown

if TYPE_CHECKING:
    from unveil.cli.study_options import Inputs
    from unveil.partitions.builders import Builder
    from unveil.project import Project
    from unveil.search.hierarchies import HierarchyReport

__all__ = ["RuleOptions"]


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
        from unveil.search.hierarchies import build_hierarchy, propose_hierarchy

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
        from unveil.project.arx import arx_rule

        return arx_rule(steps or "")
    return _built(named[0], steps or "", {name: value for name, value in extras.items() if value is not None}, order)


def _built(option: str, steps: str, extras: dict[str, str], order: tuple[Any, ...] | None) -> Builder:
    from unveil.partitions.builders import Dates, Groups, Intervals, PostalCodes, Rare, Redaction

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
