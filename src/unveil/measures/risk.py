"""How likely is a record to be re-identified? Prosecutor, journalist and marketer risk, and Bayes vulnerability.

The prosecutor knows that the target is in the file: the risk of a record is one over the records that look like it. The
journalist only knows that the target is in the population from which the file was drawn: one over the records of the
population that look like it. The marketer wants to re-identify as many as possible: the share expected to be right.
Higher is more risk.

If persons are distinguished, it is persons who look alike, and the intruder knows one record of a person, whichever reveals
most: the risk of a person is the highest over the classes in which they have a record.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from unveil.measures.equivalence import Equivalence, Spread
from unveil.results import Figures
from unveil.results.masking import DecidingClass

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ClassRisks", "Intruder", "Vulnerability", "intruder_risk", "vulnerability_of_records", "vulnerability_of_sensitive"]


@dataclass(frozen=True, slots=True, eq=False)
class Intruder(Figures):
    """The risk from one kind of intruder.

    Attributes
    ----------
    highest
        The risk of the record, or person, that is worst off.
    average
        The mean over the records, which is the share that an intruder who links every record is expected to match
        correctly; or the mean over the persons.
    above, threshold
        The share of records, or persons, whose risk exceeds the threshold.
    worst_class
        The class with the highest risk.
    note
        The notes on it.
    """

    highest: float
    average: float
    above: float = field(metadata={"name": "records_above_threshold"})
    threshold: float
    worst_class: DecidingClass | None
    note: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Vulnerability(Figures):
    """The chance that an intruder's best guess is right, before and after seeing the key, and the factor between the two."""

    prior: float
    posterior: float
    gain: float

    @classmethod
    def of(cls, prior: float, posterior: float) -> Vulnerability:
        """Return the chances with the factor between them."""
        return cls(prior, posterior, posterior / prior)


@dataclass(frozen=True, slots=True, eq=False)
class ClassRisks:
    """The risk of the records, or persons, of every class.

    Attributes
    ----------
    risk
        One over the records, or persons, that look alike to the intruder.
    own
        The number of records, or persons, at that risk; a person is counted in the class where their risk is highest.
    highest
        The risk of the record, or person, that is worst off.
    average
        The mean over the records, or persons.
    unique
        The number of records, or persons, that nobody else looks like.
    """

    risk: NDArray[np.float64]
    own: NDArray[np.int64]
    highest: float
    average: float
    unique: int

    @classmethod
    def of(cls, classes: Equivalence, alike: NDArray[np.float64]) -> ClassRisks:
        """Return the risks from an intruder who finds `alike` matching records for each class."""
        risk, own = 1.0 / alike, classes.worst(alike)
        average = float((own * risk).sum() / own.sum())
        return cls(risk, own, float(risk.max()), average, int(own[risk >= 1.0].sum()))

    def above(self, thresholds: Iterable[float]) -> list[float]:
        """Return the share of records, or persons, whose risk exceeds each threshold."""
        total = self.own.sum()
        return [float(self.own[self.risk > threshold + 1e-12].sum() / total) for threshold in thresholds]


def intruder_risk(classes: Equivalence, alike: NDArray[np.float64], threshold: float) -> Intruder:
    """Return the risk from an intruder who finds `alike` matching records for each class.

    Parameters
    ----------
    classes
        The classes of the key.
    alike
        For each class the records, or persons, among which the intruder has to choose: those of the file, or of the population.
    threshold
        Records, or persons, with a risk above it are counted.
    """
    risks = ClassRisks.of(classes, alike)
    worst = classes.describe(int(np.argmax(risks.risk)))
    return Intruder(risks.highest, risks.average, risks.above([threshold])[0], threshold, worst)


def vulnerability_of_records(classes: Equivalence) -> Vulnerability:
    """Return the chance of naming the right record, or person: 1 / N before the key is known; for records, classes / N after."""
    own = classes.worst(classes.size)
    return Vulnerability.of(1.0 / int(own.sum()), float((own / classes.size).sum() / int(own.sum())))


def vulnerability_of_sensitive(spread: Spread, own: NDArray[np.int64]) -> Vulnerability:
    r"""Return the chance of naming the right sensitive value: :math:`\max_x p(x)` before, :math:`\sum_y \max_x p(x, y)` after.

    Examples
    --------
    >>> import unveil
    >>> answer = unveil.measure("paper-2", key="Age*", sensitive="Disease").to_dict()
    >>> answer["vulnerability"]["Disease"]["posterior"]
    0.666...
    """
    prior = np.bincount(spread.value, weights=spread.n * (own / spread.size)[spread.of_class], minlength=len(spread.values))
    posterior = (own * np.maximum.reduceat(spread.share, spread.starts)).sum()
    return Vulnerability.of(float(prior.max() / own.sum()), float(posterior / own.sum()))
