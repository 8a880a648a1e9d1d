"""The verb anonymize: a table made safe to publish."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unveil.attributes import require_columns, sides_of
from unveil.cli.application import app
from unveil.cli.composing import composed
from unveil.cli.groups import grouped
from unveil.cli.model_options import ModelOptions
from unveil.cli.options import Json, give, pair_of, showing_progress
from unveil.cli.releases import (
    DrawOptions,
    MechanismOptions,
    ReleaseOptions,
    SearchOptions,
    TableOptions,
    announce_written,
    give_made,
)
from unveil.cli.streaming import StreamingOptions, refuse_options_of_tables
from unveil.cli.study_options import Inputs
from unveil.credentials import hidden_in_message
from unveil.errors import ArgumentError, listed, shown

if TYPE_CHECKING:
    from unveil.models.base import Model
    from unveil.project import Step
    from unveil.releases import Release
    from unveil.search.lattice.generalisation import Generalisation


@dataclass(frozen=True, slots=True)
class LatticeOptions(SearchOptions):
    """The cost of a generalisation, and its allowed levels."""

    objective: Annotated[
        str,
        typer.Option(
            metavar="OBJECTIVE", help="What to minimise: loss, loss-max, precision, entropy, classification:COLUMN, ..."
        ),
    ] = "loss"
    level: Annotated[
        list[str] | None, typer.Option("--level", metavar="COLUMN=LOW:HIGH", help="The levels that a key column may have.")
    ] = None
    weight: Annotated[
        list[str] | None, typer.Option("--weight", metavar="COLUMN=WEIGHT", help="How much a key column counts in the objective.")
    ] = None
    factor: Annotated[float, typer.Option(help="From 0 (suppression adds no cost) to 1 (generalisation costs nothing).")] = 0.5

    def options(self, inputs: Inputs) -> dict[str, Any]:
        """Return the arguments of a call."""
        return {
            **SearchOptions.options(self, inputs),
            "objective": self.objective,
            "levels": dict(_level(text, inputs.key or ()) for text in self.level or ()),
            "weights": dict(_weight(text, inputs.key or ()) for text in self.weight or ()),
            "factor": self.factor,
        }


@app.command(epilog="Example: unveil anonymize adult --key age --key sex --key race --k 5 --suppression 0.04 --out release.csv")
@grouped
def anonymize(
    context: typer.Context,
    table: TableOptions,
    mechanism: MechanismOptions,
    models: ModelOptions,
    search: LatticeOptions,
    streaming: StreamingOptions,
    draws: DrawOptions,
    to: ReleaseOptions,
    as_json: Json = False,
) -> None:
    """Protect a table: the generalisation that costs least and meets the models, or a mechanism. Exit code 1: models not met."""
    if streaming.wanted():
        refuse_options_of_tables(table, mechanism, models, search, draws, to)
        return streaming.released(table, models, draws, to, as_json=as_json)
    to.check()
    inputs = table.gathered()
    if mechanism.mechanism == "any":
        to.require_file()
        return composed(inputs, mechanism.need, (models, search, draws, to), {}, as_json=as_json)
    steps, required = mechanism.plan(inputs, table, models, search)
    if steps:
        return give_made(_made(steps, inputs, search, draws, to), steps, to, as_json=as_json)
    release, lost = _generalised(inputs, required, table, mechanism, (models, search, draws, to))
    announce_written([] if to.out is None else [to.out], to.link)
    give(release, as_json=as_json, out=None)
    return None if mechanism.pseudonymize else _tell_what_keeps_more(context, lost)


def _made(steps: Sequence[Step], inputs: Inputs, search: LatticeOptions, draws: DrawOptions, to: ReleaseOptions) -> Any:
    """Run the steps; columns stated to name people, on the command line or in the project, are left out."""
    from unveil.protect.chain import run_steps

    to.require_file()
    people = inputs.study.changed(identifiers=(*inputs.study.identifiers, *(search.identifier or ())))
    with showing_progress():
        return run_steps(people, steps, **draws.of_steps())


def _generalised(
    inputs: Inputs,
    required: Sequence[Model],
    table: TableOptions,
    mechanism: MechanismOptions,
    groups: tuple[ModelOptions, LatticeOptions, DrawOptions, ReleaseOptions],
) -> tuple[Release[Generalisation], Mapping[str, int | None]]:
    """Generalise the table by the groups of options; return the release, and the key attributes that it has lost."""
    from unveil.protect.anonymize import anonymize as generalize

    models, search, draws, to = groups
    _require_key(inputs, required)
    options: dict[str, Any] = {**models.options(inputs, required), **search.options(inputs), **draws.options(), **to.options()}
    population = table.reading.source_if_named(models.population, "population", inputs.project)
    pseudonyms = tuple(mechanism.pseudonymize or ())
    with showing_progress():
        release = generalize(inputs.study, inputs.key or (), required, pseudonyms=pseudonyms, population=population, **options)
        return release, release.protection.lost


def _tell_what_keeps_more(context: typer.Context, lost: Mapping[str, int | None]) -> None:
    """Suggest a command that loses less, if key attributes are lost and Mondrian would, or may, keep some of them."""
    if any(groups is None or groups > 1 for groups in lost.values()):
        typed = [word for word in context.obj or () if word != "--json"]
        command = shlex.join(["unveil", *typed, "--mechanism", "mondrian"])
        sys.stderr.write(f"To keep more of {listed(lost)}: {hidden_in_message(command, typed)}\n")


def _require_key(inputs: Inputs, required: Sequence[Any]) -> None:
    """Refuse a generalisation without a key or without a model."""
    if inputs.key is None:
        raise ArgumentError.no_key()
    sides_of(inputs.key, inputs.sensitive)
    require_columns(inputs.key, inputs.source.names)
    if not required:
        raise ArgumentError("no model is required; ask for one, such as --k 5.")


def _level(text: str, keys: Sequence[str]) -> tuple[str, tuple[int, int]]:
    column, levels = pair_of(text, keys, "--level", "COLUMN=LOW:HIGH")
    low, _, high = levels.partition(":")
    if not low.isdigit() or not (high or low).isdigit():
        raise ArgumentError(f"--level takes COLUMN=LOW:HIGH with whole numbers, not {shown(text)}.")
    return column, (int(low), int(high or low))


def _weight(text: str, keys: Sequence[str]) -> tuple[str, float]:
    column, number = pair_of(text, keys, "--weight", "COLUMN=WEIGHT")
    try:
        return column, float(number)
    except ValueError:
        raise ArgumentError(f"--weight takes COLUMN=WEIGHT with a number, not {shown(text)}.") from None
