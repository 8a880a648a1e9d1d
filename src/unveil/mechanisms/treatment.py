"""The treatment of a release: the report of its mechanism, and the step from records to a release."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from unveil.attributes import in_line
from unveil.formats import counted, jsonable, number
from unveil.randomness import Chance
from unveil.releases import Protection, Release, drawn_order, in_hand, marked, repeatable_of, screened
from unveil.results import Figure, Table, View

if TYPE_CHECKING:
    from unveil.mechanisms.columns import Chosen

__all__ = ["Treatment", "made_anew", "treated", "untraceable"]

P = TypeVar("P", bound=Protection)


@dataclass(frozen=True, slots=True, eq=False)
class Treatment(Protection):
    """The effect of one mechanism on the records.

    Attributes
    ----------
    mechanism
        Its name.
    attributes
        The columns that it changed.
    figures
        The figures that it reports about its effect, by name.
    not_private
        Figures that were counted in the data without noise, if the records are differentially private: the guarantee does not
        cover them, so they must not be published.
    """

    mechanism: str
    attributes: tuple[str, ...]
    figures: Mapping[str, Any]
    not_private: Mapping[str, Any] = field(default_factory=dict)

    @property
    def made_by(self) -> str:
        """The mechanism."""
        return self.mechanism

    def treated(self, release: Release[Any]) -> Collection[str]:  # noqa: ARG002 - as every protection
        """Return the columns that were changed."""
        return self.attributes

    def account(self, release: Release[Any]) -> dict[str, Any]:
        """Return the JSON of the mechanism."""
        return {
            "mechanism": self.mechanism,
            "attributes": list(self.attributes),
            "records": release.records.records,
            "settings": jsonable(release.settings),
            "figures": jsonable(self.figures),
            **({"not_private": jsonable(self.not_private)} if self.not_private else {}),
        }

    def line(self, release: Release[Any]) -> str:
        """Return the mechanism, the attributes it changed, and its first figures."""
        first = [f"{name} {number(value)}" for name, value in self.figures.items() if isinstance(value, int | float)]
        what = " of ".join(filter(None, (self.mechanism, in_line(self.attributes))))
        return "; ".join([what, counted(release.records.records, "record"), *first])

    def view(self, release: Release[Any]) -> View:
        """Return the displayed figures."""
        figures = tuple(
            Figure(name.replace("_", " "), value)
            for name, value in self.figures.items()
            if isinstance(value, int | float | str) or value is None
        )
        title = f"{self.mechanism}: {', '.join(self.attributes)}" if self.attributes else self.mechanism
        return View(title, figures, tuple(self._tables()), release.notes)

    def _tables(self) -> Iterator[Table]:
        """Yield the figures that are given by attribute, or by anything else, in one table for each kind of item."""
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


def treated(
    mechanism: str,
    chosen: Chosen,
    columns: Mapping[str, Any],
    settings: Mapping[str, Any],
    figures: Mapping[str, Any],
    chance: Chance,
    *,
    keep_order: bool,
    notes: tuple[str, ...] = (),
) -> Release[Treatment]:
    """Return the release of a mechanism that made new columns for the chosen attributes."""
    records = chosen.records.replaced(dict(columns))
    treatment = Treatment(mechanism, chosen.names, figures)
    return untraceable(Release(records, treatment, chosen.rows, settings, notes), chance, keep_order=keep_order)


def made_anew(others: Sequence[str]) -> dict[str, str]:
    """Return the columns that a release of new records does not have, with the reason."""
    return dict.fromkeys(others, "not among the attributes of the mechanism")


def untraceable(release: Release[P], chance: Chance, *, keep_order: bool) -> Release[P]:
    """Return a release without columns that name people, shuffled if its order is not kept, and marked if repeatable."""
    release = screened(release)
    records = in_hand(release)
    repeatable = repeatable_of(chance, records.place, drawn=True)
    release = replace(release, notes=marked(release.notes, repeatable), repeatable=repeatable)
    if keep_order:
        return release
    order = drawn_order(records, chance, release.settings)
    return replace(release, records=records.taken(order), origin=release.origin[order])
