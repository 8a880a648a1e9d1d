"""The view of a loss: the figures that sum it up, then attribute by attribute."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unveil.formats import counted
from unveil.results import Figure, Table, View

if TYPE_CHECKING:
    from unveil.utility.loss import Loss
    from unveil.utility.loss_sections import ClassLoss

__all__ = ["view_of"]

_STRUCTURES = {
    "data": "data",
    "covariance": "covariances",
    "correlation": "correlations",
    "principal_components": "correlations with components",
    "communalities": "communalities",
    "factor_scores": "factor scores",
    "eigenvalues": "eigenvalues",
}
_SHARES = frozenset({"ks", "nominal", "ordinal", "granularity", "precision", "ncp", "entropy lost", "of the worst"})


def view_of(loss: Loss) -> View:
    """Return the first figures, a table for each part, and remarks."""
    tables = [*_continuous(loss.continuous), *_categorical(loss.categorical), _classes(loss.classes), *_tasks(loss.tasks)]
    title = "What the release has lost"
    return View(title, tuple(_figures(loss)), tuple(table for table in tables if table.rows), tuple(_notes(loss)))


def _figures(loss: Loss) -> list[Figure]:
    meant = [
        ("IL1s", loss.continuous.il1s, "mean change of a number, divided by its standard deviation times the square root of 2"),
        ("changed", loss.categorical.nominal, "share of categories that differ"),
        ("granularity", loss.categorical.granularity, "0: every value is kept; 1: all is suppressed"),
        ("pMSE", loss.pmse and loss.pmse["pmse"], "0: release and original cannot be distinguished; 0.25: every record can"),
    ]
    figures = [Figure(label, value, meaning) for label, value, meaning in meant if value is not None]
    gone = loss.suppressed
    figures.append(Figure("suppressed cells", gone["cells"], f"{gone['share_of_cells']:.2%} of all"))
    return [*figures, Figure("suppressed records", gone["records"], f"of {counted(loss.made.records, 'record')}")]


def _continuous(part: Any) -> list[Table]:
    rows = tuple(
        (name, one["mae"], one["il1s"], one["ks"], *(_moved(one, figure) for figure in ("mean", "sd")), one["left_out"])
        for name, one in part["attributes"].items()
    )
    columns = ("attribute", "mae", "IL1s", "ks", "mean moved", "sd moved", "nulls")
    tables = [Table(columns, rows, title="Numbers", bars=_SHARES)]
    if rows:
        compared = tuple(
            (_STRUCTURES[name], part[name]["mse"], part[name]["mae"], part[name]["variation"]) for name in _STRUCTURES
        )
        tables.append(Table(("compared", "mse", "mae", "variation"), compared, title="Structure of the numbers"))
    return tables


def _moved(one: Any, figure: str) -> float | None:
    return None if one["difference"] is None else one["difference"][figure]


def _categorical(part: Any) -> list[Table]:
    names = ("nominal", "ordinal", "entropy_loss", "granularity", "precision", "ncp")
    rows = tuple((name, *(one[figure] for figure in names)) for name, one in part["attributes"].items())
    columns = ("attribute", "nominal", "ordinal", "entropy lost", "granularity", "precision", "ncp")
    tables = [Table(columns, rows, title="Categories", note="all are losses: 0 is none", bars=frozenset())]
    by_ways = tuple((ways, one["tables"], one["difference"], one["normalised"]) for ways, one in part["contingency"].items())
    tables.append(Table(("ways", "tables", "difference", "of the worst"), by_ways, title="Contingency tables", bars=_SHARES))
    return tables


def _classes(part: ClassLoss) -> Table:
    figures = {
        "discernibility": part.discernibility,
        "average class size": part.average_class_size,
        "ambiguity": part.ambiguity,
    }
    rows = tuple((word, one.original, one.release, one.loss) for word, one in figures.items())
    rows = (("classes", part.classes.original, part.classes.release, None), *rows)
    return Table(("figure", "original", "release", "loss"), rows, title="Classes")


def _tasks(tasks: Any) -> list[Table]:
    sides = ("original", "release", "difference")
    rows = tuple(
        (name, score["model"], score["measure"], *(score[side]["mean"] for side in sides))
        for name, task in (tasks or {}).items()
        for score in task["scores"]
    )
    return [Table(("task", "model", "measure", *sides), rows, title="Tasks")]


def _notes(loss: Loss) -> list[str]:
    notes = [*loss.failed]
    if loss.made.dropped:
        notes.append(f"{counted(loss.made.dropped, 'original record')} with a null left out (nulls='drop').")
    alignment = loss.alignment.to_dict()
    if alignment["dropped"]:
        notes.append(f"{counted(alignment['dropped'], 'record')} of the original not in the release: counted as suppressed.")
    if alignment["added"]:
        notes.append(f"{counted(alignment['added'], 'record')} of the release without an original: left out.")
    covariance = loss.continuous.covariance
    notes += (
        [f"structure of the numbers: {covariance['reason']}"] if loss.continuous.attributes and not covariance["cells"] else []
    )
    notes += [f"contingency tables: {one['reason']}" for one in loss.categorical["contingency"].values() if "reason" in one]
    for name, one in loss.categorical["attributes"].items():
        notes += [f"{name}: {reason}" for reason in dict.fromkeys(one.get("reasons", {}).values())]
    for name, one in loss.continuous.attributes.items():
        notes += [f"{name}: {one['reason']}"] if "reason" in one else []
    return list(dict.fromkeys(notes))
