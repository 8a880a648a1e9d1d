"""The options of the verb table, in groups: what is tabulated, what is sensitive, how it is protected and against whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unveil.cli.options import ReleaseKeyFile, Seed
from unveil.cli.tables import contributors_of, hierarchies_of, level_of, perturbed
from unveil.errors import ArgumentError

if TYPE_CHECKING:
    from unveil.cli.inputs import Inputs
    from unveil.tables import CrossTable

__all__ = ["AimOptions", "ProtectionOptions", "RecordProtectionOptions", "TabulationOptions"]

_NO_RULE = "nothing says which cells are sensitive; give a --rule, such as threshold=3."


@dataclass(frozen=True, slots=True)
class TabulationOptions:
    """Which columns span the table, what stands in its cells, and which totals are part of it."""

    by: Annotated[
        list[str] | None, typer.Option("--by", metavar="COLUMN", help="A dimension of the table; repeat it for more.")
    ] = None
    value: Annotated[str | None, typer.Option(metavar="COLUMN", help="The column whose sums stand in the cells.")] = None
    holding: Annotated[str | None, typer.Option(metavar="COLUMN", help="Which records belong to one contributor.")] = None
    request: Annotated[str | None, typer.Option(metavar="COLUMN", help="Who asked for protection (for --rule request).")] = None
    hierarchy: Annotated[
        list[str] | None,
        typer.Option(
            "--hierarchy", metavar="COLUMN=FILE", help="A dimension's groups: ARX CSV or tau-Argus .hrc; repeat it for several."
        ),
    ] = None
    margins: Annotated[bool, typer.Option("--margins/--no-margins", help="Whether totals are part of the table.")] = True
    linked: Annotated[
        list[str] | None,
        typer.Option("--linked", metavar="A,B", help="A published table, by its dimensions; repeat it for linked ones."),
    ] = None
    total: Annotated[str, typer.Option(metavar="CODE", help="The code of a total that no hierarchy names.")] = "Total"
    signed: Annotated[bool, typer.Option("--signed", help="Values may be negative.")] = False

    def require_dimensions(self) -> None:
        """Refuse a table without dimensions."""
        if not self.by:
            raise ArgumentError("no dimension is named; name the columns that span the table with --by.")

    def built(self, records: Any, inputs: Inputs, rules: Sequence[str], column: str | None) -> CrossTable:
        """Tabulate the records, with the sums of a column in the cells."""
        from unveil import tables

        return tables.table(
            records, self.by or (), value=column, holding=self.holding, request=self.request if column == self.value else None,
            hierarchies=hierarchies_of(self.hierarchy, inputs.source.names), margins=self.margins,
            tables=[text.split(",") for text in self.linked] if self.linked else None, signed=self.signed,
            nulls=inputs.nulls, weights=inputs.study.weights, total=self.total, top=contributors_of(rules),
        )  # fmt: skip

    def audited(self, published: str, original: str | None, rules: Sequence[str], aim: dict[str, Any]) -> Any:
        """Attack a published table."""
        from unveil import tables

        return tables.audit(
            published, by=self.by, value=self.value, hierarchies=hierarchies_of(self.hierarchy, self.by or ()),
            original=original, rules=rules, total=self.total, **aim,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class AimOptions:
    """What is protected, against whom, and how far."""

    on: Annotated[str | None, typer.Option(metavar="count|value", help="What is protected; none: what the rules speak of.")] = (
        None
    )
    attacker: Annotated[
        str | None, typer.Option(metavar="LO:HI", help="What everybody knows of each cell, as 0:inf or 50%:150%.")
    ] = None
    zeros: Annotated[str, typer.Option(metavar="publish|suppress|structural", help="What becomes of empty cells.")] = "publish"
    insiders: Annotated[str, typer.Option(metavar="singletons|none", help="Whether who is alone in a cell knows it.")] = (
        "singletons"
    )
    level: Annotated[str, typer.Option(metavar="rule|none|NUMBER", help="How far each sensitive cell must stay open.")] = "rule"
    width: Annotated[float | None, typer.Option(metavar="S", help="The least width of a sensitive cell's interval.")] = None
    intervals: Annotated[str, typer.Option(metavar="exact|enough|auto", help="How far intervals are computed.")] = "auto"

    def aim(self) -> dict[str, Any]:
        """Return the arguments of every protection and audit."""
        return {
            "on": self.on, "attacker": self.attacker, "zeros": self.zeros, "insiders": self.insiders,
            "level": level_of(self.level), "width": self.width, "intervals": self.intervals,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class RecordProtectionOptions:
    """What is done to the records before they are tabulated, and where the chance of a protection comes from."""

    mechanism: Annotated[
        str | None, typer.Option(metavar="NAME", help="Protect the records by this before they are tabulated: pram, swap, ...")
    ] = None
    attribute: Annotated[
        list[str] | None, typer.Option("--attribute", metavar="COLUMN", help="A column for the mechanism; repeat it for more.")
    ] = None
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="OPTION=VALUE", help="What the mechanism is told, such as k=5.")
    ] = None
    record_id: Annotated[
        str | None, typer.Option("--id", metavar="COLUMN", help="The unique name of a record, for cell keys.")
    ] = None
    seed: Seed = None
    key_file: ReleaseKeyFile = None

    def protected(self, source: Any) -> Any:
        """Return the records as the mechanism leaves them; without one, as they are."""
        if self.mechanism is None:
            if self.attribute or self.settings:
                raise ArgumentError("--attribute and --set go with a --mechanism; name one.")
            return source
        from unveil.cli.steps import settings_of
        from unveil.protect.steps import fitting_step, run_step

        step = fitting_step(self.mechanism, self.attribute or (), settings_of(self.settings), {})
        return run_step(source, step, seed=self.seed, key_file=self.key_file).data

    def keyed(self, records: Any, tabulation: TabulationOptions, inputs: Inputs) -> Any:
        """Perturb a table by the keys of its records."""
        from unveil.tables import perturb_by_cell_keys

        if self.record_id is None or self.key_file is None:
            raise ArgumentError("cell keys need the unique name of every record (--id) and a secret (--key-file).")
        return perturb_by_cell_keys(
            records, list(tabulation.by or ()), record=self.record_id, key_file=self.key_file, nulls=inputs.nulls,
            hierarchies=hierarchies_of(tabulation.hierarchy, inputs.source.names), total=tabulation.total,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class ProtectionOptions:
    """Which cells are sensitive, and how the table is protected."""

    rule: Annotated[
        list[str] | None,
        typer.Option(
            "--rule",
            metavar="RULE",
            help="Which cells are sensitive: threshold=K, p=P, pq=P:Q, dominance=N:K, group or request; repeat it for more.",
        ),
    ] = None
    protect: Annotated[
        str | None,
        typer.Option(metavar="WAY", help="suppress, round, adjust, cell-key or small-counts; none: only look."),
    ] = None
    method: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="suppress: lp, optimal or gauss; round: controlled, conventional or random."),
    ] = None
    cost: Annotated[str, typer.Option(metavar="NAME", help="What a suppressed cell costs: cells, count, value or a column.")] = (
        "cells"
    )
    base: Annotated[float, typer.Option(metavar="B", help="The base of a rounding.")] = 5
    time_limit: Annotated[
        float | None, typer.Option("--time-limit", metavar="SECONDS", help="When to stop with the best pattern found.")
    ] = None
    solver: Annotated[str, typer.Option(metavar="auto|scip|highs", help="The solver of the optimum.")] = "auto"

    @property
    def rules(self) -> list[str]:
        """The rules, none where none was given."""
        return self.rule or []

    def refuse_unused(self, apriori: Path | None) -> None:
        """Refuse a method of nothing, and a protection of nothing."""
        if self.protect is None and self.method is not None:
            raise ArgumentError("--method says how to protect; say what to do with --protect.")
        if self.protect == "suppress" and not self.rule and apriori is None:
            raise ArgumentError(_NO_RULE)

    def suppressed(self, made: CrossTable, cost: Any, aim: dict[str, Any], decided: Any) -> Any:
        """Suppress cells, or only mark the sensitive ones where no protection was asked for."""
        chosen: Any = self.method or ("lp" if self.protect else "primary")
        return made.suppress(
            self.rules, method=chosen, cost=self.cost if cost is made else cost, apriori=decided, time_limit=self.time_limit,
            solver=self.solver, **aim,
        )  # fmt: skip

    def of_foreign(self, made: CrossTable, decided: Any, aims: AimOptions) -> Any:
        """Suppress cells of a table that another tool wrote; what is protected is what it holds, unless that is said."""
        on = aims.on or ("count" if made.value is None else "value")
        return self.suppressed(made, made, aims.aim() | {"on": on}, decided)

    def applied(
        self,
        tabulation: TabulationOptions,
        records: Any,
        inputs: Inputs,
        aim: dict[str, Any],
        before: RecordProtectionOptions,
        apriori: Path | None,
    ) -> Any:
        """Tabulate, and protect as asked."""
        made = tabulation.built(records, inputs, self.rules, tabulation.value)
        if self.protect == "suppress" or (self.protect is None and self.rule):
            own = self.cost in ("cells", "count", "value")
            cost = made if own else tabulation.built(records, inputs, self.rules, self.cost)
            return self.suppressed(made, cost, aim, _apriori(apriori, made))
        if self.protect is None:
            return made
        draws = {"seed": before.seed, "key_file": before.key_file}
        return perturbed(self.protect, made, self.rules, self.method, self.base, aim, **draws)


def _apriori(path: Path | None, made: CrossTable) -> Any:
    """Read the decisions on single cells."""
    if path is None:
        return None
    from unveil.tables.files.argus import read_apriori

    return read_apriori(path, made.dimensions)
