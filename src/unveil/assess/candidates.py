"""Which protections are worth trying on a table? Mechanisms with parameter values, for the attributes that they suit.

Each mechanism is tried on key attributes of its kind: numbers are microaggregated, rank-swapped and perturbed, names are
randomised, and all of them are generalised. A chain joins two protections of different mechanisms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from unveil.project import Step

__all__ = ["ProtectionCandidate", "chains_of", "single_candidates"]

_LARGE = 5_000
"""With more records, microaggregation groups each attribute on its own: groups over several attributes take quadratic time."""


@dataclass(frozen=True, slots=True)
class ProtectionCandidate:
    """A protection to try: one step, or two in succession."""

    steps: tuple[Step, ...]

    @property
    def name(self) -> str:
        """The mechanisms with the parameter that is varied, such as `microaggregate k=5, then pram retention=0.7`."""
        return ", then ".join(" ".join([step.mechanism, *_varied(step)]) for step in self.steps)

    def to_dict(self) -> list[dict[str, Any]]:
        """Return the steps in the form that is written to JSON, and to a project."""
        return [
            {"mechanism": step.mechanism, "attributes": list(step.attributes), "options": dict(step.options)}
            for step in self.steps
        ]


@dataclass(frozen=True, slots=True)
class ParameterGrid:
    """A mechanism whose parameter is varied.

    Attributes
    ----------
    mechanism, parameter, values
        The name of the mechanism, its parameter, and the values to try, the weakest protection first.
    suits
        The attributes to which it applies: "numbers", "names", or "all".
    options
        A function from the attributes and the number of records to the other settings.
    """

    mechanism: str
    parameter: str
    values: tuple[Any, ...]
    suits: str
    options: Callable[[Sequence[str], int], Mapping[str, Any]] = lambda _names, _records: {}

    def candidates(self, names: Sequence[str], records: int, more: Mapping[str, Any]) -> list[ProtectionCandidate]:
        """Return a protection for each value of the parameter."""
        settings = {**self.options(names, records), **more}
        return [
            ProtectionCandidate((Step(self.mechanism, tuple(names), {self.parameter: value, **settings}),))
            for value in self.values
        ]


_GRIDS = (
    ParameterGrid("generalize", "k", (2, 5, 10, 50), "all"),
    ParameterGrid(
        "microaggregate",
        "k",
        (3, 10, 30, 100),
        "numbers",
        lambda names, records: {"together": False, "method": "optimal"} if records > _LARGE or len(names) == 1 else {},
    ),
    ParameterGrid("rank_swap", "window", (2.0, 5.0, 10.0, 25.0), "numbers"),
    ParameterGrid("add_noise", "amount", (0.05, 0.2, 0.5, 1.0), "numbers"),
    ParameterGrid("pram", "retention", (0.9, 0.7, 0.5, 0.3), "names"),
)
"""The mechanisms that are tried; a line here adds one."""
_PRIVATE = ("dp_microaggregate", "epsilon", (10.0, 1.0, 0.1))
_VARIED = {grid.mechanism: grid.parameter for grid in _GRIDS} | {_PRIVATE[0]: _PRIVATE[1]}
_LAST = "generalize"
"""The mechanism that turns values into labels, so that it comes last in a chain."""


def single_candidates(
    numbers: Sequence[str],
    names: Sequence[str],
    records: int,
    bounds: Mapping[str, tuple[float, float]],
    *,
    nulls: bool = False,
) -> list[ProtectionCandidate]:
    """Return the protections of one step, for key attributes with numbers and for those with names.

    Differential privacy needs bounds that do not come from the data, so it is tried on attributes that have them. Nulls of the
    attributes stay.
    """
    candidates: list[ProtectionCandidate] = []
    for grid in _GRIDS:
        suited = {"all": [*numbers, *names], "numbers": numbers, "names": names}[grid.suits]
        kept = {"nulls": "keep"} if nulls and grid.suits != "all" else {}
        candidates += grid.candidates(suited, records, kept) if suited else []
    bounded = [name for name in numbers if name in bounds]
    if bounded:
        options = {"bounds": {name: tuple(bounds[name]) for name in bounded}, "k": max(2, round(records**0.5))}
        grid = ParameterGrid(*_PRIVATE, "numbers", lambda _names, _records: options)
        candidates += grid.candidates(bounded, records, {})
    return candidates


def chains_of(singles: Sequence[ProtectionCandidate]) -> list[ProtectionCandidate]:
    """Return the chains of two of these protections, of different mechanisms."""
    pairs = [(one.steps[0], other.steps[0]) for one, other in combinations(singles, 2)]
    ordered = [(two, one) if one.mechanism == _LAST else (one, two) for one, two in pairs if one.mechanism != two.mechanism]
    return [ProtectionCandidate(pair) for pair in ordered]


def _varied(step: Step) -> list[str]:
    parameter = _VARIED.get(step.mechanism, "")
    return [f"{parameter}={step.options[parameter]:g}"] if parameter in step.options else []
