"""The verb table: the cells of a table that disclose somebody, and its protection for publication."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unveil.cli.application import app, grouped, refuse_with, refuse_without
from unveil.cli.completion import beginning, offering
from unveil.cli.options import ReleaseKeyFile, Seed, showing_progress
from unveil.cli.study_options import SourceOptions
from unveil.cli.tables import RULE_FORMS, TableAnswer, hierarchies_of, level_of, perturbed, read_foreign, written
from unveil.errors import ArgumentError

if TYPE_CHECKING:
    from unveil.cli.study_options import Inputs
    from unveil.tables import Apriori, CrossTable

_OWN_COSTS = ("cells", "count", "value")
_NO_PROTECT = "--method says how to protect; use --protect to say what to do."
_NO_RULE = "nothing says which cells are sensitive; give a --rule, such as threshold=3."


@dataclass(frozen=True, slots=True)
class TabulationOptions:
    """The columns that span the table, the content of its cells, and its totals."""

    by: Annotated[
        list[str] | None, typer.Option("--by", metavar="COLUMN", help="A dimension of the table; repeat it for more.")
    ] = None
    value: Annotated[str | None, typer.Option(metavar="COLUMN", help="The column whose sums are in the cells.")] = None
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
        typer.Option("--linked", metavar="COLUMN,...", help="A published table, by its dimensions; repeat it for linked ones."),
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
        from unveil.tables import contributors_of

        return tables.table(
            records, self.by or (), value=column, holding=self.holding, request=self.request if column == self.value else None,
            hierarchies=hierarchies_of(self.hierarchy, inputs.source.names), margins=self.margins,
            tables=[text.split(",") for text in self.linked] if self.linked else None, signed=self.signed,
            nulls=inputs.nulls, weights=self._weights(inputs, column), total=self.total, top=contributors_of(rules),
        )  # fmt: skip

    def _weights(self, inputs: Inputs, column: str | None) -> str | None:
        """Return the weights; a column that is named in another role loses its role in the project."""
        weights = inputs.study.weights
        planned = inputs.project is not None and weights in inputs.project.names("weight")
        return None if planned and weights in (*(self.by or ()), column, self.holding, self.request) else weights

    def audited(self, published: PublishedOptions, source: SourceOptions, protection: ProtectionOptions, aims: AimOptions) -> Any:
        """Attack a published table, with the records behind it if they are given."""
        from unveil import tables
        from unveil.tables import dimensions_of

        file, place = str(published.audit), published.original or source.data
        hierarchies = hierarchies_of(self.hierarchy, self.by or ())
        options = {
            "figures": published.figures,
            "value": self.value,
            "hierarchies": hierarchies,
            "total": self.total,
            **aims.aim(),
        }
        if place is None:
            self._refuse_of_records(protection.apriori)
            return tables.audit(file, by=self.by, rules=protection.rules, signed=self.signed, **options)
        inputs = replace(source, data=place).gathered()
        by = self.by or list(dimensions_of(file, published.figures or self.value, options["on"]))
        table = replace(self, by=by).built(inputs.source, inputs, protection.rules, self.value)
        decided = _apriori(protection.apriori, table)
        return tables.audit(file, by=by, original=table, rules=protection.rules, apriori=decided, **options)

    def _refuse_of_records(self, apriori: Path | None) -> None:
        """Refuse options about records or true figures if only a published table is given."""
        options = {"holding": self.holding, "request": self.request, "linked": self.linked, "apriori": apriori}
        if named := [name for name, one in options.items() if one]:
            raise ArgumentError(f"--{named[0]} needs the records behind the table; give them with --original.")

    def refuse_of_tables(self) -> None:
        """Refuse options that tabulate records if the file already holds a table."""
        options = {
            "by": self.by, "value": self.value, "holding": self.holding, "request": self.request, "hierarchy": self.hierarchy,
            "linked": self.linked,
        }  # fmt: skip
        if named := [name for name, one in options.items() if one]:
            raise ArgumentError(f"--{named[0]} says how records are tabulated, and the file holds a table already.")


@dataclass(frozen=True, slots=True)
class AimOptions:
    """The aim of protection, the intruders, and the extent."""

    on: Annotated[
        str | None, typer.Option(metavar="count|value", help="What is protected; default: what the rules are about.")
    ] = None
    attacker: Annotated[
        str | None, typer.Option(metavar="LO:HI", help="What everybody knows about each cell, such as 0:inf or 50%:150%.")
    ] = None
    zeros: Annotated[str, typer.Option(metavar="publish|suppress|structural", help="What happens to empty cells.")] = "publish"
    insiders: Annotated[str, typer.Option(metavar="singletons|none", help="Whether the only contributor to a cell knows it.")] = (
        "singletons"
    )
    level: Annotated[str, typer.Option(metavar="rule|none|NUMBER", help="How far each sensitive cell must stay open.")] = "rule"
    width: Annotated[float | None, typer.Option(metavar="S", help="The least width of a sensitive cell's interval.")] = None
    intervals: Annotated[str, typer.Option(metavar="exact|enough|auto", help="How precisely intervals are computed.")] = "auto"

    def aim(self) -> dict[str, Any]:
        """Return the arguments of every protection and audit."""
        return {
            "on": self.on, "attacker": self.attacker, "zeros": self.zeros, "insiders": self.insiders,
            "level": level_of(self.level), "width": self.width, "intervals": self.intervals,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class RecordProtectionOptions:
    """The treatment of records before they are tabulated, and the source of the random draws of a protection."""

    mechanism: Annotated[
        str | None,
        typer.Option(metavar="MECHANISM", help="Protect the records by this before they are tabulated: pram, swap, ..."),
    ] = None
    attribute: Annotated[
        list[str] | None, typer.Option("--attribute", metavar="COLUMN", help="A column for the mechanism; repeat it for more.")
    ] = None
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="OPTION=VALUE", help="A setting of the mechanism, such as k=5.")
    ] = None
    record_id: Annotated[
        str | None, typer.Option("--id", metavar="COLUMN", help="The unique name of a record, for cell keys.")
    ] = None
    seed: Seed = None
    key_file: ReleaseKeyFile = None

    def protected(self, source: Any) -> Any:
        """Return the records protected by the mechanism; without one, unchanged."""
        if self.mechanism is None:
            if self.attribute or self.settings:
                raise ArgumentError("--attribute and --set go with a --mechanism; name one.")
            return source
        from unveil.cli.releases import settings_of
        from unveil.protect import fitting_step, run_step

        step = fitting_step(self.mechanism, self.attribute or (), settings_of(self.settings), {})
        return run_step(source, step, seed=self.seed, key_file=self.key_file).data

    def refuse_of_tables(self) -> None:
        """Refuse options that change records if the file already holds a table."""
        options = {"mechanism": self.mechanism, "attribute": self.attribute, "set": self.settings, "id": self.record_id}
        if named := [name for name, one in options.items() if one]:
            raise ArgumentError(f"--{named[0]} is about records, and the file holds a table already.")

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
    """The rules of sensitive cells, and the protection of the table."""

    rule: Annotated[
        list[str] | None,
        typer.Option(
            "--rule",
            metavar="RULE",
            autocompletion=beginning(*RULE_FORMS),
            help="Which cells are sensitive: threshold=K, p=P, pq=P:Q, dominance=N:K, group or request; repeat it for more.",
        ),
    ] = None
    protect: Annotated[
        str | None,
        typer.Option(
            metavar="WAY",
            help="suppress, round, adjust, cell-key or small-counts; default: only look.",
            autocompletion=offering("suppress", "round", "adjust", "cell-key", "small-counts"),
        ),
    ] = None
    method: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="suppress: lp, optimal or gauss; round: controlled, conventional or random.",
            autocompletion=offering("lp", "optimal", "gauss", "controlled", "conventional", "random"),
        ),
    ] = None
    cost: Annotated[
        str,
        typer.Option(
            metavar="cells|count|value|COLUMN",
            help="What a suppressed cell costs: 1, its records, its value, or its sum of a column.",
        ),
    ] = "cells"
    base: Annotated[float, typer.Option(metavar="B", help="The base of a rounding.")] = 5
    time_limit: Annotated[
        float | None,
        typer.Option("--time-limit", metavar="SECONDS", help="When to stop with the best pattern that passed the audit."),
    ] = None
    solver: Annotated[str, typer.Option(metavar="auto|scip|highs", help="The solver for the optimum.")] = "auto"
    apriori: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Decisions on single cells: a tau-Argus a-priori file (.hst).")
    ] = None

    @property
    def rules(self) -> list[str]:
        """The given rules, possibly none."""
        return self.rule or []

    def refuse_unused(self) -> None:
        """Refuse settings of a protection other than the requested one, and a suppression that nothing requires."""
        if self.protect is None and self.method is not None:
            raise ArgumentError(_NO_PROTECT)
        if self.protect not in (None, "suppress"):
            refuse_without("--protect suppress", self, "cost", "solver", "time_limit")
        if self.protect not in ("round", "small-counts"):
            refuse_without("--protect round or small-counts", self, "base")
        if self.protect == "suppress" and not self.rule and self.apriori is None:
            raise ArgumentError(_NO_RULE)

    def suppressed(self, made: CrossTable, cost: Any, aim: dict[str, Any], decided: Any) -> Any:
        """Suppress cells, or only mark the sensitive ones if no protection was requested."""
        chosen: Any = self.method or ("lp" if self.protect else "primary")
        return made.suppress(
            self.rules, method=chosen, cost=self.cost if cost is made else cost, apriori=decided, time_limit=self.time_limit,
            solver=self.solver, **aim,
        )  # fmt: skip

    def made(
        self, source: SourceOptions, tabulation: TabulationOptions, aims: AimOptions, before: RecordProtectionOptions
    ) -> Any:
        """Protect a table that another tool wrote, or tabulate records and protect the result."""
        if (foreign := read_foreign(source.data)) is not None:
            tabulation.refuse_of_tables()
            before.refuse_of_tables()
            return self._of_foreign(*foreign, aims, before)
        inputs = source.gathered()
        tabulation.require_dimensions()
        self.refuse_unused()
        records: Any = before.protected(inputs.source)
        if self.protect == "cell-key":
            return before.keyed(records, tabulation, inputs)
        refuse_without("--protect cell-key", before, "record_id")
        return self._applied(tabulation, records, inputs, aims.aim(), before)

    def _of_foreign(self, made: CrossTable, decided: Apriori, aims: AimOptions, before: RecordProtectionOptions) -> Any:
        """Protect a table that another tool wrote; its own content is protected, unless stated otherwise."""
        if self.protect is None and self.method is not None:
            raise ArgumentError(_NO_PROTECT)
        if self.cost not in _OWN_COSTS:
            raise ArgumentError("--cost of a column is about records, and the file holds a table already.")
        aim = aims.aim() | {"on": aims.on or ("count" if made.value is None else "value")}
        if self.protect not in (None, "suppress"):
            if self.protect == "cell-key":
                raise ArgumentError("cell keys are made of records, and the file holds a table already.")
            return self._perturbed(made, aim, before)
        further = _apriori(self.apriori, made)
        return self.suppressed(made, made, aim, decided if further is None else decided.joined(further))

    def _applied(
        self,
        tabulation: TabulationOptions,
        records: Any,
        inputs: Inputs,
        aim: dict[str, Any],
        before: RecordProtectionOptions,
    ) -> Any:
        """Tabulate, and protect as requested."""
        table = tabulation.built(records, inputs, self.rules, tabulation.value)
        if self.protect == "suppress" or (self.protect is None and (self.rule or self.apriori is not None)):
            own = self.cost in _OWN_COSTS
            cost = table if own else tabulation.built(records, inputs, self.rules, self.cost)
            return self.suppressed(table, cost, aim, _apriori(self.apriori, table))
        return table if self.protect is None else self._perturbed(table, aim, before)

    def _perturbed(self, made: CrossTable, aim: dict[str, Any], before: RecordProtectionOptions) -> Any:
        """Perturb the figures as requested; decisions on single cells apply only to suppression."""
        if self.apriori is not None:
            raise ArgumentError("--apriori goes with --protect suppress: other protections take no decisions on single cells.")
        draws = {"seed": before.seed, "key_file": before.key_file}
        return perturbed(str(self.protect), made, self.rules, self.method, self.base, aim, **draws)


@dataclass(frozen=True, slots=True)
class PublishedOptions:
    """A table that is already published, and the records behind it."""

    audit: Annotated[
        str | None, typer.Option(metavar="FILE", help="Attack a published table of any tool; exit code 1 if a cell is exposed.")
    ] = None
    original: Annotated[str | None, typer.Option(metavar="DATA", help="With --audit: the records behind the table.")] = None
    figures: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="With --audit: the column of figures, if it is not called n or value.")
    ] = None


def _apriori(path: Path | None, made: CrossTable) -> Any:
    """Read the decisions on single cells."""
    if path is None:
        return None
    from unveil.tables import read_apriori

    return read_apriori(path, made.dimensions)


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
