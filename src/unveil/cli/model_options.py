"""The options that name models, and the conversion of their words to models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unveil.cli.application import check_read
from unveil.cli.completion import beginning
from unveil.cli.study_options import Inputs, hierarchies, named_hierarchies, orders

if TYPE_CHECKING:
    from unveil.models import Model
    from unveil.partitions import Hierarchy

__all__ = [
    "ClassModelOptions",
    "KMap",
    "ModelOptions",
    "Order",
    "Presence",
    "RequestedModels",
    "SensitiveColumns",
    "hierarchies_in",
]  # fmt: skip

SensitiveColumns = Annotated[
    list[str] | None, typer.Option("--sensitive", metavar="COLUMN", help="A sensitive column; repeat it for more.")
]
K = Annotated[
    int | None, typer.Option("--k", min=1, metavar="K", help="Require k-anonymity: every class holds at least K records.")
]
P = Annotated[list[str] | None, typer.Option("--p", metavar="P[:COLUMN]", help="Require p-sensitivity.")]
LDiversity = Annotated[
    list[str] | None,
    typer.Option(
        "--l",
        metavar="KIND:L[:COLUMN]",
        help="Require distinct:L, entropy:L, grassberger:L or recursive:C:L diversity.",
        autocompletion=beginning("distinct:L", "entropy:L", "grassberger:L", "recursive:C:L"),
    ),
]
TCloseness = Annotated[
    list[str] | None,
    typer.Option(
        "--t",
        metavar="T[:DISTANCE][:COLUMN]",
        help="Require t-closeness: equal, rank, value, hierarchical, variational, kl or js.",
    ),
]
Alpha = Annotated[
    list[str] | None,
    typer.Option("--alpha", metavar="A[:COLUMN]", help="Require that no value exceeds this share of a class."),
]
Beta = Annotated[
    list[str] | None,
    typer.Option(
        "--beta",
        metavar="[KIND:]B[:COLUMN]",
        help="Require basic or enhanced beta-likeness.",
        autocompletion=beginning("basic:B", "enhanced:B"),
    ),
]
Delta = Annotated[
    list[str] | None,
    typer.Option(
        "--delta",
        metavar="[present:]D[:COLUMN]",
        help="Require delta-disclosure privacy, of all values or of those present.",
        autocompletion=beginning("present:D"),
    ),
]
Km = Annotated[
    list[str] | None, typer.Option("--km", metavar="K:M:COLUMN", help="Require k^m-anonymity of a key column of sets.")
]
KMap = Annotated[
    str | None,
    typer.Option(
        "--k-map", metavar="K[:FRACTION]", help="Require k-map against the population, or estimated from the share sampled."
    ),
]
Uniqueness = Annotated[
    list[str] | None,
    typer.Option(
        "--uniqueness",
        metavar="KIND:SHARE",
        help="Require that at most sample:SHARE of the records, or population:SHARE:FRACTION of the people, are unique.",
        autocompletion=beginning("sample:SHARE", "population:SHARE:FRACTION"),
    ),
]
NoAttack = Annotated[
    str | None,
    typer.Option(
        "--no-attack",
        metavar="GAIN:COST",
        help="Require that no attack on a class pays; with :journalist at the end, on its people in the population.",
    ),
]
Profitable = Annotated[
    str | None,
    typer.Option(
        "--profitable",
        metavar="BENEFIT:LOSS:GAIN:COST",
        help="Require that publishing every class pays off; end with :journalist for an attacker who uses the population.",
    ),
]
Presence = Annotated[
    str | None, typer.Option("--presence", metavar="LOW:HIGH", help="Require delta-presence against the population.")
]
AverageRisk = Annotated[float | None, typer.Option("--average-risk", help="Require an average risk of at most this.")]
Order = Annotated[
    list[str] | None, typer.Option("--order", metavar="COLUMN=V1,V2,...", help="A sensitive column's values, lowest first.")
]


@dataclass(frozen=True, slots=True)
class RequestedModels:
    """The models of classes that a table must meet."""

    k: K = None
    km: Km = None
    p: P = None
    l_diversity: LDiversity = None
    t: TCloseness = None
    share: Alpha = None
    beta: Beta = None
    delta: Delta = None
    average_risk: AverageRisk = None
    uniqueness: Uniqueness = None
    no_attack: NoAttack = None
    profitable: Profitable = None
    order: Order = None

    def named(self, sensitive: Sequence[str]) -> list[Model]:
        """Return the models that the options name; a model without a column is required of each sensitive column."""
        from unveil.models import parse_models

        words = {
            "k": self.k, "km": self.km, "p": self.p, "l": self.l_diversity, "t": self.t, "alpha": self.share, "beta": self.beta,
            "delta": self.delta, "average_risk": self.average_risk, "uniqueness": self.uniqueness, "no_attack": self.no_attack,
            "profitable": self.profitable,
        }  # fmt: skip
        return parse_models({**words, **self.of_population()}, sensitive)

    def of_population(self) -> dict[str, Any]:
        """Return the words of models that compare with a population."""
        return {}


def hierarchies_in(folder: Path, columns: Sequence[str]) -> dict[str, Hierarchy]:
    """Return the hierarchies of columns in a folder; refuse to read a file that this run will write."""
    from unveil.partitions import Hierarchy, hierarchy_file

    for name in columns:
        check_read(str(hierarchy_file(folder, name)))
    return Hierarchy.read_folder(folder, columns)


@dataclass(frozen=True, slots=True)
class ClassModelOptions(RequestedModels):
    """The models of classes that a release must meet, and the hierarchies and orders that they and the search use."""

    hierarchy_dir: Annotated[
        Path | None,
        typer.Option("--hierarchy-dir", metavar="DIR", help="A folder with a hierarchy (ARX CSV) for each key column."),
    ] = None
    hierarchy: Annotated[
        list[str] | None, typer.Option("--hierarchy", metavar="COLUMN=FILE", help="One column's hierarchy (ARX CSV).")
    ] = None

    def required(self, inputs: Inputs) -> list[Model]:
        """Return the models that the options name."""
        return self.named(inputs.sensitive or inputs.source.names)

    def options(self, inputs: Inputs, models: Sequence[Model]) -> dict[str, Any]:
        """Return the arguments of a call."""
        return {
            "hierarchies": self.hierarchies(inputs, models),
            "orders": orders(self.order, inputs.project, inputs.source.names),
        }

    def hierarchies(self, inputs: Inputs, models: Sequence[Model]) -> dict[str, Hierarchy]:
        """Return the hierarchies of the project, of the folder, and those named singly; the later take precedence."""
        single = named_hierarchies(self.hierarchy, inputs.source.names)
        if inputs.project is None and self.hierarchy_dir is None:
            return single
        distant = [model.sensitive for model in models if model.sensitive is not None and model.needs_hierarchy]
        wanted = [*(inputs.key or ()), *distant]
        known = hierarchies(None, inputs.project, wanted)
        if self.hierarchy_dir is not None:
            known |= hierarchies_in(self.hierarchy_dir, [name for name in wanted if name not in single])
        return known | single


@dataclass(frozen=True, slots=True)
class ModelOptions(ClassModelOptions):
    """The models that a release must meet, including those of a population."""

    k_map: KMap = None
    presence: Presence = None
    population: Annotated[str | None, typer.Option(metavar="DATA", help="The table that the data is part of.")] = None

    def of_population(self) -> dict[str, Any]:
        """Return the words of models that compare with a population."""
        return {"k_map": self.k_map, "presence": self.presence}
