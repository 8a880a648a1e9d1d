"""What do five privacy measures cost in time and data quality? The experiment of Li, Li and Venkatasubramanian on Adult."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from unveil.counts import count
from unveil.models import EntropyLDiversity, KAnonymity, RecursiveLDiversity, TCloseness
from unveil.models.asked import AnyModel
from unveil.reproduce.experiments.frame import Conclusion, Experiment, Finding, Step, released
from unveil.reproduce.experiments.taxonomies import hierarchies

__all__ = ["KEYS", "PARAMETERS", "SIZES", "run", "settings_of"]

KEYS = ("age", "workclass", "education", "native-country", "marital-status", "race", "sex")
"""The key attributes in the order of the document's list; a key of n is the first n."""
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
_STRICT = (
    "For the occupation 0.2-closeness is stricter than entropy 5-diversity: its classes are several times as large. Only entropy "
    "10-diversity is stricter still, for the whole table has an entropy of little more than that of ten equal occupations."
)
_TIMES = (
    "Times are those of this machine and this run. Our search rules out most generalisations unseen, more of them the stricter a "
    "measure is; so with large keys the strictest measure tends to be the quickest."
)
_SECONDS, _LOOKED, _COST, _SIZE = "seconds of the search", "generalisations looked at", "discernibility", "average class size"


def run(*, sizes: Sequence[int] = SIZES, parameters: Sequence[int] = PARAMETERS, step: Step = lambda: None) -> Experiment:
    """Search the best generalisation of Adult under each measure, for keys of some sizes and some values of k and l.

    Parameters
    ----------
    sizes
        The numbers of key attributes, with k = l = 5.
    parameters
        The values of k and l, with all seven key attributes.
    step
        Called after each setting and measure.
    """
    findings: list[Finding] = []
    for size, parameter in settings_of(sizes, parameters):
        for name, models in _models(parameter).items():
            figures = _figures(size, models)
            findings += [Finding(figure, _setting(size, parameter), name, value) for figure, value in figures.items()]
            step()
    return Experiment(
        name="five-measures",
        title="Five measures: time, discernibility and class size",
        source="talk on Li, Li and Venkatasubramanian (2007), Figures 3 and 4",
        theirs="Seven key attributes; occupation and salary are sensitive; k-anonymity, entropy and recursive l-diversity, "
        "k-anonymity with 0.2- and 0.15-closeness; keys of several sizes at k = l = 5, and several k and l. The figures are "
        "drawn, not printed; c, the distance and the hierarchies are not given.",
        ours="The occupation is sensitive, c = 5, the distance is hierarchical in our groups of occupations, nothing is "
        "suppressed. One search makes the discernibility smallest, another the average class size; the time is the first one's.",
        findings=tuple(findings),
        conclusions=_conclusions(findings),
        releases={},
        notes=(_QUALITY, _STRICT, _TIMES),
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


def _models(parameter: int) -> dict[str, list[AnyModel]]:
    anonymous = KAnonymity(parameter)
    return {
        _ANONYMOUS: [anonymous],
        _ENTROPY: [EntropyLDiversity("occupation", parameter)],
        _RECURSIVE: [RecursiveLDiversity("occupation", parameter, _C)],
        _CLOSE: [anonymous, TCloseness("occupation", 0.2, distance="hierarchical")],
        _CLOSER: [anonymous, TCloseness("occupation", 0.15, distance="hierarchical")],
    }


def _figures(size: int, models: Sequence[AnyModel]) -> dict[str, float]:
    """Return time, discernibility and average class size of the best releases under some models."""
    keys, trees = KEYS[:size], hierarchies()
    best = {
        objective: released(
            keys, "occupation", {"": models}, trees, hierarchies={"occupation": trees["occupation"]}, objective=objective
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


def _conclusions(findings: Sequence[Finding]) -> tuple[Conclusion, ...]:
    """Say at how many settings each conclusion holds; it holds when it does at all of them."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for one in findings:
        found.setdefault(one.figure, {}).setdefault(one.of, {})[one.release] = one.computed or 0.0
    quality = [*found[_COST].values(), *found[_SIZE].values()]
    quickest = [min(row, key=row.__getitem__) for row in found[_SECONDS].values()]
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
