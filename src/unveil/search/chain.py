"""How is a table protected in several steps? Mechanisms and generalisations, each working on what the one before gave."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil import __version__, mechanisms
from unveil.errors import ArgumentError, listed, near_miss, shown
from unveil.models.requirements import MODEL_WORDS, parse_models
from unveil.project import Step
from unveil.results import Figure, Result, Table, View
from unveil.results.numbers import counted
from unveil.search.fitting import fits, kind_of, said
from unveil.sources.alignment import write_link
from unveil.sources.frames import Data
from unveil.sources.microdata import Microdata, open_microdata

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

__all__ = ["Protection", "check_step", "mechanism_names", "misfit", "protect", "run_step", "step_function"]

_RECODINGS = ("generalize", "mondrian", "recode_locally", "generalize_subtrees", "generalize_cells", "suppress_locally")
"""What searches for a recoding; the other steps are mechanisms."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Protection(Result):
    """A table protected in several steps.

    Attributes
    ----------
    records
        The protected records; `data` gives them in the caller's library.
    steps
        What each step gave.
    origin
        For every protected record the row of the one it was made from, -1 for none: the steward's secret.
    """

    records: Microdata
    steps: tuple[Any, ...]
    origin: NDArray[np.int64]

    @property
    def data(self) -> Any:
        """The protected records as a data frame of the caller's library."""
        return self.records.native()

    def __repr__(self) -> str:
        """Return one line: the records and the steps."""
        return f"Protection({counted(self.records.records, 'record')}; {', then '.join(map(repr, self.steps))})"

    def to_dict(self) -> dict[str, Any]:
        """Return what was done, step by step, without the records."""
        steps = [step.to_dict() for step in self.steps]
        return {"records": self.records.records, "steps": steps, "version": __version__}

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return the protected records, column by column."""
        return {name: self.records.column(name).to_list() for name in self.records.names}

    def view(self) -> View:
        """Return what a person should see: every step's own view, one after the other."""
        views = [step.view() for step in self.steps]
        tables = [Table(("Step", "What"), tuple((at, view.title) for at, view in enumerate(views, 1)))]
        notes: list[str] = []
        for at, view in enumerate(views, 1):
            rows = tuple((figure.label, figure.value, figure.meaning) for figure in view.figures)
            tables += [Table(("Figure", "Value", ""), rows, title=f"Step {at}: {view.title}"), *view.tables]
            notes += [note for note in view.notes if note not in notes]
        return View("Protection", (Figure("Records", self.records.records),), tuple(tables), tuple(notes))

    def write(self, path: str | os.PathLike[str], *, spreadsheet_safe: bool = False) -> None:
        """Write the protected records to a file, whole or not at all.

        Parameters
        ----------
        path
            Where they go.
        spreadsheet_safe
            Whether texts that a spreadsheet would take for formulas get an apostrophe before them (text files only).
        """
        self.records.write(path, spreadsheet_safe=spreadsheet_safe)

    def write_link(self, path: str | os.PathLike[str]) -> None:
        """Write which release record was made from which original one; the file undoes the protection and must stay private."""
        write_link(str(path), self.origin)


def mechanism_names() -> tuple[str, ...]:
    """Return what a step may be: the mechanisms, and the recodings that are searched for."""
    return (*_RECODINGS, *(name for name in mechanisms.__all__ if not name[0].isupper() and name != "safepub_delta"))


def protect(data: Data, steps: Sequence[Step], *, seed: int | None = None) -> Protection:
    """Protect a table in several steps.

    Parameters
    ----------
    data
        A path, the name of a built-in data set, or any data frame narwhals knows. Never changed.
    steps
        What to do, in order. A recoding's models are written as on a command line: ``{"k": 5, "t": "0.2:equal:x"}``.
    seed
        For steps that draw at random and name no seed of their own.

    Returns
    -------
    Protection
        The protected records, and what each step did.

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
    records = open_microdata(data)
    origin = np.arange(records.records)
    done = []
    for number, step in enumerate(steps, 1):
        with _numbered(number, step, len(steps)):
            found = run_step(records, step, seed)
        if not hasattr(found, "records") or not isinstance(found.records, Microdata):
            raise ArgumentError(
                f"step {number} ({step.mechanism}) gives no single table of records, so it cannot stand in a chain."
            )
        known = found.origin >= 0
        origin = np.where(known, origin[np.where(known, found.origin, 0)], -1)
        records = found.records
        done.append(found)
    return Protection(records, tuple(done), origin)


def run_step(data: Data, step: Step, seed: int | None = None) -> Any:
    """Run one step; what it gives is the answer of the mechanism's own function."""
    check_step(step)
    function = step_function(step.mechanism)
    options = dict(step.options)
    known = inspect.signature(function).parameters
    if _reads_models(step, known):
        options["models"] = parse_models(options, open_microdata(data).names)
    if seed is not None and "seed" in known:
        options.setdefault("seed", seed)
    return _called(function, step, data, options, known)


def check_step(step: Step) -> None:
    """Refuse a mechanism that there is none of, an option that it does not take, and a value that does not fit the option."""
    found = misfit(step)
    if found is not None:
        raise ArgumentError(found[1])


def misfit(step: Step) -> tuple[str, str] | None:
    """Return what in a step is wrong, "mechanism" or the name of an option, and why; None: nothing, as far as it can be told."""
    names = mechanism_names()
    if step.mechanism not in names:
        hint = near_miss(step.mechanism, names)
        return "mechanism", f"mechanism {shown(step.mechanism)} is unknown; they are: {', '.join(names)}.{hint}"
    known = inspect.signature(step_function(step.mechanism)).parameters
    words = MODEL_WORDS if _reads_models(step, known) else ()
    for name, value in step.options.items():
        if name not in words and (problem := _misfit(step.mechanism, name, value, known)):
            return name, problem
    return None


def _misfit(mechanism: str, name: str, value: Any, known: Mapping[str, inspect.Parameter]) -> str | None:
    if name not in known or name == "data":
        takes = listed([name for name in known if name != "data"])
        return f"{mechanism} takes no {shown(name)}; it takes: {takes}.{near_miss(name, list(known))}"
    if not fits(value, known[name].annotation):
        return f"{name} of {mechanism} is {said(known[name].annotation)}, not {kind_of(value)}."
    if name == "seed" and value is not None and value < 0:
        return f"the seed of {mechanism} is 0 or above, not {value}."
    return None


@contextmanager
def _numbered(number: int, step: Step, steps: int) -> Iterator[None]:
    """Let an error say which of several steps it is about."""
    try:
        yield
    except ArgumentError as problem:
        raise ArgumentError(f"step {number} ({step.mechanism}): {problem}" if steps > 1 else str(problem)) from None


def _reads_models(step: Step, known: Mapping[str, Any]) -> bool:
    """Whether a step's options name models, as words of a command line do."""
    return step.mechanism in _RECODINGS and "models" in known and "models" not in step.options


def _called(function: Callable[..., Any], step: Step, data: Data, options: Mapping[str, Any], known: Mapping[str, Any]) -> Any:
    """Call a mechanism with its attributes and options."""
    attributes = _attributes(step, known)
    if twice := [name for name in attributes if name in options]:
        raise ArgumentError(f"{step.mechanism}: {shown(twice[0])} is given twice.")
    given = {**attributes, **options}
    if missing := [n for n, one in known.items() if one.default is one.empty and n != "data" and n not in given]:
        raise ArgumentError(f"{step.mechanism} needs {listed(missing)}.")
    return function(data, **given)


def _attributes(step: Step, known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the step's attributes as the mechanism takes them: its second parameter, where that stands before the keywords."""
    if not step.attributes:
        return {}
    second = [one for name, one in known.items() if one.kind is one.POSITIONAL_OR_KEYWORD and name != "data"][:1]
    several, single = (bool(second) and fits(example, second[0].annotation) for example in ([""], ""))
    if several:
        return {second[0].name: list(step.attributes)}
    if not single:
        raise ArgumentError(f"{step.mechanism} works on whole records and takes no attributes.")
    if len(step.attributes) > 1:
        raise ArgumentError(f"{step.mechanism} works on one attribute, not on {len(step.attributes)}: {listed(step.attributes)}.")
    return {second[0].name: step.attributes[0]}


def step_function(name: str) -> Callable[..., Any]:
    """Return the function of a mechanism, or refuse a name that is none."""
    import unveil

    if name not in mechanism_names():
        check_step(Step(name))

    found: Callable[..., Any] = (
        unveil.anonymize if name == "generalize" else getattr(unveil if name in _RECODINGS else mechanisms, name)
    )
    return found
