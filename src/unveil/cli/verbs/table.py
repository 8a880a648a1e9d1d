"""Which cells of a table give somebody away, and how is it published safely?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unveil.cli.application import app
from unveil.cli.options import (
    Data,
    Encoding,
    Json,
    Missing,
    NullPolicy,
    ProjectFile,
    ReleaseKeyFile,
    Seed,
    Separator,
    SpreadsheetSafe,
    Weights,
    gather,
    showing_progress,
)
from unveil.cli.tables import (
    TableAnswer,
    checked_out,
    contributors_of,
    hierarchies_of,
    level_of,
    perturbed,
    read_foreign,
    written,
)
from unveil.errors import ArgumentError

if TYPE_CHECKING:
    from unveil.tables import CrossTable

By = Annotated[list[str] | None, typer.Option("--by", metavar="COLUMN", help="A dimension of the table; repeat it for more.")]
Rules = Annotated[
    list[str] | None,
    typer.Option(
        "--rule",
        metavar="RULE",
        help="Which cells are sensitive: threshold=K, p=P, pq=P:Q, dominance=N:K, group or request; repeat it for more.",
    ),
]
TableOut = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="FILE",
        help="Write the table to publish (.csv, .parquet, .xlsx), or the report (.html, .json, .txt).",
        callback=checked_out,
    ),
]


@app.command(
    epilog="Example: unveil table adult --by race --by marital-status --rule threshold=5 --protect suppress --cost count"
)
def table(
    data: Data = None,
    by: By = None,
    value: Annotated[str | None, typer.Option(metavar="COLUMN", help="The column whose sums stand in the cells.")] = None,
    holding: Annotated[str | None, typer.Option(metavar="COLUMN", help="Which records belong to one contributor.")] = None,
    request: Annotated[str | None, typer.Option(metavar="COLUMN", help="Who asked for protection (for --rule request).")] = None,
    hierarchy: Annotated[
        list[str] | None,
        typer.Option(
            "--hierarchy", metavar="COLUMN=FILE", help="A dimension's groups: ARX CSV or tau-Argus .hrc; repeat it for several."
        ),
    ] = None,
    margins: Annotated[bool, typer.Option("--margins/--no-margins", help="Whether totals are part of the table.")] = True,
    linked: Annotated[
        list[str] | None,
        typer.Option(
            "--linked", metavar="A,B", help="A table that is published, by its dimensions; repeat it for linked tables."
        ),
    ] = None,
    total: Annotated[str, typer.Option(metavar="CODE", help="The code of a total that no hierarchy names.")] = "Total",
    signed: Annotated[bool, typer.Option("--signed", help="Values may be negative.")] = False,
    rule: Rules = None,
    protect: Annotated[
        str | None,
        typer.Option(metavar="WAY", help="suppress, round, adjust, cell-key or small-counts; none: only look."),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="suppress: lp, optimal or gauss; round: controlled, conventional or random."),
    ] = None,
    cost: Annotated[
        str, typer.Option(metavar="NAME", help="What a suppressed cell costs: cells, count, value or a column.")
    ] = "cells",
    on: Annotated[
        str | None, typer.Option(metavar="count|value", help="What is protected; none: what the rules speak of.")
    ] = None,
    attacker: Annotated[
        str | None, typer.Option(metavar="LO:HI", help="What everybody knows of each cell, as 0:inf or 50%:150%.")
    ] = None,
    zeros: Annotated[str, typer.Option(metavar="publish|suppress|structural", help="What becomes of empty cells.")] = "publish",
    insiders: Annotated[
        str, typer.Option(metavar="singletons|none", help="Whether who is alone in a cell knows it.")
    ] = "singletons",
    level: Annotated[str, typer.Option(metavar="rule|none|NUMBER", help="How far each sensitive cell must stay open.")] = "rule",
    width: Annotated[float | None, typer.Option(metavar="S", help="The least width of a sensitive cell's interval.")] = None,
    apriori: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Decisions on single cells: a tau-Argus a-priori file (.hst).")
    ] = None,
    base: Annotated[float, typer.Option(metavar="B", help="The base of a rounding.")] = 5,
    mechanism: Annotated[
        str | None, typer.Option(metavar="NAME", help="Protect the records by this before they are tabulated: pram, swap, ...")
    ] = None,
    attribute: Annotated[
        list[str] | None, typer.Option("--attribute", metavar="COLUMN", help="A column for the mechanism; repeat it for more.")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="OPTION=VALUE", help="What the mechanism is told, such as k=5.")
    ] = None,
    record_id: Annotated[
        str | None, typer.Option("--id", metavar="COLUMN", help="The unique name of a record, for cell keys.")
    ] = None,
    attack: Annotated[
        bool, typer.Option("--attack", help="Say who can compute what from the table, as it is or protected.")
    ] = False,
    audit: Annotated[
        str | None, typer.Option(metavar="FILE", help="Attack a published table of any tool; exit code 1 if a cell is exposed.")
    ] = None,
    original: Annotated[str | None, typer.Option(metavar="DATA", help="With --audit: the records behind the table.")] = None,
    intervals: Annotated[str, typer.Option(metavar="exact|enough|auto", help="How far intervals are computed.")] = "auto",
    publish_intervals: Annotated[
        bool, typer.Option("--publish-intervals", help="Write intervals in the place of blanks.")
    ] = False,
    form: Annotated[str, typer.Option(metavar="long|crosstab", help="The form of the table written.")] = "long",
    time_limit: Annotated[
        float | None, typer.Option("--time-limit", metavar="SECONDS", help="When to stop with the best pattern found.")
    ] = None,
    solver: Annotated[str, typer.Option(metavar="auto|scip|highs", help="The solver of the optimum.")] = "auto",
    nulls: NullPolicy = None,
    weights: Weights = None,
    seed: Seed = None,
    key_file: ReleaseKeyFile = None,
    project: ProjectFile = None,
    separator: Separator = None,
    encoding: Encoding = None,
    missing: Missing = None,
    as_json: Json = False,
    out: TableOut = None,
    spreadsheet_safe: SpreadsheetSafe = True,
) -> None:
    """Which cells of a table give somebody away, and how is it published safely? Exit code 1: a cell is exposed."""
    from unveil import tables

    answer = TableAnswer(as_json=as_json, out=out, form=form, intervals=publish_intervals, spreadsheet_safe=spreadsheet_safe)
    aim = {
        "on": on, "attacker": attacker, "zeros": zeros, "insiders": insiders, "level": level_of(level), "width": width,
        "intervals": intervals,
    }  # fmt: skip
    if audit is not None:
        trees, behind = hierarchies_of(hierarchy, by or ()), original or data
        found = tables.audit(audit, by=by, value=value, hierarchies=trees, original=behind, rules=rule or (), total=total, **aim)
        return written(found, answer)
    if (foreign := read_foreign(data)) is not None:
        made, decided = foreign
        with showing_progress():
            result: Any = made.suppress(
                rule or (), method=method or ("lp" if protect else "primary"), cost=cost, apriori=decided, solver=solver,
                time_limit=time_limit, **{**aim, "on": on or ("count" if made.value is None else "value")},
            )  # fmt: skip
        return written(result, answer)
    inputs = gather(
        data, key=None, sensitive=None, partition=None, nulls=nulls, weights=weights, project=project,
        separator=separator, encoding=encoding, missing=missing,
    )  # fmt: skip
    if not by:
        raise ArgumentError("no dimension is named; name the columns that span the table with --by.")
    _refuse_unused(protect, method, rule, apriori)
    _refuse_alone(mechanism, attribute, settings)
    trees = hierarchies_of(hierarchy, inputs.source.names)
    records: Any = inputs.source
    if mechanism is not None:
        records = _protected(inputs.source, mechanism, attribute or (), settings, seed, key_file)

    def build(column: str | None) -> CrossTable:
        with showing_progress():
            return tables.table(
                records, by, value=column, holding=holding, request=request if column == value else None,
                hierarchies=trees, margins=margins, tables=_linked(linked), signed=signed, nulls=inputs.nulls,
                weights=inputs.study.weights, total=total, top=contributors_of(rule or ()),
            )  # fmt: skip

    if protect == "cell-key":
        options = {"hierarchies": trees, "nulls": inputs.nulls, "total": total}
        return written(_keyed(records, by, record_id, key_file, options), answer)
    made = build(value)
    result = made
    if protect == "suppress" or (protect is None and rule):
        with showing_progress():
            result = made.suppress(
                rule or (), method=method or ("lp" if protect else "primary"),
                cost=cost if cost in ("cells", "count", "value") else build(cost), apriori=_apriori(apriori, made),
                time_limit=time_limit, solver=solver, **aim,
            )  # fmt: skip
    elif protect is not None:
        result = perturbed(protect, made, rule or (), method, base, aim, seed=seed, key_file=key_file)
    return written(tables.attack_table(result) if attack else result, answer)


def _keyed(records: Any, by: Sequence[str], record: str | None, key_file: Path | None, options: dict[str, Any]) -> Any:
    """Perturb a table by the keys of its records."""
    from unveil.tables import perturb_by_cell_keys

    if record is None or key_file is None:
        raise ArgumentError("cell keys need the unique name of every record (--id) and a secret (--key-file).")
    return perturb_by_cell_keys(records, list(by), record=record, key_file=key_file, **options)


def _protected(
    source: Any,
    mechanism: str,
    attributes: Sequence[str],
    settings: Sequence[str] | None,
    seed: int | None,
    key_file: Path | None,
) -> Any:
    """Protect the records before they are tabulated."""
    from unveil.cli.steps import settings_of
    from unveil.protect.steps import fitting_step, run_step

    step = fitting_step(mechanism, attributes, settings_of(settings), {})
    return run_step(source, step, seed=seed, key_file=key_file).data


def _linked(texts: Sequence[str] | None) -> list[list[str]] | None:
    return [text.split(",") for text in texts] if texts else None


def _apriori(path: Path | None, made: CrossTable) -> Any:
    if path is None:
        return None
    from unveil.tables.files.argus import read_apriori

    return read_apriori(path, made.dimensions)


def _refuse_unused(protect: str | None, method: str | None, rules: Sequence[str] | None, apriori: Path | None) -> None:
    """Refuse a method of nothing, and a protection of nothing."""
    if protect is None and method is not None:
        raise ArgumentError("--method says how to protect; say what to do with --protect.")
    if protect == "suppress" and not rules and apriori is None:
        raise ArgumentError("nothing says which cells are sensitive; give a --rule, such as threshold=3.")


def _refuse_alone(mechanism: str | None, attributes: Sequence[str] | None, settings: Sequence[str] | None) -> None:
    """Refuse what is for a mechanism where there is none."""
    if mechanism is None and (attributes or settings):
        raise ArgumentError("--attribute and --set go with a --mechanism; name one.")
