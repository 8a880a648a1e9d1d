"""The verb table: the cells of a table that disclose somebody, and its protection for publication."""

from __future__ import annotations

from typing import Annotated

import typer

from unveil.cli.application import app
from unveil.cli.groups import grouped, refuse_with, refuse_without
from unveil.cli.options import showing_progress
from unveil.cli.study_options import SourceOptions
from unveil.cli.table_options import AimOptions, ProtectionOptions, PublishedOptions, RecordProtectionOptions, TabulationOptions
from unveil.cli.tables import TableAnswer, written


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
    published: PublishedOptions,
    answer: TableAnswer,
    attack: Annotated[bool, typer.Option("--attack", help="Say who can compute what from the table, protected or not.")] = False,
) -> None:
    """Which cells of a table give somebody away, and how can it be published safely? Exit code 1: a cell is exposed."""
    from unveil.tables import attack_table

    with showing_progress():
        if published.audit is None:
            refuse_without("--audit", published, "original", "figures")
        else:
            refuse_with("--audit", protection, "protect", "method", "cost", "base", "time_limit", "solver")
            refuse_with("--audit", before)
            return written(tabulation.audited(published, source, protection, aims), answer)
        result = protection.made(source, tabulation, aims, before)
        return written(attack_table(result) if attack else result, answer)
