"""What is asked of a finer recoding, and of which table? Keys, secrets, models, and the records in coded form.

Finer recodings have no lattice: they put records into parts, a label a part and attribute. What they share is here: the table
read once, coded in an order that does not depend on that of its records, and the models that each part must meet.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.attributes import Names, checked_nulls, names_of
from unveil.counts import Column, Counts
from unveil.counts.grouping import group
from unveil.errors import ArgumentError, EmptyDataError, ModelNotMetError, shown
from unveil.measures.equivalence import equivalence
from unveil.models.asked import Place, completed, measured_models
from unveil.models.base import Measured, Model, SecretModel
from unveil.models.orders import Scale
from unveil.partitions import Hierarchy
from unveil.randomness import Chance
from unveil.results.numbers import number
from unveil.search.hierarchies import propose_hierarchy
from unveil.search.inputs import records_of, secrets_of, trees_of
from unveil.search.space import KeyAttribute, key_attributes
from unveil.sources import Data, load
from unveil.sources.microdata import Microdata

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Task", "Trees", "task_of"]

Trees = Mapping[str, Hierarchy | str | os.PathLike[str]]


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A table and what its release must meet.

    Attributes
    ----------
    keys, secrets
        The key attributes, and the sensitive ones that the models name.
    trees
        The hierarchies given, by attribute.
    records, rows
        The records to protect, and the rows of the data that they are.
    cells, of_row
        The count table over keys and secrets, and the cell of each record.
    models
        The requirements by their place in the answer.
    left_out
        The columns that name people, which the release does not have.
    """

    keys: tuple[str, ...]
    secrets: tuple[str, ...]
    trees: Mapping[str, Hierarchy]
    records: Microdata
    rows: NDArray[np.int64]
    cells: Counts
    of_row: NDArray[np.int64]
    models: Mapping[Place, Model]
    left_out: tuple[str, ...] = ()

    def codes(self, name: str) -> NDArray[np.int64]:
        """Return the code of an attribute in every cell."""
        return self.cells.codes[self.cells.names.index(name)].astype(np.int64)

    def values(self, name: str) -> Sequence[Any]:
        """Return the values of an attribute, in order, a null last."""
        return self.cells.columns[self.cells.names.index(name)].values

    def sorted_rows(self, chance: Chance) -> NDArray[np.int64]:
        """Return the rows by their cells, equal ones in a drawn order: no place in the file decides what becomes of them."""
        fingerprint = self.records.fingerprint() if chance.keyed else b""
        ties = chance.draws("ties", {"key": self.keys, "sensitive": self.secrets}, fingerprint).random(len(self.of_row))
        return np.lexsort((ties, self.of_row))

    def key_trees(self) -> tuple[tuple[KeyAttribute, ...], list[str]]:
        """Return every key attribute with its hierarchy, and those whose hierarchy had to be proposed."""
        proposed = [name for name in self.keys if name not in self.trees]
        trees = {name: self.trees[name] for name in self.keys if name in self.trees}
        trees |= {name: propose_hierarchy(self.records.frame, name).hierarchy for name in proposed}
        return key_attributes(self.cells, {name: trees[name] for name in self.keys}), proposed

    def secret_groups(self) -> list[tuple[str, ...]]:
        """Return the sensitive attributes that models name, alone or several jointly."""
        asked = [model.attribute for model in self.models.values() if isinstance(model, SecretModel)]
        return [(name,) if name in self.secrets else tuple(name.split(" + ")) for name in dict.fromkeys(asked)]

    def measured(self, counts: Counts) -> dict[Place, Measured]:
        """Return what the models say of a count table over keys and secrets."""
        try:
            classes = equivalence(counts, self.keys, self.secrets)
        except EmptyDataError:  # nothing is left of any key: one class
            classes = equivalence(counts, self.keys, self.secrets, suppressed="class")
        return measured_models(self.models, classes, None)

    def require_reachable(self) -> None:
        """Refuse models that fail even if all records look alike."""
        columns = [Column(name, ("all",)) if name in self.keys else self.cells.columns[at] for at, name in _numbered(self.cells)]
        codes = [
            np.zeros_like(self.cells.codes[at]) if name in self.keys else self.cells.codes[at]
            for at, name in _numbered(self.cells)
        ]
        for place, one in self.measured(self.cells.regrouped(columns, codes)).items():
            if one.met is False:
                value = "infinite" if one.value is None or math.isinf(one.value) else number(one.value)
                about = f" of {shown(place[1])}" if len(place) > 1 else ""
                raise ModelNotMetError(
                    f"{one.requirement}{about} cannot be met: with all records in one class the figure is {value}."
                )


def task_of(
    data: Data,
    attributes: Names | Trees,
    models: Sequence[Any],
    *,
    hierarchies: Trees | None = None,
    orders: Mapping[str, Sequence[Any]] | None = None,
    identifiers: Names = (),
    nulls: str = "category",
) -> Task:
    """Read a table, and check what is asked of it."""
    keys, trees = trees_of(attributes, hierarchies)
    secrets = secrets_of(models, keys)
    scales = {name: Scale(name, tuple(orders[name]) if orders and name in orders else None, trees.get(name)) for name in secrets}
    asked: dict[Place, Model] = {}
    for place, model in completed(models, scales).items():
        if not isinstance(model, Model):
            raise ArgumentError(f"{model.name} compares with a population, whose records have no finer recoding; use anonymize.")
        asked[place] = model
    records, rows = records_of(data, keys, secrets, names_of(identifiers), checked_nulls(nulls))
    table = load(records.frame, [*keys, *secrets])
    columns = tuple(Column(coded.name, coded.values) for coded in table.columns)
    of_row, codes = group([coded.codes for coded in table.columns], [len(column.values) for column in columns])
    cells = Counts(columns, tuple(codes), np.bincount(of_row).astype(np.int64))
    task = Task(keys, secrets, trees, records, rows, cells, of_row, asked, names_of(identifiers))
    task.require_reachable()
    return task


def _numbered(counts: Counts) -> list[tuple[int, str]]:
    return list(enumerate(counts.names))
