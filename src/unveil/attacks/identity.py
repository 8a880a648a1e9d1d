"""How far do the protected key attributes give the original ones away? The identity attack in its settings.

White box: the intruder knows the original and the protected columns but not which record is which: the Discrimination Rate of
each original attribute given the protected one. Black box: only the release: its key against the identity of its records.
Grey box: the release and other data with some columns in common: how many of its records find their match.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.attacks.pairs import Pair, Setting
from unveil.counts import Counts, count_table
from unveil.errors import ArgumentError
from unveil.measures.individual import population_sizes
from unveil.measures.rates import columns_of, mean, rate
from unveil.sources import CodedTable, Data, load, open_source
from unveil.sources.alignment import Alignment, side_by_side

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["black_box", "grey_box", "white_box"]

_NEEDS_ALIGNMENT = "it must be said which record is which: by an id column, a correspondence file, or the same order"


def white_box(setting: Setting) -> dict[str, Any]:
    """Measure every original attribute given its protected one, and all of them together.

    A protected column that the original table holds itself, as a generalisation table does, is measured within that table;
    the others need the correspondence of the records.
    """
    attributes = [
        {"attribute": pair.original, "release": pair.release, **_one_attribute(setting, pair)} for pair in setting.pairs
    ]
    return {"risk": mean([entry["value"] for entry in attributes]), "by_attribute": attributes, "combined": _combined(setting)}


def _one_attribute(setting: Setting, pair: Pair) -> dict[str, Any]:
    if pair.original not in setting.original.names:
        return {"value": None, "reason": "the original does not hold this attribute"}
    generalised = pair.release != pair.original and pair.release in setting.original.names
    if generalised and (setting.alignment is None or pair.release not in setting.release.names):
        table = load(setting.original, [pair.original, pair.release], nulls=setting.nulls)
        return {"within": "original", **rate(table, [pair.release], [pair.original])}
    if setting.alignment is None:
        return {"value": None, "reason": _NEEDS_ALIGNMENT}
    found = rate(_aligned(setting, setting.alignment, [pair]), ["release 0"], ["original 0"])
    rows = [{pair.release if name == "release 0" else name: value for name, value in row.items()} for row in found["by_value"]]
    return {**found, "by_value": rows}


def _combined(setting: Setting) -> dict[str, Any]:
    """Measure all original attributes together given all protected ones."""
    pairs = [pair for pair in setting.pairs if pair.release in setting.release.names and pair.original in setting.original.names]
    if setting.alignment is None or not pairs:
        return {"value": None, "reason": _NEEDS_ALIGNMENT}
    table = _aligned(setting, setting.alignment, pairs)
    numbers = range(len(pairs))
    return rate(table, [f"release {at}" for at in numbers], [f"original {at}" for at in numbers], values=False)


def _aligned(setting: Setting, alignment: Alignment, pairs: list[Pair]) -> CodedTable:
    """Return the aligned columns, original and protected, numbered by pair."""
    labels = [(f"original {at}", f"release {at}") for at in range(len(pairs))]
    names = [(pair.original, pair.release) for pair in pairs]
    frame = side_by_side(setting.original, setting.release, names, alignment, labels)
    return load(frame, frame.columns, nulls=setting.nulls)


def black_box(release: CodedTable, keys: tuple[str, ...]) -> dict[str, Any]:
    """Measure the release's key against the identity of its records: the rate, uniques, and each attribute alone."""
    sizes = count_table(columns_of(release, keys)).n
    uniques = int(np.count_nonzero(sizes == 1))
    return {
        **rate(release, keys, (), values=False),
        "uniques": uniques,
        "share_unique": uniques / release.records,
        "expected_matches": len(sizes) / release.records,
        "by_attribute": [{"release": name, **rate(release, [name], (), values=False)} for name in keys],
    }


def grey_box(setting: Setting, external: Data) -> dict[str, Any]:
    """Link other data to the release on the columns they share: how many of its records match one record, or several."""
    other = open_source(external)
    common = [name for name in setting.keys if name in other.names]
    if not common:
        raise ArgumentError("the external data has no key attribute in common with the release; rename its columns.")
    known = count_table(load(other, common, nulls=setting.nulls))
    alike = population_sizes(known, count_table(load(setting.release, common, nulls=setting.nulls)))
    return {"common": common, **_matches(known, alike)}


def _matches(known: Counts, alike: NDArray[np.int64]) -> dict[str, Any]:
    """Count the external records that find one record, or any; one that finds m is linked rightly with 1 / m at best."""
    found = alike > 0
    expected = float((known.n[found] / alike[found]).sum())
    return {
        "external_records": known.records,
        "matched": int(known.n[found].sum()),
        "matched_once": int(known.n[alike == 1].sum()),
        "expected_links": expected,
        "expected_share": expected / known.records,
    }
