"""How many people would be alone in the population? Estimates from the class sizes of a sample.

A record that is unique in a sample is unique in the population too only if nobody outside the sample shares its key.
Three models of the population's class sizes estimate how often that is so, and Dankar's rule chooses between them.

Notation: a sample of n records, drawn at random from a population of N, falls into u classes; s_j of them hold j records.
The sampling fraction is pi = n / N. S_1, the number of classes of one record in the population, is what is estimated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from unveil.arguments import checked_number
from unveil.errors import ArgumentError
from unveil.measures.uniqueness_models import (
    Sample,
    UniquenessModel,
    UniquesEstimate,
    dankar_choice,
    pitman_uniques,
    settled,
    snb_uniques,
    zayatz_uniques,
)
from unveil.results import Figures

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "PopulationUniqueness",
    "UniquenessModel",
    "UniquesEstimate",
    "checked_sampling_fraction",
    "checked_sizes",
    "population_uniqueness",
]


@dataclass(frozen=True, slots=True, eq=False)
class PopulationUniqueness(Figures):
    """The population uniques that each model estimates, and the model that Dankar's rule chooses.

    Attributes
    ----------
    records, classes, sample_uniques
        The numbers of records of the sample, of their classes, and of classes of one record.
    population, sampling_fraction
        N, and n / N.
    pitman, zayatz, snb
        The estimate of each model.
    dankar
        The estimate that the rule chooses: one of the three above.
    decision
        The reason for this choice.
    """

    records: int
    classes: int
    sample_uniques: int
    population: int
    sampling_fraction: float
    pitman: UniquesEstimate
    zayatz: UniquesEstimate
    snb: UniquesEstimate
    dankar: UniquesEstimate
    decision: str


def population_uniqueness(
    class_sizes: ArrayLike, *, population: int | None = None, sampling_fraction: float | None = None
) -> PopulationUniqueness:
    r"""Estimate how many records are unique in the population, from the sizes of the classes of a sample.

    **Pitman** [1]_. The class sizes follow Pitman's sampling formula; its parameters maximise

    .. math:: \sum_{i=1}^{u-1} \log(\theta + i\alpha) - \sum_{i=1}^{n-1} \log(\theta + i)
        + \sum_j s_j \sum_{i=1}^{j-1} \log(i - \alpha), \qquad 0 \le \alpha < 1, \; \theta > -\alpha

    and the expected number of uniques among N records is

    .. math:: E(S_1) = N \frac{\Gamma(\theta + 1)}{\Gamma(\theta + \alpha)}
        \frac{\Gamma(\theta + N - 1 + \alpha)}{\Gamma(\theta + N)}
        \approx \frac{\Gamma(\theta + 1)}{\Gamma(\theta + \alpha)} N^\alpha

    of which the exact form is used here; ARX gives the approximation, which is a little higher. An estimate above
    :math:`s_1 / \pi` contradicts the sample, in which every population unique that was drawn is alone, and is cut to it.
    That happens when the classes are far more even in size than the formula assumes.

    **Zayatz** [2]_. The shares :math:`p_j = s_j / u` of the class sizes are taken over from the sample, and Bayes' rule gives
    the probability that a sample unique is a population unique:

    .. math:: P = \frac{p_1 h_1}{\sum_j p_j h_j}, \qquad h_j = j \binom{N - j}{n - 1} \Big/ \binom{N}{n},
        \qquad S_1 = s_1 P / \pi

    **Slide negative binomial** [3]_. A population class holds one record more than a negative binomial number, so that
    :math:`P(F = j) = \binom{\alpha + j - 2}{j - 1} (1 - \beta)^{j - 1} \beta^\alpha`. With K classes in the population,
    :math:`x = (1 - \pi)(1 - \beta)` and :math:`D = 1 - x`, each record drawn with probability pi,

    .. math:: s_1 = K \pi (\beta / D)^\alpha (1 + \alpha x / D), \qquad
        s_2 = K \pi^2 \alpha (1 - \beta) \beta^\alpha (2 + (\alpha - 1) x) / (2 D^{\alpha + 2})

    are solved for alpha and beta, with K from the modified estimator of Shlosser [4]_; then :math:`S_1 = K \beta^\alpha`.
    There is one solution or none.

    **Dankar's rule** [5]_. With a sampling fraction of at most 0.1, Pitman; above, the smaller of Zayatz and SNB. If the chosen
    model has no answer, Zayatz is used instead, as in ARX.

    Parameters
    ----------
    class_sizes
        The records in each class of the sample, all at least one.
    population, sampling_fraction
        The number of records in the population, or the share of it that was sampled: one of the two.

    Returns
    -------
    PopulationUniqueness
        One estimate per model. A model without an answer has the value None and says why. With a sampling fraction of one nothing
        is estimated: every model gives the sample's uniques.

    Raises
    ------
    ArgumentError
        If the sampling fraction is outside (0, 1], the population is smaller than the sample, or a class size is below one.

    Notes
    -----
    More is more disclosure; shares lie between 0 and 1. The models suppose a simple random sample. They say little about a
    sample that was made k-anonymous: its class sizes are no longer those of a draw.

    References
    ----------
    .. [1] Hoshino (2001), Applying Pitman's sampling formula to microdata disclosure risk assessment, Journal of Official
       Statistics 17(4), 499-520.
    .. [2] Zayatz (1991), Estimation of the percent of unique population elements on a microdata file using the sample,
       Statistical Research Division Report 91/08, US Bureau of the Census.
    .. [3] Chen, Keller-McNulty (1998), Estimation of identification disclosure risk in microdata, Journal of Official
       Statistics 14(1), 79-95.
    .. [4] Haas, Stokes (1998), Estimating the number of classes in a finite population, Journal of the American
       Statistical Association 93(444), 1475-1487.
    .. [5] Dankar, El Emam, Neisa, Roffey (2012), Estimating the re-identification risk of clinical data sets, BMC Medical
       Informatics and Decision Making 12:66.

    Examples
    --------
    >>> result = population_uniqueness([1] * 60 + [2] * 20 + [5] * 10, sampling_fraction=0.05)
    >>> result.population, round(result.dankar.share, 3), result.dankar.model
    (3000, 0.051, 'pitman')
    """
    sizes = checked_sizes(class_sizes, "class_sizes")
    held, times = np.unique(sizes, return_counts=True)
    records = int(sizes.sum())
    sample = Sample(held, times, _population_size(records, population, sampling_fraction))
    pitman = settled(sample, "pitman") or pitman_uniques(sample)
    zayatz = settled(sample, "zayatz") or zayatz_uniques(sample)
    snb = settled(sample, "snb") or snb_uniques(sample)
    dankar, decision = dankar_choice(sample, pitman, zayatz, snb)
    return PopulationUniqueness(
        records=records,
        classes=sample.classes,
        sample_uniques=sample.of_size(1),
        population=sample.population,
        sampling_fraction=sample.fraction if records else 0.0,
        pitman=pitman,
        zayatz=zayatz,
        snb=snb,
        dankar=dankar,
        decision=decision,
    )


def checked_sampling_fraction(sampling_fraction: float) -> float:
    """Return the sampling fraction, or refuse an impossible one."""
    return checked_number("the sampling fraction", sampling_fraction, above=0.0, most=1.0)


def checked_sizes(sizes: ArrayLike, name: str) -> NDArray[np.int64]:
    """Return class sizes as integers; refuse sizes below one and fractions."""
    array = np.asarray(sizes)
    if array.ndim != 1:
        raise ArgumentError(f"{name} must be a list of class sizes, not an array of {array.ndim} dimensions.")
    if array.size == 0:
        return np.zeros(0, dtype=np.int64)
    if array.dtype.kind not in "iuf":
        raise ArgumentError(f"{name} must hold numbers of records.")
    wrong = int(np.count_nonzero(~((array >= 1) & (array < 2.0**62) & (np.floor(array) == array))))
    if wrong:
        raise ArgumentError(f"{name} must hold whole numbers of at least one record; {wrong:,} are not.")
    return array.astype(np.int64)


def _population_size(records: int, population: int | None, sampling_fraction: float | None) -> int:
    if (population is None) == (sampling_fraction is None):
        raise ArgumentError("give either the size of the population or the sampling fraction.")
    if sampling_fraction is not None:
        return max(records, round(records / checked_sampling_fraction(sampling_fraction)))
    if population is None or not math.isfinite(population) or population < records or population < 1:
        raise ArgumentError(
            f"a population of {population} is smaller than its sample of {records:,} records; give the number of people "
            "that the sample was drawn from."
        )
    return round(population)
