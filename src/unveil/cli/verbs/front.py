"""Which generalisations are worth considering?"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, Any

import typer

from unveil.cli.application import app
from unveil.cli.groups import grouped
from unveil.cli.options import Inputs, Json, give, showing_progress
from unveil.cli.releases import FileOptions, OrderOptions, SearchOptions, TableOptions
from unveil.cli.requirements import ClassModelOptions
from unveil.errors import ArgumentError

_WORDS = {"l_diversity": "l", "share": "alpha"}
"""Options that are not called as their fields are."""


@dataclass(frozen=True, slots=True)
class FrontOptions:
    """What a release is to be good for, and what it may give away."""

    need: Annotated[
        list[str] | None,
        typer.Option("--need", metavar="NEED", help="NAME: TARGET given A, B [at least DEGREE]; repeat it for more."),
    ] = None
    prefer: Annotated[
        str, typer.Option(metavar="privacy|utility", help="Take the release of the least risk, or that of the highest degrees.")
    ] = "privacy"
    max_identity: Annotated[float | None, typer.Option("--max-identity", help="The identity risk that will do.")] = None
    max_homogeneity: Annotated[float | None, typer.Option("--max-homogeneity", help="The homogeneity risk that will do.")] = None
    mechanisms: Annotated[
        bool,
        typer.Option("--mechanisms", help="Try mechanisms and their parameters, and chains of two, instead of generalisations."),
    ] = False

    def options(self, inputs: Inputs) -> dict[str, Any]:
        """Return the arguments of a call; the project's needs come first."""
        from unveil.project import Need

        planned = list(inputs.project.needs.values()) if inputs.project is not None else []
        return {
            "needs": [*planned, *(Need.parse(text) for text in self.need or ())],
            "prefer": self.prefer,
            "max_identity": self.max_identity,
            "max_homogeneity": self.max_homogeneity,
        }


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
    """Which generalisations does no other beat in risk of attacks and needs served? Exit code 1: none will do."""
    from unveil.assess.composition import compose
    from unveil.protect.front import anonymize_front

    to.check()
    inputs = table.gathered()
    if inputs.key is None:
        raise ArgumentError("no key column is named; name those an intruder may know with --key.")
    if inputs.sensitive is None:
        raise ArgumentError("no sensitive column is named; name those to protect with --sensitive.")
    told = {**weighed.options(inputs), **order.options()}
    with showing_progress():
        if weighed.mechanisms:
            _refuse_unfit(models, search)
            limit = search.time_limit or 60.0
            result: Any = compose(inputs.source, inputs.key, sensitive=inputs.sensitive, time_limit=limit, **told)
        else:
            required = models.required(inputs) or inputs.planned_models()
            told |= {**models.options(inputs, required), **search.options(inputs)}
            result = anonymize_front(inputs.source, inputs.key, sensitive=inputs.sensitive, models=required, **told)
    if to.out is not None or to.link is not None:
        to.write(result.chosen)
    give(result, as_json=as_json, out=None)


def _refuse_unfit(models: ClassModelOptions, search: SearchOptions) -> None:
    """Refuse what only generalisations can be told."""
    for options in (models, search):
        for one in fields(options):
            if one.name != "time_limit" and getattr(options, one.name) not in (None, one.default):
                word = _WORDS.get(one.name, one.name.replace("_", "-"))
                raise ArgumentError(f"--{word} goes with generalisations; with --mechanisms it has no meaning.")
