"""How is a table protected in several steps? Mechanisms and generalisations, each working on what the one before gave."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil import __version__, fitting, mechanisms
from unveil.arguments import LARGEST_SEED, checked_arguments, checked_seed
from unveil.errors import ArgumentError, listed, near_miss, shown
from unveil.fitting import fits, hints_of, kind_of, said
from unveil.models.requirements import MODEL_WORDS, parse_models
from unveil.project import Step
from unveil.randomness import Repeatable, weakest
from unveil.releases import recorded, write_recorded
from unveil.results import Figure, Result, Table, View
from unveil.results.numbers import counted
from unveil.results.progress import Stages
from unveil.sources import Data
from unveil.sources.alignment import write_link
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
    left_out
        The columns of the data that the release does not have.
    """

    records: Microdata
    steps: tuple[Any, ...]
    origin: NDArray[np.int64]
    left_out: tuple[str, ...] = ()

    @property
    def repeatable(self) -> Repeatable:
        """Who can repeat the draws of some step: nobody (False), whoever has the "key", or, from a "seed", everybody."""
        return weakest([step.repeatable for step in self.steps])

    @property
    def data(self) -> Any:
        """The protected records as a data frame of the caller's library."""
        return self.records.native()

    @property
    def record(self) -> dict[str, Any]:
        """What may be said of the release beside it: how it was made, what the last step met, and who can repeat that."""
        steps = [step.record for step in self.steps]
        kept = self.records.names
        measured = {name for step in steps for name in step["columns"]["kept"] if name not in step["columns"]["never_measured"]}
        columns = {"kept": kept, "left_out": self.left_out, "never_measured": [name for name in kept if name not in measured]}
        return recorded(
            [{"made_by": step["made_by"], "settings": step["settings"]} for step in steps],
            {},
            records=self.records.records,
            models=steps[-1]["models"],
            repeatable=self.repeatable,
            columns=columns,
            guarantee=steps[-1]["guarantee"],
        )

    def __repr__(self) -> str:
        """Return one line: the records and the steps."""
        return f"Protection({counted(self.records.records, 'record')}; {', then '.join(map(repr, self.steps))})"

    def to_dict(self) -> dict[str, Any]:
        """Return what was done, step by step, without the records."""
        steps = [step.to_dict() for step in self.steps]
        return {"records": self.records.records, "steps": steps, "repeatable": self.repeatable, "version": __version__}

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
        """Write the protected records to a file, and their record beside it; both whole or none.

        Parameters
        ----------
        path
            Where they go.
        spreadsheet_safe
            Whether texts that a spreadsheet would take for formulas get an apostrophe before them (text files only).
        """
        write_recorded(path, self.record, partial(self.records.write, path, spreadsheet_safe=spreadsheet_safe))

    def write_link(self, path: str | os.PathLike[str]) -> None:
        """Write which release record was made from which original one; the file undoes the protection and must stay private."""
        write_link(str(path), self.origin)


def mechanism_names() -> tuple[str, ...]:
    """Return what a step may be: the mechanisms, and the recodings that are searched for."""
    return (*_RECODINGS, *(name for name in mechanisms.__all__ if not name[0].isupper() and name != "safepub_delta"))


@checked_arguments
def protect(
    data: Data,
    steps: Sequence[Step],
    *,
    keep_order: bool = False,
    seed: int | None = None,
    key_file: str | os.PathLike[str] | None = None,
    testing: bool = False,
) -> Protection:
    """Protect a table in several steps.

    Parameters
    ----------
    data
        A path, the name of a built-in data set, or any data frame narwhals knows. Never changed.
    steps
        What to do, in order. A recoding's models are written as on a command line: ``{"k": 5, "t": "0.2:equal:x"}``.
    keep_order
        Whether records stay in their order; else the last step shuffles them, so that their places say nothing.
    seed, key_file
        For steps that draw at random and name none of their own: a seed for tests, a key file for whoever must be able to repeat
        the release. Neither: nobody can repeat it.
    testing
        Let steps of differential privacy draw from the seed; they have no guarantee then.

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
    names, origin = records.names, np.arange(records.records)
    done = []
    for number, step in enumerate(steps, 1):
        with _numbered(number, step, len(steps)):
            last = number == len(steps)
            found = run_step(
                records,
                step,
                keep_order=keep_order or not last,
                seed=_step_seed(seed, number),
                key_file=key_file,
                testing=testing,
            )
        if not hasattr(found, "records") or not isinstance(found.records, Microdata):
            raise ArgumentError(
                f"step {number} ({step.mechanism}) gives no single table of records, so it cannot stand in a chain."
            )
        known = found.origin >= 0
        origin = np.where(known, origin[np.where(known, found.origin, 0)], -1)
        records = found.records
        done.append(found)
    return Protection(records, tuple(done), origin, tuple(name for name in names if name not in records.names))


def _step_seed(seed: int | None, number: int) -> int | None:
    """Return a step's own seed: two steps that drew alike could undo each other, as two equal swaps do."""
    if seed is None or number == 1:
        return seed
    return int.from_bytes(hashlib.sha256(f"{checked_seed(seed)}/{number}".encode()).digest()[:7])


def run_step(
    data: Data,
    step: Step,
    *,
    keep_order: bool = False,
    seed: int | None = None,
    key_file: str | os.PathLike[str] | None = None,
    testing: bool = False,
    progress: Stages | None = None,
) -> Any:
    """Run one step; what it gives is the answer of the mechanism's own function, which may tell how far it is."""
    check_step(step)
    function = step_function(step.mechanism)
    options = dict(step.options)
    known = inspect.signature(function).parameters
    if _reads_models(step, known):
        options["models"] = parse_models(options, open_microdata(data).names)
    for what, given in (("seed", seed), ("key_file", key_file)):
        if given is not None and what not in known:
            name = what.replace("_", " ")
            raise ArgumentError(f"{step.mechanism} takes no {name}: its draws must be ones that nobody can repeat.")
    asked: dict[str, Any] = {"keep_order": keep_order or None, "testing": testing or None}
    if not {"seed", "key_file"} & options.keys():
        asked |= {"seed": seed, "key_file": key_file}
    if "progress" in known and "Stages" in str(known["progress"].annotation):
        asked["progress"] = progress
    options = {name: value for name, value in asked.items() if value is not None and name in known} | options
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
    hint = hints_of(step_function(mechanism))[name]
    if not fits(value, hint):
        part, found, wanted = fitting.misfit(value, hint)
        place = f"in {name} of {mechanism}, {part}" if part else f"{name} of {mechanism}"
        return f"{place} is {said(wanted)}, not {kind_of(found)}."
    if name == "seed" and value is not None and not 0 <= value <= LARGEST_SEED:
        return f"the seed of {mechanism} lies between 0 and {LARGEST_SEED:,}, so it is not {value:,}."
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
    hint = hints_of(step_function(step.mechanism))[second[0].name] if second else None
    several, single = (fits(example, hint) for example in ([""], ""))
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
