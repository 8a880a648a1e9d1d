"""How the words of a command line become the steps of a protection."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unveil.cli.options import Inputs, give, showing_progress
from unveil.cli.releases import told_written
from unveil.errors import ArgumentError, shown
from unveil.output import together

if TYPE_CHECKING:
    from unveil.project import Step

__all__ = ["planned_steps", "run_steps", "single_step"]


def single_step(mechanism: str, columns: Sequence[str], settings: Sequence[str] | None, known: dict[str, Any]) -> Step:
    """Return the step that --mechanism, its columns and --set name; what other options say is passed on where it fits."""
    from unveil.project import Step
    from unveil.search.chain import step_function

    takes = inspect.signature(step_function(mechanism)).parameters
    fitting = {name: value for name, value in known.items() if name in takes and value not in (None, (), {}, [])}
    return Step(mechanism, columns, {**fitting, **dict(_setting(text) for text in settings or ())})


def planned_steps(inputs: Inputs) -> list[Step]:
    """Return the steps that the project plans, each checked as far as that goes without the data."""
    from unveil.search.chain import misfit

    if inputs.project is None:
        return []
    for name, step in inputs.project.protect.items():
        if (found := misfit(step)) is not None:
            raise inputs.project.wrong(found[1], "protect", name, found[0])
    return list(inputs.project.protect.values())


def run_steps(
    inputs: Inputs,
    steps: Sequence[Step],
    order: Mapping[str, Any],
    *,
    as_json: bool,
    out: Path | None,
    link: Path | None,
    spreadsheet_safe: bool = False,
) -> None:
    """Run one step or several, write what they give, and show what was done."""
    from unveil.search.chain import protect, run_step

    if len(steps) == 1:
        with showing_progress():
            made = run_step(inputs.source, steps[0], **order)
    else:
        made = protect(inputs.source, steps, **order)
    made = _fit_to_leave(made, inputs, steps)
    if link is not None and not hasattr(made, "write_link"):
        raise ArgumentError(f"{steps[0].mechanism} makes no records that correspond to others, so there is no --link.")
    places = _places(made, out) if out is not None and hasattr(made, "write") else []
    with together():
        if places:
            made.write(*places, spreadsheet_safe=spreadsheet_safe)
        if link is not None:
            made.write_link(link)
    for place in places:
        told_written(place, None)
    told_written(None, link)
    give(made, as_json=as_json, out=None if hasattr(made, "write") else out, spreadsheet_safe=spreadsheet_safe)


def _fit_to_leave(made: Any, inputs: Inputs, steps: Sequence[Step]) -> Any:
    """Return the records without the project's identifiers that no step treats."""
    from unveil.sources.microdata import Microdata

    if not isinstance(getattr(made, "records", None), Microdata):
        return made
    named = inputs.project.names("identifier") if inputs.project is not None else ()
    treated = {name for step in steps for name in step.attributes}
    gone = [name for name in named if name in made.records.names and name not in treated]
    return replace(made, records=made.records.without(gone), left_out=(*made.left_out, *gone))


def _places(made: Any, out: Path) -> list[Path]:
    """Return the files to write: one, or for anatomy one for each of its two tables."""
    from unveil.mechanisms.anatomy import Anatomy

    if isinstance(made, Anatomy):
        return [out.with_stem(f"{out.stem}-quasi"), out.with_stem(f"{out.stem}-sensitive")]
    return [out]


def _setting(text: str) -> tuple[str, Any]:
    """Read OPTION=VALUE, the value as TOML writes it; what is no TOML is text."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise ArgumentError(f"--set takes OPTION=VALUE, not {shown(text)}.")
    try:
        return name.strip().replace("-", "_"), tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return name.strip().replace("-", "_"), value
