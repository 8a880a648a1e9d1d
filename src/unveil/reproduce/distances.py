"""The distances printed in publications: between a class and the whole table, by rank and in the hierarchy of diseases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from unveil.models.measure import measure
from unveil.reproduce.figures import PublishedFigure
from unveil.sources import datasets

__all__ = ["captions", "distances", "steps"]

_NOT_THE_LEAST_WORK = (
    "does not follow from the printed table, tree and formula: by hand, and as the linear program that defines the distance, it "
    "comes to {}"
)
_COPIED = (
    "the caption is that of Li's Table 5, and no tree is printed for these diseases; with equal distances it is 5/9, of which "
    "the print is half (also thesis, Tables 3.4 and 5.1)"
)
_ULCER, _GASTRITIS, _FLU = 0, 1, 4
"""The records of Li's Table 3 by their disease."""


def distances() -> list[PublishedFigure]:
    """Recompute the distances of two classes from Li's Table 3, and the closeness of Table 5."""
    rows: list[tuple[str, str, str, int, float, str | None]] = [
        ("salary", "D[P1,Q]", "Salary", 0, 0.375, None),
        ("salary", "D[P2,Q]", "Salary", 3, 0.167, None),
        ("disease", "D[P1,Q]", "Disease", 0, 0.5, _NOT_THE_LEAST_WORK.format("4/9")),
        ("disease", "D[P2,Q]", "Disease", 3, 0.278, _NOT_THE_LEAST_WORK.format("8/27")),
    ]
    released = datasets.load("t-closeness-4")
    figures = [
        _distance(f"t-closeness {of}", what, column, published, _closeness(released[at : at + 3], column), note)
        for of, what, column, at, published, note in rows
    ]
    closer, note = datasets.load("t-closeness-5"), _NOT_THE_LEAST_WORK.format("8/27")
    return [
        *figures,
        _distance("t-closeness T5", "max D disease", "Disease", 0.278, _closeness(closer, "Disease"), note),
        _distance("t-closeness T5", "max D salary", "Salary", 0.167, _closeness(closer, "Salary"), None),
    ]


def captions() -> list[PublishedFigure]:
    """Recompute the closeness that the captions of the authors' own table claim."""
    measured = measure("paper-9", ["ZIP*", "Age**"], ["Salary", "Disease"], orders={"Salary": [f"{k}K" for k in range(4, 13)]})
    salary, disease = measured["t_closeness", "Salary", "rank"].value, measured["t_closeness", "Disease", "equal"].value
    source = "paper Table 9, caption"
    return [
        PublishedFigure(source, "closeness of Salary, by rank", 0.167, float(salary or 0.0), "measure"),
        PublishedFigure(source, "closeness of Disease, equal distances", 0.278, float(disease or 0.0), "measure", _COPIED),
    ]


def steps() -> list[PublishedFigure]:
    """Recompute the distance of two diseases in the hierarchy, from a class of one record and a table of another."""
    patients = datasets.load("t-closeness-3")
    ulcer = patients[_ULCER : _ULCER + 1]
    colitis = ulcer.with_columns(ulcer["Disease"].replace("gastric ulcer", "colitis"))
    others = {"gastritis": (patients[_GASTRITIS : _GASTRITIS + 1], 1 / 3), "colitis": (colitis, 2 / 3),
              "flu": (patients[_FLU : _FLU + 1], 1.0)}  # fmt: skip
    return [
        PublishedFigure(
            "t-closeness disease", f"distance of gastric ulcer and {name}", published,
            _closeness(ulcer, "Disease", ["ZIP"], other), "measure",
        )
        for name, (other, published) in others.items()
    ]  # fmt: skip


def _closeness(frame: Any, column: str, key: Sequence[str] = ("ZIP*", "Age*"), whole: Any = "t-closeness-3") -> float:
    """Return the largest distance of a class from the whole table."""
    if column == "Disease":
        hierarchies = {column: datasets.hierarchy("disease", column=column)}
        distance = measure(frame, list(key), column, reference=whole, hierarchies=hierarchies)[
            "t_closeness", column, "hierarchical"
        ]
    else:
        orders = {column: datasets.published()["orders"][column]}
        distance = measure(frame, list(key), column, reference=whole, orders=orders)["t_closeness", column, "rank"]
    return float(distance.value or 0.0)


def _distance(source: str, what: str, column: str, published: float, computed: float, note: str | None) -> PublishedFigure:
    return PublishedFigure(source, what if "max" in what else f"{what} of {column}", published, computed, "measure", note)
