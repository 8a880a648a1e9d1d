"""The verb table: which cells of a table give somebody away, and how it is published safely."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from unveil.cli.application import app
from unveil.cli.groups import grouped
from unveil.cli.options import showing_progress
from unveil.cli.study_options import SourceOptions
from unveil.cli.table_options import AimOptions, ProtectionOptions, RecordProtectionOptions, TabulationOptions
from unveil.cli.tables import TableAnswer, read_foreign, written

Apriori = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Decisions on single cells: a tau-Argus a-priori file (.hst).")
]


@app.command(
    epilog="Example: unveil table adult --by race --by marital-status --rule threshold=5 --protect suppress --cost count"
)
@grouped
def table(
    source: SourceOptions,
    tabulation: TabulationOptions,
    protection: ProtectionOptions,
    aims: AimOptions,
    before: RecordProtectionOptions,
    answer: TableAnswer,
    apriori: Apriori = None,
    attack: Annotated[
        bool, typer.Option("--attack", help="Say who can compute what from the table, as it is or protected.")
    ] = False,
    audit: Annotated[
        str | None, typer.Option(metavar="FILE", help="Attack a published table of any tool; exit code 1 if a cell is exposed.")
    ] = None,
    original: Annotated[str | None, typer.Option(metavar="DATA", help="With --audit: the records behind the table.")] = None,
) -> None:
    """Which cells of a table give somebody away, and how is it published safely? Exit code 1: a cell is exposed."""
    from unveil.tables import attack_table

    with showing_progress():
        if audit is not None:
            return written(tabulation.audited(audit, original or source.data, protection.rules, aims.aim()), answer)
        if (foreign := read_foreign(source.data)) is not None:
            return written(protection.of_foreign(*foreign, aims), answer)
        inputs = source.gathered()
        tabulation.require_dimensions()
        protection.refuse_unused(apriori)
        records: Any = before.protected(inputs.source)
        if protection.protect == "cell-key":
            return written(before.keyed(records, tabulation, inputs), answer)
        result = protection.applied(tabulation, records, inputs, aims.aim(), before, apriori)
        return written(attack_table(result) if attack else result, answer)
