"""What do the protected key attributes disclose? Homogeneity, background knowledge, skewness and similarity.

Homogeneity: the Discrimination Rate of each sensitive attribute given the key. Background knowledge: what is still missing,
1 - DR, and which single piece of knowledge would disclose most. Skewness: what the protection changed in the rate, and how far
belief shifts from the whole table to a class. Similarity: the rate when values that mean the same count as one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

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
from unveil.counts import Counts, count_each, count_table
from unveil.counts.grouping import summed
from unveil.measures.by_value import disclosing
from unveil.measures.equivalence import Equivalence, Spread, equivalence
from unveil.measures.rates import Question, RateFigures, columns_of, mean, rates
from unveil.partitions import Partition
from unveil.results import jsonable
from unveil.results.masked_rows import Rows
from unveil.sources import CodedTable
from unveil.study import ColumnPair, Pair

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["background", "classes_of", "homogeneity", "knowledge", "similarity", "skewness"]

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
    sections = {}
    for name in sensitive:
        spread, gap_is_sensitive = classes.spreads[name], name in missing_is_sensitive
        whole, *alone = rates([Question(release, some, [name]) for some in (keys, *([key] for key in keys))])
        sections[name] = HomogeneityOf(
            whole,
            [KeyRate(key, figures) for key, figures in zip(keys, alone, strict=True)],
            _counted(classes, spread.certain(missing_is_sensitive=gap_is_sensitive)),
            WithoutValue(_counted(classes, spread.valueless), missing_is_sensitive=gap_is_sensitive),
        )
    return Homogeneity(mean([entry.rate.value for entry in sections.values()]), sections)


def _counted(classes: Equivalence, which: NDArray[np.bool_]) -> CountedClasses:
    """Count some classes and the records that hold their key; if persons are distinguished, also these and their share."""
    among = classes.among(which)
    persons = None if classes.owners is None else among
    return CountedClasses(int(which.sum()), int(classes.own[which].sum()), among / classes.every, persons)


def background(rates: Homogeneity, classes: Equivalence) -> Background:
    """Say how far it is from full disclosure, and which single piece of knowledge would disclose most."""
    answer = {}
    for name, entry in rates.by_sensitive.items():
        rows = [KeyMissing(row.release, _missing(row.rate)) for row in entry.by_attribute]
        known = knowledge(classes.spreads[name], missing_is_sensitive=entry.without_value.missing_is_sensitive)
        answer[name] = BackgroundOf(_missing(entry.rate), rows, known)
    return Background(answer)


def _missing(rate: RateFigures) -> MissingShare:
    figures, values = ("count", "dr", "posterior"), rate.by_value or []
    rows = [
        {**{name: value for name, value in row.items() if name not in figures}, "count": row["count"], "missing": 1.0 - row["dr"]}
        for row in values
    ]
    named = values.with_figures(rows) if isinstance(values, Rows) else rows
    return MissingShare(None if rate.value is None else 1.0 - rate.value, named)


def knowledge(spread: Spread, *, missing_is_sensitive: bool = False) -> Rows:
    """Rank the pieces of knowledge "not v": how many more records would be certain, and what would stay uncertain, in bits.

    Parameters
    ----------
    spread
        How a sensitive attribute spreads over the classes.
    missing_is_sensitive
        Whether a missing value is itself sensitive; if not, nobody becomes certain by having none.

    Returns
    -------
    Rows
        For each value v, most telling first: `not`, the records `newly_certain` once v is ruled out for everyone who does not
        hold it, their `share` of these, and the `uncertainty_left` among them, in bits.
    """
    values = len(spread.values)
    logs = spread.n * np.log2(spread.n)
    uncertain = spread.size * np.log2(spread.size) - spread.total(logs)
    rest = spread.size[spread.of_class] - spread.n
    rest_uncertain = _m_log_m(rest) - (spread.total(logs)[spread.of_class] - logs)
    left_uncertain = uncertain.sum() + summed(spread.value, rest_uncertain - uncertain[spread.of_class], values)
    left = spread.n.sum() - summed(spread.value, spread.n, values)
    settled = spread.distinct[spread.of_class] == 2  # noqa: PLR2004 - then one value is left
    if not missing_is_sensitive:
        missing = np.array([value is None for value in spread.values], dtype=bool)[spread.value]
        settled &= missing | (spread.total(missing.astype(np.float64)) == 0)[spread.of_class]
    newly = summed(spread.value, np.where(settled, rest, 0.0), values)
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
    given_away = disclosing(spread.n, spread.size[spread.of_class], spread.whole[spread.value])
    others = summed(spread.value, np.where(given_away, 0.0, spread.n), values)  # those who hold a value that no class gives away
    return Rows(rows, {"not": spread.name}, [int(others[at]) for at in order])


def skewness(pair: Pair, sections: Homogeneity, classes: Equivalence, news: Mapping[tuple[str, str], NewValues]) -> Skewness:
    """Compare the rates before with those after, which homogeneity measured, and show the class in which belief shifts most."""
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
    each = [Question(table, [column], [hidden], adjusted=False) for column in known]
    whole, *measured = rates([Question(table, known, [hidden], values=False, adjusted=False), *each])
    alone = dict(zip(known, measured, strict=True))
    standing = _standing_for(pair, [ColumnPair(column, key) for key, column in before.items() if column in alone])
    rows = []
    for (key, column), entry in zip(before.items(), after.by_attribute, strict=True):
        if column is None or column not in alone:
            rows.append(KeyDifference(key, NoDifference(None, "the original does not hold it")))
            continue
        pairs, one, other = standing[ColumnPair(column, key)], alone[column], entry.rate
        by_value = [] if pairs is None else _by_value(pairs, (column, one), (key, other))
        rows.append(KeyDifference(key, _difference(one, other), column, by_value, _NO_PAIRS if pairs is None else ""))
    return _difference(whole, after.rate), rows


def _by_value(pairs: Sequence[tuple[Any, Any, int]], before: tuple[str, RateFigures], after: tuple[str, RateFigures]) -> Rows:
    """Return, for each original value and the released one that stands for it, the rate of the one minus that of the other."""
    rates_of = [{row[key]: row["dr"] for row in side.by_value or ()} for key, side in (before, after)]
    rows = [
        {"original": old, "release": new, "count": n, "in_original": rates_of[0][old], "in_release": rates_of[1][new]}
        for old, new, n in pairs
        if old in rates_of[0] and new in rates_of[1]
    ]
    compared = [{**row, "difference": row["in_original"] - row["in_release"]} for row in rows]
    return Rows(compared, {"original": before[0], "release": after[0]}, [row["count"] for row in rows])


def _standing_for(pair: Pair, columns: Sequence[ColumnPair]) -> dict[ColumnPair, list[tuple[Any, Any, int]] | None]:
    """Return which released value stands for which original one, and for how many records; None if it is not known.

    It is known if the records are aligned, or if the original itself holds the released column, as a generalisation table does.
    """
    if pair.alignment is not None:
        counts = count_each(pair.aligned_each([[one] for one in columns]))
        return dict(zip(columns, map(_cells, counts), strict=True))
    return {
        one: _cells(pair.original.counts([one.original, one.release], partitions={}))
        if one.original != one.release and one.release in pair.original.names
        else None
        for one in columns
    }


def _cells(counts: Counts) -> list[tuple[Any, Any, int]]:
    """Return the cells of a table of two columns: both values, and the records."""
    return [tuple(cell.values()) for cell in counts.to_dict()["cells"]]


def _difference(one: RateFigures, other: RateFigures) -> Difference:
    before, after = one.value, other.value
    if before is None or after is None:
        return Difference(None, before, after, one.reason or other.reason)
    return Difference(before - after, before, after)


def _shift(classes: Equivalence, spread: Spread) -> BeliefShift:
    """Return how far belief moves from the whole table (B1) to a class (B2): the largest ratio and distance, and where."""
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
    plain = rates([Question(release, key, [name], values=False, adjusted=False) for key in keys])
    similar = rates([Question(release, key, [name]) for key in keys], blocks)
    return [SimilarRate(one.value, other) for one, other in zip(plain, similar, strict=True)]


def classes_of(release: CodedTable, keys: Sequence[str], sensitive: Sequence[str], person: str | None = None) -> Equivalence:
    """Return the release's classes; records without any key value form none, because nobody is found through them."""
    columns = [*keys, *sensitive, *([] if person is None else [person])]
    return equivalence(count_table(columns_of(release, columns)), keys, sensitive, person=person)


def _m_log_m(m: Any) -> Any:
    return np.where(m > 0, m * np.log2(np.where(m > 0, m, 1.0)), 0.0)
