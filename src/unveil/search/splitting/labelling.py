"""The result of a finer recoding: the protected records, what each attribute lost, and the models before and after."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.counts import Column, Counts
from unveil.errors import ModelNotMetError, listed, shown
from unveil.formats import counted, jsonable, number
from unveil.measures import SUPPRESSED
from unveil.models import Measured, Place
from unveil.randomness import Chance
from unveil.releases import ColumnScreen, Release, drawn_order, marked, repeatable_of, screened
from unveil.results import Figure, Table, View
from unveil.search.lattice.generalisation import Searched, on_suppressed
from unveil.search.lattice.space import KeyAttribute
from unveil.search.request import Request

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.sources import Microdata

__all__ = ["Labelling", "Recoded", "Recoding", "fully_general", "merged_labels", "of_levels", "released"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Recoding(Searched):
    """A recoding in which records of one value need not share one label.

    Its score is the Loss: the mean over the key attributes of the share of its values that a record's label stands for, scaled
    from 0 (nothing is generalised) to 1 (everything is).

    Attributes
    ----------
    method
        The name of the method.
    transformation
        For each key attribute, the number of its labels in the release, the number of records without its exact value, and its
        Loss.
    classes
        The combinations of labels in the release.
    details
        Figures that only this method reports.
    """

    method: str
    transformation: Mapping[str, Mapping[str, Any]]
    classes: int
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def objective(self) -> str:
        """What the score measures."""
        return "loss"

    @property
    def made_by(self) -> str:
        """The method."""
        return self.method

    def account(self, release: Release[Any]) -> dict[str, Any]:
        """Return the JSON of the recoding."""
        common = Searched.account(self, release)
        return {
            "method": self.method,
            "transformation": jsonable(self.transformation),
            "objective": self.objective,
            "score": common["score"],
            "classes": self.classes,
            "suppressed": self.suppressed,
            "records": release.records.records,
            **common,
            "settings": jsonable(release.settings),
            "details": jsonable(self.details),
        }

    def line(self, release: Release[Any]) -> str:
        """Return a line with the recoding and its cost."""
        size = f"{counted(self.classes, 'class', 'classes')}, {counted(release.records.records, 'record')}"
        return f"{self.method}; loss {number(self.score)}; {size}, {self.suppressed:,} suppressed"

    def view(self, release: Release[Any]) -> View:
        """Return the displayed tables and notes."""
        figures = (
            Figure("loss", self.score, "0: nothing is generalised; 1: everything is"),
            Figure("classes", self.classes, f"of {counted(release.records.records, 'record')}, in {self.seconds:.2f} s"),
            Figure("suppressed", self.suppressed, "records"),
        )
        rows = tuple((name, one["labels"], one["changed"], one["loss"]) for name, one in self.transformation.items())
        table = Table(("attribute", "labels", "records changed", "loss"), rows, title="Recoding")
        return View(f"Release by {self.method}", figures, (table, self.model_table()), release.notes)


@dataclass(frozen=True, slots=True, eq=False)
class Labelling:
    """The labels of the records in one attribute.

    Attributes
    ----------
    labels
        The labels; different codes may have equal labels.
    shares
        The share of the attribute's leaves that each label stands for.
    exact
        Which labels are original values.
    leaves
        The number of leaves.
    codes
        The label of each record.
    """

    labels: Sequence[str | None]
    shares: NDArray[np.float64]
    exact: NDArray[np.bool_]
    leaves: int
    codes: NDArray[np.int64]

    def loss(self, suppressed: NDArray[np.bool_]) -> float:
        """Return ARX's Loss of the attribute: shares summed over the records, scaled from 0 to 1; what is suppressed counts 1."""
        records = len(self.codes)
        least = records / self.leaves
        total = float(np.where(suppressed, 1.0, self.shares[self.codes]).sum())
        return (total - least) / (records - least) if self.leaves > 1 else 0.0


@dataclass(frozen=True, eq=False)
class Recoded:
    """All records recoded: the labelling of each key attribute, which records are suppressed, and notes."""

    rules: Mapping[str, Labelling]
    suppressed: NDArray[np.bool_]
    details: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def losses(self) -> dict[str, float]:
        """The loss of each attribute."""
        return {name: rule.loss(self.suppressed) for name, rule in self.rules.items()}

    @cached_property
    def score(self) -> float:
        """The mean of the attributes' losses."""
        return float(np.mean([*self.losses.values()]))


def of_levels(one: KeyAttribute, level: NDArray[np.int64], codes: NDArray[np.int64]) -> Labelling:
    """Return the labelling in which every record has a level of its own, given the code of its value."""
    levels = one.levels
    starts = np.cumsum([0, *(len(labels) for labels in levels.labels)])
    tables = np.stack(levels.groups)
    labels = [label for row in levels.labels for label in row]
    exact = np.arange(len(labels)) < starts[1]
    return Labelling(labels, np.concatenate(levels.shares), exact, levels.leaves, starts[level] + tables[level, codes])


def fully_general(request: Request, known: Sequence[KeyAttribute]) -> Recoded:
    """Return all records with every key attribute at its highest level: one class, which meets every model that can be met."""
    records = len(request.rows)
    rules = {
        one.name: of_levels(one, np.full(records, one.levels.height), request.codes(one.name)[request.of_row]) for one in known
    }
    return Recoded(rules, np.zeros(records, dtype=bool))


def _best_of(request: Request, candidates: Sequence[Recoded]) -> tuple[Recoded, Counts, dict[Place, Measured]]:
    """Return the cheapest candidate that meets the models, with its count table and the figures of its models."""
    for one in sorted(candidates, key=lambda one: one.score):
        counts = _counted(request, one)
        after = request.measured(counts)
        failing = [(place, figure) for place, figure in after.items() if figure.met is False]
        if not failing:
            return one, counts, after
    place, figure = failing[0]
    about = f" of {shown(place[1])}" if len(place) > 1 else ""
    raise ModelNotMetError(f"{figure.requirement}{about} is not met by any recoding found; require less, or allow suppression.")


def released(
    method: str,
    request: Request,
    candidates: Sequence[Recoded],
    *,
    began: float,
    keep_order: bool,
    chance: Chance,
    settings: Mapping[str, Any],
    proposed: Sequence[str] = (),
) -> Release[Recoding]:
    """Apply the best of the candidates, and measure the result."""
    best, counts, after = _best_of(request, candidates)
    changed = {name: _column(request.records, name, rule, best.suppressed) for name, rule in best.rules.items()}
    protected = request.records.replaced({name: column for name, column in changed.items() if column is not None})
    recorded = {
        "models": [" ".join([*place[1:2], str(one.requirement)]) for place, one in after.items()],
        "key": list(request.keys),
        "sensitive": list(request.sensitive),
        **settings,
        "keep_order": keep_order,
    }
    order = np.arange(len(request.rows)) if keep_order else drawn_order(protected, chance, {"method": method, **recorded})
    repeatable = repeatable_of(chance, request.records.place, drawn=not keep_order)
    proposals = f"Hierarchies were proposed from the values of {listed(proposed)}; write your own for meaning."
    recoding = Recoding(
        method=method,
        transformation={name: _summary(rule, best.suppressed, best.losses[name]) for name, rule in best.rules.items()},
        score=best.score,
        classes=len(counts.over(request.keys)),
        suppressed=int(best.suppressed.sum()),
        models=after,
        before=request.measured(request.cells),
        seconds=time.perf_counter() - began,
        details=best.details,
    )
    notes = marked([*([proposals] if proposed else []), *on_suppressed(recoding.suppressed, after)], repeatable)
    left_out = ColumnScreen.of_identifiers(request.left_out).left_out
    return screened(Release(protected.taken(order), recoding, request.rows[order], recorded, notes, repeatable, left_out))


def _counted(request: Request, recoded: Recoded) -> Counts:
    """Return the count table of the recoded records over key and sensitive attributes."""
    columns: list[Column] = []
    codes: list[NDArray[np.integer[Any]]] = []
    for at, name in enumerate(request.cells.names):
        if name in recoded.rules:
            rule = recoded.rules[name]
            merged, place = merged_labels([*rule.labels, SUPPRESSED])
            columns.append(Column(name, merged))
            codes.append(place[np.where(recoded.suppressed, len(rule.labels), rule.codes)])
        else:
            columns.append(request.cells.columns[at])
            codes.append(request.cells.codes[at][request.of_row])
    rows = Counts(tuple(columns), tuple(codes), np.ones(len(request.of_row), dtype=np.int64))
    return rows.regrouped(columns, codes)


def merged_labels(labels: Sequence[str | None]) -> tuple[tuple[str | None, ...], NDArray[np.int64]]:
    """Return the distinct labels, a null last, and the place of each label among them."""
    distinct = [*dict.fromkeys(label for label in labels if label is not None), *([None] if None in labels else [])]
    at = {label: place for place, label in enumerate(distinct)}
    return tuple(distinct), np.array([at[label] for label in labels], dtype=np.int64)


def _column(records: Microdata, name: str, rule: Labelling, suppressed: NDArray[np.bool_]) -> Any:
    """Return the column with its labels; None if every value stays as it is."""
    if rule.exact[rule.codes].all() and not suppressed.any():
        return None
    return records.labelled(name, [*rule.labels, SUPPRESSED], np.where(suppressed, len(rule.labels), rule.codes))


def _summary(rule: Labelling, suppressed: NDArray[np.bool_], loss: float) -> dict[str, Any]:
    some = bool(suppressed.any())
    records = np.bincount(rule.codes[~suppressed] if some else rule.codes, minlength=len(rule.labels))
    used = {rule.labels[code] for code in np.flatnonzero(records).tolist()}
    return {
        "labels": len(used | ({SUPPRESSED} if some else set())),
        "changed": len(rule.codes) - int(records[rule.exact].sum()),
        "loss": loss,
    }
