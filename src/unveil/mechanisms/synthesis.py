"""What would records of nobody look like? Synthetic data, attribute by attribute from trees, or from noisy marginals."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.arguments import checked_arguments, checked_count, checked_size, checked_word
from unveil.attributes import Names
from unveil.errors import ArgumentError, MissingExtraError, shown
from unveil.mechanisms.coincidence import equal_to_others
from unveil.mechanisms.columns import Chosen, choose
from unveil.mechanisms.protected import Protected, release_of
from unveil.randomness import chance_of
from unveil.sources.coding import Coded, encode, require_countable

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from unveil.sources.frames import Data

__all__ = ["synthesize"]

_MOST_NAMES = 1_000
"""A tree that tells more names apart than this takes too much memory, and such names identify."""
_UNBOUNDED = "Without differential privacy nothing bounds what synthetic records tell of the original ones: measure the release."


@checked_arguments
def synthesize(  # noqa: PLR0913 - two methods, each with its own settings
    data: Data,
    attributes: Names,
    *,
    method: str = "trees",
    records: int | None = None,
    leaf: int = 5,
    epsilon: float | None = None,
    domains: Mapping[str, Sequence[Any]] | None = None,
    person: str | None = None,
    contribution: int = 1,
    holdout: Data | None = None,
    nulls: str = "error",
    seed: int | None = None,
    key_file: str | os.PathLike[str] | None = None,
    testing: bool = False,
) -> Protected:
    r"""Make new records with the relations of the original ones.

    .. math:: \hat p(x_1) \, \hat p(x_2 \mid x_1) \cdots \hat p(x_d \mid x_1, \ldots, x_{d-1})

    With trees, the first attribute is drawn from its own values; for every further one a tree is grown on the original records
    that predicts it from the attributes before, and a synthetic record takes the value of a random original record of the leaf
    that it falls into. With marginals, records are drawn from a tree of noisy two-way tables (`dp_synthesize`).

    Parameters
    ----------
    data
        The original records.
    attributes
        The columns to synthesise, in the order of drawing; the release has no others.
    method
        "trees", or "marginals" with differential privacy.
    records
        How many to make; none: as many as there are (with marginals: as the noisy tables say there are).
    leaf
        Trees: the fewest original records in a leaf.
    epsilon, domains
        Marginals: the budget, and all values that each attribute may have.
    person, contribution
        Marginals: whose record it is, and the most records of one person that count, as for `dp_synthesize`.
    holdout
        Records of the same population that are not among `data`, best as many: how many synthetic records equal a record (and a
        unique record) of these is what chance does, and stands beside the shares of the original.
    nulls
        "keep": a null is a value like others. "skip": a record with a null is left out. "error": refuse.
    seed, key_file
        For tests, and for whoever must be able to repeat the release: see `unveil.randomness`. Neither: nobody can repeat it. The
        noise of marginals cannot be repeated; marginals refuse a key file, and a seed unless `testing`.
    testing
        Marginals: whether this is a test, so that the draws may be repeated.

    Returns
    -------
    Protected
        `figures["equal_share"]` is the share of synthetic records that equal an original one in all attributes,
        `figures["equal_to_unique_share"]` that of those which equal an original that is unique.

    References
    ----------
    J. Reiter (2005), Using CART to generate partially synthetic public use microdata, Journal of Official Statistics 21(3),
    441-462.
    B. Nowok, G. Raab, C. Dibben (2016), synthpop: bespoke creation of synthetic data in R, Journal of Statistical Software
    74(11).

    Examples
    --------
    >>> from unveil import mechanisms
    >>> made = mechanisms.synthesize("adult", ["sex", "relationship", "age"], records=1000, seed=1)
    >>> made.data.shape
    (1000, 3)
    >>> 0.9 < made.figures["equal_share"] <= 1.0
    True
    """
    checked_word("method", method, ("trees", "marginals"))
    private = {"epsilon": epsilon, "domains": domains}
    if method == "marginals":
        if lacking := [name for name, given in private.items() if given is None]:
            raise ArgumentError(f"synthesis from marginals needs {' and '.join(lacking)}.")
        if key_file is not None:
            raise ArgumentError("synthesis from marginals takes no key file: its draws must be ones that nobody can repeat.")
        from unveil.mechanisms.differential_privacy.microdata import dp_synthesize

        return dp_synthesize(
            data,
            attributes,
            domains=domains or {},
            epsilon=epsilon or 0.0,
            records=records,
            person=person,
            contribution=contribution,
            holdout=holdout,
            nulls=nulls,
            seed=seed,
            testing=testing,
        )
    if extra := [name for name, given in {**private, "person": person}.items() if given is not None]:
        raise ArgumentError(f"{' and '.join(extra)} is for synthesis from marginals; trees have no differential privacy.")
    chance, fewest = chance_of(seed, key_file), checked_count("leaf", leaf, least=1)
    chosen = choose(data, attributes, nulls)
    wanted = chosen.records.records if records is None else checked_size("records", records)
    settings = {"method": method, "records": wanted, "leaf": fewest, "nulls": nulls}
    columns = _columns(chosen, wanted, fewest, chosen.draws(chance, "synthesis", settings))
    release = replace(chosen.records, frame=type(chosen.records.frame)(columns))
    figures, reading = equal_to_others(chosen, release, holdout)
    notes, origin = (reading, _UNBOUNDED), np.full(wanted, -1)
    made = Protected("synthesis", release, chosen.names, settings, figures, origin, notes, left_out=chosen.others)
    return release_of(made, chance, keep_order=True)  # no record has a place of its own


def _columns(chosen: Chosen, wanted: int, leaf: int, random: np.random.Generator) -> dict[str, Any]:
    """Draw the columns, each given those before; what is drawn are rows of the original, whose value is taken."""
    coded = [_coded(chosen, name) for name in chosen.names]
    known = np.column_stack([column.codes.astype(np.float32) for column in coded])
    made = np.empty((wanted, len(coded)), dtype=np.float32)
    columns = {}
    for at, column in enumerate(coded):
        if at:
            rows = _donors(known[:, :at], column.codes, made[:, :at], _is_ordered(chosen.column(column.name)), leaf, random)
        else:
            rows = random.integers(0, len(known), wanted)
        made[:, at] = known[rows, at]
        columns[column.name] = chosen.column(column.name).gather(rows.astype(np.uint32))
    return columns


def _coded(chosen: Chosen, name: str) -> Coded:
    require_countable(name, chosen.column(name))
    coded = replace(encode(chosen.column(name)), name=name)
    if not _is_ordered(chosen.column(name)) and len(coded.values) > _MOST_NAMES:
        raise ArgumentError(
            f"column {shown(name)} has {len(coded.values):,} names; trees tell up to {_MOST_NAMES:,} apart: group it."
        )
    return coded


def _is_ordered(column: Any) -> bool:
    return bool(column.dtype.is_numeric() or column.dtype.is_temporal())


def _donors(
    known: NDArray[np.float32],
    target: NDArray[Any],
    made: NDArray[np.float32],
    ordered: bool,  # noqa: FBT001
    leaf: int,
    random: np.random.Generator,
) -> NDArray[np.int64]:
    """Return for each synthetic record a random original record of the leaf that it falls into."""
    tree = _grown(known, target, ordered=ordered, leaf=leaf, seed=int(random.integers(1 << 31)))
    leaf_of = tree.apply(known)
    order = np.argsort(leaf_of, kind="stable")
    size = np.bincount(leaf_of)
    start = np.cumsum(size) - size
    falls = tree.apply(made)
    place = np.minimum((random.random(len(made)) * size[falls]).astype(np.int64), size[falls] - 1)
    return np.asarray(order[start[falls] + place], dtype=np.int64)


def _grown(known: NDArray[np.float32], target: NDArray[Any], *, ordered: bool, leaf: int, seed: int) -> Any:
    """Grow a tree on codes: those of names are told apart, those of numbers and dates predicted by their rank."""
    try:
        from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
    except ImportError:
        raise MissingExtraError.needed("synthesis by trees", extra="tasks") from None
    kind = DecisionTreeRegressor if ordered else DecisionTreeClassifier
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The number of unique classes")  # names may be many
        return kind(min_samples_leaf=min(leaf, len(known)), random_state=seed).fit(known, target.astype(np.float64))
