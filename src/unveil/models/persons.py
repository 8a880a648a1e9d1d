"""Does every class hold enough persons? The requirement on a release if a person may have several records.

A class holds k persons if it holds k distinct values of the column that identifies the person of a record. So every search that
can meet distinct l-diversity can also meet this model exactly: a class that contains one which meets it also meets it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from unveil.arguments import checked_arguments
from unveil.errors import ArgumentError, shown
from unveil.models.base import Model, Place
from unveil.models.classes import DistinctLDiversity

__all__ = ["PersonAnonymity", "in_persons"]


@checked_arguments
@dataclass(frozen=True)
class PersonAnonymity(DistinctLDiversity):
    """Every class holds records of at least l persons, identified by the attribute."""

    name: ClassVar[str] = "k_anonymity_in_persons"
    label: ClassVar[str] = "k-anonymity in persons"

    @property
    def place(self) -> Place:
        """Its place in an answer, which is about the key alone."""
        return (self.name,)

    @property
    def requirement(self) -> str | None:
        """The threshold in words."""
        return None if self.l is None else f"k_anonymity >= {self.l} persons"


def in_persons(models: Sequence[Model], person: str | None) -> tuple[Model, ...]:
    """Return requirements in which a class size is a number of persons.

    Parameters
    ----------
    models
        The requirements.
    person
        The column that identifies the person of a record; None: every record is of a different person, and nothing is added.
    """
    sizes = [model.least_size for model in models if model.least_size is not None]
    if person is None:
        return tuple(models)
    if of_records := [model.name for model in models if model.judged_on in ("average", "sizes", "payoff")]:
        raise ArgumentError(
            f"{of_records[0]} counts records, but {shown(person)} identifies persons; require a k, which counts persons, "
            "or do not name the column of persons."
        )
    return (*models, PersonAnonymity(person, max(sizes))) if sizes else tuple(models)
