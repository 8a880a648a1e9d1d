"""The verb measure: the privacy models that a table meets, and its risks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unveil.cli.application import app, grouped, refuse_without
from unveil.cli.completion import offering
from unveil.cli.model_options import KMap, Presence, RequestedModels, SensitiveColumns
from unveil.cli.options import ClassNullPolicy, Data, Household, Key, PartitionFile, Person, Weights, showing_progress
from unveil.cli.study_options import AnswerOptions, Inputs, NamedRoles, ReadingOptions, gather, hierarchies, orders

if TYPE_CHECKING:
    from unveil.project import Project


@dataclass(frozen=True, slots=True)
class _MeasuredOptions:
    """The table, its roles, and the way in which it is read."""

    data: Data = None
    key: Key = None
    sensitive: SensitiveColumns = None
    partition: PartitionFile = None
    nulls: ClassNullPolicy = None
    weights: Weights = None
    person: Person = None
    household: Household = None
    reading: ReadingOptions = field(default_factory=ReadingOptions)

    def gathered(self) -> Inputs:
        """Open the table, which must have a key."""
        inputs = gather(
            self.data,
            self.reading,
            NamedRoles(self.key, self.sensitive, self.partition, self.nulls, self.weights, self.person, self.household),
        )
        inputs.required_key()
        return inputs


@dataclass(frozen=True, slots=True)
class _ModelOptions(RequestedModels):
    """The models that the table is to meet, and the relations between the values of its sensitive columns."""

    k_map: KMap = None
    presence: Presence = None
    hierarchy: Annotated[
        list[str] | None, typer.Option("--hierarchy", metavar="COLUMN=FILE", help="A sensitive column's hierarchy (ARX CSV).")
    ] = None

    def of_population(self) -> dict[str, Any]:
        """Return the words of models that compare with a population."""
        return {"k_map": self.k_map, "presence": self.presence}

    def arguments(self, inputs: Inputs) -> dict[str, Any]:
        """Return the arguments of the call."""
        sensitive = inputs.sensitive or ()
        return {
            "models": self.named(sensitive) or inputs.planned_models(),
            "hierarchies": hierarchies(self.hierarchy, inputs.project, sensitive),
            "orders": orders(self.order, inputs.project, sensitive),
        }


@dataclass(frozen=True, slots=True)
class _RiskOptions:
    """The tables for comparison, and the risks to estimate."""

    population: Annotated[str | None, typer.Option(metavar="DATA", help="The table that the data was drawn from.")] = None
    reference: Annotated[str | None, typer.Option(metavar="DATA", help="Compare classes with this table's distribution.")] = None
    sampling_fraction: Annotated[
        float | None, typer.Option("--sampling-fraction", help="The share of the population that is in the data.")
    ] = None
    suda: Annotated[bool, typer.Option("--suda", help="Look for special uniques (SUDA scores).")] = False
    loglinear: Annotated[
        str | None,
        typer.Option(
            "--loglinear",
            metavar="MODEL",
            help="Log-linear population uniqueness: 1, 2, search or a formula 'a * b + c'; pml: or ce: before it fits weights.",
            autocompletion=offering("1", "2", "search"),
        ),
    ] = None
    threshold: Annotated[float, typer.Option("--threshold", help="Records whose risk is above this are at risk.")] = 0.2
    wildcard_weight: Annotated[
        float, typer.Option("--wildcard-weight", help="How much a key with a null counts (--nulls wildcard).")
    ] = 1.0
    suppressed: Annotated[
        str, typer.Option("--suppressed", metavar="apart|class", help="What happens to records without any key value.")
    ] = "apart"

    def arguments(self, reading: ReadingOptions, project: Project | None, nulls: str) -> dict[str, Any]:
        """Return the arguments of the call."""
        if nulls != "wildcard":
            refuse_without("--nulls wildcard", self, "wildcard_weight")
        return {
            "population": reading.source_if_named(self.population, "population", project),
            "reference": reading.source_if_named(self.reference, "reference", project),
            "sampling_fraction": self.sampling_fraction,
            "special": self.suda,
            "loglinear": int(self.loglinear) if self.loglinear is not None and self.loglinear.isdecimal() else self.loglinear,
            "threshold": self.threshold,
            "alpha": self.wildcard_weight,
            "suppressed": self.suppressed,
        }


@app.command(epilog="Example: unveil measure adult --key sex --key race --sensitive occupation --k 5 --t 0.4:equal:occupation")
@grouped
def measure(table: _MeasuredOptions, models: _ModelOptions, risks: _RiskOptions, answer: AnswerOptions) -> None:
    """Which privacy models does the table meet, how high are the risks, and which class decides? Exit code 1: not met."""
    from unveil.models.measure import measure as measure_table

    inputs = table.gathered()
    with showing_progress():
        result = measure_table(
            inputs.study, **models.arguments(inputs), **risks.arguments(table.reading, inputs.project, inputs.nulls)
        )
    answer.give(result)
    if result.met is False:
        raise typer.Exit(1)
