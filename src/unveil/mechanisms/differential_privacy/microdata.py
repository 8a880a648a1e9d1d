"""Which records would have given these noisy tables? Synthetic microdata from noisy marginals, chosen for a workload."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.arguments import checked_arguments, checked_size
from unveil.attributes import Names, names_of
from unveil.errors import ArgumentError, shown
from unveil.mechanisms.coincidence import equal_to_others
from unveil.mechanisms.columns import choose
from unveil.mechanisms.differential_privacy.accounting import PrivacyLoss, concentration
from unveil.mechanisms.differential_privacy.answers import answer_notes
from unveil.mechanisms.differential_privacy.budget import Budget, Spent, concentrated
from unveil.mechanisms.differential_privacy.ledger import Account, charged
from unveil.mechanisms.differential_privacy.marginals import Placed
from unveil.mechanisms.differential_privacy.protected_unit import Unit, chance_of_test, notes_of_test
from unveil.mechanisms.differential_privacy.selection import NoisyTable, NoisyTables, select
from unveil.mechanisms.door import heeds_study
from unveil.mechanisms.treatment import Treatment, made_anew
from unveil.releases import Release
from unveil.run import active_run
from unveil.sources import column_of_objects

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.sources import Data

__all__ = ["dp_synthesize"]

_ON_VALUES = 1.0 / 3.0
"""The share of the budget for the one-way tables."""
_RARE = 1.5
"""Values with fewer records than this many standard deviations of the noise are merged in further tables."""
_DELTA = 1e-9
_MOST_VALUES = 1_000_000
"""Adding noise to more values than this takes too long."""


@heeds_study
@checked_arguments
def dp_synthesize(  # noqa: PLR0913 - what to make, and whom to protect
    data: Data,
    attributes: Names,
    *,
    domains: Mapping[str, Sequence[Any]],
    epsilon: float,
    delta: float = _DELTA,
    workload: Sequence[Names] | None = None,
    records: int | None = None,
    person: str | None = None,
    contribution: int = 1,
    holdout: Data | None = None,
    nulls: str = "error",
    seed: int | None = None,
    testing: bool = False,
    ledger: Account | None = None,
) -> Release[Treatment]:
    r"""Make synthetic records from noisy marginals, with (epsilon, delta)-differential privacy.

    The budget becomes a rho of zero-concentrated differential privacy. A third is spent on the one-way tables; values that are
    hidden by noise are merged from then on. The rest is spent on two-way tables of the workload, chosen one by one: the one
    that the current distribution gets most wrong, after subtracting the error that noise will add. Records are drawn from the
    distribution of the greatest entropy that agrees with all tables.

    Parameters
    ----------
    data
        The original records.
    attributes
        The columns to synthesise; the release has no others.
    domains
        All values that each attribute may have, known without looking at the data; None among them stands for a null.
    epsilon, delta
        The loss of privacy, and the probability that it is larger, which should be well below one over the number of records.
    workload
        Sets of attributes that users will study together: only tables of two attributes of one set are measured, and a pair in
        several sets counts once for each. None: all pairs equally.
    records
        The number of records to make; none: as many as the noisy tables suggest.
    person
        The column of persons, who own the records: at most `contribution` records of each person count, chosen at random, and
        the guarantee is per person. None: the persons of a study or project; without any, the guarantee is per record.
    contribution
        The largest number of records of one person that count.
    holdout
        Records of the same population that are not among `data`, for comparing the shares of equal records.
    nulls
        "keep": nulls count if None is declared. "drop": a record with a null is left out. "error": refuse.
    seed, testing
        For tests: the seed of the draws from the noisy tables, which is refused unless `testing` says that this is a test. The
        noise itself cannot be seeded: two calls give two releases.
    ledger
        As for `dp_count`; the loss is rho.

    Returns
    -------
    Release
        `figures` has the rho that was spent, part by part, and the pairs whose tables were measured. `not_private` holds the
        shares of records equal to an original one, which are counted in the data without noise.

    References
    ----------
    R. McKenna, B. Mullins, D. Sheldon, G. Miklau (2022), AIM: an adaptive and iterative mechanism for differentially private
    synthetic data, Proceedings of the VLDB Endowment 15(11), 2599-2612.
    R. McKenna, G. Miklau, D. Sheldon (2021), Winning the NIST contest: a scalable and general approach to differentially private
    synthetic data, Journal of Privacy and Confidentiality 11(3).
    """
    budget, unit = Budget.requested("gaussian", epsilon, delta), Unit.requested(data, person, contribution)
    chance = chance_of_test(seed, testing=testing)
    chosen, most = choose(data, attributes, nulls), unit.contribution
    weights = _weights(workload, chosen.names)
    placed = Placed.of(unit.cut(chosen, chance).records, chosen.names, domains)
    _require_room(placed)
    rho = concentration(budget.epsilon, budget.delta)
    first = rho * _ON_VALUES if weights else rho
    wanted = None if records is None else checked_size("records", records)
    remarks = charged(ledger, "dp_synthesize", [PrivacyLoss("concentrated", rho)], unit)
    values = [
        _Values.measured(placed, name, first / len(chosen.names), most) for name in active_run().each("values", chosen.names)
    ]
    tables = _one_way(values)
    spent = [one.spent for one in values] + select(tables, lambda pair: _counts(values, pair), weights, rho - first, most)
    wanted = wanted or max(1, round(tables.total))
    with active_run().stage("records"):
        drawn = tables.tree.draw(wanted, random := chance.draws("dp_synthesis"))
        columns = {one.name: one.column(drawn[:, at], random) for at, one in enumerate(values)}
    release = replace(chosen.records, frame=type(chosen.records.frame)(columns))
    settings = {"epsilon": budget.epsilon, "delta": budget.delta, "records": wanted, **unit.settings, "nulls": nulls}
    pairs = [[chosen.names[one], chosen.names[other]] for one, other in weights if (one, other) in tables.tables]
    account = {"rho": math.fsum(part.rho for part in spent), "pairs": pairs, "spent": [part.to_dict() for part in spent]}
    figures = {"epsilon": budget.epsilon, "delta": budget.delta, **account}
    equal, reading = equal_to_others(chosen, release, holdout)
    notes = (*answer_notes(unit), reading, *remarks, *notes_of_test(chance))
    treatment = Treatment("dp_synthesis", chosen.names, figures, not_private=equal)
    return Release(release, treatment, np.full(wanted, -1), settings, notes, chance.repeatable, made_anew(chosen.others))


@dataclass(frozen=True, slots=True, eq=False)
class _Values:
    """The values of an attribute, with the rare ones merged.

    Attributes
    ----------
    name, domain
        The attribute, and its declared values.
    counts, spent
        Their noisy counts, and the budget spent on them.
    group
        For each value, its group: itself, or all rare values.
    at
        For each record, the group of its value; -1 for a value that was not declared.
    """

    name: str
    domain: tuple[Any, ...]
    counts: NDArray[np.float64]
    spent: Spent
    group: NDArray[np.int64]
    at: NDArray[np.int64]

    @classmethod
    def measured(cls, placed: Placed, name: str, rho: float, most: int) -> _Values:
        """Count the values with noise, and find out which are rare."""
        noisy, scale = concentrated(placed.table((name,)).tolist(), rho, most)
        counts = np.array(noisy, dtype=np.float64)
        common = counts >= _RARE * scale
        group = np.where(common, np.cumsum(common) - 1, common.sum())
        at = placed.at[name]
        spent = Spent(f"values of {name}", "discrete gaussian", float(most), scale, rho=rho)
        return cls(name, placed.domains[name], counts, spent, group, np.where(at >= 0, group[at], -1))

    @property
    def grouped(self) -> NDArray[np.float64]:
        """The noisy counts of the groups."""
        return np.asarray(np.bincount(self.group, weights=self.counts), dtype=np.float64)

    def column(self, groups: NDArray[np.int64], random: np.random.Generator) -> Any:
        """Return the values of records whose groups were drawn; rare values in proportion to their counts."""
        order = np.argsort(self.group, kind="stable")
        codes = order[np.searchsorted(self.group[order], groups)]
        last = np.flatnonzero(self.group == self.group.max())
        if len(last) > 1:
            rows, shares = np.flatnonzero(groups == self.group.max()), np.maximum(self.counts[last], 0.0)
            even = np.full(len(last), 1.0 / len(last))
            codes[rows] = random.choice(last, size=len(rows), p=shares / shares.sum() if shares.any() else even)
        return (
            column_of_objects("values", self.domain).gather(codes.astype(np.uint32)).alias(self.name)
        )  # a name may be a pattern


def _require_room(placed: Placed) -> None:
    """Refuse an attribute with too many values."""
    for name, domain in placed.domains.items():
        if len(domain) > _MOST_VALUES:
            raise ArgumentError(
                f"{shown(name)} has {len(domain):,} declared values; at most {_MOST_VALUES:,} are possible: group them."
            )


def _one_way(values: Sequence[_Values]) -> NoisyTables:
    """Return the one-way tables of groups of values, and the number of records that all of them together suggest."""
    sums = [one.counts.sum() for one in values]
    total = np.average(sums, weights=[1.0 / len(one.counts) for one in values])
    tables: dict[tuple[int, ...], NoisyTable] = {(at,): NoisyTable(one.grouped, one.spent.scale) for at, one in enumerate(values)}
    return NoisyTables(tuple(len(one.grouped) for one in values), max(float(total), 1.0), tables)


def _counts(values: Sequence[_Values], pair: tuple[int, ...]) -> NDArray[np.int64]:
    """Return the counts of a pair, without noise; a record with a value that was not declared is not counted."""
    one, other = (values[at] for at in pair)
    shape = (len(one.grouped), len(other.grouped))
    inside = (one.at >= 0) & (other.at >= 0)
    cells = one.at[inside] * shape[1] + other.at[inside]
    return np.bincount(cells, minlength=math.prod(shape)).reshape(shape)


def _weights(workload: Sequence[Names] | None, names: tuple[str, ...]) -> dict[tuple[int, ...], float]:
    """Return the pairs of attributes that users will study together, and how many sets contain each."""
    sets = [names] if workload is None else [tuple(dict.fromkeys(names_of(one))) for one in workload]
    for unknown in (name for one in sets for name in one if name not in names):
        raise ArgumentError(f"the workload names {shown(unknown)}, which is not among the attributes to synthesise.")
    pairs = [pair for one in sets for pair in combinations(sorted(map(names.index, one)), 2)]
    return {pair: float(pairs.count(pair)) for pair in dict.fromkeys(pairs)}
