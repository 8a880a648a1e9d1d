"""What if nobody knows who is in the file? Sampling: simple, systematic, or stratified."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.arguments import checked_arguments, checked_count, checked_number, checked_word
from unveil.attributes import Names, names_of
from unveil.errors import ArgumentError
from unveil.mechanisms.columns import Chosen
from unveil.mechanisms.door import heeds_study
from unveil.mechanisms.swapping import strata_of
from unveil.mechanisms.treatment import Treatment, untraceable
from unveil.randomness import chance_of
from unveil.releases import Release
from unveil.sources import open_microdata

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from unveil.sources import Data

__all__ = ["sample"]

_METHODS = ("simple", "systematic", "stratified")


@heeds_study
@checked_arguments
def sample(
    data: Data,
    *,
    share: float | None = None,
    size: int | None = None,
    method: str = "simple",
    strata: Names | None = None,
    keep_order: bool = False,
    seed: int | None = None,
    key_file: str | os.PathLike[str] | None = None,
) -> Release[Treatment]:
    """Keep a part of the records, drawn without replacement.

    Every record has the same chance of being kept, so means, shares and relations are those of the data within sampling error.

    Parameters
    ----------
    data
        A path, a built-in data set or a data frame. Never changed.
    share, size
        The share of records to keep, above 0 and at most 1, or their number; one of the two.
    method
        ``"simple"``: any records. ``"systematic"``: from a random start, at even steps. ``"stratified"``: from every stratum in
        proportion to its size, rounded by largest remainders, so at most one record off.
    strata
        For ``"stratified"``: the columns whose combinations of values are the strata; a null is a value of its own.
    keep_order
        Whether records stay in their order; else they are shuffled, so that their places say nothing.
    seed, key_file
        A seed for tests, a key file for those who must be able to repeat the release (see `unveil.randomness`); without either
        nobody can.

    Returns
    -------
    Release
        With the figures `share`, `weight` (the number of records of the data that one record of the sample represents), and for
        strata their number and the number without a record in the sample.

    References
    ----------
    .. [1] Cochran (1977), Sampling techniques, third edition, Wiley.

    Examples
    --------
    >>> from unveil import mechanisms
    >>> release = mechanisms.sample("adult", share=0.05, method="stratified", strata="sex", seed=1)
    >>> release.records.records, release.figures["strata"]
    (1508, 2)
    """
    checked_word("method", method, _METHODS)
    chance, records, by = chance_of(seed, key_file), open_microdata(data), names_of(strata)
    if (method == "stratified") != bool(by):
        raise ArgumentError("strata and method 'stratified' go together; give both or neither.")
    wanted = _wanted(share, size, records.records)
    chosen = Chosen(records, by, np.arange(records.records), 0)
    settings = {"share": share, "size": size, "method": method, "strata": list(by)}
    random = chosen.draws(chance, "sampling", settings)
    figures: dict[str, Any] = {"share": wanted / records.records, "weight": records.records / wanted}
    if method == "simple":
        rows = random.choice(records.records, wanted, replace=False, shuffle=False)
    elif method == "systematic":
        step = records.records / wanted
        rows = np.minimum(((np.arange(wanted) + random.random()) * step).astype(np.int64), records.records - 1)
    else:
        stratum, number = strata_of(chosen, by)
        rows = _stratified(stratum, number, wanted, random)
        figures |= {"strata": number, "strata_without_a_record": number - len(np.unique(stratum[rows]))}
    rows = np.sort(rows)
    release = Release(records.taken(rows), Treatment("sampling", (), figures), rows, settings)
    return untraceable(release, chance, keep_order=keep_order)


def _wanted(share: float | None, size: int | None, records: int) -> int:
    """Return the number of records to keep."""
    if (share is None) == (size is None):
        raise ArgumentError("give the share of records to keep or their number (size), and not both.")
    if size is not None:
        return checked_count("size", size, least=1, most=records, of="records")
    number = round(checked_number("share", share, above=0.0, most=1.0) * records)
    if not number:
        raise ArgumentError(f"a share of {share} of {records:,} records leaves no record; use a larger share.")
    return number


def _stratified(stratum: NDArray[np.int64], number: int, wanted: int, random: np.random.Generator) -> NDArray[np.int64]:
    """Return rows from every stratum: its share, and one more where the remainders are largest, ties broken at random."""
    size = np.bincount(stratum, minlength=number)
    quota = size * (wanted / len(stratum))
    take = np.minimum(np.floor(quota).astype(np.int64), size)
    more = np.lexsort((random.random(number), take - quota))[: wanted - int(take.sum())]
    take[more] += 1
    mixed = random.permutation(len(stratum))
    mixed = mixed[np.argsort(stratum[mixed], kind="stable")]
    place = np.arange(len(stratum)) - (np.cumsum(size) - size)[stratum[mixed]]
    return np.asarray(mixed[place < take[stratum[mixed]]])
