"""How far do the protected key attributes reveal the original ones? The identity attack in its settings.

White box: the intruder knows the original and the protected columns, but not which record is which; measured by the
Discrimination Rate of each original attribute given the protected one. Black box: the intruder has only the release; its key is
measured against the identity of its records. Grey box: the intruder has the release and other data with some columns in common;
the measure is the number of its records that find their match. Without a common column, it is linked by structure alone. Known
records: the true key of a person is compared with the records of the release that cover it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.attacks.attack_sections import (
    BlackBox,
    ExternalMatches,
    KeyRate,
    KnownRecords,
    MeaningRate,
    NewValues,
    StructureMatches,
    WhiteBox,
    WhiteBoxMeaning,
    WhiteBoxRate,
)
from unveil.attacks.linking import by_structure
from unveil.counts import Codes, Counts, Owners, count_table, group, summed
from unveil.errors import ArgumentError, PartitionError
from unveil.measures import Equivalence, RateFigures, RateQuestion, covering, mean, rates, without_suppressed
from unveil.partitions import ComparedColumn, Hierarchy, Partition, compared, novel
from unveil.run import active_run
from unveil.sources import CodedTable, Data
from unveil.study import ColumnPair, Pair, beside, require_as_they_are, studied

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["black_box", "grey_box", "known_records", "new_values", "white_box"]

_NEEDS_ALIGNMENT = str(ArgumentError.no_correspondence()).removesuffix(".")
_ORIGINAL, _RELEASE = " of the original", " of the release"
"""The suffixes of the names of aligned columns."""
_MOST_CELLS = 20_000_000
"""The number of pairs of cells that are compared at once."""


def new_values(pair: Pair) -> dict[tuple[str, str], NewValues]:
    """Count, for every original column and the released one that stands for it, the values that are new in the release.

    Values are new if they are not in the original and generalise none of its values; the records that hold them are counted,
    too.
    """
    sensitive = [(before, name) for name in pair.sensitive if (before := pair.originals.get(name)) is not None]
    columns = list(dict.fromkeys([*((one.original, one.release) for one in pair.whole), *sensitive]))
    known = pair.original.changed(partitions={}).counted([original for original, _ in columns])
    shown = pair.release.changed(partitions={}).counted([released for _, released in columns])
    values = [(known[original].columns[0].values, shown[released].columns[0].values) for original, released in columns]
    new = novel([(*both, pair.hierarchies.get(original)) for both, (original, _) in zip(values, columns, strict=True)])
    return {one: _held(shown[one[1]], which) for one, which in zip(columns, new, strict=True)}


def _held(counts: Counts, which: Sequence[bool]) -> NewValues:
    """Count the given values of a column, and the records that hold them."""
    return NewValues(sum(which), int(counts.n[np.array(which, dtype=bool)[counts.codes[0]]].sum()))


def white_box(
    pair: Pair, news: Mapping[tuple[str, str], NewValues], models: Mapping[str, Mapping[str, Partition]] | None = None
) -> WhiteBox:
    """Measure every original attribute given its protected one, and all of them together; also under each attacker's model.

    A protected column that the original table itself holds, as a generalisation table does, is measured within that table; the
    others need the correspondence of the records. The values that are new in the release are reported beside the rates.
    """
    columns = pair.columns
    measured, combined = _attributes(pair, columns, combined=True)
    attributes = [
        WhiteBoxRate(one.original, one.release, rate, news.get((one.original, one.release)), within)
        for one, (rate, within) in zip(columns, measured, strict=True)
    ]
    plain = {(entry.attribute, entry.release): entry.rate.value for entry in attributes}
    by_model = {model: _by_meaning(pair, blocks, plain) for model, blocks in (models or {}).items() if _touched(pair, blocks)}
    return WhiteBox(mean([entry.rate.value for entry in attributes]), attributes, combined, by_model)


def _touched(pair: Pair, blocks: Mapping[str, Partition]) -> bool:
    return any(one.original in blocks or one.release in blocks for one in pair.columns)


def _by_meaning(pair: Pair, blocks: Mapping[str, Partition], plain: Mapping[tuple[str, str], float | None]) -> WhiteBoxMeaning:
    """Measure original blocks given protected blocks: each column is read by its own partition, or unchanged if it has none.

    New values, such as those made by noise, are placed by the partition; if it has no block for some, the rate is None with a
    reason.
    """
    rows = []
    for one in pair.columns:
        try:
            ((rate, within),), _ = _attributes(pair, [one], blocks)
        except PartitionError as problem:
            rate, within = _misplaced(problem), ""
        rows.append(MeaningRate(one.original, one.release, plain[one.original, one.release], rate, within))
    try:
        _, combined = _attributes(pair, [], blocks, combined=True)
    except PartitionError as problem:
        combined = _misplaced(problem)
    return WhiteBoxMeaning(mean([row.rate.value for row in rows]), rows, combined)


def _misplaced(problem: PartitionError) -> RateFigures:
    return RateFigures(None, by_value=[], reason=str(problem))


def _attributes(
    pair: Pair, columns: Sequence[ColumnPair], blocks: Mapping[str, Partition] | None = None, *, combined: bool = False
) -> tuple[list[tuple[RateFigures, str]], RateFigures]:
    """Measure original attributes, each given its protected one, and on request all of them together.

    An attribute is measured within the original if that holds both columns, else by alignment; this is stated beside its rate.
    """
    by_pair: dict[ColumnPair, tuple[RateFigures, str]] = {}
    questions: dict[ColumnPair, RateQuestion] = {}
    beside = []
    for one in columns:
        generalised = one.release != one.original and one.release in pair.original.names
        if one.original not in pair.original.names:
            by_pair[one] = RateFigures.unmeasured("the original does not hold this attribute"), ""
        elif generalised and (pair.alignment is None or one.release not in pair.release.names):
            questions[one] = RateQuestion(pair.original.table([one.original, one.release]), [one.release], [one.original])
        elif pair.alignment is None:
            by_pair[one] = RateFigures.unmeasured(_NEEDS_ALIGNMENT), ""
        else:
            beside.append(one)
    within = set(questions)
    together = [pair.whole] if combined and pair.alignment is not None and pair.whole else []
    tables = pair.aligned_each([*([one] for one in beside), *together])
    for one, table in zip(beside, tables, strict=False):
        questions[one] = RateQuestion(table, [one.release], [f"{one.original}{_ORIGINAL}"])
    whole = [_all_together(table) for table in tables[len(beside) :]]
    measured = rates([*questions.values(), *whole], _own(blocks or {}))
    for one, figures in zip(questions, measured, strict=False):
        by_pair[one] = figures, "original" if one in within else ""
    return [by_pair[one] for one in columns], measured[-1] if whole else RateFigures.unmeasured(_NEEDS_ALIGNMENT)


def _all_together(table: CodedTable) -> RateQuestion:
    """Return the question of how far all protected attributes reveal all original ones."""
    names = [column.name for column in table.columns]
    hidden = [name for name in names if name.endswith(_ORIGINAL)]
    return RateQuestion(table, [name for name in names if name not in hidden], hidden, values=False)


def _own(blocks: Mapping[str, Partition]) -> dict[str, Partition]:
    """Return partitions by the names of aligned columns: a column has the same blocks in both tables."""
    return {f"{name}{end}": block for name, block in blocks.items() for end in ("", _ORIGINAL, _RELEASE)}


def black_box(release: CodedTable, keys: tuple[str, ...], classes: Equivalence) -> BlackBox:
    """Measure the release's key against the identity of its records: the rate, uniques, and each attribute alone.

    The rate counts records; uniques and expected matches count persons if they are distinguished.
    """
    uniques = classes.among(classes.size == 1)
    whole, *alone = rates([RateQuestion(release, some, values=False) for some in (keys, *([name] for name in keys))])
    return BlackBox(
        whole,
        uniques,
        share_unique=uniques / classes.every,
        expected_matches=float((classes.worst(classes.size) / classes.size).sum()) / classes.every,
        by_attribute=[KeyRate(name, figures) for name, figures in zip(keys, alone, strict=True)],
    )


def grey_box(pair: Pair, external: Data, seed: int) -> ExternalMatches | StructureMatches:
    """Link other data to the release by their common columns: how many of its records may belong to one record, or to several.

    The other data may name a column as the release does, or as the original does. A generalised value may belong to everything
    that it covers, a suppressed one to anybody; released records suppressed in every common column are left out. Data that
    shares no key attribute except the id column is linked by structure.
    """
    with studied(external, nulls=pair.nulls, project=beside(external, pair.original), partial=True, wildcards=True) as other:
        named = {one.release: one.release if one.release in other.names else one.original for one in pair.columns}
        common = [name for name in pair.keys if named[name] in other.names]
        if not common:
            return by_structure(pair, other.held(), seed)
        columns = list(dict.fromkeys(named[name] for name in common))
        require_as_they_are(external, columns)
        known = other.counts(columns)
    table, person = pair.owned(common)
    shown = without_suppressed(pair.release.counts(common, partitions={}) if person is None else count_table(table), common)
    before = {name: pair.originals.get(name, name) for name in common}
    fits = _fits(known, shown, [(named[name], pair.hierarchies.get(before[name])) for name in common])
    return _matches(common, known, _alike(fits, shown, person))


def known_records(pair: Pair) -> KnownRecords:
    """Count the released records, or persons, that cover each original record: the candidates if the true key is known.

    Unlike in the grey box, released records that are suppressed in every key attribute count, because nobody can rule them out,
    and a null of the original is covered by a null. If records are aligned, only originals that have a released record are
    examined; records that nothing covers, such as perturbed ones, are left out of the minimum.
    """
    pairs = {one.release: one.original for one in pair.columns if one.original in pair.original.names}
    keys = [name for name in pair.keys if name in pairs]
    if not keys:
        return KnownRecords(None, reason="the original holds no key attribute of the release")
    known = pair.with_release().counts(list(dict.fromkeys(pairs[name] for name in keys)), nulls="category", partitions={})
    table, person = pair.owned(keys, "category")
    shown = pair.release.counts(keys, nulls="category", partitions={}) if person is None else count_table(table)
    fits = _fits(known, shown, [(pairs[name], pair.hierarchies.get(pairs[name])) for name in keys], nulls=True)
    covers = _alike(fits, shown, person)
    covered = covers > 0
    return KnownRecords(
        int(covers[covered].min()) if covered.any() else None,
        records=known.records,
        covered=int(known.n[covered].sum()),
        covered_once=int(known.n[covers == 1].sum()),
    )


def _fits(known: Counts, shown: Counts, columns: Sequence[tuple[str, Hierarchy | None]], *, nulls: bool = False) -> list[_Fit]:
    """Compare columns of other data with the first columns of the release, in their order.

    A null in the release covers everything (a null only if `nulls` is set); the coverage of a label follows from its hierarchy.
    """
    places = [known.names.index(name) for name, _ in columns]
    pairs = zip(places, shown.columns, columns, strict=False)
    both = compared([(known.columns[place].values, released.values, tree) for place, released, (_, tree) in pairs])
    fits = [_Fit.of(one, known.codes[place], codes) for one, place, codes in zip(both, places, shown.codes, strict=False)]
    return [fit.nulls_covered(one) for fit, one in zip(fits, both, strict=True)] if nulls else fits


def _alike(fits: Sequence[_Fit], shown: Counts, person: str | None) -> NDArray[np.int64]:
    """Count the released records, or persons, that each external cell may belong to."""
    who = None if person is None else shown.codes[shown.names.index(person)].astype(np.int64)
    if all(fit.single is not None for fit in fits):
        return _joined(fits, shown.n, who)
    if who is None and all(fit.covered[:, :-1].all() for fit in fits):
        released = [np.where(fit.wide[fit.released] < fit.covered.shape[1] - 1, -1, fit.released) for fit in fits]
        return covering(np.stack(released, axis=1), np.stack([fit.same[fit.external] for fit in fits], axis=1), shown.n)
    return _compared(fits, shown.n, who)


@dataclass(frozen=True, slots=True, eq=False)
class _Fit:
    """The released values of a column to which the external cells may belong.

    Attributes
    ----------
    released
        The code of each released cell's value.
    external, same
        The code of each external cell's value; for each of these values, the released code that equals it; -1 if there is none.
    covered, wide
        For each external value, which generalised values cover it, the last place for none; the place of each released code.
    single
        For each external value, the only released code that it may belong to; -1 for none; None if there may be several.
    """

    released: NDArray[np.int64]
    external: NDArray[np.int64]
    same: NDArray[np.int64]
    covered: NDArray[np.bool_]
    wide: NDArray[np.int64]
    single: NDArray[np.int64] | None

    @classmethod
    def of(cls, column: ComparedColumn, external: Codes, released: Codes) -> _Fit:
        """Return the fit of a column, given the codes of the external and of the released cells."""
        values, cells, covers = column.values, column.cells, column.covered
        place: dict[Any, int] = {cell.point: code for code, cell in enumerate(cells)}
        place |= {cell.text: code for code, cell in enumerate(cells)}
        place[None] = -1
        places = (-1 if one.value is None else place.get(one.text, place.get(one.point, -1)) for one in values)
        same = np.fromiter(places, dtype=np.int64, count=len(values))
        covered = np.zeros((len(values), len(covers) + 1), dtype=bool)
        wide = np.full(len(cells), len(covers), dtype=np.int64)
        for number, (code, within) in enumerate(covers.items()):
            covered[:, number] = within
            wide[code] = number
        same[covered[np.arange(len(values)), wide[same]] & (same >= 0)] = -1  # what covers itself is one choice, not two
        choices = covered.sum(axis=1) + (same >= 0)
        only = np.where(same >= 0, same, np.array([*covers, -1])[covered.argmax(axis=1)])
        single = np.where(choices == 1, only, -1) if choices.max(initial=0) <= 1 else None
        return cls(released.astype(np.int64), external.astype(np.int64), same, covered, wide, single)

    def nulls_covered(self, column: ComparedColumn) -> _Fit:
        """Let suppressed values cover a null as well."""
        null = np.array([one.value is None for one in column.values])
        if not null.any():
            return self
        covered = self.covered.copy()
        for code, cell in enumerate(column.cells):
            if cell.suppressed:
                covered[null, self.wide[code]] = True
        return replace(self, covered=covered, single=None)

    def among(self, block: slice) -> NDArray[np.bool_]:
        """Return the released cells that some external cells may belong to, by this column."""
        own = self.external[block]
        return np.asarray((self.same[own][:, None] == self.released) | self.covered[own][:, self.wide[self.released]])


def _joined(fits: Sequence[_Fit], n: NDArray[np.int64], who: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """Count the released records, or persons, that each external cell may belong to, if that is one combination of values."""
    external = [fit.single[fit.external] for fit in fits if fit.single is not None]
    both = [np.concatenate([fit.released, codes]) + 1 for fit, codes in zip(fits, external, strict=True)]
    of_cell, _ = group(both, [int(codes.max()) + 1 for codes in both])
    number = int(of_cell.max()) + 1
    if who is None:
        totals = summed(of_cell[: len(n)], n, number)
    else:
        totals = Owners.of(of_cell[: len(n)], who, number, int(who.max(initial=-1)) + 1).sizes.astype(np.float64)
    return np.asarray(totals[of_cell[len(n) :]], dtype=np.int64)


def _compared(fits: Sequence[_Fit], n: NDArray[np.int64], who: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """Count the released records, or persons, that each external cell may belong to, cell by cell, a block at a time."""
    order = None if who is None else np.argsort(who, kind="stable")
    starts = None if who is None or order is None else np.flatnonzero(np.diff(who[order], prepend=-1))
    alike = np.zeros(len(fits[0].external), dtype=np.int64)
    step = max(_MOST_CELLS // max(len(n), 1), 1)
    run = active_run()
    for start in range(0, len(alike), step):
        run.check()
        block = slice(start, start + step)
        belongs = np.logical_and.reduce([fit.among(block) for fit in fits])
        if order is None or starts is None:
            alike[block] = belongs @ n
        else:
            alike[block] = np.logical_or.reduceat(belongs[:, order], starts, axis=1).sum(axis=1)
    return alike


def _matches(common: Sequence[str], known: Counts, alike: NDArray[np.int64]) -> ExternalMatches:
    """Count the external records that match one record, or any; one with m matches is linked rightly 1 time in m at best."""
    matched = alike > 0
    expected = float((known.n[matched] / alike[matched]).sum())
    return ExternalMatches(
        common,
        external_records=known.records,
        matched=int(known.n[matched].sum()),
        matched_once=int(known.n[alike == 1].sum()),
        expected_links=expected,
        expected_share=expected / known.records,
    )
