"""One step of a protection: a mechanism or a recoding by its name, with its attributes and its options."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from unveil import fitting, mechanisms
from unveil.arguments import checked_seed
from unveil.errors import ArgumentError, listed, near_miss, shown
from unveil.fitting import fits, hints_of, kind_of, said
from unveil.models import parse_models
from unveil.project import MODEL_WORDS, Project, Step
from unveil.sources import Data, ReadOptions, open_microdata, open_source, read_options

if TYPE_CHECKING:
    import os

__all__ = ["check_step", "fitting_step", "mechanism_names", "misfit", "planned_steps", "run_step", "step_function"]

_RECODINGS = ("generalize", "mondrian", "recode_locally", "generalize_subtrees", "suppress_locally")
"""The steps that search for a recoding; the others are mechanisms."""


def mechanism_names() -> tuple[str, ...]:
    """Return the possible names of a step: the mechanisms, and the recodings that are searched for."""
    return (*_RECODINGS, *mechanisms.names())


def planned_steps(project: Project) -> list[Step]:
    """Return the steps that a project plans, each checked as far as possible without the data."""
    for name, step in project.protect.items():
        if (wrong := misfit(step)) is not None:
            raise project.wrong(wrong[1], "protect", name, wrong[0])
    return [_with_population(step, project) if step.mechanism in _RECODINGS else step for step in project.protect.values()]


def _with_population(step: Step, project: Project) -> Step:
    """Return a recoding with its population opened: a file beside the project, read in the same way as its data."""
    if not isinstance(named := step.options.get("population"), str):
        return step
    population = open_source(project.path.parent / named, read_options(project, ReadOptions()))
    return Step(step.mechanism, step.attributes, {**step.options, "population": population})


def fitting_step(mechanism: str, columns: Sequence[str], options: Mapping[str, Any], known: Mapping[str, Any]) -> Step:
    """Return a step with its own options and those of the other known settings that the mechanism accepts."""
    takes = inspect.signature(step_function(mechanism)).parameters
    passed_on = {name: value for name, value in known.items() if name in takes and value not in (None, (), {}, [])}
    return Step(mechanism, columns, {**passed_on, **options})


def run_step(
    data: Data,
    step: Step,
    *,
    keep_order: bool = False,
    seed: int | None = None,
    key_file: str | os.PathLike[str] | None = None,
    testing: bool = False,
) -> Any:
    """Run one step and return the result of the mechanism's own function, which reports its progress to the active run."""
    check_step(step)
    function = step_function(step.mechanism)
    options = dict(step.options)
    known = inspect.signature(function).parameters
    if _reads_models(step, known):
        options["models"] = parse_models(options, open_microdata(data).names)
    for what, setting in (("seed", seed), ("key_file", key_file)):
        if setting is not None and what not in known:
            name = what.replace("_", " ")
            raise ArgumentError(f"{step.mechanism} takes no {name}: its draws must be ones that nobody can repeat.")
    extra: dict[str, Any] = {"keep_order": keep_order or None, "testing": testing or None}
    if not {"seed", "key_file"} & options.keys():
        extra |= {"seed": seed, "key_file": key_file}
    options = {name: value for name, value in extra.items() if value is not None and name in known} | options
    return _called(function, step, data, options, known)


def check_step(step: Step) -> None:
    """Refuse an unknown mechanism, an option that it does not accept, and a value that does not fit the option."""
    problem = misfit(step)
    if problem is not None:
        raise ArgumentError(problem[1])


def misfit(step: Step) -> tuple[str, str] | None:
    """Return the wrong part of a step, "mechanism" or the name of an option, and the reason; None if none can be found."""
    names = mechanism_names()
    if step.mechanism not in names:
        hint = near_miss(step.mechanism, names)
        return "mechanism", f"mechanism {shown(step.mechanism)} is unknown; mechanisms are: {', '.join(names)}.{hint}"
    known = inspect.signature(step_function(step.mechanism)).parameters
    words = (*MODEL_WORDS,) if _reads_models(step, known) else ()
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
        part, kind, wanted = fitting.misfit(value, hint)
        place = f"in {name} of {mechanism}, {part}" if part else f"{name} of {mechanism}"
        return f"{place} must be {said(wanted)}, not {kind_of(kind)}."
    return None if name != "seed" or value is None else _seed_problem(mechanism, value)


def _seed_problem(mechanism: str, seed: int) -> str | None:
    try:
        checked_seed(seed, of=mechanism)
    except ArgumentError as problem:
        return str(problem)
    return None


def _reads_models(step: Step, known: Mapping[str, Any]) -> bool:
    """Whether the options of a step name models in the same way as the command line."""
    return step.mechanism in _RECODINGS and "models" in known and "models" not in step.options


def _called(function: Callable[..., Any], step: Step, data: Data, options: Mapping[str, Any], known: Mapping[str, Any]) -> Any:
    """Call a mechanism with its attributes and options."""
    attributes = _attributes(step, known)
    if twice := [name for name in attributes if name in options]:
        raise ArgumentError(f"{step.mechanism}: {shown(twice[0])} is given twice.")
    arguments = {**attributes, **options}
    if missing := [n for n, one in known.items() if one.default is one.empty and n != "data" and n not in arguments]:
        raise ArgumentError(f"{step.mechanism} needs {listed(missing)}.")
    return function(data, **arguments)


def _attributes(step: Step, known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the step's attributes in the form for the mechanism: its second parameter, before the keywords."""
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
    """Return the function of a mechanism, or refuse an unknown name."""
    import unveil

    if name not in mechanism_names():
        check_step(Step(name))

    function: Callable[..., Any] = (
        unveil.anonymize if name == "generalize" else getattr(unveil if name in _RECODINGS else mechanisms, name)
    )
    return function
