"""What has a release lost against its original? Information loss of numbers, of categories and of classes, and of tasks.

Records are compared with their own originals, so the correspondence must be stated: an id, a correspondence file or the row
order. A record of the original that the release lacks counts as suppressed in every attribute; a record of the release without
an original is left out. Both are counted. Every loss is 0 for a release that equals its original.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil import __version__
from unveil.arguments import checked_arguments, checked_count, checked_seed
from unveil.attributes import Names, names_of, require_columns
from unveil.counts import group
from unveil.errors import ArgumentError, UnveilError, listed, shown
from unveil.formats import jsonable, number
from unveil.measures import mean
from unveil.partitions import Hierarchy
from unveil.results import Provenance, Result, View
from unveil.run import Progress, active_run, in_run
from unveil.sources import Alignment, Data, Microdata
from unveil.study import Pair
from unveil.utility.categorical import attribute_loss, contingency_loss
from unveil.utility.compared import ComparedTables, Named, compared
from unveil.utility.continuous import continuous_loss, refused
from unveil.utility.granularity import (
    LOSSES,
    Granularity,
    average_class_size,
    class_figure,
    discernibility,
    granularity_loss,
    unread,
)
from unveil.utility.loss_sections import CategoricalLoss, ClassFigure, ClassLoss, ClassNumbers, ContinuousLoss, SuppressionLoss
from unveil.utility.loss_view import view_of
from unveil.utility.propensity import pmse as propensity
from unveil.utility.side_by_side import SideBySide
from unveil.utility.tasks import Task, Tasks
from unveil.utility.tasks import tasks as try_tasks

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Loss", "loss"]

_MOST_WAYS = 3
_MEANS = ("nominal", "ordinal", "conditional_entropy", "mutual_information", "entropy_loss")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Loss(Result):
    """The losses of a release, as plain values.

    Attributes
    ----------
    continuous
        Attributes that are numbers in both tables: `attributes` one by one; `data`, `covariance`, `correlation`,
        `principal_components`, `communalities`, `factor_scores`, `eigenvalues`, each with `mse`, `mae` and `variation`; `il1s`.
    categorical
        All other attributes: `attributes` one by one, the means over them, and the `contingency` tables by number of
        attributes.
    classes
        `discernibility`, `average_class_size`, `classes` and `ambiguity`, of the release beside those of the original.
    suppressed
        Cells and records that no longer carry information.
    pmse, tasks
        The propensity score error, and the loss of models trained on the release; None if not requested.
    alignment
        How records were aligned.
    failed
        Requests by name that could not be evaluated, one line each.
    made
        The provenance of the result.
    """

    continuous: ContinuousLoss
    categorical: CategoricalLoss
    classes: ClassLoss
    suppressed: SuppressionLoss
    pmse: Mapping[str, Any] | None
    tasks: Mapping[str, Any] | None
    alignment: Alignment
    failed: tuple[str, ...]
    made: Provenance

    def __repr__(self) -> str:
        """Return one line: the figures that sum up each part."""
        parts = {
            "IL1s": self.continuous.il1s,
            "nominal": self.categorical.nominal,
            "granularity": self.categorical.granularity,
            "discernibility": self.classes.discernibility.loss,
        }
        return f"Loss({', '.join(f'{name} {number(value)}' for name, value in parts.items() if value is not None)})"

    def to_dict(self) -> dict[str, Any]:
        """Return the whole answer as plain Python values."""
        return {
            "continuous": jsonable(self.continuous),
            "categorical": jsonable(self.categorical),
            "classes": jsonable(self.classes),
            "suppressed": jsonable(self.suppressed),
            "pmse": jsonable(self.pmse),
            "tasks": jsonable(self.tasks),
            "records": self.made.records,
            "alignment": self.alignment.to_dict(),
            "failed": list(self.failed),
            "made": self.made.to_dict(),
        }

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return one row per attribute."""
        numbers, words = self.continuous.attributes, self.categorical.attributes
        rows: list[tuple[str, str, Mapping[str, Any]]] = [(name, "continuous", one) for name, one in numbers.items()]
        rows += [(name, "categorical", one) for name, one in words.items()]
        figures = ("mse", "mae", "variation", "il1s", "ks", "nominal", "ordinal", "conditional_entropy", *LOSSES)
        return {
            "attribute": [name for name, _, _ in rows],
            "kind": [kind for _, kind, _ in rows],
            **{figure: [one.get(figure) for _, _, one in rows] for figure in figures},
            "suppressed": [self.suppressed.by_attribute[name] for name, _, _ in rows],
        }

    def view(self) -> View:
        """Return the displayed losses."""
        return view_of(self)


@checked_arguments
@in_run
def loss(  # noqa: PLR0913 - the one call that measures every loss
    original: Data,
    release: Data | None = None,
    *,
    id: str | None = None,  # noqa: A002 - the word of the command line
    link: Data | None = None,
    same_order: bool = False,
    mapping: Mapping[str, str] | Sequence[tuple[str, str]] = (),
    key: Names | None = None,
    continuous: Names | None = None,
    categorical: Names | None = None,
    orders: Mapping[str, Sequence[Any]] | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    ways: int = _MOST_WAYS,
    pmse: bool = False,
    tasks: Task | Names | Sequence[Task | str] = (),
    seed: int = 0,
    progress: Progress | None = None,  # noqa: ARG001 - `in_run` takes it
) -> Loss:
    """Measure the loss of a release against its original.

    Parameters
    ----------
    original, release
        Paths, names of built-in data sets, data frames, tables in an engine, studies or project files; or a `Pair` of both.
        Never changed.
    id, link, same_order
        The correspondence of the records, in one of three ways: a column of both, a correspondence file, or the row order.
    mapping
        The protected column for an original one, such as ``{"Age": "Age*"}``; others are paired by name. Attributes are named
        below as in the original.
    key
        The attributes that form the classes; none: the key of the compared study or project, else all. Columns that it declares
        as identifier, weight, person or household are not compared unless they are named here.
    continuous, categorical
        Attributes to be read as numbers, or as categories. By default, those that are numbers in both tables (apart from
        suppressed cells) and have neither order nor hierarchy are continuous, all others categorical; the kinds of a study take
        precedence.
    orders
        The categories of ordinal attributes, from lowest to highest, in addition to those of the compared study or project.
    hierarchies
        The generalisation hierarchies that released labels come from; none: those of the study or project.
    ways
        The largest number of attributes in the contingency tables that are compared: 0 to 3.
    pmse
        Whether to measure the propensity score error.
    tasks
        The tasks that models learn from the release, compared with models that learn from the original: tasks, or attributes to
        be predicted from all others, numbers by regression and others by classification.
    seed
        The seed of all random draws.
    progress
        A run, or a function called with the name of a stage, the number of steps done, and the number of all steps.

    Returns
    -------
    Loss
        The losses of numbers, of categories, of classes, suppression, and on request pMSE and tasks.

    Raises
    ------
    ArgumentError
        If no correspondence is named, the tables have no column in common, or an argument is invalid.
    ColumnNotFoundError
        If a named attribute is not among those compared.

    Examples
    --------
    >>> import unveil
    >>> ages = {"age": [21, 34, 38, 59], "sex": ["f", "m", "m", "f"]}
    >>> import polars as pl
    >>> loss = unveil.loss(pl.DataFrame(ages), pl.DataFrame(ages | {"age": [25, 36, 36, 55]}), same_order=True)
    >>> loss
    Loss(IL1s 0.1345, nominal 0.0000, granularity 0.0000, discernibility 0.1667)
    >>> loss.continuous["attributes"]["age"]["mae"]
    3.0
    """
    _check_options(ways, seed)
    wanted = [tasks] if isinstance(tasks, Task | str) else [*tasks]
    named = Named(
        mapping, id, link, same_order, key, names_of(continuous), names_of(categorical), orders or {}, hierarchies or {},
        targets=_features(wanted),
    )  # fmt: skip
    if isinstance(original, Pair):
        named, original, release = _of_pair(original, named), original.original, original.release
    if release is None:
        raise ArgumentError("no release is given; give the original and its release, or a Pair of both.")
    return _loss(compared(original, release, named), named, wanted, _Extras(ways, seed, pmse=pmse))


@dataclass(frozen=True, slots=True)
class _Extras:
    """The measurements beside those of attributes and classes, and the seed of their draws."""

    ways: int
    seed: int
    pmse: bool


def _of_pair(pair: Pair, named: Named) -> Named:
    """Return the names in a call, completed by those of a pair: its key, its map, and its correspondence of records."""
    return replace(
        named,
        key=[one.original for one in pair.columns] if named.key is None else named.key,
        mapping={one.original: one.release for one in pair.whole if one.original != one.release},
        **pair.correspondence,
    )


def _loss(subject: ComparedTables, named: Named, wanted: Sequence[Task | str], extras: _Extras) -> Loss:
    """Measure the losses of two tables that were read."""
    both, keys = subject.side_by_side(), subject.key
    granularities = _granularities(both, subject.hierarchies)
    planned = _planned(wanted, both, subject.words)
    tables = _renamed((subject.original, subject.release), subject.pairs, named.id) if planned or extras.pmse else (None, None)
    tried = _task_results(tables, planned, subject.correspondence, extras.seed)
    unreadable = [(name, why) for name, why in granularities.items() if isinstance(why, str) and name in named.hierarchies]
    return Loss(
        continuous=_continuous(both),
        categorical=_categorical(both, subject.orders, granularities, extras.ways),
        classes=_classes(both, keys, granularities),
        suppressed=_suppressed(both, keys),
        pmse=_propensities(tables, list(subject.pairs), extras.seed) if extras.pmse else None,
        tasks=None if tried is None else tried.to_dict()["tasks"],
        alignment=subject.alignment,
        failed=(*_unpaired([*both.failed.items(), *unreadable]), *(() if tried is None else tried.failed)),
        made=Provenance(
            subject.original.records, subject.nulls, subject.dropped, key=keys, seed=extras.seed, version=__version__
        ),
    )


def _check_options(ways: int, seed: int) -> None:
    checked_count("ways", ways, least=0, most=_MOST_WAYS)
    checked_seed(seed)


def _task_results(tables: tuple[Any, Any], planned: Sequence[Task], correspondence: Mapping[str, Any], seed: int) -> Tasks | None:
    """Return the scores of each task on both tables; None if no task is planned."""
    return try_tasks(*tables, planned, **correspondence, seed=seed, progress=active_run().under("tasks")) if planned else None


def _propensities(tables: tuple[Any, Any], names: Sequence[str], seed: int) -> dict[str, Any]:
    with active_run().stage("pMSE"):
        return propensity(*tables, names, seed=seed).to_dict()


def _unpaired(reasons: Sequence[tuple[str, str]]) -> list[str]:
    """Return the attributes that could not be compared as requested, with the reasons."""
    return [f"attribute {shown(name)}: {why.removesuffix('.')}." for name, why in reasons]


def _continuous(both: SideBySide) -> ContinuousLoss:
    """Return the losses of numbers, with reasons for attributes that cannot be read as such."""
    before, after = ({name: pair[side] for name, pair in both.numbers.items()} for side in (0, 1))
    losses = continuous_loss(before, after)
    attributes = {**losses.attributes, **{name: refused(reason) for name, reason in both.failed.items()}}
    return replace(losses, attributes=attributes, reason="" if both.numbers else "no attribute is a number in both tables")


def _granularities(both: SideBySide, hierarchies: Mapping[str, Hierarchy]) -> dict[str, Granularity | str]:
    """Return the coarseness of each categorical attribute, or the reason why it is unknown."""
    granularities: dict[str, Granularity | str] = {}
    for name, column in active_run().each("granularity", both.coded.items()):
        try:
            granularities[name] = granularity_loss(column, hierarchies.get(name))
        except UnveilError as problem:
            granularities[name] = str(problem)
    return granularities


def _categorical(
    both: SideBySide,
    orders: Mapping[str, Sequence[Any]],
    granularities: Mapping[str, Granularity | str],
    ways: int,
) -> CategoricalLoss:
    """Return the losses of categories: attribute by attribute, their means, and contingency tables."""
    attributes = {}
    for name, column in active_run().each("categories", both.coded.items()):
        coarse = granularities[name]
        known = coarse.figures if isinstance(coarse, Granularity) else unread(coarse)
        attributes[name] = replace(attribute_loss(column, orders.get(name)), coarse=known)
    means: dict[str, Any] = {name: mean([one[name] for one in attributes.values()]) for name in (*_MEANS, *LOSSES)}
    without = {figure: [name for name, one in attributes.items() if one[figure] is None] for figure in LOSSES}
    tables = contingency_loss(list(both.coded.values()), ways)
    reason = "" if attributes else "every attribute is a number in both tables"
    return CategoricalLoss(**means, left_out=without, contingency=tables, attributes=attributes, reason=reason)


def _classes(both: SideBySide, keys: Sequence[str], granularities: Mapping[str, Granularity | str]) -> ClassLoss:
    """Return the figures of classes and whole records, for the release and for the original."""
    with active_run().stage("classes"):
        (before, gone_before), (after, gone_after) = (_sizes(both, keys, side) for side in (0, 1))
    n = both.records
    return ClassLoss(
        classes=ClassNumbers(len(before), len(after)),
        discernibility=class_figure(discernibility(before, gone_before, n), discernibility(after, gone_after, n), n**2),
        average_class_size=class_figure(average_class_size(before), average_class_size(after), n),
        ambiguity=_ambiguity(both, {name: granularities[name] for name in keys if name in granularities}),
    )


def _sizes(both: SideBySide, keys: Sequence[str], side: int) -> tuple[NDArray[np.int64], int]:
    """Return the sizes of the classes, and the number of records suppressed in every key attribute, which form no class.

    Attributes are added one by one; a record that is alone in its class stays so and is set aside.
    """
    gone = np.logical_and.reduce([both.hidden[name][side] for name in keys])
    rows, alone, number_of_classes = np.flatnonzero(~gone), 0, 1
    of_row = np.zeros(len(rows), dtype=np.int64)
    words, others = [name for name in keys if name in both.coded], [name for name in keys if name not in both.coded]
    for step in (words, *([name] for name in others)):
        if not len(rows):
            break
        codes, sizes = zip(*(both.codes(name, side, rows) for name in step), strict=True) if step else ((), ())
        of_row, _ = group([of_row, *codes], [number_of_classes, *sizes])
        single = np.bincount(of_row) == 1
        alone += int(np.count_nonzero(single))
        kept = ~single[of_row]
        rows, of_row = rows[kept], (np.cumsum(~single) - 1)[of_row[kept]]
        number_of_classes = int(np.count_nonzero(~single))
    return np.concatenate([np.ones(alone, dtype=np.int64), np.bincount(of_row)]), int(np.count_nonzero(gone))


def _ambiguity(both: SideBySide, granularities: Mapping[str, Granularity | str]) -> ClassFigure:
    """Return the mean number of original records that a released one could have been, over the categorical attributes."""
    unknown = [name for name, coarse in granularities.items() if isinstance(coarse, str)]
    if unknown:
        return ClassFigure(1.0, None, None, f"labels cover nothing known in: {listed(unknown)}")
    product, most = np.ones(both.records), np.ones(both.records)
    with np.errstate(over="ignore"):
        for name, coarse in granularities.items():
            if isinstance(coarse, Granularity):
                known = ~both.hidden[name][0]
                product[known] *= coarse.covered[both.coded[name].release[known]]
                most[known] *= coarse.figures["leaves"]
    return class_figure(1.0, float(product.mean()), float(most.mean()))


def _suppressed(both: SideBySide, keys: Sequence[str]) -> SuppressionLoss:
    """Count the cells, and the records in their whole key, that carry no information in the release but did in the original."""
    by_attribute = {name: int(np.count_nonzero(after & ~before)) for name, (before, after) in both.hidden.items()}
    empty, now = (np.logical_and.reduce([both.hidden[name][side] for name in keys]) for side in (0, 1))
    gone = int(np.count_nonzero(now & ~empty))
    cells = sum(by_attribute.values())
    share = cells / (both.records * len(by_attribute))
    return SuppressionLoss(cells, share, gone, gone / both.records, by_attribute)


def _features(wanted: Sequence[Task | str]) -> tuple[str, ...]:
    """Return the attributes that tasks name."""
    named = [(one,) if isinstance(one, str) else (one.target, *one.given) for one in wanted]
    return tuple(name for names in named for name in names if name is not None)


def _planned(wanted: Sequence[Task | str], both: SideBySide, words: Sequence[str]) -> list[Task]:
    """Return the requested tasks; an attribute given alone is predicted from all others, a number by regression."""
    tasks = []
    for name in wanted:
        if isinstance(name, Task):
            tasks.append(name)
            continue
        require_columns([name], list(both.columns))
        number_like = both.columns[name][0].dtype.is_numeric() and name not in words
        tasks.append(Task(name, name, kind="regression" if number_like else "classification"))
    return tasks


def _renamed(tables: tuple[Microdata, Microdata], pairs: Mapping[str, str], identity: str | None) -> tuple[Any, Any]:
    """Return both tables whole and unaligned, under the original's names, and with the id if there is one."""
    wanted = {**pairs, **({} if identity is None else {identity: identity})}
    one, other = tables
    before = one.frame.select([one.column(name) for name in wanted])
    return before, other.frame.select([other.column(after).alias(name) for name, after in wanted.items()])
