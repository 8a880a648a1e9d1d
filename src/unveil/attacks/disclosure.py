"""What do the protected key attributes disclose? Homogeneity, background knowledge, skewness and similarity.

Homogeneity: the Discrimination Rate of each sensitive attribute given the key. Background knowledge: what is still missing,
1 - DR, and which single piece of knowledge would disclose most. Skewness: what the protection changed in the rate, and how far
belief shifts from the whole table to a class. Similarity: the rate when values that mean the same count as one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.attacks.novelty import new_values
from unveil.counts import Counts, count_each, count_table
from unveil.counts.grouping import summed
from unveil.measures.equivalence import Equivalence, Spread, equivalence
from unveil.measures.rates import columns_of, mean, rates
from unveil.partitions import Partition
from unveil.results import jsonable
from unveil.results.masked_rows import Rows
from unveil.results.masking import disclosing
from unveil.sources import CodedTable
from unveil.study import ColumnPair, Pair

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["background", "classes_of", "homogeneity", "knowledge", "similarity", "skewness"]

_NO_PAIRS = "which released value stands for which original one is known only where it is said which record is which"
_HOW_TO_READ = (
    "original minus release: above 0 the protection took that much away, below 0 the release says more than before; "
    "it is no risk between 0 and 1 and stays out of the global mean"
)


def homogeneity(
    release: CodedTable,
    keys: Sequence[str],
    sensitive: Sequence[str],
    classes: Equivalence,
    missing_is_sensitive: Collection[str] = (),
) -> dict[str, Any]:
    """Measure every sensitive attribute given the key, by attribute and together, and who is disclosed for certain.

    Classes in which nobody has a value disclose none: they are counted apart, unless a missing value is itself sensitive.
    """
    sections = {}
    for name in sensitive:
        spread, secret = classes.spreads[name], name in missing_is_sensitive
        whole, *alone = rates([(release, some, [name]) for some in (keys, *([key] for key in keys))])
        sections[name] = {
            **whole,
            "by_attribute": [{"release": key, **figures} for key, figures in zip(keys, alone, strict=True)],
            "certain": _counted(classes, spread.certain(missing_is_sensitive=secret)),
            "without_value": {**_counted(classes, spread.valueless), "missing_is_sensitive": secret},
        }
    return {"risk": mean([entry["value"] for entry in sections.values()]), "by_sensitive": sections}


def _counted(classes: Equivalence, which: NDArray[np.bool_]) -> dict[str, Any]:
    """Count some classes and the records that hold their key; where persons are distinguished, also these and their share."""
    counts = {
        "classes": int(which.sum()),
        "records": int(classes.own[which].sum()),
        "share": classes.among(which) / classes.every,
    }
    return counts if classes.owners is None else counts | {"persons": classes.among(which)}


def background(rates: Mapping[str, Any], classes: Equivalence) -> dict[str, Any]:
    """Say what is missing to full disclosure, and which single piece of knowledge would disclose most."""
    answer = {}
    for name, entry in rates["by_sensitive"].items():
        rows = [{"release": row["release"], **_missing(row)} for row in entry["by_attribute"]]
        secret = bool(entry["without_value"]["missing_is_sensitive"])
        known = knowledge(classes.spreads[name], missing_is_sensitive=secret)
        answer[name] = {**_missing(entry), "by_attribute": rows, "knowledge": known}
    return {"by_sensitive": answer}


def _missing(entry: Mapping[str, Any]) -> dict[str, Any]:
    figures = ("count", "dr", "posterior")
    rows = [
        {**{name: value for name, value in row.items() if name not in figures}, "count": row["count"], "missing": 1.0 - row["dr"]}
        for row in entry["by_value"]
    ]
    named = entry["by_value"].with_figures(rows) if isinstance(entry["by_value"], Rows) else rows
    return {"missing": None if entry["value"] is None else 1.0 - entry["value"], "by_value": named}


def knowledge(spread: Spread, *, missing_is_sensitive: bool = False) -> Rows:
    """Rank the pieces of knowledge "not v": how many more records would be certain, and what would stay uncertain, in bits.

    Parameters
    ----------
    spread
        How a sensitive attribute spreads over the classes.
    missing_is_sensitive
        Whether it is sensitive information that a value is missing; if not, nobody becomes certain by having none.

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
    others = summed(spread.value, np.where(given_away, 0.0, spread.n), values)  # who hold a value, and no class gives it away
    return Rows(rows, {"not": spread.name}, [int(others[at]) for at in order])


def skewness(pair: Pair, sections: Mapping[str, Any], classes: Equivalence) -> dict[str, Any]:
    """Compare the rates before with those after, which homogeneity found, and show the class in which belief shifts most."""
    before = [pair.original_of(name) for name in pair.sensitive]
    answer = {
        name: {
            **_differences(pair, hidden, sections["by_sensitive"][name]),
            "belief": _shift(classes, classes.spreads[name]),
            "new": new,
        }
        for name, hidden, new in zip(
            pair.sensitive, before, new_values(pair, list(zip(before, pair.sensitive, strict=True))), strict=True
        )
    }
    return {"by_sensitive": answer, "reading": _HOW_TO_READ}


def _differences(pair: Pair, hidden: str | None, after: Mapping[str, Any]) -> dict[str, Any]:
    """Return the rate in the original minus the rate in the release, per attribute and together."""
    before = {key: pair.original_of(key) for key in pair.keys}
    known = list(dict.fromkeys(column for column in before.values() if column is not None and column != hidden))
    if hidden is None or not known:
        return {"difference": None, "reason": "the original does not hold the sensitive attribute and a key attribute"}
    table = pair.original.table([*known, hidden])
    (whole,) = rates([(table, known, [hidden])], values=False, adjust=False)
    measured = rates([(table, [column], [hidden]) for column in known], adjust=False)
    alone = dict(zip(known, measured, strict=True))
    standing = _standing_for(pair, [ColumnPair(column, key) for key, column in before.items() if column in alone])
    rows = []
    for (key, column), entry in zip(before.items(), after["by_attribute"], strict=True):
        if column is None or column not in alone:
            rows.append({"release": key, "difference": None, "reason": "the original does not hold it"})
            continue
        by_value = _by_value(standing[ColumnPair(column, key)], (column, alone[column]), (key, entry))
        rows.append({"attribute": column, "release": key, **_difference(alone[column], entry), **by_value})
    return {**_difference(whole, after), "by_attribute": rows}


def _by_value(
    pairs: Sequence[tuple[Any, Any, int]] | None,
    before: tuple[str, Mapping[str, Any]],
    after: tuple[str, Mapping[str, Any]],
) -> dict[str, Any]:
    """Return, for each original value and the released one that stands for it, the rate of the one minus that of the other."""
    if pairs is None:
        return {"by_value": [], "by_value_reason": _NO_PAIRS}
    rates_of = [{row[key]: row["dr"] for row in side["by_value"]} for key, side in (before, after)]
    rows = [
        {"original": old, "release": new, "count": n, "in_original": rates_of[0][old], "in_release": rates_of[1][new]}
        for old, new, n in pairs
        if old in rates_of[0] and new in rates_of[1]
    ]
    compared = [{**row, "difference": row["in_original"] - row["in_release"]} for row in rows]
    return {"by_value": Rows(compared, {"original": before[0], "release": after[0]}, [row["count"] for row in rows])}


def _standing_for(pair: Pair, columns: Sequence[ColumnPair]) -> dict[ColumnPair, list[tuple[Any, Any, int]] | None]:
    """Return which released value stands for which original one, and for how many records; None where it is not known.

    It is where the records are aligned, and where the original itself holds the released column, as a generalisation table does.
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


def _difference(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    before, after = one["value"], other["value"]
    if before is None or after is None:
        reason = one.get("reason") or other.get("reason")
        return {"difference": None, "in_original": before, "in_release": after, "reason": reason}
    return {"difference": before - after, "in_original": before, "in_release": after}


def _shift(classes: Equivalence, spread: Spread) -> dict[str, Any]:
    """Return how far belief moves from the whole table (B1) to a class (B2): the largest ratio and distance, and where."""
    prior = spread.whole[spread.value]
    ratio = spread.share / prior
    distance = spread.total(np.maximum(spread.share - prior, 0.0))
    cell, farthest = int(np.argmax(ratio)), int(np.argmax(distance))
    return {
        "ratio": float(ratio[cell]),
        "value": jsonable(spread.values[int(spread.value[cell])]),
        "prior": float(prior[cell]),
        "posterior": float(spread.share[cell]),
        "worst_class": classes.describe(int(spread.of_class[cell])),
        "distance": float(distance[farthest]),
        "farthest_class": classes.describe(farthest),
    }


def similarity(
    release: CodedTable, keys: Sequence[str], sensitive: Sequence[str], partitions: Mapping[str, Mapping[str, Partition]]
) -> dict[str, Any]:
    """Measure the semantic rate under every named partition, beside the plain one."""
    models = {}
    for model, blocks in partitions.items():
        touched = [name for name in sensitive if name in blocks] or [
            name for name in sensitive if any(key in blocks for key in keys)
        ]
        rows = {
            name: {
                **whole,
                "by_attribute": [{"release": key, **figures} for key, figures in zip(keys, alone, strict=True)],
            }
            for name in touched
            for whole, *alone in [_beside(release, [keys, *([key] for key in keys)], name, blocks)]
        }
        models[model] = {"risk": mean([row["value"] for row in rows.values()]), "by_sensitive": rows}
    return models


def _beside(
    release: CodedTable, keys: Sequence[Sequence[str]], name: str, blocks: Mapping[str, Partition]
) -> list[dict[str, Any]]:
    """Return the semantic rate of each key, beside the plain one."""
    questions = [(release, key, [name]) for key in keys]
    plain = rates(questions, values=False, adjust=False)
    return [{"plain": one["value"], **other} for one, other in zip(plain, rates(questions, partitions=blocks), strict=True)]


def classes_of(release: CodedTable, keys: Sequence[str], sensitive: Sequence[str], person: str | None = None) -> Equivalence:
    """Return the release's classes; records without any key value form none, as nobody is found through them."""
    columns = [*keys, *sensitive, *([] if person is None else [person])]
    return equivalence(count_table(columns_of(release, columns)), keys, sensitive, person=person)


def _m_log_m(m: Any) -> Any:
    return np.where(m > 0, m * np.log2(np.where(m > 0, m, 1.0)), 0.0)
