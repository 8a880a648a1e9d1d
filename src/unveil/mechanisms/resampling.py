"""What if each value is one that could have been drawn? Resampling: averages of sorted samples, assigned by rank."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.arguments import checked_arguments, checked_count
from unveil.attributes import Names
from unveil.mechanisms.columns import CellNulls, choose, numbers
from unveil.mechanisms.door import heeds_study
from unveil.mechanisms.treatment import Treatment, treated
from unveil.randomness import chance_of
from unveil.releases import Release
from unveil.run import active_run, watched

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from unveil.sources import Data

__all__ = ["resample"]

_MOST_SAMPLES = 10_000


@heeds_study
@checked_arguments
def resample(
    data: Data,
    attributes: Names,
    *,
    samples: int = 3,
    nulls: CellNulls = "error",
    keep_order: bool = False,
    seed: int | None = None,
    key_file: str | os.PathLike[str] | None = None,
) -> Release[Treatment]:
    r"""Replace the value of each rank by the average of the values that have this rank in random samples.

    From the n values of an attribute, `samples` samples of size n are drawn with replacement and sorted. With :math:`x^{(s)}_j`
    the j-th value of sample s, the record of rank j gets

    .. math:: z_j = \frac{1}{t} \sum_{s=1}^{t} x^{(s)}_j .

    So ranks stay as they are (ties may be broken), and with them rank correlations; the distribution is kept within sampling
    error, a little narrower at its ends.

    Parameters
    ----------
    data
        A path, a built-in data set or a data frame. Never changed.
    attributes
        The columns of numbers to replace, each by itself. They become floating point.
    samples
        The number of samples that are averaged, t; with more, values change less.
    nulls
        ``"error"``: refuse. ``"keep"``: nulls stay nulls. ``"drop"``: leave out the records that have one.
    keep_order
        Whether records stay in their order; else they are shuffled, so that their places say nothing.
    seed, key_file
        A seed for tests, a key file for those who must be able to repeat the release (see `unveil.randomness`); without either
        nobody can.

    Returns
    -------
    Release
        With the figures `changed`, the share of values that changed, and `mean_change`, by attribute.

    References
    ----------
    .. [1] Heer (1993), A bootstrap procedure to preserve statistical confidentiality in contingency tables, Proceedings of the
       International Seminar on Statistical Confidentiality, Eurostat, 261-271.
    .. [2] Domingo-Ferrer, Mateo-Sanz (1999), On resampling for statistical confidentiality in contingency tables, Computers and
       Mathematics with Applications 38(11-12), 13-32.

    Examples
    --------
    >>> from unveil import mechanisms
    >>> release = mechanisms.resample("adult", "age", samples=3, seed=1)
    >>> round(release.figures["mean_change"]["age"], 2) < 0.5
    True
    """
    checked_count("samples", samples, least=1, most=_MOST_SAMPLES)
    chance, chosen = chance_of(seed, key_file), choose(data, attributes, nulls)
    settings = {"samples": samples, "nulls": nulls}
    random = chosen.draws(chance, "resampling", settings)
    columns: dict[str, Any] = {}
    figures: dict[str, Any] = {"changed": {}, "mean_change": {}, "skipped": chosen.skipped}
    for name in chosen.each():
        before = numbers(chosen.column(name), "resampling")
        columns[name] = watched(len(before), partial(_resampled, before, samples, random))
        change = np.abs(columns[name] - before)[~np.isnan(before)]
        figures["changed"][name] = float(np.mean(change > 0.0)) if len(change) else 0.0
        figures["mean_change"][name] = float(change.mean()) if len(change) else 0.0
    return treated("resampling", chosen, columns, settings, figures, chance, keep_order=keep_order)


def _resampled(values: NDArray[np.float64], samples: int, random: np.random.Generator) -> NDArray[np.float64]:
    """Return the averages at the places of their ranks, at random among equal values; NaN, a null, stays."""
    rows = np.flatnonzero(~np.isnan(values))
    present = values[rows]
    ordered = np.sort(present)
    total = np.zeros(len(rows))
    run = active_run()
    for _ in range(samples):
        run.check()
        total += ordered[np.sort(random.integers(0, max(len(rows), 1), len(rows)))]
    new = np.full(len(values), np.nan)
    new[rows[np.lexsort((random.random(len(rows)), present))]] = total / samples
    return new
