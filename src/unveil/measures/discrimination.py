"""How far does knowing the key attributes refine the sensitive attribute? The Discrimination Rate with its parts, and many of it.

Entropies are in bits. 0: the key says nothing; 1: the key determines the sensitive attribute. Higher is more disclosure. The
rates of a larger result come as plain figures, with the reason for each that is undefined.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil import __version__
from unveil.arguments import checked_arguments, checked_number
from unveil.attributes import Names, in_line, sides_of
from unveil.counts import Classes, Counts, Split, split_each
from unveil.errors import ArgumentError, UndefinedMeasureError
from unveil.formats import RATE_OF_RECORDS, counted, number
from unveil.measures.by_value import ByValue, rows_of, telling_classes
from unveil.measures.entropy import (
    Distortion,
    IdentifierKind,
    adjusted_rate,
    distortion_of,
    entropy_bits,
    entropy_by_class,
    kind_against_records,
    kind_of,
    record_entropies,
    undefined_reason,
)
from unveil.measures.interval import Interval, interval_of
from unveil.partitions import Partition
from unveil.results import SMALL, Figure, Figures, Provenance, Result, Rows, Table, View, masking_in_words
from unveil.run import looks
from unveil.sources import CodedTable, Data
from unveil.study import checked_partitions, counted_split, studied

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "DiscriminationRate", "RateFigures", "RateQuestion", "discrimination_rate", "mean", "rate", "rate_of", "rates", "split_rate",
]  # fmt: skip

_SHOWN_ROWS = 15


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DiscriminationRate(Result):
    """The Discrimination Rate of a key, with its parts.

    Attributes
    ----------
    value
        :math:`DR_X(Y)`, from 0 to 1.
    entropy, conditional_entropy
        :math:`H(X)` and :math:`H(X|Y)`, in bits.
    kind
        identifier, partial-identifier, sketchy-identifier or zero-identifier.
    adjusted
        The rate with what chance would give removed; None against record identity, and with weights (`adjusted_reason`).
    interval
        A confidence interval of the population's rate, if it was requested and can be trusted.
    interval_reason
        Why there is no interval although one was requested; None otherwise.
    table
        The rate of each value of the key.
    made
        How the result was made.
    distortion
        The largest divergence of a class, and the squared error of the best guess; None in bulk results.
    """

    value: float
    entropy: float
    conditional_entropy: float
    kind: IdentifierKind
    adjusted: float | None
    adjusted_reason: str | None
    interval: Interval | None
    interval_reason: str | None
    table: ByValue
    made: Provenance
    distortion: Distortion | None = None

    @property
    def mutual_information(self) -> float:
        """:math:`I(X;Y) = H(X) - H(X|Y)`, in bits: what the key tells about the sensitive attribute."""
        return max(0.0, self.entropy - self.conditional_entropy)

    @property
    def records(self) -> int:
        """The number of records measured."""
        return self.made.records

    @property
    def by_value(self) -> Rows:
        """For each value of the key, riskiest first: its values, `count`, `dr` and `posterior`."""
        return self.table.to_rows()

    def __repr__(self) -> str:
        """Return one line: the question, the rate and the kind."""
        return f"DiscriminationRate({self._question()}: {number(self.value)}, {self.kind})"

    def to_dict(self) -> dict[str, Any]:
        """Return the whole answer as plain Python values."""
        return {
            "value": self.value,
            "entropy": self.entropy,
            "conditional_entropy": self.conditional_entropy,
            "mutual_information": self.mutual_information,
            "distortion": None if self.distortion is None else self.distortion.to_dict(),
            "kind": self.kind,
            "adjusted": self.adjusted,
            "adjusted_reason": self.adjusted_reason,
            "interval": None if self.interval is None else self.interval.to_dict(),
            "interval_reason": self.interval_reason,
            "records": self.records,
            "classes": self.table.classes.number,
            "by_value": self.by_value,
            "made": self.made.to_dict(),
        }

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return the table of values, riskiest first."""
        return dict(self.table.to_columns(self.table.riskiest()))

    def masked(self, small: int = SMALL) -> DiscriminationRate:
        """Return the result without key values of fewer than `small` records, and without those that disclose."""
        return replace(self, table=self.table.masked(small))

    def view(self) -> View:
        """Return the displayed figures, tables and notes, with the number of masked values."""
        named = self.table.riskiest()
        if self.table.hidden is not None:
            named = named[~self.table.hidden[named]]
        shown_rows = self.table.to_columns(named[:_SHOWN_ROWS])
        for name in list(shown_rows)[:-3]:  # values are shown as they are: a postal code has no thousands
            shown_rows[name] = [None if value is None else str(value) for value in shown_rows[name]]
        more = len(named) - _SHOWN_ROWS
        table = Table(
            columns=tuple(shown_rows),
            rows=tuple(zip(*shown_rows.values(), strict=True)),
            title="Values of the key, most refined first",
            note=f"and {more:,} more; the whole answer has all" if more > 0 else "",
            bars=frozenset({"posterior"}),
        )
        tables = (table,) if len(named) else ()
        return View(f"Discrimination Rate: {self._question()}", tuple(self._figures()), tables, tuple(self._notes()))

    def _question(self) -> str:
        return f"{in_line(self.made.key, ' + ')} -> {in_line(self.made.sensitive, ' + ') or 'record identity'}"

    def _figures(self) -> list[Figure]:
        figures = [Figure("Discrimination Rate", self.value, _KIND_MEANING[self.kind])]
        if self.interval is not None:
            inner = f"{number(self.interval.low)} to {number(self.interval.high)}"
            figures.append(
                Figure(f"{100.0 * self.interval.confidence:.4g}% interval", inner, "of the rate in the population sampled")
            )
        if self.adjusted is not None:
            figures.append(Figure("adjusted for chance", self.adjusted, "0 is what a random key of these classes gives"))
        figures.append(Figure("kind", self.kind))
        figures.append(Figure("H(X)", f"{self.entropy:.4f} bit", "uncertainty before"))
        figures.append(Figure("H(X|Y)", f"{self.conditional_entropy:.4f} bit", "uncertainty once the key is known"))
        figures.append(Figure("I(X;Y)", f"{self.mutual_information:.4f} bit", "what the key tells: the one minus the other"))
        if self.distortion is not None and self.distortion.squared_error is not None:
            before = number(self.distortion.variance or 0.0)
            figures.append(Figure("squared error", self.distortion.squared_error, f"of the best guess; {before} without the key"))
        figures.append(Figure("records", self.records, f"in {counted(self.table.classes.number, 'class', 'classes')} of the key"))
        return figures

    def _notes(self) -> list[str]:
        notes = [_HOW_TO_READ, *([] if self.made.person is None else [RATE_OF_RECORDS])]
        if self.table.hidden is not None and self.table.hidden.any():
            masked, of = int(self.table.hidden.sum()), counted(self.table.classes.number, "value")
            notes.append(f"{masked:,} of {of} of the key masked. {masking_in_words(self.table.small)}")
        if self.made.dropped:
            notes.append(f"{counted(self.made.dropped, 'record')} with a null in a named column left out (nulls='drop').")
        if self.adjusted is None and self.adjusted_reason and self.made.sensitive:
            notes.append(f"Not adjusted for chance: {self.adjusted_reason}.")
        if self.interval_reason:
            notes.append(f"No interval: {self.interval_reason}.")
        return notes


_HOW_TO_READ = (
    "dr weighs a value by how common it is, so a rare value scores near 1 whatever it discloses; posterior is what is refined "
    "for those who hold the value (1: certain; below 0: less certain than before)."
)
_KIND_MEANING = {
    "identifier": "the key determines it for every record",
    "partial-identifier": "for some records, the key determines the value",
    "sketchy-identifier": "the key narrows the value down, but to a single one for nobody",
    "zero-identifier": "the key says nothing about it",
}


@looks
@checked_arguments
def discrimination_rate(
    data: Data,
    key: Names | None = None,
    sensitive: Names | None = None,
    *,
    partitions: Mapping[str, Any] | None = None,
    nulls: str | None = None,
    weights: str | None = None,
    interval: bool = False,
    confidence: float = 0.95,
) -> DiscriminationRate:
    r"""Measure how far the columns `key` refine the column `sensitive`.

    With :math:`X` the sensitive column and :math:`Y` the key columns taken together,

    .. math:: DR_X(Y) = 1 - \frac{H(X \mid Y)}{H(X)}, \qquad 0 \le DR_X(Y) \le 1 .

    0: knowing :math:`Y` leaves :math:`X` as uncertain as before. 1: :math:`Y` determines :math:`X`.
    Higher is more disclosure.

    Parameters
    ----------
    data
        A path, the name of a built-in data set, any data frame narwhals knows, a table in an engine, counts, a `Study` or a
        project file. Never changed.
    key
        The column or columns that the intruder knows; none: those of the study or project.
    sensitive
        The column whose disclosure is measured (several: taken together); none: that of the study or project, else the
        identity of the record.
    partitions
        Semantic partitions by column name (blocks, a mapping, interval edges or a function): the column's values are
        replaced by their blocks, on either side.
    nulls
        "category" (the default): a null is a value. "drop": leave out a record with a null in a named column, and report it.
        "error": refuse.
    weights
        A column of sampling weights: each record's share of the population. Kinds are still decided on records.
    interval, confidence
        Whether to give an interval for the rate in the population that the records are a random sample of, and its confidence.
        If none can be trusted, the result says why.

    Returns
    -------
    DiscriminationRate
        The rate, both entropies, the kind of identifier, the adjusted rate, and the rate of every value.

    Raises
    ------
    UndefinedMeasureError
        If :math:`H(X) = 0`: one sensitive value, or one record.

    Notes
    -----
    One pass to count, then linear in the non-empty cells. The plug-in rate is biased upwards when classes hold few records:
    compare it with `adjusted`.

    References
    ----------
    .. [1] Sondeck, Laurent, Frey (2017), SECRYPT, 285-294. doi:10.5220/0006418002850294

    Examples
    --------
    >>> import unveil
    >>> rate = unveil.discrimination_rate("paper-4", key="Age", sensitive="Disease")
    >>> rate
    DiscriminationRate(Age -> Disease: 0.7002, partial-identifier)
    >>> round(rate.entropy, 4), round(rate.conditional_entropy, 4)
    (2.5033, 0.7505)
    >>> unveil.discrimination_rate("paper-4", key="Age").value
    0.7632...
    """
    checked_number("confidence", confidence, above=0.0, below=1.0)
    with studied(data, key=key, sensitive=sensitive, partitions=partitions, nulls=nulls, weights=weights) as study:
        keys, sensitive_names = sides_of(study.key, sensitive if sensitive is not None else study.roles.one_sensitive() or None)
        checked_partitions(partitions, (*keys, *sensitive_names))
        if interval and not sensitive_names:
            raise ArgumentError(
                "an interval has no meaning against record identity: a larger sample has other records; "
                "name a sensitive attribute."
            )
        split, made = counted_split(study, keys, sensitive_names)
        result = replace(split_rate(split, made), distortion=distortion_of(split))
        within, reason = interval_of(split, result.value, confidence) if interval else (None, None)
        return replace(result, interval=within, interval_reason=reason)


def rate_of(
    counts: Counts, keys: Sequence[str], sensitive: Sequence[str], made: Provenance, *, adjust: bool = True
) -> DiscriminationRate:
    """Return the Discrimination Rate of `keys` against `sensitive`, or, if that is empty, against the records."""
    return split_rate(counts.split(keys, sensitive), made, adjust=adjust)


def split_rate(split: Split, made: Provenance, *, adjust: bool = True, values: bool = True) -> DiscriminationRate:
    """Measure the known columns against the hidden ones; disclosing values are determined only if `values` is set."""
    counts, classes, hidden = split.counts, split.known, split.hidden
    if reason := undefined_reason(counts, () if hidden is None else [column.name for column in hidden.columns]):
        raise UndefinedMeasureError(f"the Discrimination Rate is undefined: {reason}.")
    if hidden is None:
        return _rate_against_records(split, made)
    entropy = entropy_bits(hidden.mass)
    by_class = entropy_by_class(split.mass, classes.of_cell, classes.mass)
    kind = kind_of(classes, hidden, counts.n)
    result = _result(classes, by_class, entropy, kind, None, "with weights it has no closed form", made)
    if values:
        result = replace(result, table=replace(result.table, telling=telling_classes(classes, hidden, counts.n)))
    if counts.weight is not None:
        return result
    if not adjust:
        return replace(result, adjusted_reason="not requested")
    adjusted = adjusted_rate(result.value, entropy, classes.n, hidden.n)
    reason = None if adjusted is not None else "a random key of these classes would determine it as well"
    return replace(result, adjusted=adjusted, adjusted_reason=reason)


def _rate_against_records(split: Split, made: Provenance) -> DiscriminationRate:
    """Measure against record identity."""
    by_class, entropy = record_entropies(split)
    kind = kind_against_records(split.known.n)
    return _result(split.known, by_class, entropy, kind, None, "it has no meaning against record identity", made)


def _result(
    classes: Classes,
    by_class: NDArray[np.float64],
    entropy: float,
    kind: IdentifierKind,
    adjusted: float | None,
    reason: str | None,
    made: Provenance,
) -> DiscriminationRate:
    """Assemble the result; integers decide whether the rate is exactly 0, and H(X|Y) = 0 makes it exactly 1."""
    share = classes.mass / classes.mass.sum()
    conditional = entropy if kind == "zero-identifier" else float((share * by_class).sum())
    nothing = np.zeros(len(share), dtype=bool)
    table = ByValue(classes, dr=1.0 - share * by_class / entropy, posterior=1.0 - by_class / entropy, telling=nothing)
    value = max(0.0, 1.0 - conditional / entropy)
    return DiscriminationRate(value, entropy, conditional, kind, adjusted, reason, None, None, table, made)


_PART = Provenance(0, "category", version=__version__, date="")
"""The provenance of a rate within a larger result, which states it for all of its rates."""


@dataclass(frozen=True, slots=True, eq=False)
class RateQuestion:
    """The question for a rate.

    Attributes
    ----------
    table, known, hidden
        A table, its known columns and its hidden ones; if none is hidden, the identity of the record is.
    values, adjusted
        Whether the rate of each value of the key is wanted, and the rate adjusted for chance.
    """

    table: CodedTable
    known: Sequence[str]
    hidden: Sequence[str] = ()
    values: bool = True
    adjusted: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class RateFigures(Figures):
    """A Discrimination Rate, or why it is undefined.

    Attributes
    ----------
    value, kind
        The rate and the kind of identifier; None if it is undefined.
    adjusted
        The rate with what chance would give removed.
    records
        The number of records measured; None if none could be.
    by_value
        The rate of each value of the key, if it was requested.
    reason
        Why the rate is undefined.
    """

    value: float | None
    kind: str | None = field(default=None, metadata={"beside": "by_value"})
    adjusted: float | None = field(default=None, metadata={"beside": "kind"})
    records: int | None = None
    by_value: Sequence[Mapping[str, Any]] | None = None
    reason: str = ""

    @classmethod
    def unmeasured(cls, reason: str) -> RateFigures:
        """Return the figures of a rate that cannot be measured, with the reason."""
        return cls(None, reason=reason)


def rate(question: RateQuestion, partitions: Mapping[str, Partition] | None = None) -> RateFigures:
    """Measure a rate; an undefined rate is None, with the reason."""
    return rates([question], partitions)[0]


def rates(questions: Sequence[RateQuestion], partitions: Mapping[str, Partition] | None = None) -> list[RateFigures]:
    """Measure several rates; an undefined rate is None, with the reason."""
    splits = split_each([(one.table, one.known, one.hidden) for one in questions], partitions or {})
    measured = [_measured(question, split) for question, split in zip(questions, splits, strict=True)]
    pairs = list(zip(questions, measured, strict=True))
    rows = iter(rows_of([one.table for question, one in pairs if question.values and not isinstance(one, str)]))
    return [
        RateFigures(None, records=question.table.records, by_value=[], reason=one)
        if isinstance(one, str)
        else RateFigures(one.value, one.kind, one.adjusted, question.table.records, next(rows) if question.values else None)
        for question, one in pairs
    ]


def _measured(question: RateQuestion, split: Split) -> DiscriminationRate | str:
    """Return the rate, or the reason why it is undefined."""
    try:
        return split_rate(split, _PART, adjust=question.adjusted, values=question.values)
    except UndefinedMeasureError as error:
        return str(error)


def mean(values: Sequence[float | None]) -> float | None:
    """Return the mean of the figures that are defined; None if none is."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
