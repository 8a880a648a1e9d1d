"""The rules that build a hierarchy, as the command line names them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unveil.errors import ArgumentError, shown

if TYPE_CHECKING:
    from unveil.cli.inputs import Inputs
    from unveil.partitions.builders import Builder
    from unveil.project import Project
    from unveil.search.hierarchies import HierarchyReport

__all__ = ["RuleOptions"]


@dataclass(frozen=True, slots=True)
class RuleOptions:
    """The one rule that a hierarchy is built by, and its details; without one, a rule is proposed."""

    interval: Annotated[str | None, typer.Option(metavar="W1,W2,...", help="Intervals of these widths, growing.")] = None
    origin: Annotated[str | None, typer.Option(metavar="X", help="Where an interval begins; 0 when not given.")] = None
    bottom: Annotated[str | None, typer.Option(metavar="X", help="All below it is one group.")] = None
    top: Annotated[str | None, typer.Option(metavar="X", help="All from it on is one group.")] = None
    groups: Annotated[str | None, typer.Option(metavar="N1,N2,...", help="Groups of this many neighbours, growing.")] = None
    order: Annotated[str | None, typer.Option(metavar="V1,V2,...", help="The values in order; default: their own.")] = None
    redact: Annotated[str | None, typer.Option(metavar="SIDE", help="Mask codes from the right or the left.")] = None
    characters: Annotated[
        str | None, typer.Option(metavar="N1,N2,...", help="Characters masked at each level; default: one more each.")
    ] = None
    mask: Annotated[str | None, typer.Option(metavar="CHAR", help="The mask; * when not given.")] = None
    pad: Annotated[str | None, typer.Option(metavar="CHAR", help="Fills shorter codes up; the mask when not given.")] = None
    pad_side: Annotated[
        str | None, typer.Option("--pad-side", metavar="SIDE", help="Where to fill up; default: the side that is masked.")
    ] = None
    postal: Annotated[
        str | None,
        typer.Option(metavar="N1,N2,...", help="Postal codes without their last N1, N2, ... digits; lost zeros are put back."),
    ] = None
    dates: Annotated[
        str | None, typer.Option(metavar="U1,U2,...", help="Periods: day, week, month, quarter, year, 5-years, decade.")
    ] = None
    rare: Annotated[str | None, typer.Option(metavar="N1,N2,...", help="Merge values of fewer records than this, growing.")] = (
        None
    )
    other: Annotated[str | None, typer.Option(metavar="LABEL", help="What merged values are called; 'other'.")] = None
    arx_rule: Annotated[
        str | None, typer.Option("--arx-rule", metavar="FILE", help="The rule that ARX saved as an .ahs file.")
    ] = None
    similar: Annotated[
        str | None, typer.Option(metavar="C1,C2,...", help="Group values whose records look alike in these columns.")
    ] = None

    def report(self, inputs: Inputs, column: str | None) -> HierarchyReport:
        """Build a hierarchy of a column by the rule, or propose one."""
        from unveil.search.hierarchies import build_hierarchy, propose_hierarchy

        if column is None:
            raise ArgumentError("no column is named; name the one to make coarser with --column.")
        rule = _rule(self._named(), _order(inputs.project, column))
        if rule is None:
            alike = None if self.similar is None else [name.strip() for name in self.similar.split(",")]
            return propose_hierarchy(inputs.source, column, similar=alike)
        if self.similar is not None:
            raise ArgumentError("a hierarchy is built by one rule; --similar is a second one.")
        return build_hierarchy(inputs.source, column, rule)

    def _named(self) -> dict[str, tuple[str | None, dict[str, str | None]]]:
        """Return the rules by their options, each with its steps and the options that go with it."""
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
    """Return the one rule that the options name; none of them: none."""
    named = [option for option, (steps, _) in choices.items() if steps is not None]
    if len(named) > 1:
        raise ArgumentError(f"a hierarchy is built by one rule; {' and '.join(named)} are two.")
    for option, (steps, extras) in choices.items():
        lone = [extra for extra, given in extras.items() if given is not None]
        if lone and steps is None:
            raise ArgumentError(f"{lone[0]} goes with {option}.")
    if not named:
        return None
    steps, extras = choices[named[0]]
    if named[0] == "--arx-rule":
        from unveil.project.arx import arx_rule

        return arx_rule(steps or "")
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
