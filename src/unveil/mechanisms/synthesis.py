"""What would records of people who do not exist look like? Synthetic data, from trees or from noisy marginals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.arguments import checked_arguments, checked_count, checked_size, checked_word
from unveil.attributes import Names
from unveil.errors import ArgumentError, shown
from unveil.mechanisms.coincidence import equal_to_others
from unveil.mechanisms.columns import Chosen, choose
from unveil.mechanisms.copying import by_chance, drawn_without_copies
from unveil.mechanisms.door import heeds_study
from unveil.mechanisms.sequential_trees import LearntAttribute, SequentialTrees
from unveil.mechanisms.smoothing import is_smoothed, taken, taken_smoothed
from unveil.mechanisms.treatment import Treatment, made_anew, untraceable
from unveil.randomness import chance_of
from unveil.releases import Release
from unveil.sources import Coded, encode, require_countable

if TYPE_CHECKING:
    import os

    from unveil.sources import Data

__all__ = ["synthesize"]

_MOST_NAMES = 1_000
"""A tree that distinguishes more names than this takes too much memory, and such names identify people."""
_LEAST_LEAF = 5
_UNBOUNDED = (
    "Without differential privacy, nothing bounds what synthetic records say about the original ones: measure the release."
)


@heeds_study
@checked_arguments
def synthesize(  # noqa: PLR0913 - two methods, each with its own settings
    data: Data,
    attributes: Names,
    *,
    method: str = "trees",
    records: int | None = None,
    leaf: int | None = None,
    copy_check: bool = True,
    smooth: bool = True,
    epsilon: float | None = None,
    domains: Mapping[str, Sequence[Any]] | None = None,
    person: str | None = None,
    contribution: int = 1,
    holdout: Data | None = None,
    nulls: str = "error",
    seed: int | None = None,
    key_file: str | os.PathLike[str] | None = None,
    testing: bool = False,
) -> Release[Treatment]:
    r"""Make new records with the relations of the original ones.

    .. math:: \hat p(x_1) \, \hat p(x_2 \mid x_1) \cdots \hat p(x_d \mid x_1, \ldots, x_{d-1})

    With trees, the first attribute is drawn from its own values; for every further one, a tree that predicts it from the
    attributes before is grown on the original records, and a synthetic record takes the value of a random original record of
    the leaf that it falls into. With marginals, records are drawn from noisy two-way tables (`dp_synthesize`).

    Parameters
    ----------
    data
        The original records.
    attributes
        The columns to synthesise, in the order of drawing; the release has no others.
    method
        "trees", or "marginals" with differential privacy.
    records
        The number of records to make; none: that of the original (with marginals: as estimated by the noisy tables).
    leaf
        Trees: the smallest number of original records in a leaf; none: half the square root of the number of records, at least
        5.
    copy_check
        Trees: whether records that equal a unique original one are drawn again, until they are no more than chance would
        produce: as many as of records that the trees never saw, as estimated from halves of the original.
    smooth
        Trees: whether a number that only one person has is replaced by one between its neighbours.
    epsilon, domains
        Marginals: the budget, and all values that each attribute may have.
    person, contribution
        Marginals: the column of persons, and the largest number of records of one person that count, as for `dp_synthesize`.
    holdout
        Records of the same population that are not among `data`, ideally as many: the number of synthetic records that equal
        one of these (or a unique one) is due to chance, and is reported beside the shares of the original.
    nulls
        "keep": a null is a value like any other. "drop": a record with a null is left out. "error": refuse.
    seed, key_file
        A seed for tests, a key file for those who must be able to repeat the release (see `unveil.randomness`); without either
        nobody can. The noise of marginals cannot be repeated; marginals refuse a key file, and a seed unless `testing`.
    testing
        Marginals: whether this is a test, so that the draws may be repeated.

    Returns
    -------
    Release
        `figures["equal_share"]` is the share of synthetic records that equal an original one in all attributes,
        `figures["equal_to_unique_share"]` the share that equal a unique original one, and `figures["drawn_again"]` the number
        of records that were drawn again because of that.

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
        if lacking := [name for name, value in private.items() if value is None]:
            raise ArgumentError(f"synthesis from marginals needs {' and '.join(lacking)}.")
        if key_file is not None:
            raise ArgumentError("synthesis from marginals takes no key file: its draws must be ones that nobody can repeat.")
        from unveil.mechanisms.differential_privacy.microdata import dp_synthesize

        return dp_synthesize(
            data, attributes, domains=domains or {}, epsilon=epsilon or 0.0, records=records, person=person,
            contribution=contribution, holdout=holdout, nulls=nulls, seed=seed, testing=testing,
        )  # fmt: skip
    if extra := [name for name, value in {**private, "person": person}.items() if value is not None]:
        raise ArgumentError(f"only synthesis from marginals takes {' and '.join(extra)}; trees have no differential privacy.")
    chance, chosen = chance_of(seed, key_file), choose(data, attributes, nulls)
    usual = max(_LEAST_LEAF, round(math.sqrt(chosen.records.records) / 2))
    fewest = usual if leaf is None else checked_count("leaf", leaf, least=1)
    wanted = chosen.records.records if records is None else checked_size("records", records)
    settings = {"method": method, "records": wanted, "leaf": fewest, "copy_check": copy_check, "smooth": smooth, "nulls": nulls}
    columns, checked, remarks = _drawn(chosen, settings, chosen.draws(chance, "synthesis", settings))
    release = replace(chosen.records, frame=type(chosen.records.frame)(columns))
    figures, reading = equal_to_others(chosen, release, holdout)
    notes, origin = (*remarks, reading, _UNBOUNDED), np.full(wanted, -1)
    treatment = Treatment("synthesis", chosen.names, {**figures, **checked})
    synthetic = Release(release, treatment, origin, settings, notes, left_out=made_anew(chosen.others))
    return untraceable(synthetic, chance, keep_order=True)  # no record has a place of its own


def _drawn(
    chosen: Chosen, settings: Mapping[str, Any], random: np.random.Generator
) -> tuple[dict[str, Any], dict[str, float], tuple[str, ...]]:
    """Draw the columns, each given those before it; a draw is a row of the original, whose value is taken."""
    attributes = [_attribute(chosen, name, smooth=settings["smooth"]) for name in chosen.names]
    leaf, wanted = settings["leaf"], settings["records"]
    trees = SequentialTrees(attributes, leaf, random)
    figures: dict[str, float] = {}
    if settings["copy_check"]:
        share = by_chance(attributes, leaf, random)
        rows, again, left = drawn_without_copies(trees, attributes, wanted, share, random)
        figures = {"drawn_again": again, "copies_left": left}
    else:
        rows = trees.draw(wanted, random)
    columns = {}
    for at, name in enumerate(chosen.names):
        own = chosen.column(name)
        columns[name] = taken_smoothed(own, rows[:, at], random) if settings["smooth"] else taken(own, rows[:, at])
    left = int(figures.get("copies_left", 0))
    return columns, figures, (_copies_left(left),) if left else ()


def _copies_left(left: int) -> str:
    """Return the note on records that equal a unique original one although they should not."""
    subject, verb = ("1 record equals", "is") if left == 1 else (f"{left:,} records equal", "are")
    return (
        f"{subject} a unique original one and {verb} not drawn again, because much of what the trees generate matches a real "
        "person: group values, or synthesise fewer attributes."
    )


def _attribute(chosen: Chosen, name: str, *, smooth: bool) -> LearntAttribute:
    column, coded = chosen.column(name), _coded(chosen, name)
    once = np.bincount(coded.codes, minlength=len(coded.values)) == 1
    return LearntAttribute(coded.codes, _is_ordered(column), once & (smooth and is_smoothed(column)))


def _coded(chosen: Chosen, name: str) -> Coded:
    require_countable(name, chosen.column(name))
    coded = replace(encode(chosen.column(name)), name=name)
    if not _is_ordered(chosen.column(name)) and len(coded.values) > _MOST_NAMES:
        raise ArgumentError(
            f"column {shown(name)} has {len(coded.values):,} names; trees distinguish up to {_MOST_NAMES:,}: group it."
        )
    return coded


def _is_ordered(column: Any) -> bool:
    return bool(column.dtype.is_numeric() or column.dtype.is_temporal())
