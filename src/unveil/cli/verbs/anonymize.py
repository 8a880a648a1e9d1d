"""How is a table made safe to publish?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from unveil.attributes import require_columns, sides_of
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
    Testing,
    gather,
    give,
    pair_of,
    showing_progress,
    showing_stages,
)
from unveil.cli.releases import check_safe, hierarchies_of, identifiers_of, release_target, told_written, writable, write_release
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
from unveil.cli.steps import planned_steps, run_steps, single_step
from unveil.errors import ArgumentError, shown


@app.command(epilog="Example: unveil anonymize adult --key age --key sex --key race --k 5 --suppression 0.04 --out release.csv")
def anonymize(
    data: Data = None,
    key: Key = None,
    sensitive: SensitiveColumns = None,
    mechanism: Annotated[
        str | None,
        typer.Option(
            "--mechanism",
            metavar="NAME",
            help="Protect by this, not by generalisation: microaggregate, pram, ...; any: the best.",
        ),
    ] = None,
    need: Annotated[
        list[str] | None,
        typer.Option("--need", metavar="NEED", help="With --mechanism any: NAME: TARGET given A, B [at least DEGREE]."),
    ] = None,
    attribute: Annotated[
        list[str] | None, typer.Option("--attribute", metavar="COLUMN", help="A column for the mechanism; repeat it for more.")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="OPTION=VALUE", help="What the mechanism is told, such as k=5.")
    ] = None,
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
    k_map: KMap = None,
    presence: Presence = None,
    average_risk: AverageRisk = None,
    orders: Order = None,
    suppression: Annotated[float, typer.Option(metavar="SHARE", help="The share of records that may be suppressed.")] = 0.0,
    objective: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="loss, loss-geometric, precision, discernibility, class-size, entropy or kl: what to make small."
        ),
    ] = "loss",
    level: Annotated[
        list[str] | None, typer.Option("--level", metavar="COLUMN=LOW:HIGH", help="The levels that a key column may have.")
    ] = None,
    weight: Annotated[
        list[str] | None, typer.Option("--weight", metavar="COLUMN=WEIGHT", help="How much a key column counts in the objective.")
    ] = None,
    factor: Annotated[float, typer.Option(help="From 0 (suppression costs nothing) to 1 (generalisation costs nothing).")] = 0.5,
    identifier: Annotated[
        list[str] | None, typer.Option("--identifier", metavar="COLUMN", help="A column that names people: left out.")
    ] = None,
    pseudonymize: Annotated[
        list[str] | None,
        typer.Option("--pseudonymize", metavar="COLUMN", help="A column that names people: its values become keyed hashes."),
    ] = None,
    key_file: ReleaseKeyFile = None,
    population: Annotated[str | None, typer.Option(metavar="FILE", help="The table that the data is part of.")] = None,
    nulls: NullPolicy = None,
    keep_order: Annotated[bool, typer.Option("--keep-order", help="Leave the records in their order.")] = False,
    seed: Seed = None,
    testing: Testing = False,
    time_limit: Annotated[
        float | None, typer.Option("--time-limit", metavar="SECONDS", help="Stop searching, and give the best found.")
    ] = None,
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
        Any,
        typer.Option(
            "--out",
            metavar="FILE",
            help="Write the release: .csv, .tsv, .parquet, .arrow, or a new table in the database of the data.",
            parser=release_target,
        ),
    ] = None,
) -> None:
    """Protect a table: the generalisation that costs least and meets the models, or a mechanism. Exit code 1: models not met."""
    from unveil.cli import requirements
    from unveil.search.anonymize import anonymize as protect
    from unveil.search.into import anonymize_into
    from unveil.sources import source
    from unveil.sources.engines.address import Address
    from unveil.sources.passing import passing

    inputs = gather(
        data, key=key, sensitive=sensitive, partition=None, nulls=nulls, weights=None, project=project,
        separator=separator, encoding=encoding, missing=missing,
    )  # fmt: skip
    asked = requirements.asked(
        inputs.sensitive or inputs.source.names, k=k, p=p, l_diversity=l_diversity, t=t, alpha=share, beta=beta, delta=delta,
        k_map=k_map, presence=presence, average_risk=average_risk,
    )  # fmt: skip
    steps = planned_steps(inputs)
    asked = asked or ([] if steps else inputs.planned_models())
    if isinstance(out, Address) and (mechanism is not None or (steps and not asked)):
        raise ArgumentError("a mechanism works on records that come here, so the release goes into a file.")
    check_safe(out, spreadsheet_safe=spreadsheet_safe)
    _require_fit(mechanism, attribute or settings, identifier or pseudonymize, need)
    chance = {"keep_order": keep_order, "seed": seed, "key_file": key_file}
    if mechanism == "any":
        return run_composition(
            inputs, need, {**chance, "time_limit": time_limit, "identifiers": identifiers_of(inputs, ())},
            unfit={"a model": asked, "--set": settings, "--attribute": attribute, "--suppression": suppression}, as_json=as_json,
            out=out, link=link, spreadsheet_safe=spreadsheet_safe,
        )  # fmt: skip
    if mechanism is not None:
        known = {
            "models": asked, "k": k, "sensitive": sensitive[0] if sensitive else None, "suppression": suppression or None,
            "hierarchies": hierarchies_of(inputs, asked, hierarchy_dir, hierarchy),
        }  # fmt: skip
        step = single_step(mechanism, attribute or inputs.key or (), settings, known)
        steps, asked = [step], []
    if not asked and steps:
        order = {**chance, "testing": testing}
        return run_steps(inputs, steps, order, as_json=as_json, out=out, link=link, spreadsheet_safe=spreadsheet_safe)
    if inputs.key is None:
        raise ArgumentError("no key column is named; name those an intruder may know with --key.")
    sides_of(inputs.key, inputs.sensitive)
    require_columns(inputs.key, inputs.source.names)
    if not asked:
        raise ArgumentError("no model is required; ask for one, such as --k 5.")
    others = None if population is None else source(
        population, separator=separator, encoding=encoding, missing=tuple(missing or ())
    )  # fmt: skip
    options: dict[str, Any] = {
        "hierarchies": hierarchies_of(inputs, asked, hierarchy_dir, hierarchy),
        "suppression": suppression,
        "objective": objective,
        "levels": dict(_level(text, inputs.key) for text in level or ()),
        "weights": dict(_weight(text, inputs.key) for text in weight or ()),
        "factor": factor,
        "identifiers": tuple(identifier or ()) or identifiers_of(inputs, pseudonymize or ()),
        "orders": requirements.orders(orders, inputs.project, inputs.source.names),
        "nulls": inputs.nulls,
        **chance,
        "time_limit": time_limit,
        "node_limit": node_limit,
    }
    table = isinstance(out, Address)
    if table and (pseudonymize or others is not None):
        raise ArgumentError("with --pseudonymize or --population the records come here, so the release goes into a file.")
    if table or (not pseudonymize and others is None and passing(inputs.source) is not None):
        with showing_stages() as progress:
            release = anonymize_into(
                inputs.source, out, inputs.key, asked, link=link, spreadsheet_safe=spreadsheet_safe, progress=progress, **options
            )
        told_written(out, link)
        return give(release, as_json=as_json, out=None)
    with showing_progress("generalisations") as progress:
        release = protect(
            inputs.source,
            inputs.key,
            asked,
            pseudonyms=tuple(pseudonymize or ()),
            population=others,
            progress=progress,
            **options,
        )
    write_release(release, out, link, spreadsheet_safe=spreadsheet_safe)
    return give(release, as_json=as_json, out=None)


def _require_fit(mechanism: str | None, told: object, treated: object, need: object) -> None:
    """Refuse options that belong to a mechanism without one, and those of generalisation with one."""
    if mechanism is None and told:
        raise ArgumentError("--attribute and --set go with a --mechanism; name one.")
    if mechanism is not None and treated:
        raise ArgumentError("--identifier and --pseudonymize go with generalisation; a --mechanism leaves all other columns in.")
    if need and mechanism != "any":
        raise ArgumentError("--need goes with --mechanism any, which looks for a protection that serves it; see unveil front.")


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
