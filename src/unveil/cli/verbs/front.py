"""Which generalisations are worth considering?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from unveil.cli.application import app
from unveil.cli.composing import run_composition
from unveil.cli.options import (
    Data,
    Encoding,
    Json,
    Key,
    Missing,
    NullPolicy,
    ProjectFile,
    ReleaseKeyFile,
    Seed,
    Separator,
    gather,
    give,
    showing_progress,
)
from unveil.cli.releases import check_safe, hierarchies_of, identifiers_of, release_place, writable, write_release
from unveil.cli.requirements import (
    Alpha,
    AverageRisk,
    Beta,
    Delta,
    K,
    LDiversity,
    Order,
    P,
    SensitiveColumns,
    TCloseness,
)
from unveil.errors import ArgumentError


@app.command(
    epilog="Example: unveil front adult --key age --key sex --sensitive race --need 'income: income-per-year given age, sex'"
)
def front(
    data: Data = None,
    key: Key = None,
    sensitive: SensitiveColumns = None,
    need: Annotated[
        list[str] | None,
        typer.Option("--need", metavar="NEED", help="NAME: TARGET given A, B [at least DEGREE]; repeat it for more."),
    ] = None,
    prefer: Annotated[
        str, typer.Option(metavar="privacy|utility", help="Take the release of the least risk, or that of the highest degrees.")
    ] = "privacy",
    max_identity: Annotated[float | None, typer.Option("--max-identity", help="The identity risk that will do.")] = None,
    max_homogeneity: Annotated[float | None, typer.Option("--max-homogeneity", help="The homogeneity risk that will do.")] = None,
    hierarchy_dir: Annotated[
        Path | None,
        typer.Option("--hierarchy-dir", metavar="DIR", help="A folder with a hierarchy (ARX CSV) for each key column."),
    ] = None,
    hierarchy: Annotated[
        list[str] | None, typer.Option("--hierarchy", metavar="COLUMN=FILE", help="One column's hierarchy (ARX CSV).")
    ] = None,
    k: K = None,
    p: P = None,
    l_diversity: LDiversity = None,
    t: TCloseness = None,
    share: Alpha = None,
    beta: Beta = None,
    delta: Delta = None,
    average_risk: AverageRisk = None,
    order: Order = None,
    suppression: Annotated[float, typer.Option(metavar="SHARE", help="The share of records that may be suppressed.")] = 0.0,
    identifier: Annotated[
        list[str] | None, typer.Option("--identifier", metavar="COLUMN", help="A column that names people: left out.")
    ] = None,
    nulls: NullPolicy = None,
    keep_order: Annotated[bool, typer.Option("--keep-order", help="Leave the records in their order.")] = False,
    seed: Seed = None,
    key_file: ReleaseKeyFile = None,
    time_limit: Annotated[
        float | None, typer.Option("--time-limit", metavar="SECONDS", help="Stop searching, and give the front found.")
    ] = None,
    mechanisms: Annotated[
        bool,
        typer.Option("--mechanisms", help="Try mechanisms and their parameters, and chains of two, instead of generalisations."),
    ] = False,
    node_limit: Annotated[
        int | None, typer.Option("--node-limit", min=1, metavar="N", help="Look at no more generalisations than this.")
    ] = None,
    link: Annotated[
        Path | None,
        typer.Option("--link", metavar="FILE", help="Write the private correspondence of release and data.", callback=writable),
    ] = None,
    spreadsheet_safe: Annotated[
        bool, typer.Option("--spreadsheet-safe", help="In .csv and .tsv: an apostrophe before formulas, for spreadsheets.")
    ] = False,
    project: ProjectFile = None,
    separator: Separator = None,
    encoding: Encoding = None,
    missing: Missing = None,
    as_json: Json = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="FILE", help="Write the chosen release: .csv, .tsv, .parquet or .arrow.", callback=release_place
        ),
    ] = None,
) -> None:
    """Which generalisations does no other beat in risk of attacks and needs served? Exit code 1: none will do."""
    from unveil.cli import requirements
    from unveil.project import Need
    from unveil.search.guided import anonymize_front

    check_safe(out, spreadsheet_safe=spreadsheet_safe)
    inputs = gather(
        data, key=key, sensitive=sensitive, partition=None, nulls=nulls, weights=None, project=project,
        separator=separator, encoding=encoding, missing=missing,
    )  # fmt: skip
    if inputs.key is None:
        raise ArgumentError("no key column is named; name those an intruder may know with --key.")
    if inputs.sensitive is None:
        raise ArgumentError("no sensitive column is named; name those to protect with --sensitive.")
    planned = list(inputs.project.needs.values()) if inputs.project is not None else []
    required = requirements.asked(
        inputs.sensitive, k=k, p=p, l_diversity=l_diversity, t=t, alpha=share, beta=beta, delta=delta,
        k_map=None, presence=None, average_risk=average_risk,
    )  # fmt: skip
    limits = {"prefer": prefer, "max_identity": max_identity, "max_homogeneity": max_homogeneity, "time_limit": time_limit}
    chance = {"keep_order": keep_order, "seed": seed, "key_file": key_file}
    names = tuple(identifier or ()) or identifiers_of(inputs, ())
    if mechanisms:
        unfit = {"a model": required, "--suppression": suppression, "--hierarchy": hierarchy, "--hierarchy-dir": hierarchy_dir,
                 "--node-limit": node_limit, "--order": order, "--nulls": nulls}  # fmt: skip
        return run_composition(
            inputs, need, {**limits, **chance, "identifiers": names}, unfit=unfit, as_json=as_json, out=out, link=link,
            spreadsheet_safe=spreadsheet_safe,
        )  # fmt: skip
    asked = required or inputs.planned_models()
    with showing_progress("generalisations") as progress:
        result = anonymize_front(
            inputs.source,
            inputs.key,
            [*planned, *(Need.parse(text) for text in need or ())],
            sensitive=inputs.sensitive,
            hierarchies=hierarchies_of(inputs, asked, hierarchy_dir, hierarchy),
            models=asked,
            suppression=suppression,
            identifiers=names,
            orders=requirements.orders(order, inputs.project, inputs.source.names),
            nulls=inputs.nulls,
            **limits,  # type: ignore[arg-type]
            **chance,  # type: ignore[arg-type]
            node_limit=node_limit,
            progress=progress,
        )
    if out is not None or link is not None:
        write_release(result.chosen, out, link, spreadsheet_safe=spreadsheet_safe)
    return give(result, as_json=as_json, out=None)
