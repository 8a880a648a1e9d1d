"""The tables that result from others by generalisation, anatomy and microaggregation, recomputed."""

from __future__ import annotations

from collections.abc import Mapping

from unveil.mechanisms import Anatomy, anatomize, microaggregate
from unveil.reproduce.figures import PublishedFigure
from unveil.sources import datasets
from unveil.study import count

__all__ = ["anatomy", "generalisation", "microaggregation"]

_EXCHANGED = "the ZIP codes 356** and 357** are exchanged in print; no rate of Table 6.4 depends on them"
_ONE_IN_FIVE = (
    "the share of the class that is 35 or older is put at {}; all five of it are, whatever is released of them, so the estimate "
    "is the true count"
)
_CLASSES: Mapping[str, tuple[str, Mapping[str, str], Mapping[tuple[str, ...], int], str | None]] = {
    "thesis Table 1.2": ("thesis-1.1", {"Age": "age-decades"}, {("2*",): 3, ("3*",): 3, (">=40",): 3}, None),
    "thesis Table 2.2": ("thesis-2.1", {"Age": "age-32"}, {("<=32",): 4, (">32",): 5}, None),
    "thesis Table 3.2": ("thesis-3.1", {"Age": "age-decades"}, {("2*",): 3, ("3*",): 3, (">=40",): 3}, None),
    "thesis Table 6.3": (
        "thesis-6.2", {"ZIP": "zip-6.2", "Age": "age-decades"},
        {("355**", "2*"): 3, ("356**", ">=40"): 3, ("357**", "3*"): 3}, _EXCHANGED,
    ),
    "thesis Table 6.7": ("thesis-6.6", {"Salary*": "salary-below-10K"}, {("{4K, 8K}",): 6, ("{13K}",): 3}, None),
}  # fmt: skip
"""For each generalised table: its original, the partitions, the printed classes with their numbers of records, and a note."""


def generalisation() -> list[PublishedFigure]:
    """Count the classes of the printed generalisations in their original tables."""
    figures = []
    for source, (table, names, classes, note) in _CLASSES.items():
        counts = count(table, list(names), partitions={column: datasets.partition(name) for column, name in names.items()})
        cells = {tuple(str(cell[column]) for column in names): cell["n"] for cell in counts.to_dict()["cells"]}
        for labels, published in classes.items():
            computed = cells.get(labels, 0)
            why = None if computed == published else note
            figures.append(PublishedFigure(source, f"records of {', '.join(labels)}", published, computed, "count", why))
    return figures


def anatomy() -> list[PublishedFigure]:
    """Recompute the two tables of anatomy, and the result of a count on them and on the generalised table."""
    tables = anatomize("thesis-2.3", ["ZIP", "Age", "Salary"], "Disease", l=3, groups="ID")
    keys, diseases = tables.quasi.to_dicts(), tables.sensitive.to_dicts()
    first = next(row["group"] for row in diseases if row["Disease"] == "colon cancer")
    sizes = [sum((row["group"] == first) is own for row in keys) for own in (True, False)]
    figures = [
        PublishedFigure("thesis Table 2.4", f"records of group {number}", published, size, "anatomize")
        for number, published, size in zip((1, 2), (4, 5), sizes, strict=True)
    ]
    printed = {"colon cancer": 1, "stomach cancer": 1, "lung cancer": 2, "diabetes": 2, "aids": 2, "flu": 1}
    counts = {row["Disease"]: row["count"] for row in diseases}
    figures += [
        PublishedFigure("thesis Table 2.5", f"count of {disease}", published, counts[disease], "anatomize")
        for disease, published in printed.items()
    ]
    return [*figures, *_queries(tables)]


def _queries(tables: Anatomy) -> list[PublishedFigure]:
    """Recompute the count of people of 35 or more with aids; the class > 32 covers the ages 35, 40, 45 and 63."""
    cells = count("thesis-2.2", ["Age*", "Disease"]).to_dict()["cells"]
    ill = next(cell["n"] for cell in cells if (cell["Age*"], cell["Disease"]) == (">32", "aids"))
    ages = [int(age) for age in datasets.partition("age-32").to_dict()["blocks"][1]]
    generalised = ill * sum(age >= 35 for age in ages) / len(ages)  # noqa: PLR2004 - the age that the query names
    split = tables.count({"Age": lambda age: age >= 35, "Disease": "aids"})  # noqa: PLR2004
    source, what = "thesis section 2.5.4", "count of age >= 35 with aids, "
    return [
        PublishedFigure(source, what + "generalised", 0.4, generalised, "count", _ONE_IN_FIVE.format("1/5")),
        PublishedFigure(source, what + "anatomy", 0.8, split, "Anatomy.count", _ONE_IN_FIVE.format("2/5")),
    ]


def microaggregation() -> list[PublishedFigure]:
    """Recompute the microaggregated tables of chapters 2 and 6."""
    order = [f"{thousands}K" for thousands in range(3, 16)]
    grouped = microaggregate(
        "thesis-2.1", ["Age", "Salary"], groups=[1, 1, 1, 2, 2, 2, 3, 3, 3], orders={"Salary": order}, keep_order=True
    )
    figures: list[PublishedFigure] = []
    for row, (age, salary) in zip(grouped.data.to_dicts()[::3], ((22, 5), (49.33, 9), (34, 10)), strict=True):
        records = f"records {len(figures) // 2 * 3 + 1} to {len(figures) // 2 * 3 + 3}"
        figures.append(PublishedFigure("thesis Table 2.6", f"mean age of {records}", age, row["Age"], "microaggregate"))
        figures.append(
            PublishedFigure(
                "thesis Table 2.6", f"median salary of {records}, in K", salary, _thousands(row["Salary"]), "microaggregate"
            )
        )
    patients = datasets.load("thesis-6.5")
    salaries = patients.with_columns(patients["Salary"].str.strip_chars_end("K").cast(int))
    released = microaggregate(salaries, "Salary", k=3, method="optimal", keep_order=True).data["Salary"].to_list()
    printed = [_thousands(salary) for salary in datasets.load("thesis-6.6")["Salary*"].to_list()]
    figures += [
        PublishedFigure("thesis Table 6.6", f"salary of record {at}, in K", published, computed, "microaggregate")
        for at, (published, computed) in enumerate(zip(printed, released, strict=True), start=1)
    ]
    return figures


def _thousands(salary: str) -> float:
    return float(salary.removesuffix("K"))
