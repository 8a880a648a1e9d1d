"""Options of the verbs that try mechanisms and their parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from unveil.cli.application import typed
from unveil.cli.model_options import ClassModelOptions
from unveil.cli.options import give, showing_progress
from unveil.cli.releases import FileOptions, OrderOptions, SearchOptions
from unveil.cli.study_options import Inputs
from unveil.errors import ArgumentError

__all__ = ["composed"]

_SECONDS = 60.0
_FITTING = ("time_limit", "identifier")


def composed(
    inputs: Inputs,
    needs: Sequence[str] | None,
    groups: tuple[ClassModelOptions, SearchOptions, OrderOptions, FileOptions],
    limits: Mapping[str, Any],
    *,
    as_json: bool,
) -> None:
    """Try protections, write the chosen release, and show all; refuse options that apply only to generalisations."""
    from unveil.assess import compose
    from unveil.project import Need

    models, search, order, to = groups
    _refuse_unfit(models, search)
    if inputs.key is None or inputs.sensitive is None:
        raise ArgumentError(
            "mechanisms are judged by what the key tells about the sensitive columns; name --key and --sensitive."
        )
    wanted = [*inputs.planned_needs(), *(Need.parse(text) for text in needs or ())]
    options = {"identifiers": search.options(inputs)["identifiers"], "time_limit": search.time_limit or _SECONDS, **limits}
    with showing_progress():
        composition = compose(inputs.study, inputs.key, wanted, sensitive=inputs.sensitive, **order.options(), **options)
    if to.out is not None or to.link is not None:
        to.write(composition.chosen)
    give(composition, as_json=as_json, out=None)


def _refuse_unfit(*groups: ClassModelOptions | SearchOptions) -> None:
    """Refuse settings that apply only to generalisations."""
    for options in groups:
        for name, word in typed(options).items():
            if name not in _FITTING:
                raise ArgumentError(f"{word} goes with generalisations; it has no meaning if mechanisms are tried.")
