"""What if each value is redrawn by known probabilities? Post-randomisation (PRAM) of categories."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.arguments import checked_arguments, checked_share
from unveil.attributes import Names, names_of
from unveil.counts.grouping import group
from unveil.errors import ArgumentError, UnsupportedDataError, shown
from unveil.mechanisms.arguments import other_side
from unveil.mechanisms.columns import choose, seeded
from unveil.mechanisms.post_randomisation.transitions import checked_matrix, drawn, invariant_matrix, retention_matrix
from unveil.mechanisms.protected import Protected
from unveil.sources.coding import encode, require_countable
from unveil.sources.microdata import Microdata

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.sources.frames import Data

__all__ = ["pram"]

_MOST_VALUES = 1_000
"""A matrix over more values than this is no longer looked at by anybody; such an attribute is hardly a category."""


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
    seed: int = 0,
) -> Protected:
    r"""Replace each value of categorical attributes at random, by a Markov matrix.

    .. math:: P_{ij} = \Pr(\text{value } j \text{ is published} \mid \text{the record holds } i), \qquad \sum_j P_{ij} = 1

    Parameters
    ----------
    data
        The records.
    attributes
        The categorical columns to randomise, each by itself.
    retention
        The probability with which a value stays; any other value of the attribute is as likely as the next.
    matrix
        Instead of `retention`: the Markov matrix, for several attributes a mapping from each to its own. It is an array over the
        attribute's values in their sorted order, or a mapping from value to {value: probability}, which may name new values.
    invariant
        Make the matrix such that the expected frequencies of the values stay as they are (two-step invariant PRAM).
    strata
        Columns within whose combinations the values are randomised: what is drawn, or kept, is so within each.
    nulls
        "keep": a null stays a null. "skip": a record with a null in the attributes is left out. "error": refuse.
    seed
        The seed of the draws.

    Returns
    -------
    Protected
        `figures["matrices"]` holds, for each attribute, its matrices: stratum, values and rows. `figures["changed"]` is the share
        of values that changed, `figures["expected_changed"]` what the matrix lets expect.

    References
    ----------
    J. Gouweleeuw, P. Kooiman, L. Willenborg, P.-P. de Wolf (1998), Post randomisation for statistical disclosure control:
    theory and implementation, Journal of Official Statistics 14(4), 463-478.

    Examples
    --------
    >>> from unveil import mechanisms
    >>> mechanisms.pram("adult", "race", retention=0.8, seed=1).figures["changed"]
    {'race': 0.19938...}
    """
    if (retention is None) == (matrix is None):
        raise ArgumentError("give either the probability that a value stays (retention) or a matrix.")
    kept = None if retention is None else checked_share("retention", retention)
    chosen, random, within = choose(data, attributes, nulls), seeded(seed, "pram"), names_of(strata)
    records, names = chosen.records, chosen.names
    given = _matrices(names, matrix)
    stratum, labels = _strata(records, within, names)
    columns, figures = {}, {"changed": {}, "expected_changed": {}, "matrices": {}}  # type: ignore[var-annotated]
    for name in names:
        column = _Column(records, name, given.get(name))
        columns[name], tables = column.randomised(kept, stratum, len(labels), random, invariant=invariant)
        figures["changed"][name], figures["expected_changed"][name] = column.changes
        figures["matrices"][name] = [{"stratum": label, **table} for label, table in zip(labels, tables, strict=True)]
    settings = {"retention": kept, "matrix": matrix is not None, "invariant": invariant, "strata": list(within), "nulls": nulls}
    return Protected("pram", records.replaced(columns), names, {**settings, "seed": seed}, figures, chosen.rows)


class _Column:
    """One attribute: its values as codes without the null, and what they become."""

    def __init__(self, records: Microdata, name: str, given: Any) -> None:
        self.column = records.column(name)
        require_countable(name, self.column)
        if self.column.dtype.is_float():
            raise UnsupportedDataError(
                f"column {shown(name)} holds fractional numbers; PRAM randomises categories: group it, or use noise."
            )
        found = encode(self.column)
        self.present = tuple(value for value in found.values if value is not None)
        if len(self.present) > _MOST_VALUES:
            raise ArgumentError(
                f"column {shown(name)} has {len(self.present):,} values; PRAM takes up to {_MOST_VALUES:,}: group it first."
            )
        self.codes = found.codes
        self.filled = self.codes < len(self.present)
        self.values, self.given = self.present, None
        if given is not None:
            self.values, self.given = checked_matrix(name, given, self.present)
        self.changes = (0.0, 0.0)

    def randomised(
        self, retention: float | None, stratum: NDArray[np.int64], strata: int, random: np.random.Generator, *, invariant: bool
    ) -> tuple[Any, list[dict[str, Any]]]:
        """Return the new column, and the values and rows of the matrix of each stratum."""
        after = self.codes.astype(np.int64)
        tables, expected = [], 0.0
        order = np.argsort(stratum, kind="stable") if strata > 1 else None
        ends = np.cumsum(np.bincount(stratum, minlength=strata)) if strata > 1 else np.array([len(stratum)])
        for start, end in zip(np.append(0, ends[:-1]), ends, strict=True):
            rows = slice(None) if order is None else order[start:end]
            if not self.filled.all():
                rows = np.arange(len(stratum))[rows][self.filled[rows]]
            before = self.codes[rows]
            counts = np.bincount(before, minlength=len(self.values))
            matrix = self._matrix(counts, retention, invariant=invariant)
            after[rows] = drawn(before, matrix, random)
            expected += float(counts @ (1.0 - np.diag(matrix)))
            tables.append({"values": self.values, "rows": matrix.tolist()})
        filled = int(self.filled.sum())
        if filled:
            self.changes = (float(np.count_nonzero(after != self.codes)) / filled, expected / filled)
        return self._decoded(after), tables

    def _matrix(self, counts: NDArray[np.int64], retention: float | None, *, invariant: bool) -> NDArray[np.float64]:
        matrix = self.given if retention is None else retention_matrix(counts > 0, retention)
        if matrix is None or (invariant and not counts.any()):
            return np.eye(len(counts))
        return invariant_matrix(matrix, counts) if invariant else matrix

    def _decoded(self, codes: NDArray[np.int64]) -> Any:
        """Return codes as a column of the type it had; a code of a null, or none, gives a null."""
        dictionary = self._dictionary()
        if self.filled.all():
            return dictionary.gather(codes.astype(np.uint32))
        return dictionary.extend(dictionary.clear(1)).gather(np.where(self.filled, codes, len(self.values)).astype(np.uint32))

    def _dictionary(self) -> Any:
        """Return the values as a column of the type that they had; one of fixed names becomes text where names are new."""
        fixed = str(self.column.dtype.base_type()) == "Enum" and len(self.values) > len(self.present)
        try:
            return type(self.column)(self.column.name, list(self.values), dtype=None if fixed else self.column.dtype)
        except (TypeError, OverflowError):
            raise ArgumentError(
                f"the matrix of {shown(self.column.name)} names values of another type than the column's; "
                "turn the column into text first."
            ) from None


def _matrices(names: tuple[str, ...], matrix: Any) -> Mapping[str, Any]:
    """Return the matrix given for each attribute."""
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
    """Return the stratum of each record, and the values that each stratum stands for."""
    if not within:
        return np.zeros(records.records, dtype=np.int64), [None]
    other_side(names, within, "strata")
    columns = [encode(records.column(name)) for name in within]
    of_row, cells = group([column.codes for column in columns], [len(column.values) for column in columns])
    labels = [{c.name: c.values[int(codes[at])] for c, codes in zip(columns, cells, strict=True)} for at in range(len(cells[0]))]
    return of_row, list(labels)
