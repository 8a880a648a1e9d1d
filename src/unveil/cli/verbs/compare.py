"""The verb compare: releases of one original on one scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unveil.cli.application import app, grouped, refuse_without
from unveil.cli.completion import beginning
from unveil.cli.model_options import SensitiveColumns
from unveil.cli.options import Key, note_read, showing_progress
from unveil.cli.study_options import AnswerOptions, Inputs, NamedRoles, ReadingOptions, gather
from unveil.cli.tables import RULE_FORMS
from unveil.errors import ArgumentError, shown

if TYPE_CHECKING:
    from unveil.results import Result
    from unveil.sources import Source


@dataclass(frozen=True, slots=True)
class _ReleasesOptions:
    """The original and its releases, their reading, and the correspondence of records."""

    original: Annotated[str, typer.Argument(metavar="ORIGINAL", help="The original table.", show_default=False)]
    releases: Annotated[
        list[str], typer.Argument(metavar="NAME=RELEASE", help="Its releases, each with a name.", show_default=False)
    ]
    key: Key = None
    sensitive: SensitiveColumns = None
    identity: Annotated[str | None, typer.Option("--id", metavar="COLUMN", help="A column that names each record.")] = None
    link: Annotated[
        list[str] | None, typer.Option("--link", metavar="NAME=FILE", help="A release's private correspondence file.")
    ] = None
    same_order: Annotated[bool, typer.Option("--same-order", help="The rows of all are in the same order.")] = False
    reading: ReadingOptions = field(default_factory=ReadingOptions)

    def gathered(self) -> Inputs:
        """Open the original."""
        return gather(self.original, self.reading, NamedRoles(self.key, self.sensitive), role="original")

    def tables(self, inputs: Inputs) -> dict[str, Source]:
        """Open the releases; what stands for a null in the project's data does so in them, and its codes are codes."""
        places = _named(self.releases, "a release", "NAME=RELEASE")
        return {name: self.reading.source(place, name, inputs.project) for name, place in places.items()}

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of the call that say which record belongs to which."""
        return {
            "id": self.identity,
            "link": _named(self.link or (), "--link", "NAME=FILE"),
            "same_order": self.same_order,
        }


@dataclass(frozen=True, slots=True)
class _ScaleOptions:
    """The figures by which the releases are compared."""

    privacy: Annotated[
        list[str] | None,
        typer.Option("--privacy", metavar="FIGURE", help="k, prosecutor, l, t, attack or a model; repeat it for more."),
    ] = None
    need: Annotated[
        list[str] | None, typer.Option("--need", metavar="NEED", help="NAME: TARGET given A, B; repeat it for more.")
    ] = None
    task: Annotated[
        list[str] | None, typer.Option("--task", metavar="COLUMN", help="A column to learn from the others; repeat it for more.")
    ] = None
    loss: Annotated[
        list[str] | None, typer.Option("--loss", metavar="LOSS", help="entropy_loss, suppressed, granularity, il1s, pmse, ...")
    ] = None
    seed: Annotated[int, typer.Option(help="The seed of what is drawn at random.", min=0)] = 0
    policy: Annotated[
        str | None,
        typer.Option("--policy", metavar="FILE|PRESET", help="What is required: a policy file, a project file, or a preset."),
    ] = None

    def arguments(self, inputs: Inputs) -> dict[str, Any]:
        """Return the arguments of the call; the project's needs come first."""
        from unveil.project import Need
        from unveil.utility import Task

        return {
            "privacy": self.privacy or ("k", "prosecutor"),
            "needs": [*inputs.planned_needs(), *(Need.parse(text) for text in self.need or ())],
            "tasks": [Task(f"task {column}", column) for column in self.task or ()],
            "losses": self.loss or ("entropy_loss", "suppressed"),
            "seed": self.seed,
            "policy": self.policy,
        }


@dataclass(frozen=True, slots=True)
class _TablesOptions:
    """The description of releases that are tables, not records."""

    by: Annotated[
        list[str] | None,
        typer.Option("--by", metavar="COLUMN", help="The releases are tables with this dimension; repeat it for more."),
    ] = None
    value: Annotated[str | None, typer.Option(metavar="COLUMN", help="With --by: the column whose sums the tables hold.")] = None
    rule: Annotated[
        list[str] | None,
        typer.Option(
            "--rule",
            metavar="RULE",
            help="With --by: which cells are sensitive, as for table.",
            autocompletion=beginning(*RULE_FORMS),
        ),
    ] = None
    hierarchy: Annotated[
        list[str] | None, typer.Option("--hierarchy", metavar="COLUMN=FILE", help="With --by: the groups of a dimension.")
    ] = None
    holding: Annotated[str | None, typer.Option(metavar="COLUMN", help="With --by: which records belong to one contributor.")] = (
        None
    )
    signed: Annotated[bool, typer.Option("--signed", help="With --by: values may be negative.")] = False
    total: Annotated[str, typer.Option(metavar="CODE", help="With --by: the code of a total that no hierarchy names.")] = "Total"

    def compared(self, inputs: Inputs, releases: Sequence[str]) -> Result:
        """Compare the published tables."""
        from unveil.cli.tables import compared, hierarchies_of

        made_of = {
            "value": self.value, "hierarchies": hierarchies_of(self.hierarchy, inputs.study.names), "holding": self.holding,
            "signed": self.signed, "total": self.total,
        }  # fmt: skip
        places = _named(releases, "a table", "NAME=TABLE")
        for name, place in places.items():
            note_read(name, place)
        tables: Result = compared(inputs.study, self.by or (), places, self.rule or (), made_of)
        return tables


@app.command(epilog="Example: unveil compare thesis-4.2 three=thesis-4.3 --key Age --same-order")
@grouped
def compare(compared: _ReleasesOptions, scale: _ScaleOptions, tables: _TablesOptions, answer: AnswerOptions) -> None:
    """Compare releases on one scale: models, attacks, needs, losses, tasks; the undominated ones marked, losses explained."""
    from unveil.assess import compare as compare_releases

    inputs = compared.gathered()
    if not tables.by:
        refuse_without("--by", tables, "value", "rule", "hierarchy", "holding", "signed", "total")
    else:
        return answer.give(tables.compared(inputs, compared.releases))
    keys, named = inputs.required_key(), {"original": inputs.study, **compared.tables(inputs)}
    with showing_progress():
        result = compare_releases(
            named, keys, inputs.sensitive, **compared.arguments(), **scale.arguments(inputs), key_file=answer.key_file
        )
    return answer.give(result, holds_files=True)


def _named(texts: Sequence[str], what: str, form: str) -> dict[str, str]:
    """Read texts such as NAME=FILE into a mapping by name."""
    places: dict[str, str] = {}
    for text in texts:
        name, equals, rest = text.partition("=")
        if not equals or not name or not rest:
            raise ArgumentError(f"{what} is written {form}, not {shown(text)}.")
        if name in places or name == "original":
            raise ArgumentError(
                f"the name {shown(name)} occurs twice; give each release a name of its own, other than 'original'."
            )
        places[name] = rest
    return places
