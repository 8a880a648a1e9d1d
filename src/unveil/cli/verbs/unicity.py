"""The verb unicity: the number of points of a trajectory that single a person out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

import typer

from unveil.cli.application import app, grouped
from unveil.cli.options import Data, PartitionFile, showing_progress
from unveil.cli.study_options import EvidenceOptions, NamedRoles, ReadingOptions, gather
from unveil.errors import ArgumentError

if TYPE_CHECKING:
    from unveil.stream import Unicity


@dataclass(frozen=True, slots=True)
class _Points:
    """The persons of the points, the columns of a point, and their reading."""

    data: Data = None
    person: Annotated[str | None, typer.Option("--person", metavar="COLUMN", help="The column of persons.")] = None
    key: Annotated[
        list[str] | None,
        typer.Option("--key", metavar="COLUMN", help="A column of a point, such as a place or a time; repeat it."),
    ] = None
    derive: Annotated[
        list[str] | None,
        typer.Option(
            "--derive", metavar="NAME=RULE(...)", help="A further part of a point: cell(lat,lon,12), period(when,1), ..."
        ),
    ] = None
    partition: PartitionFile = None
    reading: ReadingOptions = field(default_factory=ReadingOptions)


@dataclass(frozen=True, slots=True)
class _Draws:
    """The number of points that an intruder knows, and the number of drawn sets of points."""

    points: Annotated[int, typer.Option("--points", min=1, max=20, metavar="N", help="Measure for 1 to N points known.")] = 4
    draws: Annotated[int, typer.Option("--draws", min=1, metavar="N", help="Sets of points drawn for each person.")] = 20
    seed: Annotated[int, typer.Option("--seed", min=0, help="The seed of the draws.")] = 0


@app.command(epilog="Example: unveil unicity thesis-location --person user --key location --key period --points 2")
@grouped
def unicity(options: _Points, drawn: _Draws, answer: EvidenceOptions) -> None:
    """How many points of a trajectory, such as places and times, single a person out?"""
    with showing_progress():
        result = _measured(options, drawn)
    answer.give(result)


def _measured(options: _Points, drawn: _Draws) -> Unicity:
    from unveil.stream import parse_derived
    from unveil.stream.unicity import unicity

    roles = NamedRoles(partition=options.partition, person=options.person)
    inputs = gather(options.data, options.reading, roles, partial=True)
    study, derived = inputs.study, dict(parse_derived(text) for text in options.derive or ())
    if study.person is None:
        raise ArgumentError("no column says whose points they are; name it with --person.")
    named = options.key or (() if derived else study.key)
    point = list(dict.fromkeys([*named, *derived]))
    if not point:
        raise ArgumentError("no column says what makes a point; name columns with --key, or make them with --derive.")
    return unicity(
        study.source, study.person, point, p=range(1, drawn.points + 1), draws=drawn.draws, partitions=study.partitions,
        derived=derived, seed=drawn.seed,
    )  # fmt: skip
