"""What if each value is redrawn with known probabilities? Post-randomisation (PRAM) of categories."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.arguments import checked_arguments, checked_share
from unveil.attributes import Names, names_of
from unveil.counts import group
from unveil.errors import ArgumentError, UnsupportedDataError, shown
from unveil.mechanisms.arguments import other_side
from unveil.mechanisms.columns import choose
from unveil.mechanisms.door import heeds_study
from unveil.mechanisms.post_randomisation.transitions import (
    checked_matrix,
    drawn,
    even_invariant_matrix,
    invariant_matrix,
    retention_matrix,
)
from unveil.mechanisms.treatment import Treatment, treated
from unveil.randomness import chance_of
from unveil.releases import Release
from unveil.run import active_run, watched
from unveil.sources import Microdata, encode, require_countable

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from unveil.sources import Data

__all__ = ["pram"]

_MOST_VALUES = 1_000
"""Nobody reads a matrix over more values than this; such an attribute is hardly a category."""
_FEWEST = 10
"""An invariant matrix reveals how many records of a stratum hold a value; no number below this may be revealed."""
_NEVER = 1e-9
"""A value that becomes another less often than this does not cast doubt on that one."""
_FREQUENCIES = (
    "The matrix of invariant PRAM gives away the frequencies of the values, its fixed point: publish it only if you would "
    "publish these."
)


@heeds_study
@checked_arguments
def pram(
    data: Data,
    attributes: Names,
    *,
    retention: float | None = None,
    matrix: Any = None,
    invariant: bool = False,
    strata: Names | None = None,
    nulls: str = "error",
    keep_order: bool = False,
    seed: int | None = None,
    key_file: str | os.PathLike[str] | None = None,
) -> Release[Treatment]:
    r"""Replace each value of categorical attributes at random, according to a Markov matrix.

    .. math:: P_{ij} = \Pr(\text{value } j \text{ is published} \mid \text{the record holds } i), \qquad \sum_j P_{ij} = 1

    Parameters
    ----------
    data
        The records.
    attributes
        The categorical columns to randomise, each by itself.
    retention
        The probability that a value stays; all other values of the attribute are equally likely (those of an invariant matrix
        by their frequencies).
    matrix
        Used instead of `retention`: the Markov matrix; for several attributes, a mapping from each to its own. It is an array
        over the attribute's values in sorted order, or a mapping from value to {value: probability}, which may name new values.
    invariant
        Make the matrix such that the expected frequencies of the values stay as they are. With `retention`, every value stays
        with that probability, except a value that more than half of the records hold, which must stay more often; a `matrix` is
        followed by its Bayesian inverse (two-step invariant PRAM).
    strata
        Columns within whose combinations the values are randomised: values are drawn, and frequencies kept, within each.
        Refused if a stratum holds only one value, which would certainly stay, or, for an invariant matrix, a value that fewer
        than 10 of its records hold, because the matrix reveals the frequencies.
    nulls
        "keep": a null stays a null. "drop": a record with a null in the attributes is left out. "error": refuse.
    keep_order
        Whether records stay in their order; else they are shuffled, so that their places say nothing.
    seed, key_file
        A seed for tests, a key file for those who must be able to repeat the release (see `unveil.randomness`); without either
        nobody can.

    Returns
    -------
    Release
        `figures["matrices"]` holds, for each attribute, its matrices: stratum, values and rows; `figures["diagonal"]` the
        probability that each value stays, averaged over strata. `figures["changed"]` is the share of values that changed,
        `figures["expected_changed"]` the share that the matrix changes on average.

    References
    ----------
    J. Gouweleeuw, P. Kooiman, L. Willenborg, P.-P. de Wolf (1998), Post randomisation for statistical disclosure control:
    theory and implementation, Journal of Official Statistics 14(4), 463-478.

    Examples
    --------
    >>> from unveil import mechanisms
    >>> mechanisms.pram("adult", "race", retention=0.8, seed=1).figures["changed"]
    {'race': 0.20290...}
    """
    if (retention is None) == (matrix is None):
        raise ArgumentError("give either the probability that a value stays (retention) or a matrix.")
    kept = None if retention is None else checked_share("retention", retention)
    chance, chosen, within = chance_of(seed, key_file), choose(data, attributes, nulls), names_of(strata)
    records, names = chosen.records, chosen.names
    matrices = _matrices(names, matrix)
    stratum, labels = _strata(records, within, names)
    settings = {"retention": kept, "matrix": matrix is not None, "invariant": invariant, "strata": list(within), "nulls": nulls}
    by_name = {name: _Column(records, name, matrices.get(name)) for name in names}
    used = {name: [column.values, column.matrix] for name, column in by_name.items()}
    random = chosen.draws(chance, "pram", {**settings, "matrices": used})
    step = active_run().counting("strata", len(names) * len(labels))
    columns, figures = {}, {"changed": {}, "expected_changed": {}, "diagonal": {}, "matrices": {}}  # type: ignore[var-annotated]
    for name, column in by_name.items():
        columns[name], tables = column.randomised(kept, stratum, len(labels), random, step, invariant=invariant)
        figures["changed"][name], figures["expected_changed"][name] = column.changes
        figures["diagonal"][name] = column.diagonal
        figures["matrices"][name] = [{"stratum": label, **table} for label, table in zip(labels, tables, strict=True)]
    notes = (_FREQUENCIES,) if invariant else ()
    return treated("pram", chosen, columns, settings, figures, chance, keep_order=keep_order, notes=notes)


class _Column:
    """One attribute: its values as codes without the null, and its transition matrix."""

    def __init__(self, records: Microdata, name: str, matrix: Any) -> None:
        self.column = records.column(name)
        require_countable(name, self.column)
        if self.column.dtype.is_float():
            raise UnsupportedDataError(
                f"column {shown(name)} holds fractional numbers; PRAM randomises categories: group it, or use noise."
            )
        coded = encode(self.column)
        self.present = tuple(value for value in coded.values if value is not None)
        if len(self.present) > _MOST_VALUES:
            raise ArgumentError(
                f"column {shown(name)} has {len(self.present):,} values; PRAM takes up to {_MOST_VALUES:,}: group it first."
            )
        self.codes = coded.codes
        self.filled = self.codes < len(self.present)
        self.values, self.matrix = self.present, None
        if matrix is not None:
            self.values, self.matrix = checked_matrix(name, matrix, self.present)
        self.changes = (0.0, 0.0)
        self.diagonal: dict[Any, float] = {}

    def randomised(
        self,
        retention: float | None,
        stratum: NDArray[np.int64],
        strata: int,
        random: np.random.Generator,
        step: Callable[[], None],
        *,
        invariant: bool,
    ) -> tuple[Any, list[dict[str, Any]]]:
        """Return the new column, and the values and rows of the matrix of each stratum; `step` is called after each."""
        after = self.codes.astype(np.int64)
        tables, stay, there = [], np.zeros(len(self.values)), np.zeros(len(self.values), dtype=np.int64)
        weak = _Weak(retention, invariant=invariant, stratified=strata > 1)
        order = watched(len(stratum), lambda: np.argsort(stratum, kind="stable")) if strata > 1 else None
        ends = np.cumsum(np.bincount(stratum, minlength=strata)) if strata > 1 else np.array([len(stratum)])
        for start, end in zip(np.append(0, ends[:-1]), ends, strict=True):
            rows = slice(None) if order is None else order[start:end]
            if not self.filled.all():
                rows = np.arange(len(stratum))[rows][self.filled[rows]]
            before = self.codes[rows]
            counts = np.bincount(before, minlength=len(self.values))
            matrix = self._matrix(counts, retention, invariant=invariant)
            weak.look(matrix, counts)
            after[rows] = drawn(before, matrix, random)
            stay, there = stay + counts * np.diag(matrix), there + counts
            tables.append({"values": self.values, "rows": matrix.tolist()})
            step()
        weak.refuse(self.column.name, strata)
        filled = int(self.filled.sum())
        if filled:
            self.changes = (float(np.count_nonzero(after != self.codes)) / filled, 1.0 - float(stay.sum()) / filled)
            self.diagonal = {self.values[at]: float(stay[at] / there[at]) for at in np.flatnonzero(there)}
        return self._decoded(after), tables

    def _matrix(self, counts: NDArray[np.int64], retention: float | None, *, invariant: bool) -> NDArray[np.float64]:
        if not counts.any():
            return np.eye(len(counts))
        if self.matrix is not None:
            return invariant_matrix(self.matrix, counts) if invariant else self.matrix
        kept = float(retention or 0.0)
        return even_invariant_matrix(counts, kept) if invariant else retention_matrix(counts > 0, kept)

    def _decoded(self, codes: NDArray[np.int64]) -> Any:
        """Return codes as a column of the original type; a code of a null, or no code, becomes a null."""
        dictionary = self._dictionary()
        if self.filled.all():
            return watched(len(codes), lambda: dictionary.gather(codes.astype(np.uint32)))
        places = type(self.column)(codes.astype(np.uint32))
        return watched(len(codes), lambda: dictionary.gather(places.set(type(self.column)(~self.filled), None)))

    def _dictionary(self) -> Any:
        """Return the values as a column of their original type; a column of fixed names becomes text if there are new names."""
        fixed = str(self.column.dtype.base_type()) == "Enum" and len(self.values) > len(self.present)
        try:
            return type(self.column)(self.column.name, list(self.values), dtype=None if fixed else self.column.dtype)
        except (TypeError, OverflowError):
            raise ArgumentError(
                f"the matrix of {shown(self.column.name)} names values of a type other than the column's; "
                "turn the column into text first."
            ) from None


class _Weak:
    """The number of matrices that do not protect: a published value reveals the true one, or the matrix reveals a rare one."""

    def __init__(self, retention: float | None, *, invariant: bool, stratified: bool) -> None:
        self._made = invariant if retention is None else retention < 1.0
        self._by_stratum = invariant and stratified
        self.certain = self.rare = 0

    def look(self, matrix: NDArray[np.float64], counts: NDArray[np.int64]) -> None:
        """Check the matrix of one stratum; the caller's own matrix, or one that keeps everything, is the caller's choice."""
        present = counts > 0
        if self._made and bool(np.any(np.count_nonzero(matrix[present] > _NEVER, axis=0) == 1)):
            self.certain += 1
        elif self._by_stratum and bool(np.any(counts[present] < _FEWEST)):
            self.rare += 1

    def refuse(self, name: str, strata: int) -> None:
        """Refuse the attribute if a stratum cannot be randomised."""
        if not self.certain + self.rare:
            return
        if strata == 1:
            raise ArgumentError(
                f"a published value of column {shown(name)} would give the true one away: it holds only one value, or "
                "none would stay; leave the column out, or give another retention."
            )
        raise ArgumentError(
            f"{self.certain + self.rare:,} of the {strata:,} strata cannot be randomised in column {shown(name)}: in "
            f"{self.certain:,} a published value would give the true one away (mostly a stratum with one value), and in "
            f"{self.rare:,} the matrix would give away a value of fewer than {_FEWEST} records; group the columns of the strata, "
            "or leave them out."
        )


def _matrices(names: tuple[str, ...], matrix: Any) -> Mapping[str, Any]:
    """Return the given matrix of each attribute."""
    if matrix is None:
        return {}
    if isinstance(matrix, Mapping) and set(matrix) == set(names):
        return matrix
    if len(names) == 1:
        return {names[0]: matrix}
    raise ArgumentError(f"there are {len(names):,} attributes; give a mapping from each of them to its matrix.")


def _strata(
    records: Microdata, within: tuple[str, ...], names: tuple[str, ...]
) -> tuple[NDArray[np.int64], list[dict[str, Any] | None]]:
    """Return the stratum of each record, and the values of each stratum."""
    if not within:
        return np.zeros(records.records, dtype=np.int64), [None]
    other_side(names, within, "strata")
    columns = [encode(records.column(name)) for name in within]
    of_row, cells = group([column.codes for column in columns], [len(column.values) for column in columns])
    labels = [{c.name: c.values[int(codes[at])] for c, codes in zip(columns, cells, strict=True)} for at in range(len(cells[0]))]
    return of_row, list(labels)
