"""Recoding inside an engine, by joins with small tables that give every value its group and label.

The statements are the same for all engines, and contain no names or values of the data: columns are numbered, and values stay
in the engine's own tables or are sent there as data. The names of these tables begin with a random word for each release, so
that no table of the user has such a name.

- ``r``: the records; ``k0``, ``k1`` ... are the columns to recode in the form to count, ``w0`` ... those that must not be null,
``c0`` ... those to release.
- ``map0`` ...: every value ``v`` of a column with its group ``g`` and label ``l``.
- ``null``: one row, the group and label of a null in each column, and the replacement for suppressed values, ``s``.
- ``gone``: the classes to suppress, by their groups.
- ``order``: one row, the key ``k`` of the hash by which records are sorted. It is sent as data, so that no statement, which
engines may log, contains it, and it is dropped when the release is complete.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import polars as pl

from unveil.randomness import fresh_key
from unveil.sources.coding import labelled
from unveil.sources.known_values import KnownValues

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.sources.base import Tally

__all__ = ["Changed", "EngineRecoding", "Holder", "Rewritten", "own_word", "recode"]

_NO_GROUP = -1


@dataclass(frozen=True, slots=True, eq=False)
class Changed:
    """A column whose values are replaced by labels.

    Attributes
    ----------
    name
        The column.
    values
        The counted values, with a null last.
    groups
        The group of each value.
    labels
        The label of each group.
    """

    name: str
    values: Sequence[Any]
    groups: NDArray[np.int64]
    labels: Sequence[str | None]


@dataclass(frozen=True, slots=True, eq=False)
class EngineRecoding:
    """A change of the records of a table.

    Attributes
    ----------
    names
        The columns of the release, in order.
    changed
        The columns whose values are replaced by labels.
    gone
        The classes to suppress: one row each, with the group of every changed column.
    suppressed
        The replacement for the values of a suppressed record.
    complete
        Columns in which a null excludes the record.
    shuffled
        Whether records are shuffled.
    counted, check
        The columns to count in the release, and a function that refuses unexpected counts and otherwise returns its size.
    """

    names: tuple[str, ...]
    changed: tuple[Changed, ...]
    gone: NDArray[np.int64]
    suppressed: str
    complete: tuple[str, ...]
    shuffled: bool
    counted: tuple[str, ...]
    check: Callable[[Tally], int]


class Holder(Protocol):
    """An engine that holds tables while a table is rewritten."""

    own: str
    """The prefix of the names of all tables held."""
    records: str
    """The records, as written after FROM."""

    row_number: str
    """An expression that gives every row a unique number."""
    keyed_hash: str
    """The expression for the SHA-256 of the 32 bytes of a key ``o.k`` and a fixed number of bytes for the number ``q.n``."""

    def hold(self, name: str, query: str) -> None:
        """Keep the result of a query under a name."""

    def put(self, name: str, frame: pl.DataFrame) -> None:
        """Keep one of our tables of numbers and texts under a name."""

    def values(self, name: str, column: str) -> pl.Series:
        """Return the values `v` of a table held, in the order of their `id`; they are values of `column`."""


@dataclass(frozen=True, slots=True)
class Rewritten:
    """The query for the records of a release, with columns named ``c0``, ``c1`` ....

    Attributes
    ----------
    source
        The text after FROM.
    order
        The text after that: the order of the records, if they have one.
    """

    source: str
    order: str = ""


def own_word() -> str:
    """Return a random word with which no table's name begins."""
    return f"unveil_{secrets.token_hex(8)}_"


def recode(engine: Holder, what: EngineRecoding) -> Rewritten:
    """Store the group and label of every value in the engine, and return the query for the records of the release."""
    if what.changed:
        keys = ", ".join(f"k{at}" for at in range(len(what.changed)))
        engine.hold(f"{engine.own}cells", f"SELECT DISTINCT {keys} FROM {engine.records} AS r{_complete(what)}")  # noqa: S608 - numbered names
    null: dict[str, list[Any]] = {"s": [what.suppressed]}
    for at, column in enumerate(what.changed):
        _put_map(engine, at, column)
        code = len(column.values) - 1
        group = column.groups[code] if column.values[code] is None else _NO_GROUP
        null[f"g{at}"] = [int(group)]
        null[f"l{at}"] = [None if group == _NO_GROUP else column.labels[group]]
    texts = {name: pl.String for name in null if name.startswith("l")}
    engine.put(f"{engine.own}null", pl.DataFrame(null, schema_overrides=texts))
    if len(what.gone):
        engine.put(f"{engine.own}gone", pl.DataFrame({f"g{at}": what.gone[:, at] for at in range(len(what.changed))}))
    query = _query(engine.own, engine.records, what)
    return _shuffled(engine, query) if what.shuffled else Rewritten(f"({query}) AS q")


def _shuffled(engine: Holder, query: str) -> Rewritten:
    """Sort records by a keyed hash of their number; without the key, which nobody has afterwards, the order is random."""
    order = f"{engine.own}order"
    engine.put(order, pl.DataFrame({"k": [fresh_key()]}))
    numbered = f"SELECT q.*, {engine.row_number} AS n FROM ({query}) AS q"  # noqa: S608 - numbered names
    return Rewritten(f"({numbered}) AS q CROSS JOIN {order} AS o", f" ORDER BY {engine.keyed_hash}")


def _put_map(engine: Holder, at: int, column: Changed) -> None:
    """Store the group and the label of every value of a column in the engine."""
    cells, value, group = (f"{engine.own}{name}" for name in ("cells", f"value{at}", f"group{at}"))
    engine.hold(
        value,
        f"SELECT row_number() OVER (ORDER BY v) AS id, v FROM (SELECT DISTINCT k{at} AS v FROM {cells} WHERE k{at} IS NOT NULL) AS d",  # noqa: S608, E501
    )
    values = engine.values(value, column.name)
    groups = column.groups[KnownValues(column.name, column.values).codes(values)]
    frame = pl.DataFrame({"id": np.arange(1, len(groups) + 1), "g": groups, "l": labelled("l", column.labels, groups)})
    engine.put(group, frame)
    engine.hold(f"{engine.own}map{at}", f"SELECT v, g, l FROM {value} JOIN {group} USING (id)")  # noqa: S608


def _query(own: str, records: str, what: EngineRecoding) -> str:
    place = {column.name: at for at, column in enumerate(what.changed)}
    gone = bool(len(what.gone))
    selected = [
        f"r.c{at} AS c{at}" if name not in place else f"{_label(place[name], suppressed=gone)} AS c{at}"
        for at, name in enumerate(what.names)
    ]
    joins = [f"LEFT JOIN {own}map{at} AS m{at} ON r.k{at} = m{at}.v" for at in place.values()]
    if gone:
        same = " AND ".join(f"s.g{at} = coalesce(m{at}.g, n.g{at})" for at in place.values())
        joins.append(f"LEFT JOIN {own}gone AS s ON {same}")
    return f"SELECT {', '.join(selected)} FROM {records} AS r CROSS JOIN {own}null AS n {' '.join(joins)}{_complete(what)}"  # noqa: S608


def _complete(what: EngineRecoding) -> str:
    """Return the condition that excludes records with a null in a column that must not have one."""
    condition = " AND ".join(f"r.w{at} IS NOT NULL" for at in range(len(what.complete)))
    return f" WHERE {condition}" if condition else ""


def _label(at: int, *, suppressed: bool) -> str:
    known = f"WHEN m{at}.g IS NULL THEN n.l{at} ELSE m{at}.l END"
    return f"CASE WHEN s.g0 IS NOT NULL THEN n.s {known}" if suppressed else f"CASE {known}"
