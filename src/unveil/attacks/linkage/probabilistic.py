r"""Which pairs of records appear to belong together? Probabilistic linkage after Fellegi and Sunter.

A pair of an original and a released record shows an agreement pattern: the set of attributes on which the two agree. Among true
pairs an attribute agrees with probability m, among all others with probability u; attributes are assumed to be independent
within each of the two kinds. The parameters are fitted, without the truth, by expectation maximisation to the number of pairs
of each pattern. Agreement on an attribute then weighs log2(m / u) bits, disagreement log2((1 - m) / (1 - u)).

A missing value agrees with nothing, not even with another missing value: suppression is disagreement. Higher is more risk.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil import __version__
from unveil.arguments import checked_arguments, checked_count, checked_number, checked_share
from unveil.attacks.linkage.fellegi_sunter import Fit, LinkageRule, decided, fitted, informed, links, share_of
from unveil.attacks.linkage.given import codes_of_both
from unveil.attacks.linkage.rates import PersonRates, Targets, checked_persons, checked_truth, share_bounds
from unveil.counts import Codes, RecordCells, patterns_of, summed
from unveil.formats import counted, jsonable, number
from unveil.measures import Interval
from unveil.results import Figure, Result, Table, View
from unveil.run import looks
from unveil.sources import Data

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Fit", "ProbabilisticLinkage", "fitted", "probabilistic_linkage"]


@dataclass(frozen=True, slots=True, repr=False)
class ProbabilisticLinkage(Result):
    """The share of released records that a probabilistic intruder links, with the model.

    Attributes
    ----------
    linked
        The share of released records linked to their true record. Of several originals with the same highest weight one is
        drawn, so a tie counts as one over its size. A record made from nobody is never linked.
    baseline
        The share linked by guessing: one over the original records, times the share of released records made from one of them.
    interval
        The 95 % interval of `linked` (Clopper-Pearson), which assumes that links are independent.
    informed
        The share linked by an intruder who knows the true m and u. It shows what the fit misses: do not trust a low `linked`
        beside a high `informed`.
    originals, releases, true_pairs
        The numbers of records of both tables, and of released records that have a true record.
    matched, clerical, unmatched
        The number of pairs that the decision rule declares matched, leaves to a clerk, and declares unmatched.
    precision, recall
        The share of true pairs among the matched, and of matched among the true pairs; None if there are no such pairs.
    upper, lower
        The lowest weight of a matched, and the highest of an unmatched pattern, in bits; None if there is no such pattern.
    m, u
        For each attribute, the fitted probabilities of agreement among true pairs, and among all others.
    agreement, disagreement
        For each attribute, the weights of agreement and disagreement, in bits.
    share_of_matches
        The fitted share of true pairs among all pairs.
    converged, iterations, log_likelihood
        The outcome of the fit; the log-likelihood is in nats.
    made
        The provenance of the result.
    by_person
        The rate of persons, if the owners of the original records are known.
    """

    linked: float
    baseline: float
    interval: Interval
    informed: float
    originals: int
    releases: int
    true_pairs: int
    matched: int
    clerical: int
    unmatched: int
    precision: float | None
    recall: float | None
    upper: float | None
    lower: float | None
    m: tuple[float, ...]
    u: tuple[float, ...]
    agreement: tuple[float, ...]
    disagreement: tuple[float, ...]
    share_of_matches: float
    converged: bool
    iterations: int
    log_likelihood: float
    made: Mapping[str, Any]
    by_person: PersonRates | None = None

    def __repr__(self) -> str:
        """Return one line: the share linked, its interval, and the share by chance."""
        bounds = f"{number(self.interval.low)} to {number(self.interval.high)}"
        return (
            f"ProbabilisticLinkage({number(self.linked)} linked ({bounds}), chance {number(self.baseline)}, "
            f"{counted(self.releases, 'record')})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the whole answer as plain Python values."""
        reasons = {}
        if self.precision is None:
            reasons["precision_reason"] = "no pair is taken as matched at these error rates"
        if self.recall is None:
            reasons["recall_reason"] = "no release record has a true record"
        return {
            "linked": self.linked,
            "baseline": self.baseline,
            "interval": self.interval.to_dict(),
            "informed": self.informed,
            "originals": self.originals,
            "releases": self.releases,
            "true_pairs": self.true_pairs,
            "matched": self.matched,
            "clerical": self.clerical,
            "unmatched": self.unmatched,
            "precision": self.precision,
            "recall": self.recall,
            **reasons,
            "upper": self.upper,
            "lower": self.lower,
            "m": list(self.m),
            "u": list(self.u),
            "weights": [
                {"agreement": agree, "disagreement": disagree}
                for agree, disagree in zip(self.agreement, self.disagreement, strict=True)
            ],
            "share_of_matches": self.share_of_matches,
            "converged": self.converged,
            "iterations": self.iterations,
            "log_likelihood": self.log_likelihood,
            **({} if self.by_person is None else {"persons": self.by_person.to_dict()}),
            "made": jsonable(self.made),
        }

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return one row per attribute: its probabilities and weights."""
        return {
            "attribute": list(range(len(self.m))),
            "m": self.m,
            "u": self.u,
            "agreement": self.agreement,
            "disagreement": self.disagreement,
        }

    def view(self) -> View:
        """Return the displayed rates."""
        percent = round(100 * self.interval.confidence, 3)
        bounds = f"{percent:g}% interval {number(self.interval.low)} to {number(self.interval.high)}"
        figures = (
            Figure("Linked", self.linked, bounds),
            Figure("Random guess", self.baseline, "the share that a random guess would link"),
            Figure("Informed", self.informed, "linked by someone who knows how often true pairs agree"),
            Figure("Matched pairs", self.matched, f"{counted(self.clerical, 'pair')} for a clerk, {self.unmatched:,} unmatched"),
            Figure("Precision", self.precision, "true pairs among the matched"),
            Figure("Recall", self.recall, "matched among the true pairs"),
        )
        rows = tuple(zip(*self.columns().values(), strict=True))
        end = "" if self.converged else " The fit had not converged."
        note = f"m, u: probability of agreement among true pairs and among all others; weights in bits.{end}"
        return View("Probabilistic linkage", figures, (Table(tuple(self.columns()), rows, title="Attributes"),), (note,))


@looks
@checked_arguments
def probabilistic_linkage(
    original_codes: Sequence[Codes] | Data,
    release_codes: Sequence[Codes] | Data,
    truth: ArrayLike,
    *,
    false_matches: float = 0.01,
    false_nonmatches: float = 0.01,
    iterations: int = 1000,
    tolerance: float = 1e-9,
    true_pairs: int | None = None,
    persons: ArrayLike | None = None,
) -> ProbabilisticLinkage:
    r"""Link released records to original records by the weight of their agreements, and score the links.

    With :math:`\gamma` the pattern of a pair (:math:`\gamma_j = 1`: agreement on attribute j) its weight is

    .. math:: w(\gamma) = \log_2 \frac{m(\gamma)}{u(\gamma)}
        = \sum_j \gamma_j \log_2 \frac{m_j}{u_j} + (1 - \gamma_j) \log_2 \frac{1 - m_j}{1 - u_j} .

    Every released record is linked to the original record of the highest weight; attributes without weight (m = u) only decide
    between equals. Besides, the decision rule declares as matched the patterns of highest weight, as many as keep :math:`\sum
    u(\gamma) \le \mu`, and as unmatched those of lowest weight, as many as keep :math:`\sum m(\gamma) \le \lambda`; the rest is
    left to a clerk.

    Parameters
    ----------
    original_codes, release_codes
        The attributes that both tables have, one array of codes each, over common values; -1 is a missing value. Or both tables
        as data of any kind: the key of their studies or, without a key, every common column but identifiers, weights, persons
        and households. A generalised value agrees with nothing but itself.
    truth
        For each released record, the row of its original record; -1 if it has none. Used to score, not to link.
    false_matches
        The number of wrong originals that a released record may be matched with, on average under the model. Fellegi and
        Sunter's :math:`\mu` is this number over n - 1, where n is the number of original records: a bound that is a share of
        all pairs would allow ever more wrong matches per record as the tables grow.
    false_nonmatches
        :math:`\lambda`: the share of the true pairs that may be declared unmatched, under the model.
    iterations, tolerance
        The largest number of steps of the fit, and the change of the parameters below which it ends.
    true_pairs
        The number of pairs that the intruder knows to belong together. None: fitted, at most one for each released record.
    persons
        The person of each original record, if a person has several: the result then also has the rate of persons (`by_person`).

    Returns
    -------
    ProbabilisticLinkage
        The share linked with its baseline and interval, the decisions with precision and recall, and the model.

    Notes
    -----
    The share of true pairs is bounded by 1 / n, because a released record stems from at most one original, and m is at least u,
    because agreement is never evidence against a pair. Both bounds are exact steps of the maximisation. Without the first, if
    attributes depend on each other, the fit finds another kind of pairs: the many people who merely resemble each other.

    With a attributes there are up to 2^a groupings of the distinct records, fewer if they run out of partners; a is at most 16.
    Pairs are never listed.

    References
    ----------
    .. [1] Fellegi, Sunter (1969), A theory for record linkage, JASA 64(328), 1183-1210.
    .. [2] Jaro (1989), Advances in record-linkage methodology as applied to matching the 1985 census of Tampa, Florida,
       JASA 84(406), 414-420.
    .. [3] Domingo-Ferrer, Torra (2003), Disclosure risk assessment in statistical microdata protection via advanced record
       linkage, Statistics and Computing 13(4), 343-354.

    Examples
    --------
    >>> import numpy as np
    >>> town, age = np.array([0, 0, 1, 1]), np.array([0, 1, 2, 2])
    >>> probabilistic_linkage([town, age], [town, age], truth=[0, 1, 2, 3])
    ProbabilisticLinkage(0.7500 linked (0.1941 to 0.9937), chance 0.2500, 4 records)
    """
    _check_options(false_matches, false_nonmatches, iterations, tolerance)
    cells = RecordCells.of(*codes_of_both(original_codes, release_codes))
    originals, releases = len(cells.of_original), len(cells.of_release)
    true, whose = checked_truth(truth, originals=originals, records=releases), checked_persons(persons, originals)
    counts = cells.pattern_counts()
    fixed = None if true_pairs is None else share_of(true_pairs, originals * releases)
    model = fitted(counts, most=1.0 / originals, fixed=fixed, iterations=iterations, tolerance=tolerance)
    known = np.flatnonzero(true >= 0)
    agreed = cells.agreements(true[known], known)
    linked = float(links(cells, model, known, agreed).sum())
    rule = decided(model, false_matches / max(originals - 1, 1), false_nonmatches)
    made = {
        "false_matches": false_matches,
        "false_nonmatches": false_nonmatches,
        "iterations": iterations,
        "tolerance": tolerance,
        "true_pairs": true_pairs,
        "missing": "a missing value agrees with nothing",
        "version": __version__,
    }
    guided = float(links(cells, informed(counts, agreed), known, agreed).sum())
    by_person = None if whose is None else _person_rates(cells, model, Targets.of(true, whose))
    return _answer(cells, model, _Decisions.of(counts, rule, agreed), linked, guided, made, by_person)


def _answer(
    cells: RecordCells,
    model: Fit,
    decisions: _Decisions,
    linked: float,
    guided: float,
    made: Mapping[str, Any],
    by_person: PersonRates | None,
) -> ProbabilisticLinkage:
    """Return the answer, given the share that the attack links, and that of an intruder who knows the weights."""
    originals, releases = len(cells.of_original), len(cells.of_release)
    return ProbabilisticLinkage(
        linked=linked / releases,
        baseline=decisions.true_pairs / releases / originals,
        interval=share_bounds(linked, releases),
        informed=guided / releases,
        originals=originals,
        releases=releases,
        true_pairs=decisions.true_pairs,
        matched=decisions.matched,
        clerical=decisions.clerical,
        unmatched=decisions.unmatched,
        precision=decisions.precision,
        recall=decisions.recall,
        upper=decisions.rule.upper,
        lower=decisions.rule.lower,
        m=tuple(model.m.tolist()),
        u=tuple(model.u.tolist()),
        agreement=tuple(model.agreement().tolist()),
        disagreement=tuple(model.disagreement().tolist()),
        share_of_matches=model.share,
        converged=model.converged,
        iterations=model.iterations,
        log_likelihood=model.log_likelihood,
        made=made,
        by_person=by_person,
    )


@dataclass(frozen=True, slots=True)
class _Decisions:
    """The decisions of the rule about all pairs, and how many are right."""

    rule: LinkageRule
    true_pairs: int
    matched: int
    clerical: int
    unmatched: int
    precision: float | None
    recall: float | None

    @classmethod
    def of(cls, counts: NDArray[np.int64], rule: LinkageRule, agreed: NDArray[np.bool_]) -> _Decisions:
        """Decide about every agreement pattern, given the number of pairs of each and the patterns of the true pairs."""
        matched, unmatched = int(counts[rule.matched].sum()), int(counts[rule.unmatched].sum())
        matches = int(np.count_nonzero(rule.matched[patterns_of(agreed)]))
        return cls(
            rule=rule,
            true_pairs=len(agreed),
            matched=matched,
            clerical=int(counts.sum()) - matched - unmatched,
            unmatched=unmatched,
            precision=matches / matched if matched else None,
            recall=matches / len(agreed) if len(agreed) else None,
        )


def _person_rates(cells: RecordCells, model: Fit, targets: Targets) -> PersonRates:
    """Return the rate of linked persons, each linked by the best of their records."""
    chances = links(cells, model, targets.row, cells.agreements(targets.original, targets.row))
    return targets.rates(summed(targets.row, chances, len(cells.of_release)))


def _check_options(false_matches: float, false_nonmatches: float, iterations: int, tolerance: float) -> None:
    checked_number("false_matches", false_matches, least=0.0)
    checked_share("false_nonmatches", false_nonmatches)
    checked_count("iterations", iterations, least=1)
    checked_number("tolerance", tolerance, above=0.0)
