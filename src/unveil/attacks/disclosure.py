"""What do the protected key attributes disclose? Homogeneity, background knowledge, skewness and similarity.

Homogeneity: the Discrimination Rate of each sensitive attribute given the key. Background knowledge: the distance from full
disclosure, 1 - DR, and the single piece of knowledge that would disclose most. Skewness: the change of the rate by the
protection, and the shift of belief from the whole table to a class. Similarity: the rate when values with the same meaning
count as one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from unveil.attacks.attack_sections import (
    Background,
    BackgroundOf,
    BeliefShift,
    CountedClasses,
    Difference,
    Homogeneity,
    HomogeneityOf,
    KeyDifference,
    KeyMissing,
    KeyRate,
    KeySimilarity,
    MissingShare,
    NewValues,
    NoDifference,
    SimilarityModel,
    SimilarityOf,
    SimilarRate,
    Skewness,
    SkewnessOf,
    WithoutValue,
)
from unveil.counts import Counts, count_each, summed
from unveil.formats import jsonable
from unveil.measures import Equivalence, RateFigures, RateQuestion, Spread, disclosing, mean, rates
from unveil.partitions import Partition
from unveil.results import Rows
from unveil.sources import CodedTable
from unveil.study import ColumnPair, Pair

__all__ = ["background", "homogeneity", "knowledge", "similarity", "skewness"]

_NO_PAIRS = "which released value stands for which original one is known only if the correspondence of records is"
_HOW_TO_READ = (
    "original minus release: above 0 the protection took that much away, below 0 the release says more than before; "
    "it is not a risk between 0 and 1, and not part of the global mean"
)


def homogeneity(
    release: CodedTable,
    keys: Sequence[str],
    sensitive: Sequence[str],
    classes: Equivalence,
    missing_is_sensitive: Collection[str] = (),
) -> Homogeneity:
    """Measure every sensitive attribute given the key, by attribute and together, and who is certainly disclosed.

    Classes in which nobody has a value disclose none: they are counted separately, unless a missing value is itself sensitive.
    """
    known = [keys, *([key] for key in keys)]
    measured = iter(rates([RateQuestion(release, some, [name]) for name in sensitive for some in known]))
    sections = {}
    for name in sensitive:
        gap_is_sensitive = name in missing_is_sensitive
        certain, valueless = _counted(classes, name, missing_is_sensitive=gap_is_sensitive)
        sections[name] = HomogeneityOf(
            next(measured),
            [KeyRate(key, next(measured)) for key in keys],
            certain,
            WithoutValue(valueless, missing_is_sensitive=gap_is_sensitive),
        )
    return Homogeneity(mean([entry.rate.value for entry in sections.values()]), sections)


def _counted(classes: Equivalence, name: str, *, missing_is_sensitive: bool) -> list[CountedClasses]:
    """Count the classes that disclose an attribute for certain and those in which nobody has a value, with their records.

    If persons are distinguished, they are counted as well, and the share is theirs.
    """
    spread, distinguished = classes.spreads[name], classes.owners is not None
    both = [spread.certain(missing_is_sensitive=missing_is_sensitive), spread.valueless]
    among = [classes.among(which) for which in both]
    return [
        CountedClasses(int(which.sum()), int(classes.own[which].sum()), held / classes.every, held if distinguished else None)
        for which, held in zip(both, among, strict=True)
    ]


def background(rates: Homogeneity, classes: Equivalence) -> Background:
    """Measure the distance from full disclosure, and find the single piece of knowledge that would disclose most."""
    answer = {}
    for name, entry in rates.by_sensitive.items():
        whole, *alone = _missing([entry.rate, *(row.rate for row in entry.by_attribute)])
        rows = [KeyMissing(row.release, share) for row, share in zip(entry.by_attribute, alone, strict=True)]
        known = knowledge(classes.spreads[name], missing_is_sensitive=entry.without_value.missing_is_sensitive)
        answer[name] = BackgroundOf(whole, rows, known)
    return Background(answer)


def _missing(rates: Sequence[RateFigures]) -> list[MissingShare]:
    """Return the distance of each rate from full disclosure, and the rate of each of its values."""
    figures = ("count", "dr", "posterior")
    tables = [
        [
            {name: value for name, value in row.items() if name not in figures}
            | {"count": row["count"], "missing": 1.0 - row["dr"]}
            for row in rate.by_value or ()
        ]
        for rate in rates
    ]
    named = [
        rate.by_value.with_figures(rows) if isinstance(rate.by_value, Rows) else rows
        for rate, rows in zip(rates, tables, strict=True)
    ]
    missing = [None if rate.value is None else 1.0 - rate.value for rate in rates]
    return [MissingShare(*both) for both in zip(missing, named, strict=True)]


def knowledge(spread: Spread, *, missing_is_sensitive: bool = False) -> Rows:
    """Rank the pieces of knowledge "not v" by how many more records would be certain, with the uncertainty left in bits.

    Parameters
    ----------
    spread
        The distribution of a sensitive attribute over the classes.
    missing_is_sensitive
        Whether a missing value is itself sensitive; if not, nobody becomes certain by having no value.

    Returns
    -------
    Rows
        For each value v, most revealing first: `not`, the number of records `newly_certain` once v is ruled out for everyone
        who does not hold it, their `share` of these, and the `uncertainty_left` among them, in bits.
    """
    values, logs = len(spread.values), spread.n * np.log2(spread.n)
    missing = np.array([value is None for value in spread.values], dtype=bool)[spread.value]
    size, logs_of_class, missing_in_class = spread.size, spread.total(logs), spread.total(missing.astype(np.float64))
    given_away = disclosing(spread.n, size[spread.of_class], spread.whole[spread.value])
    uncertain = size * np.log2(size) - logs_of_class
    rest = size[spread.of_class] - spread.n
    rest_uncertain = _m_log_m(rest) - (logs_of_class[spread.of_class] - logs)
    settled = spread.distinct[spread.of_class] == 2  # noqa: PLR2004 - then only one other value is possible
    if not missing_is_sensitive:
        settled &= missing | (missing_in_class == 0)[spread.of_class]
    left_uncertain = uncertain.sum() + summed(spread.value, rest_uncertain - uncertain[spread.of_class], values)
    left = spread.n.sum() - summed(spread.value, spread.n, values)
    newly = summed(spread.value, np.where(settled, rest, 0.0), values)
    others = summed(spread.value, np.where(given_away, 0.0, spread.n), values)  # those who hold a value that no class reveals
    share, bits = newly / np.maximum(left, 1.0), np.maximum(left_uncertain, 0.0) / np.maximum(left, 1.0)
    shown_values = jsonable(list(spread.values))
    order = np.lexsort((np.round(bits, 12), -newly)).tolist()
    rows = [
        {
            "not": shown_values[at],
            "newly_certain": int(newly[at]),
            "share": float(share[at]),
            "uncertainty_left": float(bits[at]),
        }
        for at in order
    ]
    return Rows(rows, {"not": spread.name}, [int(others[at]) for at in order])


def skewness(pair: Pair, sections: Homogeneity, classes: Equivalence, news: Mapping[tuple[str, str], NewValues]) -> Skewness:
    """Compare the rates before with those after, from homogeneity, and find the class in which belief shifts most."""
    answer = {}
    for name in pair.sensitive:
        hidden = pair.originals.get(name)
        whole, rows = _differences(pair, hidden, sections.by_sensitive[name])
        new = None if hidden is None else news.get((hidden, name))
        answer[name] = SkewnessOf(whole, _shift(classes, classes.spreads[name]), new, rows)
    return Skewness(answer, _HOW_TO_READ)


def _differences(
    pair: Pair, hidden: str | None, after: HomogeneityOf
) -> tuple[Difference | NoDifference, list[KeyDifference] | None]:
    """Return the rate in the original minus the rate in the release, together and per attribute."""
    before = {key: pair.originals.get(key) for key in pair.keys}
    known = list(dict.fromkeys(column for column in before.values() if column is not None and column != hidden))
    if hidden is None or not known:
        return NoDifference(None, "the original does not hold the sensitive attribute and a key attribute"), None
    table = pair.original.table([*known, hidden])
    each = [RateQuestion(table, [column], [hidden], adjusted=False) for column in known]
    whole, *measured = rates([RateQuestion(table, known, [hidden], values=False, adjusted=False), *each])
    alone = dict(zip(known, measured, strict=True))
    standing = _standing_for(pair, [ColumnPair(column, key) for key, column in before.items() if column in alone])
    released = {entry.release: entry.rate for entry in after.by_attribute}
    compared = {one: _compared(one, pairs, alone, released) for one, pairs in standing.items() if pairs is not None}
    by_value = {
        one: Rows(rows, {"original": one.original, "release": one.release}, [row["count"] for row in rows])
        for one, rows in compared.items()
    }
    rows = []
    for key, column in before.items():
        if column is None or column not in alone:
            rows.append(KeyDifference(key, NoDifference(None, "the original does not hold it")))
            continue
        one, difference = ColumnPair(column, key), _difference(alone[column], released[key])
        rows.append(KeyDifference(key, difference, column, by_value.get(one, []), "" if one in by_value else _NO_PAIRS))
    return _difference(whole, after.rate), rows


def _compared(
    column: ColumnPair,
    pairs: Sequence[tuple[Any, Any, int]],
    before: Mapping[str, RateFigures],
    after: Mapping[str, RateFigures],
) -> list[dict[str, Any]]:
    """Return, for each original value, its rate minus that of the released value that stands for it."""
    old_rates = {row[column.original]: row["dr"] for row in before[column.original].by_value or ()}
    new_rates = {row[column.release]: row["dr"] for row in after[column.release].by_value or ()}
    return [
        {
            "original": old,
            "release": new,
            "count": n,
            "in_original": old_rates[old],
            "in_release": new_rates[new],
            "difference": old_rates[old] - new_rates[new],
        }
        for old, new, n in pairs
        if old in old_rates and new in new_rates
    ]


def _standing_for(pair: Pair, columns: Sequence[ColumnPair]) -> dict[ColumnPair, list[tuple[Any, Any, int]] | None]:
    """Return the released value that stands for each original one, and for how many records; None if it is unknown.

    It is known if the records are aligned, or if the original itself holds the released column, as a generalisation table does.
    """
    if pair.alignment is not None:
        return dict(zip(columns, _cells(count_each(pair.aligned_each([[one] for one in columns]))), strict=True))
    within = [one for one in columns if one.original != one.release and one.release in pair.original.names]
    counts = [pair.original.counts([one.original, one.release], partitions={}) for one in within]
    return {**dict.fromkeys(columns), **dict(zip(within, _cells(counts), strict=True))}


def _cells(tables: Sequence[Counts]) -> list[list[tuple[Any, Any, int]]]:
    """Return the cells of tables of two columns: both values, and the number of records."""
    shown = jsonable([[list(column.values) for column in counts.columns] for counts in tables])
    return [
        [
            (old_values[old], new_values[new], n)
            for old, new, n in zip(*(codes.tolist() for codes in counts.codes), counts.n.tolist(), strict=True)
        ]
        for counts, (old_values, new_values) in zip(tables, shown, strict=True)
    ]


def _difference(one: RateFigures, other: RateFigures) -> Difference:
    before, after = one.value, other.value
    if before is None or after is None:
        return Difference(None, before, after, one.reason or other.reason)
    return Difference(before - after, before, after)


def _shift(classes: Equivalence, spread: Spread) -> BeliefShift:
    """Return how far belief shifts from the whole table (B1) to a class (B2): the largest ratio and distance, and where."""
    prior = spread.whole[spread.value]
    ratio = spread.share / prior
    distance = spread.total(np.maximum(spread.share - prior, 0.0))
    cell, farthest = int(np.argmax(ratio)), int(np.argmax(distance))
    return BeliefShift(
        ratio=float(ratio[cell]),
        value=jsonable(spread.values[int(spread.value[cell])]),
        prior=float(prior[cell]),
        posterior=float(spread.share[cell]),
        worst_class=classes.describe(int(spread.of_class[cell])),
        distance=float(distance[farthest]),
        farthest_class=classes.describe(farthest),
    )


def similarity(
    release: CodedTable, keys: Sequence[str], sensitive: Sequence[str], partitions: Mapping[str, Mapping[str, Partition]]
) -> dict[str, SimilarityModel]:
    """Measure the semantic rate under every named partition, beside the plain one."""
    models = {}
    for model, blocks in partitions.items():
        touched = [name for name in sensitive if name in blocks] or [
            name for name in sensitive if any(key in blocks for key in keys)
        ]
        rows = {}
        for name in touched:
            whole, *alone = _beside(release, [keys, *([key] for key in keys)], name, blocks)
            rows[name] = SimilarityOf(whole, [KeySimilarity(key, one) for key, one in zip(keys, alone, strict=True)])
        models[model] = SimilarityModel(mean([row.rate.rate.value for row in rows.values()]), rows)
    return models


def _beside(release: CodedTable, keys: Sequence[Sequence[str]], name: str, blocks: Mapping[str, Partition]) -> list[SimilarRate]:
    """Return the semantic rate of each key, beside the plain one."""
    plain = rates([RateQuestion(release, key, [name], values=False, adjusted=False) for key in keys])
    similar = rates([RateQuestion(release, key, [name]) for key in keys], blocks)
    return [SimilarRate(one.value, other) for one, other in zip(plain, similar, strict=True)]


def _m_log_m(m: Any) -> Any:
    return np.where(m > 0, m * np.log2(np.where(m > 0, m, 1.0)), 0.0)
