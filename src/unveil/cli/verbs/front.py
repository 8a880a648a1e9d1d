"""The verb front: generalisations worth considering."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from unveil.cli.application import app, grouped
from unveil.cli.composing import composed
from unveil.cli.model_options import ClassModelOptions
from unveil.cli.options import Bounds, Json, bounds_of, give, showing_progress
from unveil.cli.releases import FileOptions, OrderOptions, SearchOptions, TableOptions
from unveil.cli.study_options import Inputs
from unveil.errors import ArgumentError


@dataclass(frozen=True, slots=True)
class FrontOptions:
    """The needs that a release is to serve, and its limits of disclosure."""

    need: Annotated[
        list[str] | None,
        typer.Option("--need", metavar="NEED", help="NAME: TARGET given A, B [at least DEGREE]; repeat it for more."),
    ] = None
    prefer: Annotated[
        str, typer.Option(metavar="privacy|utility", help="Take the release of the least risk, or that of the highest degrees.")
    ] = "privacy"
    max_identity: Annotated[float | None, typer.Option("--max-identity", help="The highest identity risk allowed.")] = None
    max_homogeneity: Annotated[float | None, typer.Option("--max-homogeneity", help="The highest homogeneity risk allowed.")] = (
        None
    )
    mechanisms: Annotated[
        bool,
        typer.Option("--mechanisms", help="Try mechanisms and their parameters, and chains of two, instead of generalisations."),
    ] = False
    bounds: Bounds = None

    def options(self, inputs: Inputs) -> dict[str, Any]:
        """Return the arguments of a call; the project's needs come first."""
        from unveil.project import Need

        if self.bounds:
            raise ArgumentError("--bounds goes with --mechanisms: differential privacy needs to know what a value may be.")
        return {"needs": [*inputs.planned_needs(), *(Need.parse(text) for text in self.need or ())], **self.limits()}

    def limits(self) -> dict[str, Any]:
        """Return which release of the front is taken, and what it may give away."""
        return {"prefer": self.prefer, "max_identity": self.max_identity, "max_homogeneity": self.max_homogeneity}

    def bounded_limits(self) -> dict[str, Any]:
        """Return the same for mechanisms, with the declared bounds of values."""
        return {**self.limits(), "bounds": bounds_of(self.bounds)}


@app.command(
    epilog="Example: unveil front adult --key age --key sex --sensitive race --need 'income: income-per-year given age, sex'"
)
@grouped
def front(
    table: TableOptions,
    weighed: FrontOptions,
    models: ClassModelOptions,
    search: SearchOptions,
    order: OrderOptions,
    to: FileOptions,
    as_json: Json = False,
) -> None:
    """Find the generalisations that no other beats in risk and in needs served. Exit code 1: none is acceptable."""
    from unveil.protect import anonymize_front

    to.check()
    inputs = table.gathered()
    keys, sensitive = inputs.required_key(), inputs.required_sensitive()
    if weighed.mechanisms:
        return composed(inputs, weighed.need, (models, search, order, to), weighed.bounded_limits(), as_json=as_json)
    required = models.required(inputs) or inputs.planned_models()
    options = {**weighed.options(inputs), **models.options(inputs, required), **search.options(inputs), **order.options()}
    with showing_progress():
        result = anonymize_front(inputs.study, keys, sensitive=sensitive, models=required, **options)
    if to.out is not None or to.link is not None:
        to.write(result.chosen)
    return give(result, as_json=as_json, out=None)
