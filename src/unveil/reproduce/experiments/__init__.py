"""Can the documents' experiments on Adult be reproduced? Each is repeated, with its figures beside the printed ones.

They run on the built-in Adult with hierarchies of our own. The documents used the example hierarchies of another tool and do
not print the resulting generalisation, so figures differ where releases do; every difference is explained beside it.
"""

from __future__ import annotations

from collections.abc import Sequence

from unveil.reproduce.experiments import five_measures, homogeneity, identity, income, records, semantic
from unveil.reproduce.experiments.frame import Conclusion, Experiment, ExperimentFigure, Experiments
from unveil.run import Progress, active_run, in_run

__all__ = ["Conclusion", "Experiment", "ExperimentFigure", "Experiments", "experiments"]

_QUICK = (records, identity, homogeneity, semantic, income)


@in_run
def experiments(
    *,
    sizes: Sequence[int] = five_measures.SIZES,
    parameters: Sequence[int] = five_measures.PARAMETERS,
    progress: Progress | None = None,  # noqa: ARG001 - `in_run` takes it
) -> Experiments:
    """Repeat all experiments of the documents on Adult.

    Parameters
    ----------
    sizes, parameters
        The grid of the comparison of five measures: numbers of key attributes, and values of k and l.
    progress
        A run, or a function called with the name of a stage ("experiments"), the number of parts done, and the number of all
        parts.

    Returns
    -------
    Experiments
        For each experiment, the procedure of the document, the procedure here, the figures, and whether its conclusions hold.
    """
    total = len(_QUICK) + 5 * len(five_measures.settings_of(sizes, parameters))
    step = active_run().counting("experiments", total)
    results = []
    for experiment in _QUICK:
        results.append(experiment.run())
        step()
    return Experiments((*results, five_measures.run(sizes=sizes, parameters=parameters, step=step)))
