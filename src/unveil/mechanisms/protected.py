"""What a mechanism gives back: the protected records, and a record of what it did to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.attributes import in_line
from unveil.randomness import Chance, Repeatable
from unveil.releases import drawn_order, marked, recorded, repeatable_of, write_recorded
from unveil.results import Figure, Result, Table, View, jsonable
from unveil.results.numbers import counted, number
from unveil.sources.alignment import write_link

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from unveil.mechanisms.columns import Chosen
    from unveil.sources.microdata import Microdata

__all__ = ["Protected", "protected", "release_of"]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Protected(Result):
    """The answer of one mechanism.

    Attributes
    ----------
    mechanism
        Its name.
    records
        The protected records, as the next mechanism of a chain takes them; `data` gives them in the caller's library.
    attributes
        The columns it changed.
    settings
        What it was asked to do.
    figures
        What it reports about what it did, by name.
    origin
        For every protected record the row of the one it was made from, -1 for none: the steward's secret.
    notes
        What a user should know before using the records.
    repeatable
        Who can repeat the draws: nobody (False), whoever has the "key", or, from a "seed", everybody.
    left_out
        The columns of the data that the release does not have.
    not_private
        Figures that were counted in the data without noise, where the records are differentially private: no part of what the
        guarantee covers, so they stay inside.
    """

    mechanism: str
    records: Microdata
    attributes: tuple[str, ...]
    settings: Mapping[str, Any]
    figures: Mapping[str, Any]
    origin: NDArray[np.int64]
    notes: tuple[str, ...] = ()
    repeatable: Repeatable = False
    left_out: tuple[str, ...] = ()
    not_private: Mapping[str, Any] = field(default_factory=dict)

    @property
    def data(self) -> Any:
        """The protected records as a data frame of the caller's library."""
        return self.records.native()

    @property
    def record(self) -> dict[str, Any]:
        """What may be said of the release beside it: how it was made, and who can repeat that."""
        kept = self.records.names
        columns = {
            "kept": kept,
            "left_out": self.left_out,
            "never_measured": [name for name in kept if name not in self.attributes],
        }
        return recorded(
            self.mechanism, self.settings, records=self.records.records, models=(), repeatable=self.repeatable, columns=columns
        )

    def __repr__(self) -> str:
        """Return one line: the mechanism, what it changed, and its first figures."""
        first = [f"{name} {number(value)}" for name, value in self.figures.items() if isinstance(value, int | float)]
        parts = [
            " of ".join(filter(None, (self.mechanism, in_line(self.attributes)))),
            counted(self.records.records, "record"),
            *first,
        ]
        return f"Protected({'; '.join(parts)})"

    def to_dict(self) -> dict[str, Any]:
        """Return what was done, without the records."""
        from unveil import __version__

        return {
            "mechanism": self.mechanism,
            "attributes": list(self.attributes),
            "records": self.records.records,
            "settings": jsonable(self.settings),
            "figures": jsonable(self.figures),
            **({"not_private": jsonable(self.not_private)} if self.not_private else {}),
            "notes": list(self.notes),
            "repeatable": self.repeatable,
            "version": __version__,
        }

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return the protected records, column by column."""
        return {name: self.records.column(name).to_list() for name in self.records.names}

    def view(self) -> View:
        """Return what a person should see."""
        figures = tuple(
            Figure(name.replace("_", " "), value)
            for name, value in self.figures.items()
            if isinstance(value, int | float | str) or value is None
        )
        title = f"{self.mechanism}: {', '.join(self.attributes)}" if self.attributes else self.mechanism
        return View(title, figures, tuple(self._tables()), self.notes)

    def _tables(self) -> Iterator[Table]:
        """Return the figures that go by something, such as the attribute; those that go by the same in one table."""
        by: dict[tuple[str, ...], dict[str, Mapping[str, Any]]] = {}
        for name, value in self.figures.items():
            if not isinstance(value, Mapping) or any(isinstance(item, list | tuple) for item in value.values()):
                continue
            if value and all(isinstance(item, Mapping) for item in value.values()):
                yield from (Table((part, name.replace("_", " ")), tuple(by_value.items())) for part, by_value in value.items())
                continue
            texts = {str(key): item for key, item in value.items()}
            by.setdefault(tuple(texts), {})[name.replace("_", " ")] = texts
        if self.not_private:
            inside = tuple((name.replace("_", " "), value) for name, value in self.not_private.items())
            yield Table(("not private: keep inside", "value"), inside)
        for rows, figures in by.items():
            yield Table(("", *figures), tuple((row, *(figure[row] for figure in figures.values())) for row in rows))

    def write_link(self, path: str | os.PathLike[str]) -> None:
        """Write which release record was made from which original one; the file undoes the protection and must stay private."""
        write_link(str(path), self.origin)

    def write(self, path: str | os.PathLike[str], *, spreadsheet_safe: bool = False) -> None:
        """Write the protected records to a file, and their record beside it; both whole or none.

        Parameters
        ----------
        path
            Where they go.
        spreadsheet_safe
            Whether texts that a spreadsheet would take for formulas get an apostrophe before them (text files only).
        """
        write_recorded(path, self.record, partial(self.records.write, path, spreadsheet_safe=spreadsheet_safe))


def protected(
    mechanism: str,
    chosen: Chosen,
    columns: Mapping[str, Any],
    settings: Mapping[str, Any],
    figures: Mapping[str, Any],
    chance: Chance,
    *,
    keep_order: bool,
    notes: tuple[str, ...] = (),
) -> Protected:
    """Return the answer of a mechanism that gave the attributes chosen new columns."""
    records = chosen.records.replaced(dict(columns))
    return release_of(
        Protected(mechanism, records, chosen.names, settings, figures, chosen.rows, notes), chance, keep_order=keep_order
    )


def release_of(made: Protected, chance: Chance, *, keep_order: bool) -> Protected:
    """Return an answer as it may leave: its records shuffled unless they keep their order, and marked where all can repeat it."""
    repeatable = repeatable_of(chance, made.records.place, drawn=True)
    made = replace(made, notes=marked(made.notes, repeatable), repeatable=repeatable)
    if keep_order:
        return made
    order = drawn_order(made.records, chance, made.settings)
    return replace(made, records=made.records.taken(order), origin=made.origin[order])
