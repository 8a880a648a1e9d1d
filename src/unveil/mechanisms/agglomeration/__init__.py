"""How are those at risk hidden with the fewest changes? MASSC: micro agglomeration, substitution, subsampling, calibration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.arguments import checked_arguments, checked_share
from unveil.attributes import Names, names_of
from unveil.errors import ArgumentError, EmptyDataError, shown
from unveil.formats import counted, number
from unveil.mechanisms.agglomeration.calibration import raked
from unveil.mechanisms.agglomeration.strata import Agglomerated, agglomerate, donors, least_change
from unveil.mechanisms.arguments import other_side
from unveil.mechanisms.columns import choose, numbers
from unveil.mechanisms.door import heeds_study
from unveil.mechanisms.treatment import Treatment, untraceable
from unveil.randomness import chance_of
from unveil.releases import Release
from unveil.run import active_run
from unveil.sources import encode, require_countable
from unveil.study import require_values

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from unveil.sources import Data, Microdata

__all__ = ["massc"]

_WEIGHT = "weight"
_CALIBRATED = 1e-6


@heeds_study
@checked_arguments
def massc(  # noqa: PLR0913 - what it does, and who can repeat it
    data: Data,
    key: Names | None = None,
    *,
    risk: float,
    substitution: tuple[float, float] = (0.05, 0.5),
    sampling: tuple[float, float] = (0.5, 0.95),
    calibrate: Names | None = None,
    weights: str | None = None,
    nulls: str = "error",
    keep_order: bool = False,
    seed: int | None = None,
    key_file: str | os.PathLike[str] | None = None,
) -> Release[Treatment]:
    r"""Hide unique records by substitution and subsampling, down to a stated risk, and calibrate the weights.

    1. Micro agglomeration: records are sorted into strata by the number of first key attributes that makes them unique.
    2. Substitution: with a probability :math:`\psi_h`, a record takes the key of a record with another key that agrees with it
       in as many first attributes as possible.
    3. Subsampling: a record stays with a probability :math:`\phi_h`.
    4. Calibration: weights are raked to the totals of the original.

    The risk is the expected share of records that an intruder identifies because they are unique by the key and remain
    unchanged, averaged over intruders who know the first 1, 2, ..., d attributes. A record that is unique by i of them is
    unique to a share :math:`v_h = (d - i + 1) / d` of these intruders:

    .. math:: R = \frac{1}{N} \sum_h N_h \, v_h \, \phi_h (1 - \psi_h)

    The rates are the lowest that bring R down to `risk`: substitution first, then subsampling, each by a linear program.

    Parameters
    ----------
    data
        The records.
    key
        The key attributes, in the order in which an intruder is likely to know them; none: those of the study or project, as
        they are named there.
    risk
        The highest risk allowed, R.
    substitution
        The lowest and the highest probability of substitution; the lowest is above 0 so that no key can be trusted.
    sampling
        The lowest and the highest probability that a record stays.
    calibrate
        The attributes whose weighted counts are calibrated to those of the original; none: the key.
    weights
        A column of positive sampling weights; none: that of a study, else every record counts as one, and the release has a new
        column `weight`.
    nulls
        "keep": a null is a value like any other. "drop": a record with a null in the key is left out. "error": refuse.
    keep_order
        Whether records stay in their order; else they are shuffled, so that their places say nothing.
    seed, key_file
        A seed for tests, a key file for those who must be able to repeat the release (see `unveil.randomness`); without either
        nobody can.

    Returns
    -------
    Release
        `figures` has the risk before, the analytic risk after (`risk`), the risk of this draw (`risk_of_this_draw`), the rates
        of each stratum and the difference that calibration left.

    References
    ----------
    A. Singh, F. Yu, G. Dunteman (2003), MASSC: a new data mask for limiting statistical information loss and disclosure, Joint
    UN-ECE/EUROSTAT Work Session on Statistical Data Confidentiality.

    Examples
    --------
    >>> from unveil import mechanisms
    >>> made = mechanisms.massc("adult", ["age", "education", "race", "native-country"], risk=0.01, seed=1)
    >>> round(made.figures["risk_before"], 4), round(made.figures["risk"], 4)
    (0.0258, 0.01)
    """
    allowed, chance = checked_share("risk", risk), chance_of(seed, key_file)
    low, high = _range("substitution", substitution)
    least, most = _range("sampling", sampling)
    require_values(data, names_of(key))
    chosen = choose(data, key or (), nulls)
    records, names = chosen.records, chosen.names
    targets = names if calibrate is None else names_of(calibrate)
    base, weight_name = _base_weights(records, weights, (*names, *targets))
    strata = _agglomerated(records, names)
    psi, phi, reached = _rates(strata, allowed, (low, high), (least, most))
    settings = {"risk": allowed, "substitution": [low, high], "sampling": [least, most], "calibrate": list(targets)}
    settings = {**settings, "weights": weights, "nulls": nulls}
    random = chosen.draws(chance, "massc", settings)
    taken, changed = _substituted(strata, psi, random)
    kept = np.flatnonzero(random.random(records.records) < phi[strata.stratum])
    if not len(kept):
        raise EmptyDataError(f"no record of {records.records:,} is left after subsampling; sample more.")
    columns = {name: records.column(name).gather(taken) for name in names}
    release = records.replaced(columns).taken(kept)
    rows = {name: taken[kept] if name in names else kept for name in targets}
    with active_run().stage("calibration"):
        calibrated, gap, lost = _calibrated(records, rows, base, (base / phi[strata.stratum])[kept])
    figures = {
        "risk_before": float(strata.records @ strata.weight) / records.records,
        "risk": reached,
        "risk_of_this_draw": float(strata.weight[strata.stratum[kept[~changed[kept]]]].sum()) / records.records,
        "substituted": int(changed[kept].sum()),
        "left_out": records.records - len(kept),
        "calibration_gap": gap,
        "lost_values": lost,
        **_by_stratum(names, strata, psi, phi),
    }
    release = release.replaced({weight_name: calibrated}).naming(weight_name)
    notes = _notes(gap, lost)
    massc_release = Release(release, Treatment("massc", names, figures), chosen.rows[kept], settings, notes)
    return untraceable(massc_release, chance, keep_order=keep_order)


def _range(name: str, bounds: Any) -> tuple[float, float]:
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:  # noqa: PLR2004
        raise ArgumentError(f"{name} takes two numbers: the least and the highest probability.")
    low, high = (checked_share(name, bound) for bound in bounds)
    if low > high or (name == "sampling" and low == 0.0):
        raise ArgumentError(
            f"{name} goes from {low:g} to {high:g}; the least comes first, and the probability of staying is above 0."
        )
    return low, high


def _agglomerated(records: Microdata, names: tuple[str, ...]) -> Agglomerated:
    for name in names:
        require_countable(name, records.column(name))
    coded = [encode(records.column(name)) for name in names]
    strata = agglomerate([column.codes for column in coded], [len(column.values) for column in coded])
    if not strata.classes[-1].any():
        raise ArgumentError("all records have the same key; there is nothing to substitute.")
    return strata


def _base_weights(records: Microdata, weights: str | None, others: tuple[str, ...]) -> tuple[NDArray[np.float64], str]:
    """Return the weight of each record, and the name of the release's column for them."""
    if weights is None:
        if _WEIGHT in records.names:
            raise ArgumentError(f"the data has a column {shown(_WEIGHT)}; name it as weights, or rename it.")
        return np.ones(records.records), _WEIGHT
    other_side(others, (weights,), "weights")
    values = numbers(records.column(weights), "calibration")
    if not np.all(values > 0.0):
        raise ArgumentError(
            f"{int(np.sum(~(values > 0.0))):,} of the weights in column {shown(weights)} are not positive numbers."
        )
    return values, weights


def _substituted(
    strata: Agglomerated, psi: NDArray[np.float64], random: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return, for each record, the row whose key it gets, and which records get another record's key."""
    changed = random.random(len(strata.stratum)) < psi[strata.stratum]
    rows = np.flatnonzero(changed)
    taken = np.arange(len(changed))
    taken[rows] = donors(strata, rows, random)
    return taken, changed


def _calibrated(
    records: Microdata, rows: dict[str, NDArray[np.int64]], base: NDArray[np.float64], start: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float, int]:
    """Rake the weights to the original's totals; `rows` gives, for each attribute, the row whose value a record has."""
    codes, totals = [], []
    for name, taken in rows.items():
        coded = encode(records.column(name))
        codes.append(coded.codes.astype(np.int64)[taken])
        totals.append(np.bincount(coded.codes, base, len(coded.values)).astype(np.float64))
    weights, gap = raked(start, codes, totals)
    lost = sum(len(total) - len(np.unique(column)) for column, total in zip(codes, totals, strict=True))
    return weights, gap, lost


def _notes(gap: float, lost: int) -> tuple[str, ...]:
    gone = (f"{counted(lost, 'value')} of the calibration attributes left the release; the others carry their weight.",)
    missed = (f"Raking did not converge: weighted counts miss the original's by up to {gap:.2%}.",)
    return (*(gone if lost else ()), *(missed if gap > _CALIBRATED else ()))


def _rates(
    strata: Agglomerated, allowed: float, substitution: tuple[float, float], sampling: tuple[float, float]
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Return the rates of substitution and sampling of each stratum, and the resulting risk."""
    records = int(strata.records.sum())
    least, most = sampling
    psi = least_change(strata.records, strata.weight * most, *substitution, allowed * records)
    phi = 1.0 - least_change(strata.records, strata.weight * (1.0 - psi), 1.0 - most, 1.0 - least, allowed * records)
    reached = float(strata.records @ (strata.weight * phi * (1.0 - psi))) / records
    if reached > allowed * (1.0 + 1e-9) + 1e-15:
        raise ArgumentError(
            f"with these rates the risk can be lowered only to {number(reached)}; allow a higher risk, or wider rates."
        )
    return psi, phi, reached


def _by_stratum(
    names: tuple[str, ...], strata: Agglomerated, psi: NDArray[np.float64], phi: NDArray[np.float64]
) -> dict[str, dict[str, Any]]:
    labels = ["not unique", *(f"unique by {' + '.join(names[: at + 1])}" for at in range(len(names)))]
    amounts = {"records_by_stratum": strata.records, "substitution_by_stratum": psi, "sampling_by_stratum": phi}
    return {what: dict(zip(labels, some.tolist(), strict=True)) for what, some in amounts.items()}
