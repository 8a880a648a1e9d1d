"""The rates printed in the publications: of attributes, of values, semantic ones, and their complements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from unveil.attacks import Attack
from unveil.attacks.attack import attack
from unveil.measures import DiscriminationRate, discrimination_rate
from unveil.reproduce.figures import PublishedFigure
from unveil.sources import datasets

__all__ = ["in_the_text", "overall", "rates", "resistances"]

_EXCHANGED = "the two rows' labels are exchanged in print, as in Table 4.6: each figure belongs to the other value"
_ROWS_OF_TABLE_4 = "rows 6 and 9 were taken from Table 4, as for Table 7: with them the printed figures follow"
_LOCATIONS = ("location 1", "location 2")
_RESISTANCE: Mapping[str, tuple[str, str, Sequence[tuple[str, str | None, float, str | None]]]] = {
    "paper Table 8, k-anonymity": ("paper-2", "Age*", [
        ("Disease", "2*", 0.0, None), ("Disease", ">=40", 0.30, _ROWS_OF_TABLE_4), ("Disease", "3*", 0.17, _ROWS_OF_TABLE_4),
        ("Disease", None, 0.48, _ROWS_OF_TABLE_4),
    ]),
    "paper Table 8, l-diversity": ("paper-3", "Age*", [
        ("Disease", "2*", 0.22, None), ("Disease", ">=40", 0.22, None), ("Disease", "3*", 0.22, None),
        ("Disease", None, 0.64, None),
    ]),
    "thesis Table 4.7, k-anonymity": ("thesis-4.3", "Age*", [
        ("location 1", "2*", 0.15, _EXCHANGED), ("location 1", "3*", 0.27, None), ("location 1", ">=40", 0.27, _EXCHANGED),
        ("location 1", None, 0.69, None),
        ("location 2", "2*", 0.0, None), ("location 2", "3*", 0.19, None), ("location 2", ">=40", 0.19, None),
        ("location 2", None, 0.39, None),
    ]),
    "thesis Table 4.7, l-diversity": ("thesis-4.4", "ZIP*", [
        ("location 1", "355**", 0.27, None), ("location 1", "356**", 0.27, None), ("location 1", "358**", 0.27, None),
        ("location 1", None, 0.8, None),
        ("location 2", "355**", 0.33, None), ("location 2", "356**", 0.33, None), ("location 2", "358**", 0.33, None),
        ("location 2", None, 1.0, None),
    ]),
}  # fmt: skip
"""For each printed table of 1 - DR: the release, its key, and the sensitive attribute, value, figure and note of each row."""


def rates() -> list[PublishedFigure]:
    """Recompute every printed Discrimination Rate."""
    return [_recomputed_rate(figure) for figure in datasets.published()["discrimination_rates"]]


def resistances() -> list[PublishedFigure]:
    """Recompute the distances of rates from full disclosure: the printed resistance to homogeneity and background knowledge."""
    figures = []
    for source, (table, key, rows) in _RESISTANCE.items():
        sensitive = tuple(dict.fromkeys(name for name, *_ in rows))
        rates = attack(table, table, key, sensitive, link_records=False).background["by_sensitive"]
        for name, value, published, note in rows:
            entry = rates[name]
            missing = entry["missing"] if value is None else _of_value(entry["by_value"], key, value)
            condition = key if value is None else f"{key} = {value}"
            figures.append(
                PublishedFigure(
                    source, f"1 - DR of {name} given {condition}", published, missing, "attack", note, complement=True
                )
            )
    return figures


def overall() -> list[PublishedFigure]:
    """Recompute the global risks and information losses of section 4.6.1 of the thesis."""
    anonymous, diverse = (_attacked(release).overall for release in ("thesis-4.3", "thesis-4.4"))
    slip = "the mean of the two printed losses, 0.42 and 0.54, is 0.48"
    rows = [
        ("risk, identity disclosure", 0.58, anonymous["risk"]["identity"], None),
        ("information loss, identity disclosure", 0.42, anonymous["information_loss"]["identity"], None),
        ("risk, homogeneity attack, 3-anonymity", 0.46, anonymous["risk"]["homogeneity"], None),
        ("information loss, homogeneity attack, 3-anonymity", 0.54, anonymous["information_loss"]["homogeneity"], None),
        ("risk, homogeneity attack, 3-diversity", 0.1, diverse["risk"]["homogeneity"], None),
        ("information loss, homogeneity attack, 3-diversity", 0.9, diverse["information_loss"]["homogeneity"], None),
        ("overall information loss, 3-anonymity", 0.46, anonymous["overall_information_loss"], slip),
        ("overall information loss, 3-diversity", 0.66, diverse["overall_information_loss"], None),
    ]
    return [PublishedFigure("thesis section 4.6.1", what, printed, value, "attack", note) for what, printed, value, note in rows]


def in_the_text() -> list[PublishedFigure]:
    """Recompute the rates that are compared in the text, where it names them differently from its tables."""
    slip = "0.31 is the ZIP code's rate: Table 6 has 0.66 for Age*"
    exchanged = "the rows of Table 4.6 are exchanged: the value with 0.73 is 2*, so the two levels are not the same"
    rows = [
        ("paper section 4.3", "paper-1", "Age*", "Age", None, 0.31, slip),
        ("paper section 4.3", "paper-1", "Age**", "Age", None, 0.38, None),
        ("thesis section 4.6.1", "thesis-4.3", "Age*", "location 1", ">=40", 0.73, exchanged),
        ("thesis section 4.6.1", "thesis-4.4", "ZIP*", "location 1", "356**", 0.73, None),
    ]
    figures = []
    for source, table, key, sensitive, value, published, note in rows:
        result = discrimination_rate(datasets.load(table), key, sensitive)
        computed = result.value if value is None else next(row["dr"] for row in result.by_value if row[key] == value)
        what = f"DR of {sensitive} given {key}" + ("" if value is None else f" = {value}") + ", in the text"
        figures.append(PublishedFigure(source, what, published, computed, "discrimination_rate", note))
    return figures


def _attacked(release: str) -> Attack:
    return attack("thesis-4.2", release, sensitive=_LOCATIONS, mapping={"ZIP": "ZIP*", "Age": "Age*"}, link_records=False)


def _of_value(rows: Sequence[Mapping[str, Any]], key: str, value: str) -> float:
    return next(float(row["missing"]) for row in rows if row[key] == value)


def _recomputed_rate(figure: dict[str, Any]) -> PublishedFigure:
    key, sensitive = tuple(figure["key"]), figure["sensitive"]
    result = _rate(figure["table"], key, sensitive, figure["key_partition"], figure["sensitive_partition"])
    computed = result.value
    condition = " + ".join(key) + (f" by {figure['key_partition']}" if figure["key_partition"] else "")
    if figure["value"] is not None:
        row = next(row for row in result.by_value if [row[name] for name in key] == figure["value"])
        computed = row["dr"]
        condition = ", ".join(f"{name} = {value}" for name, value in zip(key, figure["value"], strict=True))
    target = sensitive + (f" by {figure['sensitive_partition']}" if figure["sensitive_partition"] else "")
    what, decimals = f"DR of {target} given {condition}", figure.get("decimals", 2)
    return PublishedFigure(figure["source"], what, figure["published"], computed, "discrimination_rate", figure["note"], decimals)


@cache
def _rate(
    table: str, key: tuple[str, ...], sensitive: str, key_partition: str | None, sensitive_partition: str | None
) -> DiscriminationRate:
    known = datasets.published()["partitions"]
    partitions = {}
    if key_partition:
        partitions.update(dict.fromkeys(key, known[key_partition]))
    if sensitive_partition:
        partitions[sensitive] = known[sensitive_partition]
    return discrimination_rate(datasets.load(table), key, sensitive, partitions=partitions)
