"""Which privacy models does a table meet, and how high are its risks?"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from unveil.cli.application import app
from unveil.cli.options import (
    ClassNullPolicy,
    Data,
    Encoding,
    Household,
    Json,
    Key,
    Missing,
    Out,
    PartitionFile,
    Person,
    ProjectFile,
    Separator,
    SpreadsheetSafe,
    TextColumns,
    Weights,
    gather,
    give,
    showing_progress,
)
from unveil.cli.requirements import (
    Alpha,
    AverageRisk,
    Beta,
    Delta,
    K,
    KMap,
    LDiversity,
    Order,
    P,
    Presence,
    SensitiveColumns,
    TCloseness,
)


@app.command(epilog="Example: unveil measure adult --key sex --key race --sensitive occupation --k 5 --t 0.4:equal:occupation")
def measure(
    data: Data = None,
    key: Key = None,
    sensitive: SensitiveColumns = None,
    k: K = None,
    p: P = None,
    l_diversity: LDiversity = None,
    t: TCloseness = None,
    share: Alpha = None,
    beta: Beta = None,
    delta: Delta = None,
    k_map: KMap = None,
    presence: Presence = None,
    average_risk: AverageRisk = None,
    hierarchy: Annotated[
        list[str] | None, typer.Option("--hierarchy", metavar="COLUMN=FILE", help="A sensitive column's hierarchy (ARX CSV).")
    ] = None,
    order: Order = None,
    population: Annotated[str | None, typer.Option(metavar="FILE", help="The table that the data was drawn from.")] = None,
    reference: Annotated[str | None, typer.Option(metavar="FILE", help="Compare classes with this table's distribution.")] = None,
    sampling_fraction: Annotated[
        float | None, typer.Option("--sampling-fraction", help="The share of the population that the data is.")
    ] = None,
    person: Person = None,
    household: Household = None,
    suda: Annotated[bool, typer.Option("--suda", help="Look for special uniques (SUDA scores).")] = False,
    loglinear: Annotated[
        int | None, typer.Option("--loglinear", metavar="ORDER", help="Log-linear population uniqueness, order 1 or 2.")
    ] = None,
    threshold: Annotated[float, typer.Option("--threshold", help="Records with a higher risk are at risk.")] = 0.2,
    wildcard_weight: Annotated[
        float, typer.Option("--wildcard-weight", help="How much a key with a null counts (--nulls wildcard).")
    ] = 1.0,
    suppressed: Annotated[
        str, typer.Option("--suppressed", metavar="apart|class", help="What becomes of records without any key value.")
    ] = "apart",
    partition: PartitionFile = None,
    nulls: ClassNullPolicy = None,
    weights: Weights = None,
    project: ProjectFile = None,
    separator: Separator = None,
    encoding: Encoding = None,
    missing: Missing = None,
    text: TextColumns = None,
    as_json: Json = False,
    out: Out = None,
    spreadsheet_safe: SpreadsheetSafe = True,
) -> None:
    """Which privacy models does the table meet, how high are the risks, and which class decides? Exit code 1: not met."""
    from unveil.cli import requirements
    from unveil.models.measure import measure as measure_table
    from unveil.sources import source

    inputs = gather(
        data, key=key, sensitive=sensitive, partition=partition, nulls=nulls, weights=weights, project=project,
        separator=separator, encoding=encoding, missing=missing, text=text, person=person, household=household,
    )  # fmt: skip
    inputs.required_key()
    secrets = inputs.sensitive or ()

    def opened(table: str | None) -> Any:
        return None if table is None else source(table, separator=separator, encoding=encoding, missing=tuple(missing or ()))

    asked = requirements.asked(
        secrets, k=k, p=p, l_diversity=l_diversity, t=t, alpha=share, beta=beta, delta=delta,
        k_map=k_map, presence=presence, average_risk=average_risk,
    ) or inputs.planned_models()  # fmt: skip
    with showing_progress():
        result = measure_table(
            inputs.study,
            models=asked,
            hierarchies=requirements.hierarchies(hierarchy, inputs.project, secrets),
            orders=requirements.orders(order, inputs.project, secrets),
            population=opened(population),
            reference=opened(reference),
            sampling_fraction=sampling_fraction,
            special=suda,
            loglinear=loglinear,
            threshold=threshold,
            alpha=wildcard_weight,
            suppressed=suppressed,
        )
    give(result, as_json=as_json, out=out, spreadsheet_safe=spreadsheet_safe)
    if result.met is False:
        raise typer.Exit(1)
