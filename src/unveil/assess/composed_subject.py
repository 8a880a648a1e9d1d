"""The subject of a composition: the records, what a study states about them, and the columns that a release may have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.releases import ColumnScreen, screen
from unveil.search import records_of, require_person_apart
from unveil.sources import Data, Microdata, RecordsSource, open_microdata
from unveil.study import Study, said_of, stated, study_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Subject"]


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """The data to be protected.

    Attributes
    ----------
    records, rows
        The records that the null policy keeps, with the columns that a release may have and that of persons; and their rows in
        the data.
    study
        The study of the data, if a study or project was given.
    screen
        The screening of columns that a release does not have; that of persons is among them.
    partitions
        The partitions by which numbers are read, if any are stated.
    """

    records: Microdata
    rows: NDArray[np.int64]
    study: Study | None
    screen: ColumnScreen
    partitions: Mapping[str, Any]

    @classmethod
    def of(cls, data: Data, named: Sequence[str], identifiers: tuple[str, ...], partitions: Mapping[str, Any] | None) -> Subject:
        """Read the records, and decide which columns a release may have."""
        study = study_of(data)
        said = stated(data if study is None else study, named, partitions=partitions)
        opened = open_microdata(data if study is None else study)
        person = opened.standing.person
        if person is not None:
            require_person_apart(person, identifiers)
        records, rows = records_of(opened, named, (), identifiers, said.nulls)
        screened = screen(records.frame, records.names, named, opened.standing)
        records = records.without([name for name in screened.left_out if name != person]).deferred()
        screened = screened.beside(ColumnScreen.of_identifiers(identifiers).left_out)
        return cls(records, rows, study, screened, said.partitions)

    def released(self, release: Any) -> Any:
        """Return a release without the columns that it may not have, with the rows of its records in the given data."""
        known = release.origin >= 0
        origin = np.where(known, self.rows[np.where(known, release.origin, 0)], -1)
        return replace(self.screen.applied(release), origin=origin)

    @property
    def data(self) -> Data:
        """The input of the steps of a protection."""
        return self.records if self.study is None else said_of(RecordsSource(self.records), self.study)
