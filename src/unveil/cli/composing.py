"""How the verbs that try mechanisms and their parameters do so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from unveil.cli.options import Inputs, give, showing_progress
from unveil.cli.releases import write_release
from unveil.errors import ArgumentError

__all__ = ["run_composition"]

_SECONDS = 60.0


def run_composition(
    inputs: Inputs,
    needs: Sequence[str] | None,
    options: Mapping[str, Any],
    *,
    unfit: Mapping[str, Any],
    as_json: bool,
    out: Path | None,
    link: Path | None,
    spreadsheet_safe: bool,
) -> None:
    """Try protections, write the chosen release, and show all; refuse options that belong to generalisations."""
    from unveil.assess.composition import compose
    from unveil.project import Need

    if strange := [option for option, value in unfit.items() if value not in (None, (), [], 0.0)]:
        raise ArgumentError(f"{strange[0]} goes with generalisations; where mechanisms are tried it has no meaning.")
    if inputs.key is None or inputs.sensitive is None:
        raise ArgumentError("mechanisms are judged by what the key tells of the sensitive columns; name --key and --sensitive.")
    planned = list(inputs.project.needs.values()) if inputs.project is not None else []
    told = {name: value for name, value in options.items() if value is not None}
    with showing_progress("protections") as progress:
        composed = compose(
            inputs.source, inputs.key, [*planned, *(Need.parse(text) for text in needs or ())], sensitive=inputs.sensitive,
            progress=progress, **{"time_limit": _SECONDS, **told},
        )  # fmt: skip
    if out is not None or link is not None:
        write_release(composed.chosen, out, link, spreadsheet_safe=spreadsheet_safe)
    give(composed, as_json=as_json, out=None)
