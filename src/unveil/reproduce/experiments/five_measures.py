"""What do five privacy measures cost in time and data quality? The experiment of Li, Li and Venkatasubramanian on Adult."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from unveil.models import EntropyLDiversity, KAnonymity, Model, RecursiveLDiversity, TCloseness
from unveil.reproduce.experiments.frame import Conclusion, Experiment, ExperimentFigure, Step, released
from unveil.reproduce.experiments.taxonomies import hierarchies
from unveil.sources import datasets
from unveil.study import count

__all__ = ["KEYS", "PARAMETERS", "SIZES", "run", "settings_of"]

KEYS = ("age", "workclass", "education", "native-country", "marital-status", "race", "sex")
"""The key attributes in the order of the document's list; a key of n attributes consists of the first n."""
SIZES = (1, 2, 3, 4, 5, 6, 7)
PARAMETERS = (2, 5, 10)
_PARAMETER = 5
_C = 5.0
_ANONYMOUS, _ENTROPY, _RECURSIVE, _CLOSE, _CLOSER = (
    "k-anonymity",
    "entropy l-diversity",
    "recursive (c, l)-diversity",
    "k-anonymity, 0.2-closeness",
    "k-anonymity, 0.15-closeness",
)
_QUALITY = "Discernibility is the sum of the squared class sizes. No generalisation in our hierarchies has a smaller figure."
_SECONDS, _LOOKED, _COST, _SIZE = "seconds of the search", "generalisations looked at", "discernibility", "average class size"


def run(*, sizes: Sequence[int] = SIZES, parameters: Sequence[int] = PARAMETERS, step: Step = lambda: None) -> Experiment:
    """Search for the best generalisation of Adult under each measure, for keys of some sizes and some values of k and l.

    Parameters
    ----------
    sizes
        The numbers of key attributes, with k = l = 5.
    parameters
        The values of k and l, with all seven key attributes.
    step
        Called after each setting and measure.
    """
    _figures(1, _models(_PARAMETER)[_ANONYMOUS])  # one-time costs, above all compilation, are not attributed to any measure
    findings: list[ExperimentFigure] = []
    for size, parameter in settings_of(sizes, parameters):
        for name, models in _models(parameter).items():
            figures = _figures(size, models)
            findings += [ExperimentFigure(figure, _setting(size, parameter), name, value) for figure, value in figures.items()]
            step()
    return Experiment(
        name="five-measures",
        title="Five measures: time, discernibility and class size",
        source="talk on Li, Li and Venkatasubramanian (2007), Figures 3 and 4",
        theirs="Seven key attributes; occupation and salary are sensitive; k-anonymity, entropy and recursive l-diversity, "
        "k-anonymity with 0.2- and 0.15-closeness; keys of several sizes at k = l = 5, and several k and l. The figures are "
        "drawn, not printed; c, the distance and the hierarchies are not given.",
        ours="The occupation is sensitive, c = 5, the distance is hierarchical in our groups of occupations, nothing is "
        "suppressed. One search minimises the discernibility, another the average class size; the time is that of the first.",
        findings=tuple(findings),
        conclusions=_conclusions(findings),
        releases={},
        notes=(_QUALITY, _strict(findings), _times(findings), _salary()),
    )


def _strict(findings: Sequence[ExperimentFigure]) -> str:
    """Return a sentence on the number of settings at which t-closeness makes larger classes than entropy diversity."""
    sizes: dict[str, dict[str, float]] = {}
    for one in findings:
        if one.figure == _SIZE:
            sizes.setdefault(one.of, {})[one.release] = one.computed or 0.0
    stricter = [row[_CLOSE] / row[_ENTROPY] for row in sizes.values() if row[_CLOSE] > row[_ENTROPY]]
    factor = f", by a factor of up to {max(stricter):.3g}" if stricter else ""
    return (
        f"For the occupation 0.2-closeness makes larger classes than entropy l-diversity at {len(stricter)} of {len(sizes)} "
        f"settings{factor}."
    )


def _times(findings: Sequence[ExperimentFigure]) -> str:
    """Return a sentence on which measure is the quickest, and how much of the search each one skips."""
    times: dict[str, dict[str, float]] = {}
    looked: dict[str, float] = {}
    for one in findings:
        if one.figure == _SECONDS:
            times.setdefault(one.of, {})[one.release] = one.computed or 0.0
        if one.figure == _LOOKED:
            looked[one.release] = looked.get(one.release, 0.0) + (one.computed or 0.0)
    quickest = [min(row, key=row.__getitem__) for row in times.values()]
    wins = ", ".join(f"{name} {quickest.count(name)}" for name in looked)
    seen = ", ".join(f"{name} {int(number):,}" for name, number in looked.items())
    return (
        "Times are those of this machine and this run, without what happens once. How often each is the quickest at a setting: "
        f"{wins}. Generalisations looked at: {seen}; the search rules out the others without looking at them."
    )


def _salary() -> str:
    """Return a sentence on why the second sensitive attribute of the document is left out."""
    values = datasets.adult()["income-per-year"].n_unique()
    return (
        f"The document has the salary as a second sensitive attribute. It has {values} values, so no class holds {_PARAMETER} of "
        f"them: with it, no release would be {_PARAMETER}-diverse. It is left out."
    )


def settings_of(sizes: Sequence[int], parameters: Sequence[int]) -> list[tuple[int, int]]:
    """Return the key sizes with their k and l, each once.

    Examples
    --------
    >>> settings_of([1, 7], [2, 5])
    [(1, 5), (7, 5), (7, 2)]
    """
    return list(dict.fromkeys([*((size, _PARAMETER) for size in sizes), *((len(KEYS), one) for one in parameters)]))


def _setting(size: int, parameter: int) -> str:
    return f"key of {size}, k = l = {parameter}"


def _models(parameter: int) -> dict[str, list[Model]]:
    anonymous = KAnonymity(parameter)
    return {
        _ANONYMOUS: [anonymous],
        _ENTROPY: [EntropyLDiversity("occupation", parameter)],
        _RECURSIVE: [RecursiveLDiversity("occupation", parameter, _C)],
        _CLOSE: [anonymous, TCloseness("occupation", 0.2, distance="hierarchical")],
        _CLOSER: [anonymous, TCloseness("occupation", 0.15, distance="hierarchical")],
    }


def _figures(size: int, models: Sequence[Model]) -> dict[str, float]:
    """Return time, discernibility and average class size of the best releases under some models."""
    keys, by_key = KEYS[:size], hierarchies()
    best = {
        objective: released(
            keys, "occupation", {"": models}, by_key, hierarchies={"occupation": by_key["occupation"]}, objective=objective
        )[""]
        for objective in ("discernibility", "class-size")
    }
    classes = {objective: count(release.data, keys).n for objective, release in best.items()}
    return {
        _SECONDS: best["discernibility"].seconds,
        _LOOKED: best["discernibility"].evaluated,
        _COST: int(np.square(classes["discernibility"]).sum()),
        _SIZE: float(classes["class-size"].mean()),
    }


def _conclusions(findings: Sequence[ExperimentFigure]) -> tuple[Conclusion, ...]:
    """Return the conclusions, each with the number of settings at which it holds; it holds if it does at all of them."""
    means: dict[str, dict[str, dict[str, float]]] = {}
    for one in findings:
        means.setdefault(one.figure, {}).setdefault(one.of, {})[one.release] = one.computed or 0.0
    quality = [*means[_COST].values(), *means[_SIZE].values()]
    quickest = [min(row, key=row.__getitem__) for row in means[_SECONDS].values()]
    return (
        _counted("l-diversity takes less time than the others", [name in (_ENTROPY, _RECURSIVE) for name in quickest]),
        _counted("Entropy l-diversity has the worst data quality", [row[_ENTROPY] >= max(row.values()) for row in quality]),
        _counted("k-anonymity has better data quality than t-closeness", [_better(row) for row in quality], _ratios(quality)),
    )


def _better(row: Mapping[str, float]) -> bool:
    return row[_ANONYMOUS] < row[_CLOSE] <= row[_CLOSER]


def _ratios(quality: Sequence[Mapping[str, float]]) -> str:
    ratios = [row[_CLOSE] / row[_ANONYMOUS] for row in quality]
    return f"; 0.2-closeness costs {min(ratios):.3g} to {max(ratios):.3g} times as much"


def _counted(says: str, holds: Sequence[bool], more: str = "") -> Conclusion:
    return Conclusion(says, all(holds), f"{sum(holds)} of {len(holds)} settings{more}")
