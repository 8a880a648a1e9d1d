"""The examples in the publications: how far belief shifts, how many groups there can be, who is unique."""

from __future__ import annotations

from unveil.attacks.attack import attack
from unveil.models.measure import measure
from unveil.reproduce.figures import PublishedFigure
from unveil.sources import datasets
from unveil.study import count

__all__ = ["beliefs", "uniqueness"]

_NOT_ALONE = "records 1 and 3 have a twin too: 75002, 22, lung cancer"


def beliefs() -> list[PublishedFigure]:
    """Recompute the shares that the examples of skewness compare, and the groups of 2-sensitivity."""
    figures = []
    for source, table, key, column, value, prior, posterior in (
        ("paper Example 1", "paper-example-1", "Class", "Cancer", "yes", 0.01, 0.5),
        ("talk on k-anonymity, Example 2", "k-anonymity-example-2", "Group", "AIDS", "Yes", 0.005, 0.5),
        ("t-closeness virus", "t-closeness-virus", ["ZIP*", "Age*"], "Disease", "positive", 0.01, 0.75),
    ):
        belief = attack(table, table, key, column, link_records=False).skewness["by_sensitive"][column]["belief"]
        what = f"share of {column} = {value}"
        figures.append(PublishedFigure(source, f"{what} in all records", prior, belief["prior"], "attack"))
        figures.append(PublishedFigure(source, f"{what} in the worst class", posterior, belief["posterior"], "attack"))
    sensitive = measure("k-anonymity-example-2", "Group", "AIDS")
    groups = sensitive.classes if sensitive["p_sensitivity", "AIDS"].value == 2 else 0  # noqa: PLR2004 - both values in each
    figures.append(
        PublishedFigure("talk on k-anonymity, Example 2", "groups, each with a patient with aids", 5, groups, "measure")
    )
    return [*figures, _share("t-closeness virus", "t-closeness-virus", {"Age*": ">=40"}, {"Disease": "positive"}), _low_salary()]


def uniqueness() -> list[PublishedFigure]:
    """Recompute the frequencies of the patterns of Table 3.5."""
    key = ["ZIP", "Age", "Disease"]
    rows = datasets.load("thesis-3.5").to_dicts()
    often = {tuple(cell[name] for name in key): cell["n"] for cell in count("thesis-3.5", key).to_dict()["cells"]}
    frequency = [often[tuple(row[name] for name in key)] for row in rows]
    source = "thesis Table 3.5"
    figures = [
        PublishedFigure(source, f"frequency of the pattern of record {record}", printed, frequency[record - 1], "count")
        for record, printed in ((2, 1), (7, 2), (8, 2))
    ]
    twins = frequency.count(2)
    return [*figures, PublishedFigure(source, "records with a pattern of frequency 2", 2, twins, "count", _NOT_ALONE)]


def _low_salary() -> PublishedFigure:
    low = "{" + ", ".join(datasets.partition("SP2").to_dict()["blocks"][0]) + "}"
    return _share("paper section 4.4", "paper-3", {"ZIP*": "355**"}, {"Salary": low}, partition="SP2")


def _share(
    source: str, table: str, of: dict[str, str], value: dict[str, str], *, partition: str | None = None, published: float = 0.5
) -> PublishedFigure:
    """Recompute the share of a value, or of a block of values, among the records with a value of the key."""
    ((key, known),), ((column, wanted),) = of.items(), value.items()
    recoded = {column: datasets.partition(partition)} if partition else None
    cells = [cell for cell in count(table, [key, column], partitions=recoded).to_dict()["cells"] if cell[key] == known]
    computed = sum(cell["n"] for cell in cells if cell[column] == wanted) / sum(cell["n"] for cell in cells)
    return PublishedFigure(source, f"share of {column} = {wanted} given {key} = {known}", published, computed, "count")
