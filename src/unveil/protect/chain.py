"""How is a table protected in several steps? Mechanisms and generalisations, each applied to the result of the previous one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.arguments import checked_arguments, checked_seed
from unveil.errors import ArgumentError
from unveil.formats import counted
from unveil.project import Step
from unveil.protect.steps import check_step, run_step
from unveil.randomness import weakest
from unveil.releases import Protection, Release, in_hand, screened
from unveil.results import Figure, Table, View
from unveil.sources import Data, Microdata, RecordsSource, open_microdata
from unveil.study import said_of, study_of

if TYPE_CHECKING:
    import os

__all__ = ["Chain", "protect", "run_steps"]


@dataclass(frozen=True, slots=True, eq=False)
class Chain(Protection):
    """Several steps of protection, each applied to the result of the previous one.

    Attributes
    ----------
    steps
        The release of each step.
    """

    steps: tuple[Release[Protection], ...]

    @property
    def made_by(self) -> list[Mapping[str, Any]]:
        """The mechanism and the settings of each step."""
        return [{"made_by": step.protection.made_by, "settings": step.settings} for step in self.steps]

    @property
    def guarantee(self) -> str | None:
        """The guarantee of the last step."""
        return self.steps[-1].protection.guarantee

    def treated(self, release: Release[Any]) -> set[str]:  # noqa: ARG002 - as every protection
        """Return the columns that some step protected or measured."""
        return {name for step in self.steps for name in step.protection.treated(step)}

    def stated(self, release: Release[Any]) -> Sequence[Mapping[str, Any]]:  # noqa: ARG002 - as every protection
        """Return the models that the last step met."""
        return self.steps[-1].protection.stated(self.steps[-1])

    def account(self, release: Release[Any]) -> dict[str, Any]:  # noqa: ARG002 - as every protection
        """Return the JSON of every step."""
        return {"steps": [step.to_dict() for step in self.steps]}

    def line(self, release: Release[Any]) -> str:
        """Return the records and the steps."""
        steps = [step.protection.line(step) for step in self.steps]
        return f"{counted(release.records.records, 'record')}; {', then '.join(f'({step})' for step in steps)}"

    def view(self, release: Release[Any]) -> View:
        """Return the displayed view: the views of all steps, one after another."""
        views = [step.view() for step in self.steps]
        tables = [Table(("Step", "What"), tuple((at, view.title) for at, view in enumerate(views, 1)))]
        for at, view in enumerate(views, 1):
            rows = tuple((figure.label, figure.value, figure.meaning) for figure in view.figures)
            tables += [Table(("Figure", "Value", ""), rows, title=f"Step {at}: {view.title}"), *view.tables]
        return View("Protection", (Figure("Records", release.records.records),), tuple(tables), release.notes)


@checked_arguments
def protect(
    data: Data,
    steps: Sequence[Step],
    *,
    keep_order: bool = False,
    seed: int | None = None,
    key_file: str | os.PathLike[str] | None = None,
    testing: bool = False,
) -> Release[Chain]:
    """Protect a table in several steps.

    Parameters
    ----------
    data
        A path, the name of a built-in data set, a data frame, a study or a project file. Never changed. The statements of a
        study hold in every step, unless an earlier step has removed the column.
    steps
        The steps, in order. The models of a recoding are written as on a command line: ``{"k": 5, "t": "0.2:equal:x"}``.
    keep_order
        Whether records stay in their order; else the last step shuffles them, so that their places say nothing.
    seed, key_file
        For random steps that name none of their own: a seed for tests, a key file for anyone who must be able to
        repeat the release. Neither: nobody can repeat it.
    testing
        Whether steps of differential privacy draw from the seed; they then have no guarantee.

    Returns
    -------
    Release
        The protected records, and the report of each step.

    Examples
    --------
    >>> import unveil
    >>> coded, drawn = unveil.Step("top_bottom_code", "age", {"top": 80}), unveil.Step("sample", (), {"size": 500})
    >>> made = unveil.protect("adult", [coded, drawn])
    >>> made.data.height, made.data["age"].max() <= 80
    (500, True)
    """
    if not steps:
        raise ArgumentError("no step is named; name a mechanism, such as Step('microaggregate', ['age'], {'k': 3}).")
    for number, step in enumerate(steps, 1):
        with _numbered(number, step, len(steps)):
            check_step(step)
    study = study_of(data)
    opened = open_microdata(data if study is None else study)
    records = opened.deferred()
    names, origin = records.names, np.arange(records.records)
    done: list[Release[Protection]] = []
    for number, step in enumerate(steps, 1):
        with _numbered(number, step, len(steps)):
            last = number == len(steps)
            treated = run_step(
                records if study is None else said_of(RecordsSource(records), study),
                step,
                keep_order=keep_order or not last,
                seed=_step_seed(seed, number),
                key_file=key_file,
                testing=testing,
            )
        if not isinstance(treated, Release) or len(treated.tables) > 1:
            raise ArgumentError(f"step {number} ({step.mechanism}) makes no single table of records, so it cannot be in a chain.")
        known = treated.origin >= 0
        origin = np.where(known, origin[np.where(known, treated.origin, 0)], -1)
        records = _with_persons(in_hand(treated))
        done.append(treated)
    notes = dict.fromkeys(note for step in done for note in step.notes)
    left_out = {name: why for step in done for name, why in step.left_out.items() if name in names and name not in records.names}
    repeatable = weakest([step.repeatable for step in done])
    standing = replace(records.standing, deferred=opened.standing.deferred)
    records = replace(records, standing=standing)
    return screened(Release(records, Chain(tuple(done)), origin, {}, tuple(notes), repeatable, left_out))


def _with_persons(records: Microdata) -> Microdata:
    """Return records that name the column of persons only if they have it: synthetic records belong to nobody."""
    standing = records.standing
    return records if standing.person in records.names else replace(records, standing=replace(standing, person=None))


def _step_seed(seed: int | None, number: int) -> int | None:
    """Return a separate seed for each step: two steps with the same draws could undo each other, like two equal swaps."""
    if seed is None or number == 1:
        return seed
    return int.from_bytes(hashlib.sha256(f"{checked_seed(seed)}/{number}".encode()).digest()[:7])


def run_steps(data: Data, steps: Sequence[Step], **draws: Any) -> Any:
    """Run a single step by itself, or several as a chain.

    Parameters
    ----------
    data, steps
        As for `protect`.
    draws
        The `keep_order`, `seed`, `key_file` and `testing` of `protect`.
    """
    return run_step(data, steps[0], **draws) if len(steps) == 1 else protect(data, steps, **draws)


@contextmanager
def _numbered(number: int, step: Step, steps: int) -> Iterator[None]:
    """Add to an error which of several steps it is about."""
    try:
        yield
    except ArgumentError as problem:
        raise ArgumentError(f"step {number} ({step.mechanism}): {problem}" if steps > 1 else str(problem)) from None
