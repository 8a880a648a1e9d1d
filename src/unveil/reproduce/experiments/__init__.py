"""Do the documents' experiments on Adult come out? Each done again, its figures beside the printed ones.

They run on the built-in Adult with hierarchies of our own. The documents used the example hierarchies of another tool and do not
print which generalisation they got, so figures differ where releases do; every difference is explained beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from unveil.reproduce.experiments import five_measures, homogeneity, identity, income, records, semantic
from unveil.reproduce.experiments.frame import Conclusion, Experiment, Experiments, Finding

__all__ = ["Conclusion", "Experiment", "Experiments", "Finding", "experiments"]

_QUICK = (records, identity, homogeneity, semantic, income)


def experiments(
    *,
    sizes: Sequence[int] = five_measures.SIZES,
    parameters: Sequence[int] = five_measures.PARAMETERS,
    progress: Callable[[int, int], Any] | None = None,
) -> Experiments:
    """Do all experiments of the documents on Adult again.

    Parameters
    ----------
    sizes, parameters
        The grid of the comparison of five measures: numbers of key attributes, and values of k and l.
    progress
        Called with the parts done and all parts.

    Returns
    -------
    Experiments
        For each experiment what the document did, what is done here, the figures, and whether its conclusions hold.
    """
    total = len(_QUICK) + 5 * len(five_measures.settings_of(sizes, parameters))
    done = 0

    def step() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total)

    found = []
    for experiment in _QUICK:
        found.append(experiment.run())
        step()
    return Experiments((*found, five_measures.run(sizes=sizes, parameters=parameters, step=step)))
