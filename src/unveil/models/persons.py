"""Does every class hold enough persons? What a release must meet where a person has several records.

A class holds k persons where it holds k distinct values of the column that says whose record it is. So every search that meets
distinct diversity meets this model too, and exactly: a class that holds one which meets it does so as well.
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
        """Where it is in an answer: it is about the key alone."""
        return (self.name,)

    @property
    def requirement(self) -> str | None:
        """The threshold in words."""
        return None if self.l is None else f"k_anonymity >= {self.l} persons"


def in_persons(models: Sequence[Model], person: str | None) -> tuple[Model, ...]:
    """Return requirements that ask for persons where they ask for the size of a class.

    Parameters
    ----------
    models
        What is required.
    person
        The column that says whose record it is; none: every record is of another person, and nothing is added.
    """
    sizes = [model.least_size for model in models if model.least_size is not None]
    if person is None:
        return tuple(models)
    if of_records := [model.name for model in models if model.asked_of in ("average", "sizes", "payoff")]:
        raise ArgumentError(
            f"{of_records[0]} is met in records, and {shown(person)} tells persons apart; ask for a k, which is met in persons, "
            "or do not name the column of persons."
        )
    return (*models, PersonAnonymity(person, max(sizes))) if sizes else tuple(models)
