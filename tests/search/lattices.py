"""What the tests of lattices share: a search within another capacity than the usual one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from unveil.models.base import Model
from unveil.search.lattice.capacity import USUAL, Capacity
from unveil.search.lattice.generalisation import Choice, Lattice
from unveil.search.request import request_of, wanted_of
from unveil.time_limit import SearchBudget


def chosen(
    data: Any,
    attributes: Any,
    models: Sequence[Model],
    capacity: Capacity = USUAL,
    budget: SearchBudget | None = None,
    objective: str = "loss",
    **options: Any,
) -> Choice:
    """Choose a generalisation as `unveil.anonymize` does."""
    request = request_of(wanted_of(data, attributes, models), objective=objective)
    return Lattice.of(request, objective=objective, capacity=capacity, **options).chosen(budget)
